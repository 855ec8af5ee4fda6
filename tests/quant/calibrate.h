// Shared by the tests of quantization: the programs, and functions that calibrate and quantize
// them.
#ifndef QUANT_CALIBRATE_H
#define QUANT_CALIBRATE_H

#include "api/compiling.h"
#include "quant/quant.h"
#include "rt/rt.h"
#include "setup.h"

typedef struct quant_case {
    const char *program, *recipe;
    double below;         // integers among the inputs
    const char *differs;  // why it is not PT2E's text; NULL: it is
} quant_case;

enum { QUANT_CASES = 43 };
extern const quant_case quant_cases[QUANT_CASES];

// One configuration, or several, each for what those before it leave.
typedef struct quant_configs {
    sc_quant_config items[2];
    uint32_t count;
} quant_configs;

quant_configs quant_configs_of(const char *recipe);
// The configuration of a recipe that has one.
sc_quant_config quant_config_of(const char *recipe);
sc_status quant_import(setup *s, const char *path, sc_program **out);
// With all methods that the file has.
sc_status quant_import_all(setup *s, const char *path, sc_program **out);
// The numbers of a batch, the same as in make_quant_cases.py; `below` bounds integers.
sc_status quant_set_inputs(setup *s, const sc_method *of, sc_rt_method *method, uint64_t batch,
                           double below);
// Lowered to the kernels, or to a backend as far as it takes the program.
sc_status quant_open(setup *s, sc_program *program, const char *backend, sc_rt_program **out);
sc_status quant_calibrate(setup *s, const sc_quant_plan *plan, const sc_method *of, double below,
                          const float **states);
sc_status quant_quantize(setup *s, sc_method *method, const quant_configs *configs, double below);

#endif
