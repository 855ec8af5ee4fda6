// Steps of lowering: each makes the next version of a program. Private to src/api.
// Prefix: sc_steps_ runs the steps of a call in order; sc_compile_ and sc_take_ give
// them what they begin with.
#ifndef SC_API_STEPS_H
#define SC_API_STEPS_H

#include "api/compile/delegate.h"
#include "api/compiling.h"
#include "backend/lower.h"
#include "passes/pass.h"

// The program that steps work on, and their parameters.
typedef struct sc_work {
    sc_job *job;
    sc_options options;
    sc_str method;                  // transform: the method of these passes; empty: all methods
    const sc_json *passes;          // transform: a list of names, or one list for each method
    const sc_json *partitioners;    // to_backend: a list for each method
    sc_constant_methods constants;  // decompose: methods that are added to the program
    const sc_keep *keep;            // decompose: the operators that stay whole; NULL: no operator
    const sc_partitioners *early;   // their passes run, or ran, before decompose; NULL: no passes
    sc_program *program;            // the steps may change it
    sc_call_memory *memory;         // of all that the steps make; NULL: new memory
    sc_delegation delegation;
    sc_bounds sizes;
    uint32_t source;  // number of the source program that all steps began with
    sc_pipeline pipeline;
    double emit_ms;       // the time of writing the program
    bool is_transformed;  // passes that the caller listed have run
    bool keeps_edge;      // keeps to_edge's result as a version, even if more steps follow
    const sc_emit_result *emitted;
} sc_work;

// Runs steps one after the other, the first on a copy of version `from`. The last result is kept as
// a version with the number `made`. The other results are kept if the option snapshots is on.
sc_status sc_steps_run(sc_work *work, const sc_phase *steps, uint32_t count, uint32_t from,
                       uint32_t *made);

// The methods of source program `number`; SC_ERR_STATE if no file was opened.
sc_status sc_compile_source(sc_job *job, uint32_t number, sc_program **out);

// Takes the constant methods that wait for the next to_edge; none wait any more
// (constant_method.c).
sc_constant_methods sc_take_constant_methods(sc_job *job);

#endif
