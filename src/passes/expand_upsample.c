// Expansions of resizing: every output position is a gather at positions computed along each
// dimension. Nearest takes one element, linear two per dimension, cubic four.
#include "passes/expand.h"

#include <math.h>

static int64_t scaled(sc_trace *t, int64_t size, double factor) {
    double product = (double)size * factor;
    if (product >= 1 && product <= INT32_MAX) return (int64_t)product;
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "resizing %lld elements by %g", (long long)size,
                  factor);
    return 1;
}

// Output sizes from the arguments of a .vec overload: given, or input sizes times factors.
static bool out_sizes(sc_trace *t, sc_x x, sc_x sizes, sc_x factors, uint32_t dims, int64_t *out) {
    for (uint32_t i = 0; i < dims; i++) {
        int64_t in = x_static_size(t, x, (int64_t)i + 2);
        if (sizes->kind == SC_X_LIST)
            out[i] = x_small(t, x_at(t, sizes, i), 0);
        else
            out[i] = scaled(t, in, x_real(x_at(t, factors, i), 1));
    }
    if (t->status == SC_OK && x_rank(x) == dims + 2) return true;
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a rank-%u input to resize", x_rank(x));
    return false;
}

static double factor_at(sc_x factors, uint32_t i) {
    return factors->kind == SC_X_LIST && i < factors->count ? x_real(factors->items[i], 0) : 0;
}

static sc_x with_format_of(sc_trace *t, sc_x x, sc_x like) {
    return T(contiguous, x, X_FORMAT(sc_spec_suggested_format(t->exprs, x_spec(like))));
}

// --- Nearest ------------------------------------------------------------------------------------

static sc_x nearest(sc_trace *t, const sc_x *a, double offset) {
    sc_dtype dtype = x_dtype_of(a[0]);
    int64_t sizes[3];
    uint32_t dims = x_rank(a[0]) - 2;
    if (dims < 1 || dims > 3 || !out_sizes(t, a[0], a[1], a[2], dims, sizes)) return a[0];
    sc_x x = f_to(t, a[0], f_opmath(dtype)), items[5] = {X_NONE, X_NONE};
    for (uint32_t d = 0; d < dims; d++) {
        double in = (double)x_static_size(t, x, (int64_t)d + 2), factor = factor_at(a[2], d);
        double scale = factor > 0 ? in / (in * factor) : in / (double)sizes[d];
        sc_x at = f_arange(t, X_INT(0), X_INT(sizes[d]), SC_DTYPE_F32);
        at = T(mul_Tensor, T(add_Tensor, at, X_FLOAT(offset)), X_FLOAT(scale));
        at = f_to(t, at, SC_DTYPE_I64);
        for (uint32_t i = d + 1; i < dims; i++) at = f_unsqueeze(t, at, -1);
        items[d + 2] = at;
    }
    sc_x out = T(index_Tensor, x, x_list(t, items, dims + 2));
    if (x_rank(out) == 4 || x_rank(out) == 5) out = with_format_of(t, out, x);
    return f_to(t, out, dtype);
}

sc_x sc_expand_upsample_nearest(sc_trace *t, const sc_x *a) { return nearest(t, a, 0.0); }
sc_x sc_expand_upsample_nearest_exact(sc_trace *t, const sc_x *a) { return nearest(t, a, 0.5); }

// --- Linear -------------------------------------------------------------------------------------

static double source_scale(int64_t in, int64_t out, bool corners, double factor) {
    if (corners) return out > 1 ? ((double)in - 1.0) / ((double)out - 1.0) : 0;
    return factor > 0 ? 1.0 / factor : (double)in / (double)out;
}

static sc_x source_index(sc_trace *t, sc_x at, double scale, bool corners) {
    if (corners) return T(mul_Tensor, at, X_FLOAT(scale));
    at = T(mul_Tensor, T(add_Tensor, at, X_FLOAT(0.5)), X_FLOAT(scale));
    return T(sub_Tensor, at, X_FLOAT(0.5));
}

typedef struct axis {
    sc_x exact, low, high;
} axis;

