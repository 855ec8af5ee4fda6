// Checking what delegates compute against the kernels. Private to src/api.
// Prefix: sc_delegate_check_.
#ifndef SC_API_DELEGATE_CHECK_H
#define SC_API_DELEGATE_CHECK_H

#include "api/run/compare.h"

// Looks on while the delegates of a program run, and runs what each of them stands for on the
// kernels (delegate_check.c).
typedef struct sc_delegate_check sc_delegate_check;
sc_status sc_delegate_check_new(sc_ctx *ctx, const sc_program *program, sc_delegate_check **out);
const sc_rt_backends *sc_delegate_check_backends(sc_delegate_check *watch);
// A method has run: progress tells of it, as of each delegate.
sc_status sc_delegate_check_end(sc_delegate_check *watch, const sc_name *method);
// The observations of a delegate, which the watch keeps.
typedef struct sc_checked_delegate {
    const sc_part *part;
    sc_str graph;  // path of the body that calls it; empty: the method's own graph
    bool was_compared;
    const char *why_not;                 // NULL when it was
    const sc_quantization_steps *steps;  // of its results; NULL until they are asked for
    sc_closeness closeness;
} sc_checked_delegate;
// The observations of delegate `index` of a method, in the order of its calls; NULL behind the
// last.
const sc_checked_delegate *sc_delegate_check_at(const sc_delegate_check *watch,
                                                const sc_name *method, uint32_t index);

#endif
