// Expansions of resizing: every output position is a gather at positions computed along each
// dimension. Nearest takes one element, linear two per dimension, cubic four.
#include "core/pixel_scale.h"
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

#include <math.h>

// size * factor, truncated. For an open size it is written with integers: the factor times a power
// of two is one.
static sc_dim scaled_open(sc_trace *t, sc_dim size, double factor) {
    int64_t parts = 1;
    while (factor != trunc(factor) && parts < (1 << 20)) {
        factor *= 2;
        parts *= 2;
    }
    if (factor >= 1 && factor <= INT32_MAX && factor == trunc(factor)) {
        sc_dim all = sc_trace_mul(t, size, sc_dim_int((int64_t)factor));
        return parts == 1 ? all : sc_trace_floordiv(t, all, sc_dim_int(parts));
    }
    sc_trace_fail(t, SC_ERR_UNSUPPORTED,
                  "Resize by a factor like 1.25, or export with this size static.",
                  "cannot resize an open size by %g", factor / (double)parts);
    return sc_dim_int(1);
}

static sc_dim scaled(sc_trace *t, sc_dim size, double factor) {
    if (size.expr) return scaled_open(t, size, factor);
    double product = (double)size.value * factor;
    if (product >= 1 && product <= INT32_MAX) return sc_dim_int((int64_t)product);
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "cannot resize %lld elements by %g",
                  (long long)size.value, factor);
    return sc_dim_int(1);
}

// Output sizes from the arguments of a .vec overload: given, or input sizes times factors.
static bool out_sizes(sc_trace *t, sc_x x, sc_x sizes, sc_x factors, uint32_t dims, sc_dim *out) {
    uint32_t count = dims;
    if (sizes->kind == SC_X_LIST)
        count = sc_x_dim_list(t, sizes, out, dims);
    else
        for (uint32_t i = 0; i < dims; i++)
            out[i] =
                scaled(t, sc_x_size(x, (int64_t)i + 2), sc_x_known(t, sc_x_at(t, factors, i), 1));
    if (t->status == SC_OK && count == dims && sc_x_rank(x) == dims + 2) return true;
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "cannot resize a rank-%u input", sc_x_rank(x));
    return false;
}

static double factor_at(sc_trace *t, sc_x factors, uint32_t i) {
    return factors->kind == SC_X_LIST && i < factors->count ? sc_x_known(t, factors->items[i], 0)
                                                            : 0;
}

static sc_x with_format_of(sc_trace *t, sc_x x, sc_x like) {
    return CALL(t, contiguous, x,
                sc_x_format(t, sc_spec_suggested_format(t->exprs, sc_x_spec(like))));
}

// 0, 1, 2, ...
static sc_x positions(sc_trace *t, sc_dim count, sc_dtype dtype) {
    return sc_f_range(t, sc_x_dim(t, count), dtype);
}

// An open size as a double, in which PyTorch computes with known sizes, too.
static sc_x real_size(sc_trace *t, sc_dim size) {
    return sc_f_scalar(t, sc_x_dim(t, size), SC_DTYPE_F64);
}

static sc_x quotient(sc_trace *t, sc_x x, sc_x by, sc_dtype dtype) {
    return sc_f_to(t, sc_f_div(t, x, by), dtype);
}

// --- Nearest ------------------------------------------------------------------------------------

static sc_x nearest_scale(sc_trace *t, sc_dim in, sc_dim out, double factor) {
    bool is_open = in.expr || out.expr;
    double size = (double)in.value;
    if (!is_open)
        return sc_x_float(t, factor > 0 ? size / (size * factor) : size / (double)out.value);
    if (factor > 0) return sc_x_float(t, 1.0 / factor);
    sc_x whole = real_size(t, in);
    return quotient(t, whole, real_size(t, out), SC_DTYPE_F32);
}

