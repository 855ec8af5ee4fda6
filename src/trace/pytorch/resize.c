// Expansions of padding, of resizing images, and of sliding windows as columns.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

#include <math.h>

// --- Padding ------------------------------------------------------------------------------------

sc_x sc_expand_pad(sc_trace *t, const sc_x *a) {
    uint32_t count = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    if (sc_str_is(a[2]->str, "constant"))
        return CALL(t, constant_pad_nd, a[0], a[1],
                    sc_x_float(t, sc_x_is_none(a[3]) ? 0.0 : sc_x_known(t, a[3], 0)));
    if (sc_str_is(a[2]->str, "circular")) return CALL(t, _pad_circular, a[0], a[1]);
    bool reflect = sc_str_is(a[2]->str, "reflect");
    switch (count) {
    case 2:
        return reflect ? CALL(t, reflection_pad1d, a[0], a[1])
                       : CALL(t, replication_pad1d, a[0], a[1]);
    case 4:
        return reflect ? CALL(t, reflection_pad2d, a[0], a[1])
                       : CALL(t, replication_pad2d, a[0], a[1]);
    case 6:
        return reflect ? CALL(t, reflection_pad3d, a[0], a[1])
                       : CALL(t, replication_pad3d, a[0], a[1]);
    default:
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Pad at most three dimensions.",
                             "this padding with %u values is not supported", count);
    }
}

static sc_x padded_positions(sc_trace *t, sc_dim size, int64_t left, int64_t right, bool reflect) {
    sc_dim end = sc_trace_add(t, size, sc_dim_int(right));
    sc_x range = sc_f_arange(t, sc_x_int(t, -left), sc_x_dim(t, end), SC_DTYPE_NONE);
    sc_x last = sc_x_dim(t, sc_trace_sub(t, size, sc_dim_int(1)));
    if (!reflect) return CALL(t, clamp, range, sc_x_int(t, 0), last);
    sc_x folded = CALL(t, abs, CALL(t, sub_Tensor, last, CALL(t, abs, range)));
    return CALL(t, sub_Tensor, last, folded);
}

// Outermost dimension first; each is an index along one dimension.
static sc_x pad_by_index(sc_trace *t, const sc_x *a, bool reflect) {
    int64_t pads[6];
    uint32_t count = sc_x_int_list(t, a[1], pads, 6), dims = count / 2, rank = sc_x_rank(a[0]);
    sc_x x = a[0];
    if (count % 2 || dims > rank)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "padding with %u values does not suit the input", count);
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t dim = rank - dims + i;
        sc_x items[SC_RANK_MAX];
        for (uint32_t d = 0; d < rank; d++) items[d] = X_NONE;
        int64_t left = pads[2 * (dims - 1 - i)], right = pads[2 * (dims - 1 - i) + 1];
        items[dim] = padded_positions(t, sc_x_size(a[0], dim), left, right, reflect);
        x = CALL(t, index_Tensor, x, sc_x_list(t, items, rank));
    }
    sc_memory_format format = sc_spec_suggested_format(t->exprs, sc_x_spec(a[0]));
    return CALL(t, contiguous, x, sc_x_format(t, format));
}

sc_x sc_expand_reflection_pad(sc_trace *t, const sc_x *a) { return pad_by_index(t, a, true); }
sc_x sc_expand_replication_pad(sc_trace *t, const sc_x *a) { return pad_by_index(t, a, false); }

static sc_x shifted(sc_trace *t, sc_dim size, int64_t by) {
    return sc_x_dim(t, sc_trace_add(t, size, sc_dim_int(by)));
}

