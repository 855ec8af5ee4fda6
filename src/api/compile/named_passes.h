// Passes that users name. Private to src/api.
// Prefixes: sc_early_ is about passes before decomposition, sc_edge_ about passes over the edge
// dialect.
#ifndef SC_API_NAMED_PASSES_H
#define SC_API_NAMED_PASSES_H

#include "api/compile/delegate.h"
#include "api/compiling.h"
#include "passes/pass.h"

// Finds a pass that callers may name. SC_ERR_NOT_FOUND if it does not exist, SC_ERR_ARGUMENT if it
// only runs at its own place.
sc_status sc_edge_pass(sc_ctx *ctx, sc_str name, const sc_pass **out);
// The number of a pass of the host's own; false for a name.
bool sc_pass_entry_number(const sc_json *entry, uint32_t *number);
// Are all passes of the list, ["noops", 0], early ones, or the host's own?
sc_status sc_early_passes_check(sc_ctx *ctx, const sc_json *list);
// Runs the list on a method of a source program. SC_ERR_ARGUMENT for a pass of the library if the
// method writes in place.
sc_status sc_early_passes_run(sc_job *job, sc_pipeline *pipeline, sc_method *method,
                              const sc_json *list);
// Runs the early passes of the partitioners of each method, in order. SC_ERR_ARGUMENT if the method
// writes in place.
sc_status sc_partitioner_passes_run(sc_job *job, sc_pipeline *pipeline, sc_program *program,
                                    const sc_partitioners *partitioners);

#endif
