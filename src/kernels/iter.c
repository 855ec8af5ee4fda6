// Streams: broadcast, merge, advance. No arithmetic and no dtypes beyond their width.
// In wasm: -Os
#include "kernels/iter.h"

void sc_stream_init_dims(sc_stream *s, void *data, uint32_t item_bytes, uint32_t rank,
                         const int64_t *sizes, const int64_t *strides) {
    s->data = data;
    s->item_bytes = item_bytes;
    s->offset = 0;
    s->rank = 0;
    for (uint32_t d = 0; d < rank; d++) {
        if (sizes[d] == 1) continue;
        uint32_t last = s->rank - 1;
        if (s->rank > 0 && s->strides[last] == strides[d] * sizes[d]) {
            s->sizes[last] *= sizes[d];
            s->strides[last] = strides[d];
        } else {
            s->sizes[s->rank] = sizes[d];
            s->strides[s->rank] = strides[d];
            s->rank++;
        }
    }
    if (s->rank == 0) {
        s->sizes[0] = 1;
        s->strides[0] = 1;
        s->rank = 1;
    }
    for (uint32_t d = 0; d < s->rank; d++) s->index[d] = 0;
}

static bool init_stream(sc_stream *s, const sc_tensor *tensor, const sc_tensor *shape) {
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    if (tensor->rank > shape->rank || shape->rank > SC_RANK_MAX) return false;
    uint32_t missing = shape->rank - (uint32_t)tensor->rank;
    for (uint32_t k = 0; k < shape->rank; k++) {
        uint32_t d = shape->dim_order[k];
        sizes[k] = shape->sizes[d];
        strides[k] = 0;
        if (d < missing) continue;
        int64_t size = tensor->sizes[d - missing];
        if (size != 1 && size != sizes[k]) return false;
        if (size != 1) strides[k] = tensor->strides[d - missing];
    }
    sc_stream_init_dims(s, tensor->data, sc_dtype_bytes((sc_dtype)tensor->dtype), shape->rank,
                        sizes, strides);
    return true;
}

sc_status sc_stream_open(sc_ctx *ctx, sc_stream *s, const sc_tensor *tensor,
                         const sc_tensor *shape) {
    if (!init_stream(s, tensor, shape))
        return sc_pair_fail(ctx, tensor, "does not broadcast to", shape);
    return SC_OK;
}

void sc_stream_seek(sc_stream *s, int64_t position) {
    s->offset = 0;
    for (uint32_t d = s->rank; d-- > 0;) {
        s->index[d] = position % s->sizes[d];
        position /= s->sizes[d];
        s->offset += s->index[d] * s->strides[d];
    }
}

int64_t sc_stream_run(sc_stream *s, int64_t max, char **data, int64_t *stride) {
    uint32_t d = s->rank - 1;
    int64_t left = s->sizes[d] - s->index[d];
    int64_t n = left < max ? left : max;
    *data = s->data + s->offset * s->item_bytes;
    *stride = s->strides[d];
    s->index[d] += n;
    s->offset += n * s->strides[d];
    while (d > 0 && s->index[d] == s->sizes[d]) {
        s->offset -= s->sizes[d] * s->strides[d];
        s->index[d] = 0;
        d--;
        s->index[d]++;
        s->offset += s->strides[d];
    }
    return n;
}

void sc_stream_load(sc_stream *s, sc_load_fn load, void *block, uint32_t block_item_bytes,
                    int64_t n) {
    char *to = block;
    while (n > 0) {
        char *data;
        int64_t stride, run = sc_stream_run(s, n, &data, &stride);
        load(to, data, stride, run);
        to += run * block_item_bytes;
        n -= run;
    }
}

void sc_stream_store(sc_stream *s, sc_store_fn store, const void *block, uint32_t block_item_bytes,
                     int64_t n) {
    const char *from = block;
    while (n > 0) {
        char *data;
        int64_t stride, run = sc_stream_run(s, n, &data, &stride);
        store(data, stride, from, run);
        from += run * block_item_bytes;
        n -= run;
    }
}

#define COPY_ROW(type)                                                                 \
    static void copy_row_##type(char *dst, int64_t dst_stride, const char *src,        \
                                int64_t src_stride, int64_t count) {                   \
        type *to = (type *)(void *)dst;                                                \
        const type *from = (const type *)(const void *)src;                            \
        for (int64_t i = 0; i < count; i++) to[i * dst_stride] = from[i * src_stride]; \
    }
COPY_ROW(uint8_t)
COPY_ROW(uint16_t)
COPY_ROW(uint32_t)
COPY_ROW(uint64_t)

void sc_copy_row(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t count,
                 uint32_t width) {
    if (dst_stride == 1 && (src_stride == 1 || width == 1)) {
        if (src_stride == 1)
            memmove(dst, src, (size_t)count * width);
        else if (src_stride == 0)
            memset(dst, *(const uint8_t *)src, (size_t)count);
        if (src_stride == 0 || src_stride == 1) return;
    }
    switch (width) {
    case 1: copy_row_uint8_t(dst, dst_stride, src, src_stride, count); return;
    case 2: copy_row_uint16_t(dst, dst_stride, src, src_stride, count); return;
    case 4: copy_row_uint32_t(dst, dst_stride, src, src_stride, count); return;
    case 8: copy_row_uint64_t(dst, dst_stride, src, src_stride, count); return;
    default: break;
    }
    for (int64_t i = 0; i < count; i++)
        memmove(dst + i * dst_stride * width, src + i * src_stride * width, width);
}

void sc_stream_copy(sc_stream *dst, sc_stream *src, int64_t count) {
    char *to = NULL, *from = NULL;
    int64_t to_stride = 0, from_stride = 0, to_left = 0, from_left = 0;
    uint32_t width = dst->item_bytes;
    while (count > 0) {
        if (to_left == 0) to_left = sc_stream_run(dst, count, &to, &to_stride);
        if (from_left == 0) from_left = sc_stream_run(src, count, &from, &from_stride);
        int64_t n = to_left < from_left ? to_left : from_left;
        sc_copy_row(to, to_stride, from, from_stride, n, width);
        to += n * to_stride * width;
        from += n * from_stride * width;
        to_left -= n;
        from_left -= n;
        count -= n;
    }
}

bool sc_same_sizes(const sc_tensor *a, const sc_tensor *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0);
}

bool sc_same_layout(const sc_tensor *a, const sc_tensor *b) {
    if (!sc_same_sizes(a, b)) return false;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->sizes[d] != 1 && a->strides[d] != b->strides[d]) return false;
    }
    return true;
}

bool sc_tensor_is_dense(const sc_tensor *t) {
    int64_t expected = 1;
    if (t->numel == 0) return true;
    for (uint32_t k = t->rank; k-- > 0;) {
        uint32_t d = t->dim_order[k];
        if (t->sizes[d] != 1 && t->strides[d] != expected) return false;
        expected *= t->sizes[d];
    }
    return true;
}
