// Arithmetic on tensors and numbers, and polynomials.
#include "trace/words/arithmetic.h"

sc_x sc_f_mul_number(sc_trace *t, sc_x x, double factor) {
    return CALL(t, mul_Scalar, x, sc_x_float(t, factor));
}
sc_x sc_f_add_number(sc_trace *t, sc_x x, double number) {
    return CALL(t, add_Scalar, x, sc_x_float(t, number));
}
sc_x sc_f_number_over(sc_trace *t, double number, sc_x x) {
    return sc_f_mul_number(t, CALL(t, reciprocal, x), number);
}
sc_x sc_f_number_minus(sc_trace *t, double number, sc_x x) {
    return sc_f_add_number(t, CALL(t, neg, x), number);
}

static bool are_numbers(sc_x x, sc_x y) { return !sc_x_is_tensor(x) && !sc_x_is_tensor(y); }
sc_x sc_f_add(sc_trace *t, sc_x x, sc_x y) {
    if (sc_x_is_tensor(x)) return CALL(t, add_Tensor, x, y);
    if (sc_x_is_tensor(y)) return CALL(t, add_Tensor, y, x);
    return sc_x_float(t, sc_x_known(t, x, 0) + sc_x_known(t, y, 0));
}

sc_x sc_f_sub(sc_trace *t, sc_x x, sc_x y) {
    if (are_numbers(x, y)) return sc_x_float(t, sc_x_known(t, x, 0) - sc_x_known(t, y, 0));
    return CALL(t, sub_Tensor, sc_f_tensor_like(t, x, y), y);
}

// Sizes are finite: zero times a size is zero, also if only the running program knows the size.
static sc_x number_product(sc_trace *t, sc_x x, sc_x y) {
    if (sc_x_equals(x, 0) && y->kind == SC_X_INT) return x;
    if (sc_x_equals(y, 0) && x->kind == SC_X_INT) return y;
    return sc_x_float(t, sc_x_known(t, x, 0) * sc_x_known(t, y, 0));
}

sc_x sc_f_mul(sc_trace *t, sc_x x, sc_x y) {
    if (sc_x_is_tensor(x)) return CALL(t, mul_Tensor, x, y);
    return sc_x_is_tensor(y) ? CALL(t, mul_Tensor, y, x) : number_product(t, x, y);
}

sc_x sc_f_div(sc_trace *t, sc_x x, sc_x y) {
    if (are_numbers(x, y)) return sc_x_float(t, sc_x_known(t, x, 0) / sc_x_known(t, y, 0));
    return CALL(t, div_Tensor, sc_f_tensor_like(t, x, y), y);
}

sc_x sc_f_mul_by(sc_trace *t, sc_x x, sc_x by) {
    return sc_x_is_tensor(by) ? sc_f_mul(t, x, by) : CALL(t, mul_Scalar, x, by);
}
sc_x sc_f_add_by(sc_trace *t, sc_x x, sc_x by) {
    return sc_x_is_tensor(by) ? sc_f_add(t, x, by) : CALL(t, add_Scalar, x, by);
}

sc_x sc_f_lt_number(sc_trace *t, sc_x x, double number) {
    return CALL(t, lt_Scalar, x, sc_x_float(t, number));
}
sc_x sc_f_eq_number(sc_trace *t, sc_x x, double number) {
    return CALL(t, eq_Scalar, x, sc_x_float(t, number));
}

sc_x sc_f_polynomial(sc_trace *t, sc_x x, const double *factors, uint32_t count) {
    sc_x sum = sc_f_add_number(t, sc_f_mul_number(t, x, factors[count - 1]), factors[count - 2]);
    for (uint32_t i = count - 2; i-- > 0;)
        sum = sc_f_add_number(t, sc_f_mul(t, sum, x), factors[i]);
    return sum;
}

sc_x sc_f_floor_divide(sc_trace *t, sc_x x, sc_x by, sc_x *rest) {
    sc_x times = CALL(t, div_Tensor_mode, x, by, sc_x_str(t, "floor"));
    *rest = sc_f_sub(t, x, sc_f_mul(t, times, by));
    return times;
}

sc_x sc_f_double(sc_trace *t, sc_x x) { return sc_f_to(t, x, SC_DTYPE_F64); }
