// Expansions of the gradients that a program keeps: those that it computes itself, under vmap and
// jvp.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

// half_to_float asks the primitive for it only on devices that fuse the cast: never here.
static sc_x in_dtype(sc_trace *t, sc_x x, sc_x dtype) {
    if (dtype->kind != SC_X_DTYPE || dtype->code == sc_x_dtype_of(x)) return x;
    return CALL(t, _to_copy, x, dtype, X_STRIDED, X_CPU);
}

// (grad, output, dim, input_dtype)
sc_x sc_expand_softmax_backward(sc_trace *t, const sc_x *a) {
    sc_x product = sc_f_mul(t, a[0], a[1]);
    sc_x sum = sc_f_sum(t, product, X_LIST(t, a[2]), true);
    product = sc_f_sub(t, product, sc_f_mul(t, a[1], sum));
    return in_dtype(t, product, a[3]);
}

sc_x sc_expand_log_softmax_backward(sc_trace *t, const sc_x *a) {
    sc_x sum = sc_f_sum(t, a[0], X_LIST(t, a[2]), true);
    sc_x product = sc_f_mul(t, CALL(t, exp, a[1]), sum);
    return in_dtype(t, sc_f_sub(t, a[0], product), a[3]);
}
