// Steps of lowering: each makes the next version of a program. Private to src/api.
// Prefix: sc_steps_.
#ifndef SC_API_STEPS_H
#define SC_API_STEPS_H

#include "api/compile/delegate.h"
#include "api/job.h"
#include "backend/lower.h"
#include "passes/pass.h"

// The program that steps work on, and their parameters.
typedef struct sc_work {
    sc_job *job;
    sc_options options;
    sc_str method;                  // transform: the method whose passes these are; empty: all
    const sc_json *passes;          // transform: a list of names, or lists by method
    const sc_json *partitioners;    // to_backend: by method
    const sc_keep *keep;            // decompose: what stays whole; NULL: no operator
    const sc_partitioners *wishes;  // whose passes run, or ran, before decompose; NULL: no passes
    sc_program *program;            // theirs to change
    sc_delegation delegation;
    sc_bounds sizes;
    uint32_t source;  // number of the source program that all began with
    sc_pipeline pipeline;
    double emit_ms;   // that writing the program took
    bool keeps_edge;  // keeps what to_edge makes as a version, whatever comes after it
    const sc_emit_result *emitted;
} sc_work;

// Runs steps one after the other, the first on a copy of version `from`. The last result is kept as
// a version with the number `made`. The other results are kept if the option snapshots says so.
sc_status sc_steps_run(sc_work *work, const sc_phase *steps, uint32_t count, uint32_t from,
                       uint32_t *made);

// SC_ERR_STATE when program `number` is of another dialect than is needed.
sc_status sc_check_dialect(sc_ctx *ctx, uint32_t number, sc_dialect found, sc_dialect needed);
// The methods of source program `number`; SC_ERR_STATE when nothing was opened (compile.c).
sc_status sc_compile_source(sc_job *job, uint32_t number, sc_program **out);

#endif
