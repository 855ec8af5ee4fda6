// Making an edge program an executable file. Private to src/api.
// Prefix: sc_make_executable runs the step to_executorch on one version.
#ifndef SC_API_EXECUTABLE_H
#define SC_API_EXECUTABLE_H

#include "emit/emit.h"
#include "passes/pass.h"
#include "plan/place.h"

// The result of making a program executable.
typedef struct sc_executable {
    sc_place_report *reports;  // a method each
    sc_emit_result result;
    double emit_ms;  // the time of writing it
} sc_executable;

// Makes an edge program executable with the pipeline's options, plans its memory and writes it.
sc_status sc_make_executable(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program,
                             sc_executable *out);

#endif
