// Fractional max pooling: windows of one size whose starts the drawn numbers shift. The windows are
// gathered dim by dim, so that the largest of each is a plain maximum.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

typedef struct axes {
    uint32_t count;  // 2 or 3
    int64_t size[3], taps[3], windows[3];
} axes;

// Starts of the windows in one dim, (N, C, windows): PyTorch truncates both products, in floats.
static sc_x starts(sc_trace *t, sc_x drawn, int64_t size, int64_t taps, int64_t windows) {
    const int64_t last = size - taps;
    double step = windows > 1 ? (double)((float)last / (float)(windows - 1)) : 0;
    sc_x each = sc_f_range(t, sc_x_int(t, windows), SC_DTYPE_I64);
    sc_x u = sc_f_unsqueeze(t, drawn, -1), alpha = sc_x_float(t, step);
    sc_x moved = sc_f_add(t, u, sc_f_to_dtype_of(t, each, drawn));
    sc_x end = sc_f_to(t, sc_f_mul(t, moved, alpha), SC_DTYPE_I64);
    sc_x origin = sc_f_to(t, sc_f_mul(t, u, alpha), SC_DTYPE_I64);
    sc_x place = sc_f_sub(t, end, origin);
    sc_x is_last = CALL(t, eq_Scalar, each, sc_x_int(t, windows - 1));
    return sc_f_where(t, is_last, sc_f_scalar(t, sc_x_int(t, last), SC_DTYPE_I64), place);
}

// Rows of `x` in dim 2 + i, those of each window after those of the one before.
static sc_x windowed(sc_trace *t, sc_x x, sc_x start, const axes *a, uint32_t i) {
    sc_dim sizes[5], flat[5];
    sc_x taps = sc_f_range(t, sc_x_int(t, a->taps[i]), SC_DTYPE_I64);
    sc_x rows = sc_f_add(t, sc_f_unsqueeze(t, start, -1), taps);
    for (uint32_t d = 0; d < a->count + 2; d++) {
        sizes[d] = sc_x_size(x, d);
        flat[d] = d < 2 ? sizes[d] : sc_dim_int(1);
    }
    sizes[2 + i] = flat[2 + i] = sc_dim_int(a->windows[i] * a->taps[i]);
    rows = sc_f_reshape(t, rows, flat, a->count + 2);
    rows = sc_f_expand(t, rows, sizes, a->count + 2);
    return CALL(t, gather, x, sc_x_int(t, 2 + i), rows);
}

// (N, C, windows..., all taps) of (N, C, windows * taps...).
static sc_x by_window(sc_trace *t, sc_x x, const axes *a) {
    sc_dim sizes[8] = {sc_x_size(x, 0), sc_x_size(x, 1)};
    int64_t order[8] = {0, 1}, taps = 1;
    for (uint32_t i = 0; i < a->count; i++) {
        sizes[2 + 2 * i] = sc_dim_int(a->windows[i]);
        sizes[3 + 2 * i] = sc_dim_int(a->taps[i]);
        order[2 + i] = 2 + 2 * i;
        order[2 + a->count + i] = 3 + 2 * i;
        taps *= a->taps[i];
    }
    x = sc_f_permute(t, sc_f_reshape(t, x, sizes, 2 + 2 * a->count), order);
    for (uint32_t i = 0; i < a->count; i++) sizes[2 + i] = sc_dim_int(a->windows[i]);
    sizes[2 + a->count] = sc_dim_int(taps);
    return sc_f_reshape(t, x, sizes, 3 + a->count);
}

// Which tap of each window is its largest: of equals the first, of NaNs the last.
static sc_x chosen(sc_trace *t, sc_x x, sc_x first, int64_t taps) {
    sc_x each = sc_f_range(t, sc_x_int(t, taps), SC_DTYPE_I64);
    sc_x absent = sc_f_scalar(t, sc_x_int(t, -1), SC_DTYPE_I64);
    sc_x nans = sc_f_where(t, CALL(t, isnan, x), each, absent);
    sc_x last = CALL(t, amax, nans, X_INTS(t, -1), X_FALSE);
    return sc_f_where(t, CALL(t, ge_Scalar, last, sc_x_int(t, 0)), last, first);
}

// Places in the whole image of taps that count through their windows.
static sc_x places(sc_trace *t, sc_x tap, const sc_x *start, const axes *a) {
    int64_t inner = 1;
    sc_x place = NULL;
    for (uint32_t i = 0; i < a->count; i++) inner *= a->taps[i];
    for (uint32_t i = 0; i < a->count; i++) {
        sc_dim sizes[5] = {sc_x_size(tap, 0), sc_x_size(tap, 1), sc_dim_int(1), sc_dim_int(1),
                           sc_dim_int(1)};
        sizes[2 + i] = sc_dim_int(a->windows[i]);
        sc_x first = sc_f_reshape(t, start[i], sizes, a->count + 2);
        inner /= a->taps[i];
        sc_x own = CALL(t, div_Scalar_mode, tap, sc_x_int(t, inner), sc_x_str(t, "floor"));
        own = CALL(t, remainder_Scalar, own, sc_x_int(t, a->taps[i]));
        own = sc_f_add(t, own, first);
        if (place) place = sc_f_mul(t, place, sc_x_int(t, a->size[i]));
        place = place ? sc_f_add(t, place, own) : own;
    }
    return place;
}

static bool read_axes(sc_trace *t, const sc_x *args, axes *a) {
    sc_x_int_list(t, args[1], a->taps, a->count);
    sc_x_int_list(t, args[2], a->windows, a->count);
    for (uint32_t i = 0; i < a->count && t->status == SC_OK; i++) {
        a->size[i] = sc_x_static_size(t, args[0], (int64_t)i - a->count);
        if (a->taps[i] > 0 && a->windows[i] > 0 && a->taps[i] + a->windows[i] - 1 <= a->size[i])
            continue;
        sc_trace_fail(t, SC_ERR_SHAPE, NULL, "the windows are larger than the image");
    }
    return t->status == SC_OK;
}

// (self, kernel_size, output_size, random_samples)
static sc_x pooled(sc_trace *t, const sc_x *args, uint32_t count) {
    axes a = {.count = count};
    sc_x x = args[0], start[3];
    bool is_single = sc_x_rank(x) == count + 1;
    if (!read_axes(t, args, &a)) return x;
    if (is_single) x = sc_f_unsqueeze(t, x, 0);
    for (uint32_t i = 0; i < count; i++) {
        // Numbers are drawn for width and height of images, but for volumes in the order of dims.
        sc_x drawn = sc_f_select(t, args[3], -1, count == 2 ? 1 - i : i);
        start[i] = starts(t, drawn, a.size[i], a.taps[i], a.windows[i]);
        x = windowed(t, x, start[i], &a, i);
    }
    x = by_window(t, x, &a);
    sc_x best = CALL(t, max_dim, x, sc_x_int(t, -1), X_FALSE);
    sc_x first = sc_x_at(t, best, 1);
    sc_x value = sc_x_at(t, best, 0);
    sc_x place =
        places(t, chosen(t, x, first, sc_x_number(sc_x_dim(t, sc_x_size(x, -1)), 1)), start, &a);
    if (is_single) value = sc_f_squeeze(t, value, 0), place = sc_f_squeeze(t, place, 0);
    return X_LIST(t, value, place);
}

sc_x sc_expand_fractional_max_pool2d(sc_trace *t, const sc_x *a) { return pooled(t, a, 2); }

sc_x sc_expand_fractional_max_pool3d(sc_trace *t, const sc_x *a) { return pooled(t, a, 3); }
