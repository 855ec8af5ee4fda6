// Expansions of the gradients that a program keeps: those that it computes itself, under vmap and
// jvp.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

// (grad, output, dim, input_dtype)
sc_x sc_expand_softmax_backward(sc_trace *t, const sc_x *a) {
    sc_x product = sc_f_mul(t, a[0], a[1]);
    sc_x sum = sc_f_sum(t, product, X_LIST(t, a[2]), true);
    product = sc_f_sub(t, product, sc_f_mul(t, a[1], sum));
    return sc_f_to_given(t, product, a[3]);
}

sc_x sc_expand_log_softmax_backward(sc_trace *t, const sc_x *a) {
    sc_x sum = sc_f_sum(t, a[0], X_LIST(t, a[2]), true);
    sc_x product = sc_f_mul(t, CALL(t, exp, a[1]), sum);
    return sc_f_to_given(t, sc_f_sub(t, a[0], product), a[3]);
}
