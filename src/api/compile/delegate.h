// Hands parts of a program to backends, as partitioners request. Private to src/api.
// Prefix: sc_delegate_ hands parts over.
#ifndef SC_API_DELEGATE_H
#define SC_API_DELEGATE_H

#include "api/compiling.h"
#include "backend/lower.h"
#include "core/options.h"
#include "format/json.h"

// The partitioners of each method, in the order of the rounds.
typedef struct sc_partitioners {
    sc_method_partitioners *methods;
    uint32_t count;
    sc_job *job;
    const sc_backends *backends;
} sc_partitioners;

// Reads the argument of sc_compile_to_backend; `backends` are those that it may name. The host of
// `job` may have partitioners of its own; NULL: there is no host.
sc_status sc_partitioners_read(sc_ctx *ctx, sc_job *job, const sc_program *program,
                               const sc_json *json, const sc_backends *backends,
                               sc_partitioners *out);
// The part as a program with one method, `forward`. Its inputs are all of the part's, weights
// included, except state that the part keeps.
sc_status sc_part_program(sc_ctx *ctx, const sc_part *part, sc_program **out);
// Hands the parts of `program` that its methods' partitioners choose to backends. For a draft, the
// parts are only cut out.
sc_status sc_delegate_parts(sc_ctx *ctx, sc_program *program, const sc_partitioners *partitioners,
                            const sc_options *options, bool is_draft, sc_delegation *delegation);
// Reads the partitioners and hands their parts over. SC_ERR_ARGUMENT if one has passes to run
// before decomposition, unless these have run.
sc_status sc_delegate_program(sc_ctx *ctx, sc_job *job, sc_program *program, const sc_json *json,
                              const sc_options *options, const sc_backends *backends,
                              bool passes_have_run, sc_delegation *delegation);

#endif
