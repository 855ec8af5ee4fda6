// Checks the results of delegates against the kernels. Private to src/api.
// Prefix: sc_delegate_check_ compares delegates with kernels while a method runs.
#ifndef SC_API_DELEGATE_CHECK_H
#define SC_API_DELEGATE_CHECK_H

#include "api/verify/compare.h"

// Watches the delegates of a program while it runs, and runs the part of each on the kernels
// (delegate_check.c).
typedef struct sc_delegate_check sc_delegate_check;
sc_status sc_delegate_check_new(sc_ctx *ctx, const sc_program *program, sc_delegate_check **out);
const sc_rt_backends *sc_delegate_check_backends(sc_delegate_check *watch);
// Records that a method has run. Progress counts it, like each delegate.
sc_status sc_delegate_check_end(sc_delegate_check *watch, const sc_name *method);
// The observations of a delegate, which belong to the watch.
typedef struct sc_checked_delegate {
    const sc_part *part;
    sc_str graph;  // path of the body that calls it; empty: the method's own graph
    bool was_compared;
    const char *why_not;                 // NULL if it was compared
    const sc_quantization_steps *steps;  // steps of its results; NULL until they are requested
    sc_closeness closeness;
} sc_checked_delegate;
// The observations of delegate `index` of a method, in the order of its calls; NULL after the last
// one.
const sc_checked_delegate *sc_delegate_check_at(const sc_delegate_check *watch,
                                                const sc_name *method, uint32_t index);

#endif
