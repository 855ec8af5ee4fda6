// Ops that copy one tensor through a different view: permute, slice, expand, clone and similar ops.
// Each only computes the view; move.c does the walking.
#include "kernels/move.h"

// --- Same shape, any layout or dtype -------------------------------------------------------------

static sc_status copy_broadcast(const sc_kernel_call *call, const sc_tensor *to,
                                const sc_tensor *from) {
    sc_strided dst, src;
    sc_strided_of(&dst, to);
    SC_TRY(sc_strided_broadcast(call->ctx, &src, from, to));
    return sc_move(call, &dst, &src);
}

static sc_status run_copy_self(const sc_kernel_call *call) {
    return copy_broadcast(call, sc_call_out(call), sc_call_tensor(call, 0));
}

static sc_status run_copy(const sc_kernel_call *call) {
    return copy_broadcast(call, sc_call_out(call), sc_call_tensor(call, 1));
}

static sc_status run_copy_in_place(const sc_kernel_call *call) {
    return copy_broadcast(call, sc_call_tensor(call, 0), sc_call_tensor(call, 1));
}

// Elements keep their index order: view, reshape, squeeze, unsqueeze.
static sc_status run_view_copy(const sc_kernel_call *call) {
    return sc_move_linear(call, sc_call_out(call), sc_call_tensor(call, 0));
}

// Copies the bytes, under another dtype.
static sc_status run_view_bytes(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    int64_t bytes = self->numel * (int64_t)sc_dtype_bytes((sc_dtype)self->dtype);
    if (bytes != out->numel * (int64_t)sc_dtype_bytes((sc_dtype)out->dtype))
        return sc_call_fail(call, SC_ERR_SHAPE, "the bytes of the input do not fill the result");
    if (!sc_tensor_is_contiguous(self) || !sc_tensor_is_contiguous(out))
        return sc_call_fail_hint(call, SC_ERR_UNSUPPORTED, "Call contiguous() before the view.",
                                 "reads the bytes of row-major tensors only");
    if (bytes > 0) sc_move_bytes(out->data, self->data, (uint64_t)bytes);
    return SC_OK;
}

static sc_status run_empty(const sc_kernel_call *call) {
    (void)call;
    return SC_OK;
}

// --- Views ---------------------------------------------------------------------------------------

static sc_status move_to_out(const sc_kernel_call *call, const sc_strided *src) {
    sc_strided dst;
    sc_strided_of(&dst, sc_call_out(call));
    return sc_move(call, &dst, src);
}

static sc_status run_permute(const sc_kernel_call *call) {
    sc_strided src;
    int64_t dims[SC_RANK_MAX];
    uint32_t wrapped[SC_RANK_MAX], seen = 0;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    uint32_t count = sc_call_ints(call, 1, dims, SC_RANK_MAX, 0);
    for (uint32_t i = 0; i < count; i++) {
        wrapped[i] = sc_wrap_dim(dims[i], src.rank);
        seen |= 1u << wrapped[i];
    }
    if (count != src.rank || seen != (1u << src.rank) - 1)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "needs every dim once");
    sc_strided_permute(&src, wrapped);
    return move_to_out(call, &src);
}

// Channels that are last already are only copied.
static double permute_gain(const sc_kernel_call *call) {
    int64_t dims[SC_RANK_MAX] = {0};
    const sc_tensor *self = sc_call_tensor(call, 0);
    const uint32_t count = sc_call_ints(call, 1, dims, SC_RANK_MAX, 0);
    const bool puts_last = count == 4 && self->rank == 4 && sc_wrap_dim(dims[1], 4) == 2 &&
                           sc_wrap_dim(dims[2], 4) == 3 && sc_wrap_dim(dims[3], 4) == 1;
    return puts_last ? (double)self->numel : 0;
}

static void swap_dims(sc_strided *view, uint32_t a, uint32_t b) {
    int64_t size = view->sizes[a], stride = view->strides[a];
    view->sizes[a] = view->sizes[b];
    view->strides[a] = view->strides[b];
    view->sizes[b] = size;
    view->strides[b] = stride;
}

static sc_status run_transpose(const sc_kernel_call *call) {
    sc_strided src;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    if (src.rank > 1)
        swap_dims(&src, sc_call_dim(call, 1, src.rank), sc_call_dim(call, 2, src.rank));
    return move_to_out(call, &src);
}

