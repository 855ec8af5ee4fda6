// Passes that users name. Private to src/api.
#ifndef SC_API_NAMED_PASSES_H
#define SC_API_NAMED_PASSES_H

#include "api/compile/delegate.h"
#include "passes/pass.h"

// A pass that callers may name. SC_ERR_NOT_FOUND when there is no such pass, SC_ERR_ARGUMENT for
// one that only runs at its own place.
sc_status sc_edge_pass(sc_ctx *ctx, sc_str name, const sc_pass **out);
// A pass that runs on programs as they were exported; SC_ERR_ARGUMENT when it works on what
// decomposition makes.
sc_status sc_early_pass(sc_ctx *ctx, sc_str name, const sc_pass **out);
// Runs passes by name, ["noops"], on a method of a source program. SC_ERR_ARGUMENT when the method
// writes in place.
sc_status sc_early_passes_run(sc_ctx *ctx, sc_pipeline *pipeline, sc_method *method,
                              const sc_json *names);
// Runs the early passes of the partitioners of each method, in order. SC_ERR_ARGUMENT when the
// method writes in place.
sc_status sc_wishes_run(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program,
                        const sc_partitioners *wishes);

#endif
