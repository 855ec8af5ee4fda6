// Sampling of volumes where a grid says, out of rows that are looked up.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

enum { INTERPOLATE_LINEAR, INTERPOLATE_NEAREST };
enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };

typedef struct volume {
    sc_x rows;        // every voxel of every image, its channels in a row
    sc_x first;       // of each point, the row at which its image begins
    int64_t size[3];  // depth, height, width
    int64_t padding;
} volume;

// Back and forth between `low` and `low + span`.
static sc_x reflected(sc_trace *t, sc_x x, double low, double span) {
    if (span <= 0) return sc_f_mul_number(t, x, 0);
    sc_x length = sc_f_scalar_like(t, sc_x_float(t, span), x);
    x = CALL(t, abs, sc_f_add_number(t, x, -low));
    sc_x rest = CALL(t, fmod_Tensor, x, length);
    sc_x turns = CALL(t, floor, sc_f_div(t, x, length));
    sc_x half = CALL(t, floor, sc_f_mul_number(t, turns, 0.5));
    sc_x even = CALL(t, eq_Tensor, turns, sc_f_mul_number(t, half, 2));
    sc_x back = sc_f_add_number(t, CALL(t, neg, rest), span + low);
    return sc_f_where(t, even, sc_f_add_number(t, rest, low), back);
}

// Numbers of the grid, -1 to 1, as places along an axis. NaN is outside, or at the end of the axis
// if padding leaves no outside.
static sc_x places(sc_trace *t, sc_x x, int64_t size, int64_t padding, bool corners) {
    const double last = (double)size - 1;
    x = sc_f_add_number(t, x, 1);
    x = corners
            ? sc_f_mul_number(t, sc_f_mul_number(t, x, 0.5), last)
            : sc_f_mul_number(t, sc_f_add_number(t, sc_f_mul_number(t, x, (double)size), -1), 0.5);
    if (padding == PAD_REFLECTION)
        x = corners ? reflected(t, x, 0, last) : reflected(t, x, -0.5, (double)size);
    sc_x outside = sc_f_scalar_like(t, sc_x_float(t, padding == PAD_ZEROS ? -100 : last), x);
    x = sc_f_where(t, CALL(t, isnan, x), outside, x);
    if (padding != PAD_ZEROS) return CALL(t, clamp, x, sc_x_float(t, 0), sc_x_float(t, last));
    return CALL(t, clamp, x, sc_x_float(t, -100), sc_x_float(t, last + 100));
}

// The rows at whole places, and zeros outside.
static sc_x looked_up(sc_trace *t, const volume *v, const sc_x at[3]) {
    sc_x row = v->first, inside = NULL;
    for (int i = 0; i < 3; i++) {
        sc_x last = sc_x_float(t, (double)v->size[i] - 1), zero = sc_x_float(t, 0);
        sc_x near = CALL(t, clamp, at[i], zero, last);
        sc_x here = CALL(t, eq_Tensor, near, at[i]);
        int64_t step = i == 0 ? v->size[1] * v->size[2] : i == 1 ? v->size[2] : 1;
        sc_x whole = sc_f_to(t, near, SC_DTYPE_I64);
        row = sc_f_add(t, row, CALL(t, mul_Scalar, whole, sc_x_int(t, step)));
        inside = inside ? sc_f_and(t, inside, here) : here;
    }
    sc_dim flat = sc_dim_int(-1);
    sc_x found = CALL(t, index_select, v->rows, sc_x_int(t, 0),
                      CALL(t, reshape, row, sc_x_dims(t, &flat, 1)));
    sc_dim column[2] = {flat, sc_dim_int(1)};
    inside = CALL(t, reshape, inside, sc_x_dims(t, column, 2));
    sc_x zero = sc_f_scalar_like(t, sc_x_float(t, 0), found);
    return sc_f_where(t, inside, found, zero);
}

