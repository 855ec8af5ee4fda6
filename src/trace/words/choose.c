// Conditions, and the choice between two tensors by one.
#include "trace/words/choose.h"
#include "trace/words/calls.h"

#include <math.h>

sc_x sc_f_not(sc_trace *t, sc_x x) { return CALL(t, logical_not, x); }
sc_x sc_f_and(sc_trace *t, sc_x x, sc_x y) { return CALL(t, logical_and, x, y); }
sc_x sc_f_or(sc_trace *t, sc_x x, sc_x y) { return CALL(t, logical_or, x, y); }

sc_x sc_f_where(sc_trace *t, sc_x condition, sc_x x, sc_x y) {
    sc_x first = sc_f_tensor_like(t, x, y), other = sc_f_tensor_like(t, y, x);
    return CALL(t, where_self, condition, first, other);
}

sc_x sc_f_where_else(sc_trace *t, sc_x condition, sc_x x, sc_x number) {
    return sc_f_where(t, condition, x, sc_f_scalar_like(t, number, x));
}

sc_x sc_f_where_or_zero(sc_trace *t, sc_x condition, sc_x x) {
    return sc_f_where_else(t, condition, x, sc_x_int(t, 0));
}

sc_x sc_f_where_number(sc_trace *t, sc_x condition, double number, sc_x x) {
    return sc_f_where(t, condition, sc_f_scalar_like(t, sc_x_float(t, number), x), x);
}

sc_x sc_f_lowest(sc_trace *t, sc_dtype dtype) {
    if (sc_dtype_is_float(dtype)) return sc_x_float(t, -INFINITY);
    if (dtype == SC_DTYPE_U8 || dtype == SC_DTYPE_BOOL) return sc_x_int(t, 0);
    return sc_x_int(t, -1 - (int64_t)(UINT64_MAX >> (65 - 8 * sc_dtype_bytes(dtype))));
}
