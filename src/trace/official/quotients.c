// Quotients that are rounded, and what they leave over.
#include "trace/official/official.h"

bool sc_official_is_long(const sc_node *node) { return node->outs[0]->spec.dtype == SC_DTYPE_I64; }

// Is something left over, and of another sign than x?
static sc_x is_turned(sc_trace *t, sc_x x, sc_x rest) {
    sc_x zero = sc_x_int(t, 0), minus = CALL(t, lt_Scalar, rest, zero);
    sc_x other = CALL(t, logical_xor, CALL(t, lt_Scalar, x, zero), minus);
    return sc_f_and(t, other, CALL(t, ne_Scalar, rest, zero));
}

// (self, other), whole numbers
sc_x sc_official_fmod(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_to(t, a[0], sc_official_result_dtype(t)), rest;
    sc_f_floor_divide(t, x, a[1], &rest);
    sc_x turned = is_turned(t, x, rest);
    return sc_f_where(t, turned, sc_f_sub(t, rest, a[1]), rest);
}

static bool rounds(const sc_node *node, const char *how) {
    const sc_arg *mode = sc_node_arg(node, "rounding_mode");
    return mode->kind == SC_ARG_STR && sc_str_is(mode->str, how);
}

// Towards zero, whole numbers are taken for floats. Down, floats by 0 are infinite, whatever is
// divided, and quotients are not rounded after all.
bool sc_official_is_misrounded(const sc_node *node) {
    return rounds(node, sc_official_is_float(node) ? "floor" : "trunc") &&
           (sc_official_is_float(node) || sc_official_is_long(node));
}

static sc_x operand(sc_trace *t, sc_x x, sc_dtype dtype) {
    if (x->kind == SC_X_TENSOR) return sc_f_to(t, x, dtype);
    return sc_f_scalar(t, x, dtype);
}

// What is left of x without what is left over of it, by y: a whole number but for rounding.
static sc_x times_of(sc_trace *t, sc_x x, sc_x y) {
    sc_x rest = CALL(t, fmod_Tensor, x, y);
    sc_x times = sc_f_div(t, sc_f_sub(t, x, rest), y);
    sc_x minus = sc_f_less(t, rest, 0), turned = sc_f_less(t, y, 0);
    sc_x other = CALL(t, logical_xor, minus, turned);
    other = sc_f_and(t, other, CALL(t, ne_Scalar, rest, sc_x_int(t, 0)));
    return sc_f_where(t, other, sc_f_plus(t, times, -1), times);
}

// Down to the next whole number, unless the one above is nearer.
static sc_x whole(sc_trace *t, sc_x times) {
    sc_x down = CALL(t, floor, times), above = sc_f_sub(t, times, down);
    above = CALL(t, gt_Scalar, above, sc_x_float(t, 0.5));
    return sc_f_where(t, above, sc_f_plus(t, down, 1), down);
}

// As PyTorch rounds floats down, step by step: 0 has the sign of the quotient, and by 0 that is
// all.
static sc_x floored(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_f_opmath(sc_official_result_dtype(t));
    sc_x x = operand(t, a[0], dtype), y = operand(t, a[1], dtype);
    sc_x quotient = sc_f_div(t, x, y), times = times_of(t, x, y);
    sc_x is_none = sc_f_equals(t, times, 0), none = sc_f_times(t, quotient, 0);
    sc_x made = sc_f_where(t, is_none, none, whole(t, times));
    return sc_official_rounded(t, sc_f_where(t, sc_f_equals(t, y, 0), quotient, made));
}

// (self, other, rounding_mode): whole numbers towards zero
sc_x sc_official_quotient(sc_trace *t, const sc_x *a) {
    if (sc_official_is_float(t->source)) return floored(t, a);
    sc_x x = sc_f_to(t, a[0], sc_official_result_dtype(t)), rest,
         times = sc_f_floor_divide(t, x, a[1], &rest);
    sc_x turned = is_turned(t, x, rest);
    return sc_f_where(t, turned, CALL(t, add_Scalar, times, sc_x_int(t, 1)), times);
}