static axis linear_axis(sc_trace *t, sc_x x, uint32_t d, uint32_t dims, int64_t out, bool corners,
                        double factor) {
    int64_t in = x_static_size(t, x, (int64_t)d + 2), shape[3] = {out, 1, 1};
    sc_x at = f_to(t, f_arange(t, X_INT(0), X_INT(out), SC_DTYPE_NONE), x_dtype_of(x));
    at = source_index(t, at, source_scale(in, out, corners, factor), corners);
    at = T(clamp, at, X_FLOAT(0.0));
    axis result;
    result.exact = T(view, at, x_ints(t, shape, dims - d));
    result.low = f_to(t, result.exact, SC_DTYPE_I64);
    result.high = T(clamp, T(add_Tensor, result.low, X_INT(1)), X_NONE, X_INT(in - 1));
    return result;
}

static sc_x linear(sc_trace *t, sc_x x, uint32_t dims, const int64_t *sizes, bool corners,
                   sc_x factors) {
    axis axes[3];
    sc_x corner[8], items[5] = {X_NONE, X_NONE};
    for (uint32_t d = 0; d < dims; d++)
        axes[d] = linear_axis(t, x, d, dims, sizes[d], corners, factor_at(factors, d));
    uint32_t count = 1u << dims;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t d = 0; d < dims; d++)
            items[d + 2] = i >> (dims - 1 - d) & 1 ? axes[d].high : axes[d].low;
        corner[i] = T(index_Tensor, x, x_list(t, items, dims + 2));
    }
    for (uint32_t d = dims; d-- > 0;) {
        sc_x part = T(clamp, T(sub_Tensor, axes[d].exact, axes[d].low), X_FLOAT(0.0), X_FLOAT(1.0));
        part = f_to(t, part, x_dtype_of(x));
        count /= 2;
        for (uint32_t i = 0; i < count; i++) {
            sc_x step = T(sub_Tensor, corner[2 * i + 1], corner[2 * i]);
            corner[i] = T(add_Tensor, corner[2 * i], T(mul_Tensor, step, part));
        }
    }
    return with_format_of(t, corner[0], x);
}

sc_x sc_expand_upsample_linear(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = x_dtype_of(a[0]);
    uint32_t dims = x_rank(a[0]) - 2;
    int64_t sizes[3];
    if (dims < 1 || dims > 3 || !out_sizes(t, a[0], a[1], a[3], dims, sizes)) return a[0];
    sc_x x = f_to(t, a[0], f_opmath(dtype));
    return f_to(t, linear(t, x, dims, sizes, x_truth(a[2]), a[3]), dtype);
}

// --- Cubic --------------------------------------------------------------------------------------

#define CUBIC_A (-0.75)

static sc_x times_plus(sc_trace *t, sc_x x, double factor, double minus) {
    return T(sub_Tensor, T(mul_Tensor, x, X_FLOAT(factor)), X_FLOAT(minus));
}

static sc_x far_weights(sc_trace *t, sc_x x) {
    sc_x out = T(mul_Tensor, times_plus(t, x, CUBIC_A, 5 * CUBIC_A), x);
    out = T(mul_Tensor, T(add_Tensor, out, X_FLOAT(8 * CUBIC_A)), x);
    return T(sub_Tensor, out, X_FLOAT(4 * CUBIC_A));
}

static sc_x near_weights(sc_trace *t, sc_x x) {
    sc_x out = T(mul_Tensor, times_plus(t, x, CUBIC_A + 2, CUBIC_A + 3), x);
    return T(add_Tensor, T(mul_Tensor, out, x), X_INT(1));
}

// Weights of the four neighbours, the two near and the two far ones computed together.
static void cubic_weights(sc_trace *t, sc_x part, sc_x *weights) {
    sc_x rest = T(sub_Tensor, X_FLOAT(1.0), part);
    sc_x near = T(stack, X_LIST(part, rest), X_INT(0));
    sc_x plus = T(add_Tensor, part, X_FLOAT(1.0));
    sc_x far = T(stack, X_LIST(plus, T(sub_Tensor, X_FLOAT(2.0), part)), X_INT(0));
    sc_x outer = far_weights(t, far), inner = near_weights(t, near);
    sc_x outer_pair = T(unbind_int, outer, X_INT(0));
    sc_x inner_pair = T(unbind_int, inner, X_INT(0));
    weights[0] = x_at(t, outer_pair, 0);
    weights[1] = x_at(t, inner_pair, 0);
    weights[2] = x_at(t, inner_pair, 1);
    weights[3] = x_at(t, outer_pair, 1);
}

static void neighbours(sc_trace *t, sc_x at, sc_x *out) {
    out[0] = T(sub_Tensor, at, X_INT(1));
    out[1] = at;
    out[2] = T(add_Tensor, at, X_INT(1));
    out[3] = T(add_Tensor, at, X_INT(2));
}