static sc_x nearest(sc_trace *t, const sc_x *a, double offset) {
    sc_dtype dtype = sc_x_dtype_of(a[0]);
    sc_dim sizes[3];
    uint32_t dims = sc_x_rank(a[0]) - 2;
    if (dims < 1 || dims > 3 || !out_sizes(t, a[0], a[1], a[2], dims, sizes)) return a[0];
    sc_x x = sc_f_to(t, a[0], sc_f_opmath(dtype)), items[5] = {X_NONE, X_NONE};
    for (uint32_t d = 0; d < dims; d++) {
        sc_x scale =
            nearest_scale(t, sc_x_size(x, (int64_t)d + 2), sizes[d], factor_at(t, a[2], d));
        sc_x at = positions(t, sizes[d], SC_DTYPE_F32);
        at = sc_f_mul(t, sc_f_add(t, at, sc_x_float(t, offset)), scale);
        at = sc_f_to(t, at, SC_DTYPE_I64);
        for (uint32_t i = d + 1; i < dims; i++) at = sc_f_unsqueeze(t, at, -1);
        items[d + 2] = at;
    }
    sc_x out = CALL(t, index_Tensor, x, sc_x_list(t, items, dims + 2));
    if (sc_x_rank(out) == 4 || sc_x_rank(out) == 5) out = with_format_of(t, out, x);
    return sc_f_to(t, out, dtype);
}

sc_x sc_expand_upsample_nearest(sc_trace *t, const sc_x *a) { return nearest(t, a, 0.0); }
sc_x sc_expand_upsample_nearest_exact(sc_trace *t, const sc_x *a) { return nearest(t, a, 0.5); }

// --- Linear -------------------------------------------------------------------------------------

// With corners, one element of the output is the first of the input, whatever the scale.
static sc_x source_scale(sc_trace *t, sc_dim in, sc_dim out, bool corners, double factor,
                         sc_dtype dtype) {
    if ((!in.expr && !out.expr) || (!corners && factor > 0) || (corners && sc_dim_is(out, 1)))
        return sc_x_float(t, sc_pixel_scale(in.value, out.value, corners, factor));
    if (corners) {
        in = sc_trace_sub(t, in, sc_dim_int(1));
        out = sc_trace_sub(t, out, sc_dim_int(1));
    }
    sc_x steps = real_size(t, out);
    if (corners) steps = CALL(t, clamp, steps, sc_x_float(t, 1.0));
    return quotient(t, real_size(t, in), steps, dtype);
}

static sc_x source_index(sc_trace *t, sc_x at, sc_x scale, bool corners) {
    if (corners) return sc_f_mul(t, at, scale);
    at = sc_f_mul(t, sc_f_add(t, at, sc_x_float(t, 0.5)), scale);
    return sc_f_sub(t, at, sc_x_float(t, 0.5));
}

typedef struct axis {
    sc_x exact, low, high;
} axis;

static axis linear_axis(sc_trace *t, sc_x x, uint32_t d, uint32_t dims, sc_dim out, bool corners,
                        double factor) {
    sc_dim in = sc_x_size(x, (int64_t)d + 2), shape[3] = {out, sc_dim_int(1), sc_dim_int(1)};
    sc_dtype dtype = sc_x_dtype_of(x);
    sc_x at = sc_f_to(t, positions(t, out, SC_DTYPE_NONE), dtype);
    at = source_index(t, at, source_scale(t, in, out, corners, factor, dtype), corners);
    at = CALL(t, clamp, at, sc_x_float(t, 0.0));
    axis result;
    result.exact = sc_f_view(t, at, shape, dims - d);
    result.low = sc_f_to(t, result.exact, SC_DTYPE_I64);
    sc_x next = sc_f_add(t, result.low, sc_x_int(t, 1));
    result.high = CALL(t, clamp, next, X_NONE, sc_x_dim(t, sc_trace_sub(t, in, sc_dim_int(1))));
    return result;
}

static sc_x linear(sc_trace *t, sc_x x, uint32_t dims, const sc_dim *sizes, bool corners,
                   sc_x factors) {
    axis axes[3];
    sc_x corner[8], items[5] = {X_NONE, X_NONE};
    for (uint32_t d = 0; d < dims; d++)
        axes[d] = linear_axis(t, x, d, dims, sizes[d], corners, factor_at(t, factors, d));
    uint32_t count = 1u << dims;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t d = 0; d < dims; d++)
            items[d + 2] = i >> (dims - 1 - d) & 1 ? axes[d].high : axes[d].low;
        corner[i] = CALL(t, index_Tensor, x, sc_x_list(t, items, dims + 2));
    }
    for (uint32_t d = dims; d-- > 0;) {
        sc_x part = CALL(t, clamp, sc_f_sub(t, axes[d].exact, axes[d].low), sc_x_float(t, 0.0),
                         sc_x_float(t, 1.0));
        part = sc_f_to_dtype_of(t, part, x);
        count /= 2;
        for (uint32_t i = 0; i < count; i++) {
            sc_x step = sc_f_sub(t, corner[2 * i + 1], corner[2 * i]);
            corner[i] = sc_f_add(t, corner[2 * i], sc_f_mul(t, step, part));
        }
    }
    return with_format_of(t, corner[0], x);
}