static sc_status run_t(const sc_kernel_call *call) {
    sc_strided src;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    if (src.rank > 2) return sc_call_fail(call, SC_ERR_SHAPE, "takes at most two dims");
    if (src.rank == 2) swap_dims(&src, 0, 1);
    return move_to_out(call, &src);
}

sc_slice sc_call_slice(const sc_kernel_call *call, uint32_t first, int64_t size) {
    sc_slice s;
    bool has_end = !sc_call_is_none(call, first + 1);
    s.start = sc_call_is_none(call, first) ? 0 : sc_call_integer(call, first);
    int64_t end = has_end ? sc_call_integer(call, first + 1) : size;
    s.step = sc_max_i64(sc_call_integer(call, first + 2), 1);
    s.start += s.start < 0 ? size : 0;
    end += end < 0 ? size : 0;
    s.start = sc_min_i64(sc_max_i64(s.start, 0), size);
    end = sc_min_i64(sc_max_i64(end, s.start), size);
    s.count = (end - s.start) / s.step + ((end - s.start) % s.step != 0);
    return s;
}

static sc_status run_slice(const sc_kernel_call *call) {
    sc_strided src;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    if (src.rank == 0)
        return sc_call_fail(call, SC_ERR_SHAPE, "a 0-dim tensor has no dim to slice");
    uint32_t dim = sc_call_dim(call, 1, src.rank);
    sc_slice s = sc_call_slice(call, 2, src.sizes[dim]);
    sc_strided_narrow(&src, dim, s.start, s.count, s.step);
    return move_to_out(call, &src);
}

sc_status sc_check_index(const sc_kernel_call *call, int64_t *index, int64_t size) {
    if (*index < -size || *index >= size)
        return sc_call_fail(call, SC_ERR_INDEX, "index %lld is out of range for a dim of size %lld",
                            (long long)*index, (long long)size);
    *index += *index < 0 ? size : 0;
    return SC_OK;
}

static sc_status run_select(const sc_kernel_call *call) {
    sc_strided src;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    if (src.rank == 0)
        return sc_call_fail(call, SC_ERR_SHAPE, "a 0-dim tensor has no dim to select from");
    uint32_t dim = sc_call_dim(call, 1, src.rank);
    int64_t index = sc_call_integer(call, 2);
    SC_TRY(sc_check_index(call, &index, src.sizes[dim]));
    sc_strided_drop(&src, dim, index);
    return move_to_out(call, &src);
}

static sc_status run_narrow(const sc_kernel_call *call) {
    sc_strided src;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    uint32_t dim = sc_call_dim(call, 1, src.rank);
    int64_t start = sc_call_integer(call, 2), length = sc_call_integer(call, 3);
    int64_t size = src.rank > 0 ? src.sizes[dim] : 0;
    start += start < 0 ? size : 0;
    if (start < 0 || length < 0 || start > size || length > size - start)
        return sc_call_fail(call, SC_ERR_INDEX, "reaches beyond the dim of size %lld",
                            (long long)size);
    sc_strided_narrow(&src, dim, start, length, 1);
    return move_to_out(call, &src);
}

static sc_status run_flip(const sc_kernel_call *call) {
    sc_strided src;
    int64_t dims[SC_RANK_MAX];
    sc_strided_of(&src, sc_call_tensor(call, 0));
    uint32_t count = sc_call_ints(call, 1, dims, SC_RANK_MAX, 0);
    for (uint32_t i = 0; i < count && src.rank > 0; i++) {
        uint32_t d = sc_wrap_dim(dims[i], src.rank);
        if (src.sizes[d] > 1) sc_strided_narrow(&src, d, src.sizes[d] - 1, src.sizes[d], -1);
    }
    return move_to_out(call, &src);
}