static sc_x weighted_row(sc_trace *t, sc_x x, sc_x row, const sc_x *columns, const sc_x *weights) {
    int64_t h = x_static_size(t, x, 2), w = x_static_size(t, x, 3);
    sc_x taken[4], sum = X_NONE;
    for (uint32_t i = 0; i < 4; i++) {
        sc_x y = T(clamp, row, X_INT(0), X_INT(h - 1));
        sc_x column = T(clamp, columns[i], X_INT(0), X_INT(w - 1));
        taken[i] = T(index_Tensor, x, X_LIST(X_NONE, X_NONE, y, column));
    }
    for (uint32_t i = 0; i < 4; i++) {
        sc_x product = T(mul_Tensor, taken[i], weights[i]);
        sum = i ? T(add_Tensor, sum, product) : product;
    }
    return sum;
}

static sc_x cubic(sc_trace *t, sc_x x, const int64_t *sizes, bool corners, sc_x factors) {
    double sy = source_scale(x_static_size(t, x, 2), sizes[0], corners, factor_at(factors, 0));
    double sx = source_scale(x_static_size(t, x, 3), sizes[1], corners, factor_at(factors, 1));
    sc_x i = f_to(t, f_arange(t, X_INT(0), X_INT(sizes[0]), SC_DTYPE_NONE), x_dtype_of(x));
    sc_x j = f_to(t, f_arange(t, X_INT(0), X_INT(sizes[1]), SC_DTYPE_NONE), x_dtype_of(x));
    sc_x x_exact = source_index(t, j, sx, corners);
    sc_x y_exact = f_unsqueeze(t, source_index(t, i, sy, corners), -1);
    sc_x x_floor = T(floor, x_exact), y_floor = T(floor, y_exact);
    sc_x y_part = T(clamp, T(sub_Tensor, y_exact, y_floor), X_FLOAT(0.0), X_FLOAT(1.0));
    sc_x x_part = T(clamp, T(sub_Tensor, x_exact, x_floor), X_FLOAT(0.0), X_FLOAT(1.0));
    sc_x x_at_ = f_to(t, x_floor, SC_DTYPE_I64);
    sc_x y_at_ = f_to(t, y_floor, SC_DTYPE_I64);
    sc_x rows[4], columns[4], wx[4], wy[4], lines[4], sum = X_NONE;
    neighbours(t, y_at_, rows);
    neighbours(t, x_at_, columns);
    cubic_weights(t, x_part, wx);
    cubic_weights(t, y_part, wy);
    for (uint32_t r = 0; r < 4; r++) lines[r] = weighted_row(t, x, rows[r], columns, wx);
    for (uint32_t r = 0; r < 4; r++) {
        sc_x product = T(mul_Tensor, lines[r], wy[r]);
        sum = r ? T(add_Tensor, sum, product) : product;
    }
    return with_format_of(t, sum, x);
}

sc_x sc_expand_upsample_bicubic(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = x_dtype_of(a[0]);
    int64_t sizes[2];
    if (!out_sizes(t, a[0], a[1], a[3], 2, sizes)) return a[0];
    if (!x_is_float(a[0]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Resize in floating point.",
                             "bicubic resizing of integers");
    sc_x x = f_to(t, a[0], f_opmath(dtype));
    return f_to(t, cubic(t, x, sizes, x_truth(a[2]), a[3]), dtype);
}

// --- Antialiased: primitives with the size worked out -------------------------------------------

static sc_x resized_size(sc_trace *t, const sc_x *a) {
    int64_t sizes[2] = {0, 0};
    if (a[1]->kind == SC_X_LIST) return a[1];
    out_sizes(t, a[0], a[1], a[3], 2, sizes);
    return x_ints(t, sizes, 2);
}

static sc_x scale_at(sc_x factors, uint32_t i) {
    return factors->kind == SC_X_LIST && i < factors->count ? factors->items[i] : X_NONE;
}

sc_x sc_expand_upsample_bilinear_aa(sc_trace *t, const sc_x *a) {
    return T(_upsample_bilinear2d_aa, a[0], resized_size(t, a), a[2], scale_at(a[3], 0),
             scale_at(a[3], 1));
}

sc_x sc_expand_upsample_bicubic_aa(sc_trace *t, const sc_x *a) {
    return T(_upsample_bicubic2d_aa, a[0], resized_size(t, a), a[2], scale_at(a[3], 0),
             scale_at(a[3], 1));
}
