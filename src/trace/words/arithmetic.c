// Arithmetic with numbers, and polynomials.
#include "trace/words/arithmetic.h"

sc_x sc_a_times(sc_trace *t, sc_x x, double factor) {
    return CALL(t, mul_Scalar, x, sc_x_float(t, factor));
}
sc_x sc_a_plus(sc_trace *t, sc_x x, double number) {
    return CALL(t, add_Scalar, x, sc_x_float(t, number));
}
sc_x sc_a_over(sc_trace *t, double number, sc_x x) {
    return sc_a_times(t, CALL(t, reciprocal, x), number);
}
sc_x sc_a_from(sc_trace *t, double number, sc_x x) { return sc_a_plus(t, CALL(t, neg, x), number); }
sc_x sc_a_mul(sc_trace *t, sc_x x, sc_x y) { return CALL(t, mul_Tensor, x, y); }
sc_x sc_a_add(sc_trace *t, sc_x x, sc_x y) { return CALL(t, add_Tensor, x, y); }
sc_x sc_a_sub(sc_trace *t, sc_x x, sc_x y) { return CALL(t, sub_Tensor, x, y); }
sc_x sc_a_div(sc_trace *t, sc_x x, sc_x y) { return CALL(t, div_Tensor, x, y); }
sc_x sc_a_less(sc_trace *t, sc_x x, double number) {
    return CALL(t, lt_Scalar, x, sc_x_float(t, number));
}
sc_x sc_a_is(sc_trace *t, sc_x x, double number) {
    return CALL(t, eq_Scalar, x, sc_x_float(t, number));
}

sc_x sc_a_where(sc_trace *t, sc_x condition, sc_x x, sc_x y) {
    return CALL(t, where_self, condition, x, y);
}

sc_x sc_a_unless(sc_trace *t, sc_x condition, double number, sc_x x) {
    return sc_a_where(t, condition, sc_f_scalar(t, sc_x_float(t, number), sc_x_dtype_of(x)), x);
}

sc_x sc_a_polynomial(sc_trace *t, sc_x x, const double *factors, uint32_t count) {
    sc_x sum = sc_a_plus(t, sc_a_times(t, x, factors[count - 1]), factors[count - 2]);
    for (uint32_t i = count - 2; i-- > 0;) sum = sc_a_plus(t, sc_a_mul(t, sum, x), factors[i]);
    return sum;
}

sc_x sc_o_floored(sc_trace *t, sc_x x, sc_x by, sc_x *rest) {
    sc_x times = CALL(t, div_Tensor_mode, x, by, sc_x_str(t, "floor"));
    *rest = CALL(t, sub_Tensor, x, CALL(t, mul_Tensor, times, by));
    return times;
}

sc_x sc_o_double(sc_trace *t, sc_x x) { return sc_f_to(t, x, SC_DTYPE_F64); }
