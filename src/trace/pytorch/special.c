// Expansions of special functions.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

// log of the gamma function of p by p matrices: a sum of p of the plain one.
sc_x sc_expand_mvlgamma(sc_trace *t, const sc_x *a) {
    int64_t p = sc_x_small(t, a[1], 0);
    const double log_pi = 1.1447298858494002;
    if (p < 1 || p > 65536)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "mvlgamma needs p of 1 to 65536");
    sc_dtype dtype = sc_x_is_float(a[0]) ? sc_x_dtype_of(a[0]) : SC_DTYPE_F32;
    sc_x steps = sc_f_arange(t, sc_x_int(t, 1 - p), sc_x_int(t, 1), dtype);
    steps = sc_f_mul_number(t, steps, 0.5);
    sc_x x = sc_f_add(t, sc_f_unsqueeze(t, a[0], -1), steps);
    x = sc_f_sum(t, CALL(t, lgamma, x), X_INTS(t, -1), false);
    return sc_f_add_number(t, x, (double)p * (double)(p - 1) * log_pi / 4);
}