// The result's size d is repeats[d] copies of the input's; both sides get a dim for the copies.
static sc_status run_repeat(const sc_kernel_call *call) {
    sc_strided dst, src, self, out;
    int64_t repeats[SC_RANK_MAX];
    sc_strided_of(&self, sc_call_tensor(call, 0));
    sc_strided_of(&out, sc_call_out(call));
    uint32_t count = sc_call_ints(call, 1, repeats, SC_RANK_MAX, 0);
    bool fits = count == out.rank && self.rank <= out.rank;
    src.data = self.data, src.dtype = self.dtype, src.rank = 2 * out.rank;
    dst.data = out.data, dst.dtype = out.dtype, dst.rank = 2 * out.rank;
    uint32_t missing = fits ? out.rank - self.rank : 0;
    for (uint32_t d = 0; fits && d < out.rank; d++) {
        int64_t size = d < missing ? 1 : self.sizes[d - missing], product = 0;
        src.sizes[2 * d] = dst.sizes[2 * d] = repeats[d];
        src.sizes[2 * d + 1] = dst.sizes[2 * d + 1] = size;
        src.strides[2 * d] = 0;
        src.strides[2 * d + 1] = d < missing ? 0 : self.strides[d - missing];
        dst.strides[2 * d] = out.strides[d] * size;
        dst.strides[2 * d + 1] = out.strides[d];
        fits = repeats[d] >= 0 && sc_mul_i64(repeats[d], size, &product) && product == out.sizes[d];
    }
    if (!fits) return sc_call_fail(call, SC_ERR_SHAPE, "repeats do not give the result's shape");
    return sc_move(call, &dst, &src);
}

static sc_status run_as_strided(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    sc_strided src;
    src.data = self->data;
    src.dtype = self->dtype;
    src.rank = sc_call_ints(call, 1, src.sizes, SC_RANK_MAX, 0);
    uint32_t strides = sc_call_ints(call, 2, src.strides, SC_RANK_MAX, 0);
    int64_t offset = sc_call_is_none(call, 3) ? 0 : sc_call_integer(call, 3), last = offset;
    bool fits = strides == src.rank && offset >= 0, empty = false;
    for (uint32_t d = 0; fits && d < src.rank; d++) {
        int64_t span = 0;
        empty = empty || src.sizes[d] == 0;
        fits = src.sizes[d] >= 0 && src.strides[d] >= 0 &&
               (src.sizes[d] == 0 || (sc_mul_i64(src.sizes[d] - 1, src.strides[d], &span) &&
                                      sc_add_i64(last, span, &last)));
    }
    if (!fits || (!empty && last >= self->numel))
        return sc_call_fail(call, SC_ERR_INDEX, "reaches beyond its input's memory");
    src.data += empty ? 0 : offset * (int64_t)sc_dtype_bytes((sc_dtype)self->dtype);
    return move_to_out(call, &src);
}

static sc_status run_diagonal(const sc_kernel_call *call) {
    sc_strided src;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    int64_t offset = sc_call_integer(call, 1);
    uint32_t a = sc_call_dim(call, 2, src.rank), b = sc_call_dim(call, 3, src.rank);
    if (src.rank < 2 || a == b)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "needs two different dims");
    int64_t rows = src.sizes[a], columns = src.sizes[b];
    int64_t first_row = offset < 0 ? sc_min_i64(-(offset + 1), rows - 1) + 1 : 0;
    int64_t first_column = offset > 0 ? sc_min_i64(offset, columns) : 0;
    int64_t count = sc_max_i64(sc_min_i64(rows - first_row, columns - first_column), 0);
    int64_t step = src.strides[a] + src.strides[b];
    int64_t start = first_row * src.strides[a] + first_column * src.strides[b];
    if (count > 0) src.data += start * (int64_t)sc_dtype_bytes((sc_dtype)src.dtype);
    sc_strided_drop(&src, a > b ? a : b, 0);
    sc_strided_drop(&src, a > b ? b : a, 0);
    sc_strided_insert(&src, src.rank);
    src.sizes[src.rank - 1] = count;
    src.strides[src.rank - 1] = step;
    return move_to_out(call, &src);
}

// Windows of `size` elements every `step`; the window becomes the last dim.
static sc_status run_unfold(const sc_kernel_call *call) {
    sc_strided src;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    const bool is_scalar = src.rank == 0;
    if (is_scalar) sc_strided_insert(&src, 0);
    uint32_t dim = sc_call_dim(call, 1, src.rank);
    int64_t size = sc_call_integer(call, 2), step = sc_call_integer(call, 3);
    if (size < 0 || step <= 0 || size > src.sizes[dim])
        return sc_call_fail(call, SC_ERR_ARGUMENT,
                            "size %lld and step %lld do not suit a dim of size %lld",
                            (long long)size, (long long)step, (long long)src.sizes[dim]);
    int64_t stride = src.strides[dim];
    src.sizes[dim] = (src.sizes[dim] - size) / step + 1;
    if (src.sizes[dim] > 1) src.strides[dim] = stride * step;
    if (!is_scalar) sc_strided_insert(&src, src.rank);  // one number is one window
    src.sizes[src.rank - 1] = size;
    src.strides[src.rank - 1] = stride;
    return move_to_out(call, &src);
}