sc_x sc_expand_upsample_linear(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = sc_x_dtype_of(a[0]);
    uint32_t dims = sc_x_rank(a[0]) - 2;
    sc_dim sizes[3];
    if (dims < 1 || dims > 3 || !out_sizes(t, a[0], a[1], a[3], dims, sizes)) return a[0];
    sc_x x = sc_f_to(t, a[0], sc_f_opmath(dtype));
    return sc_f_to(t, linear(t, x, dims, sizes, sc_x_truth(a[2]), a[3]), dtype);
}

// --- Cubic --------------------------------------------------------------------------------------

#define CUBIC_A (-0.75)

static sc_x times_plus(sc_trace *t, sc_x x, double factor, double minus) {
    return sc_f_sub(t, sc_f_mul(t, x, sc_x_float(t, factor)), sc_x_float(t, minus));
}

static sc_x outer_weights(sc_trace *t, sc_x x) {
    sc_x out = sc_f_mul(t, times_plus(t, x, CUBIC_A, 5 * CUBIC_A), x);
    out = sc_f_mul(t, sc_f_add(t, out, sc_x_float(t, 8 * CUBIC_A)), x);
    return sc_f_sub(t, out, sc_x_float(t, 4 * CUBIC_A));
}

static sc_x inner_weights(sc_trace *t, sc_x x) {
    sc_x out = sc_f_mul(t, times_plus(t, x, CUBIC_A + 2, CUBIC_A + 3), x);
    return sc_f_add(t, sc_f_mul(t, out, x), sc_x_int(t, 1));
}

// Weights of the four neighbours, the two inner and the two outer ones computed together.
static void cubic_weights(sc_trace *t, sc_x part, sc_x *weights) {
    sc_x rest = CALL(t, sub_Tensor, sc_x_float(t, 1.0), part);
    sc_x two_inner = CALL(t, stack, X_LIST(t, part, rest), sc_x_int(t, 0));
    sc_x plus = sc_f_add(t, part, sc_x_float(t, 1.0));
    sc_x two_outer = CALL(t, stack, X_LIST(t, plus, CALL(t, sub_Tensor, sc_x_float(t, 2.0), part)),
                          sc_x_int(t, 0));
    sc_x outer = outer_weights(t, two_outer), inner = inner_weights(t, two_inner);
    sc_x outer_pair = CALL(t, unbind_int, outer, sc_x_int(t, 0));
    sc_x inner_pair = CALL(t, unbind_int, inner, sc_x_int(t, 0));
    weights[0] = sc_x_at(t, outer_pair, 0);
    weights[1] = sc_x_at(t, inner_pair, 0);
    weights[2] = sc_x_at(t, inner_pair, 1);
    weights[3] = sc_x_at(t, outer_pair, 1);
}

static void neighbours(sc_trace *t, sc_x at, sc_x *out) {
    out[0] = sc_f_sub(t, at, sc_x_int(t, 1));
    out[1] = at;
    out[2] = sc_f_add(t, at, sc_x_int(t, 1));
    out[3] = sc_f_add(t, at, sc_x_int(t, 2));
}

static sc_x weighted_row(sc_trace *t, sc_x x, sc_x row, const sc_x *columns, const sc_x *weights) {
    sc_x last_y = sc_x_dim(t, sc_trace_sub(t, sc_x_size(x, 2), sc_dim_int(1)));
    sc_x last_x = sc_x_dim(t, sc_trace_sub(t, sc_x_size(x, 3), sc_dim_int(1)));
    sc_x taken[4], sum = X_NONE;
    for (uint32_t i = 0; i < 4; i++) {
        sc_x y = CALL(t, clamp, row, sc_x_int(t, 0), last_y);
        sc_x column = CALL(t, clamp, columns[i], sc_x_int(t, 0), last_x);
        taken[i] = CALL(t, index_Tensor, x, X_LIST(t, X_NONE, X_NONE, y, column));
    }
    for (uint32_t i = 0; i < 4; i++) {
        sc_x product = sc_f_mul(t, taken[i], weights[i]);
        sum = i ? sc_f_add(t, sum, product) : product;
    }
    return sum;
}

