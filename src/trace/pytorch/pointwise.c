// Expansions of elementwise functions that need more than a line of text.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

#include <math.h>

// --- Activations --------------------------------------------------------------------------------

sc_x sc_expand_prelu(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]);
    sc_dim sizes[SC_RANK_MAX];
    sc_x weight = a[1];
    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = i == (rank < 2 ? 0 : 1) ? sc_x_size(weight, 0) : sc_dim_int(1);
    if (rank != 1 || sc_x_rank(weight) != 1)
        weight = CALL(t, reshape, weight, sc_x_dims(t, sizes, rank));
    return CALL(t, _prelu_kernel, a[0], weight);
}

// PyTorch 2.13 copies its input in eval mode, 2.14 does not. It matters where the copy lies in
// memory otherwise than the input, which is how the two can be told apart.
static sc_x undropped(sc_trace *t, sc_x x) {
    const sc_node *source = t->source;
    const sc_value *record = source && source->out_count == 1 ? source->outs[0] : NULL;
    bool copied = record && record->type == SC_VALUE_TENSOR && !t->strides_differ &&
                  sc_spec_same_sizes(&record->spec, sc_x_spec(x)) &&
                  sc_spec_is_dense(t->exprs, &record->spec) &&
                  !sc_spec_is_dense(t->exprs, sc_x_spec(x));
    return copied ? CALL(t, clone, x) : x;
}

sc_x sc_expand_dropout(sc_trace *t, const sc_x *a) {
    if (!sc_x_truth(a[2]) || sc_x_known(t, a[1], 0) == 0) return undropped(t, a[0]);
    return sc_x_at(t, CALL(t, native_dropout, a[0], a[1], X_TRUE), 0);
}

// --- Arithmetic ---------------------------------------------------------------------------------

sc_x sc_expand_nan_to_num(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], out;
    if (!sc_x_is_float(x)) return CALL(t, clone, x);
    double max = sc_dtype_largest(sc_x_dtype_of(x));
    sc_x nan = sc_x_is_none(a[1]) ? sc_x_float(t, 0.0) : a[1];
    sc_x high = sc_x_is_none(a[2]) ? sc_x_float(t, max) : a[2],
         low = sc_x_is_none(a[3]) ? sc_x_float(t, -max) : a[3];
    sc_x where = CALL(t, isnan, x);
    out = sc_f_where(t, where, sc_f_scalar_like(t, nan, x), x);
    where = sc_f_eq_number(t, x, -INFINITY);
    out = sc_f_where(t, where, sc_f_scalar_like(t, low, x), out);
    where = sc_f_eq_number(t, x, INFINITY);
    return sc_f_where(t, where, sc_f_scalar_like(t, high, x), out);
}

// A number in the dtype of the tensor that it is an operand with; with integers it keeps its
// fraction.
static sc_x promoted_number(sc_trace *t, sc_x number, sc_x x) {
    const bool widens = number->kind == SC_X_FLOAT && !sc_x_is_float(x);
    const sc_dtype dtype = widens ? SC_DTYPE_F32 : sc_x_dtype_of(x);
    return CALL(t, scalar_tensor, number, sc_x_dtype(t, dtype), X_NONE, X_CPU);
}

sc_x sc_expand_xlogy(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], y = a[1];
    if (!sc_x_is_tensor(x)) x = promoted_number(t, x, y);
    if (!sc_x_is_tensor(y)) y = promoted_number(t, y, x);
    sc_x zero = CALL(t, eq_Scalar, x, sc_x_int(t, 0));
    sc_x product = sc_f_mul(t, x, CALL(t, log, y));
    sc_x out = sc_f_where(t, zero, sc_f_scalar_like(t, sc_x_int(t, 0), product), product);
    sc_x nan = CALL(t, isnan, y);
    return sc_f_where(t, nan, sc_f_scalar_like(t, sc_x_float(t, NAN), out), out);
}

sc_x sc_expand_isclose(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], y = a[1], close = CALL(t, eq_Tensor, x, y);
    const bool is_whole = sc_dtype_is_integral(sc_x_dtype_of(x), true);
    if (sc_x_truth(a[4]) && !is_whole) {
        sc_x x_nan = CALL(t, isnan, x);
        close = CALL(t, bitwise_or_Tensor, close,
                     CALL(t, bitwise_and_Tensor, x_nan, CALL(t, isnan, y)));
    }
    if (sc_x_real(a[2], 1) == 0 && sc_x_real(a[3], 1) == 0) return close;
    if (is_whole) {
        x = sc_f_to(t, x, SC_DTYPE_F32);
        y = sc_f_to(t, y, SC_DTYPE_F32);
    }
    sc_x allowed = CALL(t, add_Scalar, CALL(t, abs, CALL(t, mul_Scalar, y, a[2])), a[3]);
    sc_x actual = CALL(t, abs, sc_f_sub(t, x, y));
    sc_x finite = CALL(t, isfinite, actual);
    finite = CALL(t, bitwise_and_Tensor, finite, CALL(t, le_Tensor, actual, allowed));
    return CALL(t, bitwise_or_Tensor, close, finite);
}