// [.., C r r, H, W] to [.., C, H r, W r] on `grouped`, whose last dims are C, r, r, H, W.
static void pixel_views(const sc_tensor *packed, const sc_tensor *spread, int64_t factor,
                        sc_strided *packed_view, sc_strided *spread_view) {
    sc_strided_of(packed_view, packed);
    sc_strided_of(spread_view, spread);
    uint32_t c = spread->rank - 3u;
    int64_t channels = spread->sizes[c], step = packed->strides[c];
    packed_view->rank = spread_view->rank = spread->rank + 2u;
    const int64_t sizes[5] = {channels, factor, factor, packed->sizes[c + 1], packed->sizes[c + 2]};
    const int64_t packed_strides[5] = {step * factor * factor, step * factor, step,
                                       packed->strides[c + 1], packed->strides[c + 2]};
    const int64_t spread_strides[5] = {spread->strides[c], spread->strides[c + 1],
                                       spread->strides[c + 2], spread->strides[c + 1] * factor,
                                       spread->strides[c + 2] * factor};
    for (uint32_t k = 0; k < 5; k++) {
        packed_view->sizes[c + k] = spread_view->sizes[c + k] = sizes[k];
        packed_view->strides[c + k] = packed_strides[k];
        spread_view->strides[c + k] = spread_strides[k];
    }
}

static sc_status run_pixels(const sc_kernel_call *call) {
    const bool spreads = call->kernel->param;
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    const sc_tensor *packed = spreads ? self : out, *spread = spreads ? out : self;
    int64_t factor = sc_call_integer(call, 1), area = 0, height = 0, width = 0, channels = 0;
    uint32_t c = self->rank < 3 ? 0 : self->rank - 3u;
    bool fits = self->rank >= 3 && out->rank == self->rank && factor > 0 &&
                sc_mul_i64(factor, factor, &area) &&
                sc_mul_i64(packed->sizes[c + 1], factor, &height) &&
                sc_mul_i64(packed->sizes[c + 2], factor, &width) &&
                sc_mul_i64(spread->sizes[c], area, &channels) && channels == packed->sizes[c] &&
                height == spread->sizes[c + 1] && width == spread->sizes[c + 2];
    for (uint32_t d = 0; fits && d < c; d++) fits = packed->sizes[d] == spread->sizes[d];
    if (!fits)
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not differ by a pixel factor");
    sc_strided a, b;
    pixel_views(packed, spread, factor, &a, &b);
    return spreads ? sc_move(call, &b, &a) : sc_move(call, &a, &b);
}

SC_KERNEL(copy_self, .run = run_copy_self);
SC_KERNEL(copy, .run = run_copy);
SC_KERNEL(copy_in_place, .run = run_copy_in_place);
SC_KERNEL(view_copy, .run = run_view_copy);
SC_KERNEL(view_bytes, .run = run_view_bytes);
SC_KERNEL(empty, .run = run_empty);
SC_KERNEL(permute, .run = run_permute, .layout = SC_LAYOUT_TAKES, .gain = permute_gain);
SC_KERNEL(transpose, .run = run_transpose);
SC_KERNEL(t, .run = run_t);
SC_KERNEL(slice, .run = run_slice, .layout = SC_LAYOUT_ONE);
SC_KERNEL(select, .run = run_select);
SC_KERNEL(narrow, .run = run_narrow);
SC_KERNEL(flip, .run = run_flip);
SC_KERNEL(repeat, .run = run_repeat);
SC_KERNEL(as_strided, .run = run_as_strided);
SC_KERNEL(diagonal, .run = run_diagonal);
SC_KERNEL(unfold, .run = run_unfold);
SC_KERNEL(pixel_shuffle, .run = run_pixels, .param = true);
SC_KERNEL(pixel_unshuffle, .run = run_pixels, .param = false);
