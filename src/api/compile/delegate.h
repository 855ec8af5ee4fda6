// Handing parts of a program to backends, as partitioners ask for it. Private to src/api.
// Prefix: sc_delegate_ hands parts over.
#ifndef SC_API_DELEGATE_H
#define SC_API_DELEGATE_H

#include "api/job.h"
#include "backend/lower.h"
#include "core/options.h"
#include "format/json.h"

// The partitioners of each method, as they take part in rounds.
typedef struct sc_partitioners {
    sc_method_partitioners *methods;
    uint32_t count;
    sc_job *job;
    const sc_backends *backends;
} sc_partitioners;

// Reads what sc_compile_to_backend takes; `backends` are those that it may name. The host of `job`
// may have partitioners of its own; NULL: there is no host.
sc_status sc_partitioners_read(sc_ctx *ctx, sc_job *job, const sc_program *program,
                               const sc_json *json, const sc_backends *backends,
                               sc_partitioners *out);
// The part as a program with one method, `forward`, whose inputs are all of the part's, its weights
// too, but for state that it keeps.
sc_status sc_part_program(sc_ctx *ctx, const sc_part *part, sc_program **out);
// Hands the parts of `program` that its methods' partitioners ask for to backends; for a draft no
// further than cutting them out.
sc_status sc_delegate_parts(sc_ctx *ctx, sc_program *program, const sc_partitioners *partitioners,
                            const sc_options *options, bool is_draft, sc_delegation *delegation);
// Reads the partitioners and hands over what they ask for. SC_ERR_ARGUMENT when one has passes for
// the time before decomposition, unless they have run.
sc_status sc_delegate_program(sc_ctx *ctx, sc_job *job, sc_program *program, const sc_json *json,
                              const sc_options *options, const sc_backends *backends,
                              bool passes_have_run, sc_delegation *delegation);

#endif