// The middle is copied first, then each border from the opposite side.
sc_x sc_expand_pad_circular(sc_trace *t, const sc_x *a) {
    int64_t pads[6];
    uint32_t count = sc_x_int_list(t, a[1], pads, 6), dims = count / 2, rank = sc_x_rank(a[0]);
    sc_dim sizes[SC_RANK_MAX];
    if (count % 2 || dims > rank || rank < dims + 1)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "padding with %u values does not suit the input", count);
    for (uint32_t d = 0; d < rank; d++) sizes[d] = sc_x_size(a[0], d);
    for (uint32_t i = 0; i < dims; i++) {
        int64_t left = pads[2 * i], right = pads[2 * i + 1];
        sc_dim *size = &sizes[rank - 1 - i];
        // Borders repeat what is left of the middle when negative padding has cut it.
        sc_dim cut = sc_dim_int(sc_min_i64(left, 0) + sc_min_i64(right, 0));
        sc_dim kept = sc_dim_add(t->exprs, *size, cut);
        if (sc_dim_known_le(sc_dim_int(sc_max_i64(left, right)), kept) == SC_TRI_FALSE)
            return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "padding wraps around more than once");
        *size = sc_trace_add(t, *size, sc_dim_int(left + right));
    }
    sc_x out = CALL(t, empty_memory_format, sc_x_dims(t, sizes, rank),
                    sc_x_dtype(t, sc_x_dtype_of(a[0])), X_STRIDED, X_CPU, X_FALSE);
    sc_x middle = out, from = a[0];
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t dim = rank - 1 - i;
        int64_t left = pads[2 * i], right = pads[2 * i + 1];
        middle = sc_f_slice(t, middle, dim, sc_x_int(t, sc_max_i64(left, 0)),
                            shifted(t, sizes[dim], -sc_max_i64(right, 0)));
        from = sc_f_slice(t, from, dim, sc_x_int(t, sc_max_i64(-left, 0)),
                          shifted(t, sc_x_size(a[0], dim), -sc_max_i64(-right, 0)));
    }
    CALL(t, copy_, middle, from);
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t dim = rank - 1 - i;
        int64_t left = pads[2 * i], right = pads[2 * i + 1], low = sc_max_i64(left, 0);
        if (left > 0) {
            sc_x target = sc_f_slice(t, out, dim, sc_x_int(t, 0), sc_x_int(t, left));
            int64_t high = sc_max_i64(right, 0);
            sc_x start = shifted(t, sizes[dim], -left - high);
            sc_x end = shifted(t, sizes[dim], -high);
            CALL(t, copy_, target, sc_f_slice(t, out, dim, start, end));
        }
        if (right > 0) {
            sc_x target =
                sc_f_slice(t, out, dim, shifted(t, sizes[dim], -right), sc_x_dim(t, sizes[dim]));
            sc_x source = sc_f_slice(t, out, dim, sc_x_int(t, low), sc_x_int(t, low + right));
            CALL(t, copy_, target, source);
        }
    }
    return out;
}

// --- Windows as columns -------------------------------------------------------------------------

static sc_x window_positions(sc_trace *t, sc_dim size, int64_t kernel, int64_t dilation,
                             int64_t padding, int64_t stride) {
    sc_dim blocks = sc_trace_add(t, size, sc_dim_int(2 * padding - dilation * (kernel - 1)));
    sc_x dtype = sc_x_dtype(t, SC_DTYPE_I64);
    sc_x starts = CALL(t, arange_start_step, sc_x_int(t, 0), sc_x_dim(t, blocks),
                       sc_x_int(t, stride), dtype, X_NONE, X_CPU, X_FALSE);
    starts = sc_f_unsqueeze(t, starts, 0);
    sc_x taps = CALL(t, arange_start_step, sc_x_int(t, 0), sc_x_int(t, kernel * dilation),
                     sc_x_int(t, dilation), dtype, X_NONE, X_CPU, X_FALSE);
    return sc_f_add(t, starts, sc_f_unsqueeze(t, taps, -1));
}

typedef struct window {
    int64_t kernel[2], dilation[2], padding[2], stride[2];
} window;

static bool read_window(sc_trace *t, const sc_x *a, window *w) {
    uint32_t read = sc_x_int_list(t, a[0], w->kernel, 2) + sc_x_int_list(t, a[1], w->dilation, 2) +
                    sc_x_int_list(t, a[2], w->padding, 2) + sc_x_int_list(t, a[3], w->stride, 2);
    if (read == 8 && w->stride[0] > 0 && w->stride[1] > 0 && w->kernel[0] > 0 && w->kernel[1] > 0)
        return t->status == SC_OK;
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a window needs two sizes of each kind");
    return false;
}

