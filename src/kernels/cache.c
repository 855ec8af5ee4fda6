// update_cache: rows that are written where a cache of keys or values has them. Shape rules have
// compared the sizes. No program reads the result of such a call, which stays as it is.
#include "kernels/cache.h"

static bool is_dense_row(const sc_tensor *t) {
    return (t->sizes[3] == 1 || t->strides[3] == 1) &&
           (t->sizes[2] == 1 || t->strides[2] == t->sizes[3]);
}

static uint8_t *row_at(const sc_tensor *t, int64_t batch, int64_t row, size_t item) {
    return (uint8_t *)t->data + (size_t)(batch * t->strides[0] + row * t->strides[1]) * item;
}

static void write_row(const sc_tensor *value, const sc_tensor *cache, int64_t batch, int64_t from,
                      int64_t to) {
    const size_t item = sc_dtype_bytes((sc_dtype)value->dtype);
    const uint8_t *source = row_at(value, batch, from, item);
    uint8_t *target = row_at(cache, batch, to, item);
    if (is_dense_row(value) && is_dense_row(cache)) {
        memcpy(target, source, (size_t)(value->sizes[2] * value->sizes[3]) * item);
        return;
    }
    for (int64_t h = 0; h < value->sizes[2]; h++)
        for (int64_t i = 0; i < value->sizes[3]; i++)
            memcpy(target + (size_t)(h * cache->strides[2] + i * cache->strides[3]) * item,
                   source + (size_t)(h * value->strides[2] + i * value->strides[3]) * item, item);
}

sc_status sc_cache_write(const sc_kernel_call *call, const sc_tensor *value, const sc_tensor *cache,
                         int64_t start) {
    const int64_t rows = value->sizes[1], room = cache->sizes[1];
    if (value->dtype != cache->dtype) return sc_call_no_kernel(call);
    if (start < 0 || rows > room || start > room - rows)
        return sc_call_fail_hint(
            call, SC_ERR_INDEX,
            "Start again at position 0, or export the model with a longer cache.",
            "rows %lld to %lld are outside of a cache of %lld rows", (long long)start,
            (long long)(start < 0 ? -1 : start + rows - 1), (long long)room);
    for (int64_t b = 0; b < value->sizes[0]; b++)
        for (int64_t s = 0; s < rows; s++) write_row(value, cache, b, s, start + s);
    return SC_OK;
}

// (value, cache, start_pos, out)
static sc_status run_update(const sc_kernel_call *call) {
    return sc_cache_write(call, sc_call_tensor(call, 0), sc_call_tensor(call, 1),
                          sc_call_integer(call, 2));
}

static int64_t index_at(const sc_tensor *indices, int64_t batch, int64_t row) {
    return (
        (const int64_t *)indices->data)[batch * indices->strides[0] + row * indices->strides[1]];
}

// (value, cache, start_pos, indices, out). Nothing is written if an index is wrong. If rows have
// one index, the last of them stays.
static sc_status run_indexed(const sc_kernel_call *call) {
    const sc_tensor *value = sc_call_tensor(call, 0), *cache = sc_call_tensor(call, 1);
    const sc_tensor *indices = sc_call_tensor(call, 3);
    if (value->dtype != cache->dtype || indices->dtype != SC_DTYPE_I64)
        return sc_call_no_kernel(call);
    for (int64_t b = 0; b < value->sizes[0]; b++) {
        for (int64_t s = 0; s < value->sizes[1]; s++) {
            const int64_t to = index_at(indices, b, s);
            if (to < 0 || to >= cache->sizes[1])
                return sc_call_fail(call, SC_ERR_INDEX,
                                    "row %lld is outside of a cache of %lld rows", (long long)to,
                                    (long long)cache->sizes[1]);
        }
    }
    for (int64_t b = 0; b < value->sizes[0]; b++)
        for (int64_t s = 0; s < value->sizes[1]; s++)
            write_row(value, cache, b, s, index_at(indices, b, s));
    return SC_OK;
}

SC_KERNEL(update_cache, .run = run_update);
SC_KERNEL(update_cache_with_indices, .run = run_indexed);
