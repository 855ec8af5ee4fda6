// Questions about complex numbers that are answered with yes or no.
#include "trace/complex/complex.h"

static sc_x equal(sc_trace *t, sc_x x, sc_x y) {
    if (!sc_x_is_tensor(x) && !sc_x_is_tensor(y))
        return sc_x_bool(sc_x_known(t, x, 0) == sc_x_known(t, y, 0));
    return sc_x_is_tensor(x) ? CALL(t, eq_Tensor, x, y) : CALL(t, eq_Tensor, y, x);
}

sc_x sc_complex_eq(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype part = sc_complex_common(a[0], a[1]);
    (void)op;
    sc_complex x = sc_complex_operand(t, a[0], part), y = sc_complex_operand(t, a[1], part);
    sc_x re = equal(t, x.re, y.re);
    return sc_f_and(t, re, equal(t, x.im, y.im));
}

sc_x sc_complex_ne(sc_trace *t, const sc_op *op, const sc_x *a) {
    return sc_f_not(t, sc_complex_eq(t, op, a));
}

// True where it is of either part.
sc_x sc_complex_either(sc_trace *t, const sc_op *op, const sc_x *a) {
    sc_complex z = sc_complex_of(t, a[0]);
    sc_x re = sc_trace_call(t, op, &z.re, 1);
    return sc_f_or(t, re, sc_trace_call(t, op, &z.im, 1));
}

sc_x sc_complex_isfinite(sc_trace *t, const sc_op *op, const sc_x *a) {
    sc_complex z = sc_complex_of(t, a[0]);
    sc_x re = sc_trace_call(t, op, &z.re, 1);
    return sc_f_and(t, re, sc_trace_call(t, op, &z.im, 1));
}

sc_x sc_complex_is_not_zero(sc_trace *t, sc_x x) {
    sc_complex z = sc_complex_of(t, x);
    sc_x zero = sc_x_int(t, 0), re = CALL(t, ne_Scalar, z.re, zero);
    return sc_f_or(t, re, CALL(t, ne_Scalar, z.im, zero));
}

// The call on whether each operand differs from zero: the operator reads no more of them.
sc_x sc_complex_truths(sc_trace *t, const sc_op *op, const sc_x *a) {
    const uint32_t count = op->schema->param_count;
    sc_x *args = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count; i++)
        args[i] = sc_x_is_complex(a[i]) ? sc_complex_is_not_zero(t, a[i]) : a[i];
    return sc_trace_call(t, op, args, count);
}

// Refused before its expansion sorts: complex numbers have no order.
sc_x sc_complex_unique(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)a;
    return sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP,
                         "Find pairs of parts: torch.unique(torch.view_as_real(x.flatten()), dim=0)"
                         ", or of slices torch.unique(torch.view_as_real(x), dim=0).",
                         "%s is not supported for complex numbers", op->name);
}
