// Complex numbers and their parts as the program itself sees them.
#include "trace/complex/complex.h"
#include "trace/expand.h"

// Known where it was put together; else it is a view like any other.
sc_x sc_complex_as_real(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    return sc_complex_pair(t, a[0]);
}

sc_x sc_complex_conj_view(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    const sc_dtype part = sc_dtype_to_real(sc_x_dtype_of(a[0]));
    return sc_complex_make(t, sc_complex_conj(t, sc_complex_of(t, a[0])), part);
}

sc_x sc_expand_complex(sc_trace *t, const sc_x *a) {
    return sc_complex_make(t, (sc_complex){a[0], a[1]}, sc_x_dtype_of(a[0]));
}

sc_x sc_expand_polar(sc_trace *t, const sc_x *a) {
    sc_x re = sc_f_mul(t, a[0], CALL(t, cos, a[1]));
    sc_x im = sc_f_mul(t, a[0], CALL(t, sin, a[1]));
    return sc_complex_make(t, (sc_complex){re, im}, sc_x_dtype_of(a[0]));
}

// A conjugate or negative that is only seen becomes a tensor of its own; others are what they are.
sc_x sc_expand_resolve(sc_trace *t, const sc_x *a) {
    bool is_seen = false;
    if (a[0]->kind != SC_X_TENSOR) return a[0];
    for (const sc_view *view = a[0]->tensor->view; view; view = view->parent)
        if (view->op->id == SC_OP__conj || view->op->id == SC_OP__neg_view) is_seen = !is_seen;
    return is_seen ? CALL(t, clone, a[0]) : a[0];
}
