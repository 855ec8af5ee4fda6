// The state of a quantization that is under way (quantize.c, report.c).
// Prefix: sc_quantizing_, a quantization under way.
#ifndef SC_API_QUANTIZE_H
#define SC_API_QUANTIZE_H

#include "api/compiling.h"
#include "quant/compared.h"
#include "quant/quant.h"

typedef struct sc_quantized_method {
    const sc_method *source;  // as it was opened
    sc_method *method;        // prepared, later quantized
    sc_method *prepared;      // a copy between these two stages
    sc_quant_plan *plan;      // NULL: the method is not quantized
    float **states;           // state of each observer after the last batch
    sc_compared *compared;    // NULL: no comparison was run
    uint32_t batches;
} sc_quantized_method;

// The order of calls.
typedef enum sc_quantizing_stage {
    SC_QUANTIZING_OBSERVES,  // batches go to the observers
    SC_QUANTIZING_CONVERTED,
    SC_QUANTIZING_COMPARES,  // batches run both programs
    SC_QUANTIZING_FAILED     // some methods may be converted, and others not
} sc_quantizing_stage;

typedef struct sc_quantizing {
    uint32_t from, made;  // numbers of programs
    sc_program *program;
    sc_quantized_method *methods;
    uint32_t count;
    sc_options edge, executorch;  // the options for programs that run batches
    sc_quantizing_stage stage;
    bool shows;  // observers are nodes, for passes
} sc_quantizing;

// How a method is quantized.
typedef struct sc_quant_configs {
    const sc_quant_config *items;
    uint32_t count;  // 0: it is not quantized
} sc_quant_configs;

// Reads {"all": CONFIGS} or {"methods": {METHOD: CONFIGS or null}}, where CONFIGS is one or a list
// of them; `out` has room for each method of the program.
sc_status sc_quant_configs_read(sc_ctx *ctx, const sc_program *program, sc_str json,
                                sc_quant_configs *out);
// The report that sconce.h describes.
void sc_quantizing_report(sc_ctx *ctx, const sc_quantizing *quantizing, sc_json_writer *w);

#endif