static sc_x cubic(sc_trace *t, sc_x x, const sc_dim *sizes, bool corners, sc_x factors) {
    sc_dtype dtype = sc_x_dtype_of(x);
    sc_x sy = source_scale(t, sc_x_size(x, 2), sizes[0], corners, factor_at(t, factors, 0), dtype);
    sc_x sx = source_scale(t, sc_x_size(x, 3), sizes[1], corners, factor_at(t, factors, 1), dtype);
    sc_x i = sc_f_to(t, positions(t, sizes[0], SC_DTYPE_NONE), dtype);
    sc_x j = sc_f_to(t, positions(t, sizes[1], SC_DTYPE_NONE), dtype);
    sc_x x_exact = source_index(t, j, sx, corners);
    sc_x y_exact = sc_f_unsqueeze(t, source_index(t, i, sy, corners), -1);
    sc_x x_floor = CALL(t, floor, x_exact), y_floor = CALL(t, floor, y_exact);
    sc_x y_part =
        CALL(t, clamp, sc_f_sub(t, y_exact, y_floor), sc_x_float(t, 0.0), sc_x_float(t, 1.0));
    sc_x x_part =
        CALL(t, clamp, sc_f_sub(t, x_exact, x_floor), sc_x_float(t, 0.0), sc_x_float(t, 1.0));
    sc_x x_at_ = sc_f_to(t, x_floor, SC_DTYPE_I64);
    sc_x y_at_ = sc_f_to(t, y_floor, SC_DTYPE_I64);
    sc_x rows[4], columns[4], wx[4], wy[4], lines[4], sum = X_NONE;
    neighbours(t, y_at_, rows);
    neighbours(t, x_at_, columns);
    cubic_weights(t, x_part, wx);
    cubic_weights(t, y_part, wy);
    for (uint32_t r = 0; r < 4; r++) lines[r] = weighted_row(t, x, rows[r], columns, wx);
    for (uint32_t r = 0; r < 4; r++) {
        sc_x product = sc_f_mul(t, lines[r], wy[r]);
        sum = r ? sc_f_add(t, sum, product) : product;
    }
    return with_format_of(t, sum, x);
}

sc_x sc_expand_upsample_bicubic(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = sc_x_dtype_of(a[0]);
    sc_dim sizes[2];
    if (!out_sizes(t, a[0], a[1], a[3], 2, sizes)) return a[0];
    if (!sc_x_is_float(a[0]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED,
                             "Resize x.float(), then go back: .round().clamp(0, 255).",
                             "bicubic resizing of integers is not supported");
    sc_x x = sc_f_to(t, a[0], sc_f_opmath(dtype));
    return sc_f_to(t, cubic(t, x, sizes, sc_x_truth(a[2]), a[3]), dtype);
}

// --- Antialiased: primitives with the size worked out -------------------------------------------

static sc_x resized_size(sc_trace *t, const sc_x *a) {
    sc_dim sizes[2];
    if (a[1]->kind == SC_X_LIST || !out_sizes(t, a[0], a[1], a[3], 2, sizes)) return a[1];
    return sc_x_dims(t, sizes, 2);
}

static sc_x scale_at(sc_x factors, uint32_t i) {
    return factors->kind == SC_X_LIST && i < factors->count ? factors->items[i] : X_NONE;
}

sc_x sc_expand_upsample_bilinear_aa(sc_trace *t, const sc_x *a) {
    return CALL(t, _upsample_bilinear2d_aa, a[0], resized_size(t, a), a[2], scale_at(a[3], 0),
                scale_at(a[3], 1));
}

sc_x sc_expand_upsample_bicubic_aa(sc_trace *t, const sc_x *a) {
    return CALL(t, _upsample_bicubic2d_aa, a[0], resized_size(t, a), a[2], scale_at(a[3], 0),
                scale_at(a[3], 1));
}