sc_x sc_expand_im2col(sc_trace *t, const sc_x *a) {
    window w;
    if (!read_window(t, a + 1, &w) || sc_x_rank(a[0]) < 3) return a[0];
    bool single = sc_x_rank(a[0]) == 3;
    sc_x x = single ? sc_f_unsqueeze(t, a[0], 0) : a[0];
    sc_x rows =
        window_positions(t, sc_x_size(x, 2), w.kernel[0], w.dilation[0], w.padding[0], w.stride[0]);
    sc_x columns =
        window_positions(t, sc_x_size(x, 3), w.kernel[1], w.dilation[1], w.padding[1], w.stride[1]);
    x = CALL(t, constant_pad_nd, x,
             X_INTS(t, w.padding[1], w.padding[1], w.padding[0], w.padding[0]), sc_x_float(t, 0.0));
    rows = sc_f_unsqueeze(t, sc_f_unsqueeze(t, rows, -1), -1);
    sc_x out = CALL(t, index_Tensor, x, X_LIST(t, X_NONE, X_NONE, rows, columns));
    out = CALL(t, permute, out, X_INTS(t, 0, 1, 2, 4, 3, 5));
    sc_dim sizes[3] = {sc_x_size(x, 0)};
    sizes[1] = sc_trace_mul(t, sc_x_size(x, 1), sc_dim_int(w.kernel[0] * w.kernel[1]));
    sizes[2] = sc_trace_mul(t, sc_x_size(rows, 1), sc_x_size(columns, 1));
    out = sc_f_reshape(t, out, sizes, 3);
    return single ? sc_f_squeeze(t, out, 0) : out;
}

sc_x sc_expand_col2im(sc_trace *t, const sc_x *a) {
    window w;
    int64_t size[2], blocks[2];
    if (!read_window(t, a + 2, &w) || sc_x_int_list(t, a[1], size, 2) != 2 || sc_x_rank(a[0]) < 2)
        return a[0];
    bool single = sc_x_rank(a[0]) == 2;
    sc_x x = single ? sc_f_unsqueeze(t, a[0], 0) : a[0];
    sc_dim channels = sc_trace_floordiv(t, sc_x_size(x, 1), sc_dim_int(w.kernel[0] * w.kernel[1]));
    for (uint32_t i = 0; i < 2; i++)
        blocks[i] =
            1 + (size[i] + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1) / w.stride[i];
    sc_dim wide[6] = {sc_x_size(x, 0),         channels,
                      sc_dim_int(w.kernel[0]), sc_dim_int(w.kernel[1]),
                      sc_dim_int(blocks[0]),   sc_dim_int(blocks[1])};
    sc_x values = CALL(t, permute, sc_f_reshape(t, x, wide, 6), X_INTS(t, 0, 1, 2, 4, 3, 5));
    sc_x rows = window_positions(t, sc_dim_int(size[0]), w.kernel[0], w.dilation[0], w.padding[0],
                                 w.stride[0]);
    rows = sc_f_unsqueeze(t, sc_f_unsqueeze(t, rows, -1), -1);
    sc_x columns = window_positions(t, sc_dim_int(size[1]), w.kernel[1], w.dilation[1],
                                    w.padding[1], w.stride[1]);
    sc_dim out_sizes[4] = {sc_x_size(x, 0), channels, sc_dim_int(size[0] + 2 * w.padding[0]),
                           sc_dim_int(size[1] + 2 * w.padding[1])};
    sc_x out = sc_f_zeros(t, sc_x_dims(t, out_sizes, 4), sc_x_dtype_of(x));
    out = CALL(t, index_put, out, X_LIST(t, X_NONE, X_NONE, rows, columns), values, X_TRUE);
    out = CALL(t, constant_pad_nd, out,
               X_INTS(t, -w.padding[1], -w.padding[1], -w.padding[0], -w.padding[0]),
               sc_x_float(t, 0.0));
    return single ? sc_f_squeeze(t, out, 0) : out;
}