// Eight neighbours, each as much as it is near.
static sc_x between(sc_trace *t, const volume *v, const sc_x at[3]) {
    sc_x sum = NULL, low[3];
    sc_dim column[2] = {sc_dim_int(-1), sc_dim_int(1)};
    for (int i = 0; i < 3; i++) low[i] = CALL(t, floor, at[i]);
    for (int corner = 0; corner < 8; corner++) {
        sc_x place[3], weight = NULL;
        for (int i = 0; i < 3; i++) {
            bool high = corner >> (2 - i) & 1;
            place[i] = high ? sc_f_add_number(t, low[i], 1) : low[i];
            sc_x part = high ? sc_f_sub(t, at[i], low[i])
                             : sc_f_sub(t, sc_f_add_number(t, low[i], 1), at[i]);
            weight = weight ? sc_f_mul(t, weight, part) : part;
        }
        weight = CALL(t, reshape, weight, sc_x_dims(t, column, 2));
        sc_x piece = sc_f_mul(t, looked_up(t, v, place), weight);
        sum = sum ? sc_f_add(t, sum, piece) : piece;
    }
    return sum;
}

static sc_x rounded(sc_trace *t, const volume *v, const sc_x at[3]) {
    sc_x place[3];
    for (int i = 0; i < 3; i++) place[i] = CALL(t, round, at[i]);
    return looked_up(t, v, place);
}

// Images follow one another, each as many rows as it has voxels.
static volume volume_of(sc_trace *t, sc_x x, int64_t padding) {
    volume v = {.padding = padding};
    for (int i = 0; i < 3; i++) v.size[i] = sc_x_static_size(t, x, i + 2);
    sc_dim rows[2] = {sc_dim_int(-1), sc_x_size(x, 1)};
    sc_x last = CALL(t, permute, x, X_INTS(t, 0, 2, 3, 4, 1));
    v.rows = CALL(t, reshape, last, sc_x_dims(t, rows, 2));
    sc_x image = sc_f_range(t, sc_x_dim(t, sc_x_size(x, 0)), SC_DTYPE_NONE);
    image = CALL(t, mul_Scalar, image, sc_x_int(t, v.size[0] * v.size[1] * v.size[2]));
    v.first = CALL(t, reshape, image, X_INTS(t, -1, 1, 1, 1));
    return v;
}

// (input, grid, interpolation_mode, padding_mode, align_corners)
sc_x sc_expand_grid_sampler_3d(sc_trace *t, const sc_x *a) {
    const int64_t mode = sc_x_small(t, a[2], 0), padding = sc_x_small(t, a[3], 0);
    const sc_dtype dtype = sc_x_dtype_of(a[0]), wide = sc_f_opmath(dtype);
    if (sc_x_rank(a[0]) != 5 || sc_x_rank(a[1]) != 5)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "grid_sampler_3d needs tensors of rank 5");
    if (mode > INTERPOLATE_NEAREST || mode < 0 || padding < 0 || padding > PAD_REFLECTION)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Use 'bilinear' or 'nearest'.",
                             "volumes cannot be sampled with mode %lld and padding %lld",
                             (long long)mode, (long long)padding);
    volume v = volume_of(t, sc_f_to(t, a[0], wide), padding);
    sc_x at[3], grid = sc_f_to(t, a[1], wide);
    for (int i = 0; i < 3; i++)
        at[i] = places(t, sc_f_select(t, grid, -1, 2 - i), v.size[i], padding, sc_x_truth(a[4]));
    sc_x out = mode == INTERPOLATE_NEAREST ? rounded(t, &v, at) : between(t, &v, at);
    sc_dim sizes[5] = {sc_x_size(a[1], 0), sc_x_size(a[1], 1), sc_x_size(a[1], 2),
                       sc_x_size(a[1], 3), sc_x_size(a[0], 1)};
    out = CALL(t, permute, sc_f_view(t, out, sizes, 5), X_INTS(t, 0, 4, 1, 2, 3));
    return sc_f_to(t, sc_f_clone(t, out), dtype);
}
