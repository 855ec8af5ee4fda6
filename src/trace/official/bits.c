// Shifts. The official kernels have them under one of their two names. They do not define a shift
// by a negative number, or by all bits and more; here its result is zero, or the sign.
#include "trace/official/official.h"

typedef struct shift {
    sc_x x, by;  // a tensor of the result's dtype, and a number
    int64_t bits;
    bool is_signed;
} shift;

static shift read(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_official_result_dtype(t);
    const bool is_signed = dtype != SC_DTYPE_U8 && dtype != SC_DTYPE_BOOL;
    const shift s = {sc_f_to(t, a[0], dtype), a[1], 8 * sc_dtype_bytes(dtype), is_signed};
    if (!sc_dtype_is_integral(dtype, false)) sc_official_refuse(t);
    return s;
}

// A shift by a number that is in range.
bool sc_official_is_wide_shift(const sc_node *node) {
    const sc_arg *by = sc_node_arg(node, "other");
    const int64_t bits = 8 * sc_dtype_bytes((sc_dtype)node->outs[0]->spec.dtype);
    return by->kind != SC_ARG_INT || by->i < 0 || by->i >= bits;
}

static sc_x shifted_out(sc_trace *t, const shift *s) {
    return CALL(t, bitwise_and_Scalar, s->x, sc_x_int(t, 0));
}

// The tensor of a number that depends on a size.
static sc_x of_size(sc_trace *t, const shift *s) {
    return sc_f_scalar(t, s->by, sc_x_dtype_of(s->x));
}

// (self, other), a number
sc_x sc_official_shift_left_by(sc_trace *t, const sc_x *a) {
    const shift s = read(t, a);
    const int64_t by = sc_x_number(a[1], -1);
    if (a[1]->kind != SC_X_INT) return sc_official_refuse(t);
    if (a[1]->dim.expr)
        return sc_official_form(t, SC_OP___lshift___Tensor, (const sc_x[]){s.x, of_size(t, &s)});
    if (by < 0 || by >= s.bits) return shifted_out(t, &s);
    return sc_trace_final(t, CALL(t, bitwise_left_shift_Tensor_Scalar, s.x, sc_x_int(t, by)));
}

sc_x sc_official_shift_right_by(sc_trace *t, const sc_x *a) {
    const shift s = read(t, a);
    int64_t by = sc_x_number(a[1], -1);
    if (a[1]->kind != SC_X_INT) return sc_official_refuse(t);
    if (a[1]->dim.expr)
        return sc_official_form(t, SC_OP___rshift___Tensor, (const sc_x[]){s.x, of_size(t, &s)});
    if ((by < 0 || by >= s.bits) && !s.is_signed) return shifted_out(t, &s);
    if (by < 0 || by >= s.bits) by = s.bits - 1;
    return sc_trace_final(t, CALL(t, bitwise_right_shift_Tensor_Scalar, s.x, sc_x_int(t, by)));
}
