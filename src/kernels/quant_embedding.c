// Embedding tables of 8, 4 or 2 bits with a scale per row or per group of columns. The even one of
// two 4-bit columns is in the high half of its byte; 2-bit columns fill a byte from its low end.
#include "base/parallel.h"
#include "kernels/iter.h"

typedef struct table {
    const sc_tensor *weight, *scales, *zeros, *indices, *out;
    uint32_t per_byte;       // columns in a byte
    int64_t columns, group;  // columns per scale
} table;

static int32_t column_at(const table *t, const uint8_t *row, int64_t c) {
    if (t->per_byte == 2) return (row[c / 2] >> (c % 2 ? 0 : 4) & 15) - 8;
    if (t->per_byte == 4) return (row[c / 4] >> (c % 4 * 2) & 3) - 2;
    return t->weight->dtype == SC_DTYPE_I8 ? ((const int8_t *)row)[c] : row[c];
}

static float scale_at(const sc_tensor *t, int64_t i) {
    float value;
    uint32_t width = sc_dtype_bytes((sc_dtype)t->dtype);
    sc_loader(SC_CLASS_F32, t->dtype)(&value, (const char *)t->data + i * width, 1, 1);
    return value;
}

static void expand_row(const table *t, int64_t index, char *to) {
    const uint8_t *row = (const uint8_t *)t->weight->data + index * t->weight->sizes[1];
    int64_t groups = t->columns / t->group;
    uint32_t width = sc_dtype_bytes((sc_dtype)t->out->dtype);
    sc_store_fn store = sc_storer(SC_CLASS_F32, t->out->dtype);
    for (int64_t g = 0; g < groups; g++) {
        float scale = scale_at(t->scales, index * groups + g);
        float zero = t->zeros ? scale_at(t->zeros, index * groups + g) : 0.0f;
        for (int64_t c = g * t->group; c < (g + 1) * t->group; c += SC_BLOCK) {
            float block[SC_BLOCK];
            int64_t n = sc_min_i64(SC_BLOCK, (g + 1) * t->group - c);
            for (int64_t k = 0; k < n; k++)
                block[k] = ((float)column_at(t, row, c + k) - zero) * scale;
            store(to + c * width, 1, block, n);
        }
    }
}

static bool is_plain_float(const sc_tensor *t) {
    return sc_dtype_is_float((sc_dtype)t->dtype) && sc_tensor_is_contiguous(t);
}

static sc_status table_init(const sc_kernel_call *call, table *t, uint32_t per_byte) {
    t->weight = sc_call_tensor(call, 0);
    t->scales = sc_call_tensor(call, 1);
    t->zeros = sc_call_tensor(call, 2);
    t->out = sc_call_out(call);
    t->per_byte = per_byte;
    const sc_tensor *indices = t->indices = sc_call_tensor(call, 5);
    bool bytes =
        t->weight->dtype == SC_DTYPE_U8 || (per_byte == 1 && t->weight->dtype == SC_DTYPE_I8);
    bool fits = bytes && t->weight->rank == 2 && sc_tensor_is_contiguous(t->weight) &&
                is_plain_float(t->scales) && is_plain_float(t->out) && t->scales->rank >= 1 &&
                t->scales->rank <= 2 && t->scales->sizes[0] == t->weight->sizes[0] &&
                (!t->zeros || (is_plain_float(t->zeros) && sc_same_sizes(t->zeros, t->scales))) &&
                t->out->rank == indices->rank + 1u;
    t->columns = fits ? t->weight->sizes[1] * per_byte : 0;
    int64_t groups = fits && t->scales->rank == 2 ? t->scales->sizes[1] : 1;
    fits = fits && groups > 0 && t->columns % groups == 0 &&
           t->out->sizes[indices->rank] == t->columns &&
           t->out->numel == indices->numel * t->columns;
    t->group = fits ? t->columns / groups : 1;
    if (!fits || (indices->dtype != SC_DTYPE_I64 && indices->dtype != SC_DTYPE_I32))
        return sc_call_fail(call, SC_ERR_SHAPE, "table, scales and result do not agree");
    return SC_OK;
}

static sc_stream indices_of(const table *t) {
    const sc_tensor *indices = t->indices;
    sc_stream walk;
    sc_stream_init_dims(&walk, indices->data, sc_dtype_bytes((sc_dtype)indices->dtype),
                        indices->rank, indices->sizes, indices->strides);
    return walk;
}

static int64_t next_index(const table *t, sc_stream *walk) {
    int64_t index;
    sc_stream_load(walk, sc_loader(SC_CLASS_I64, t->indices->dtype), &index, sizeof index, 1);
    return index;
}

static void expand_rows(void *work, int64_t from, int64_t to, uint32_t thread) {
    const table *t = work;
    const int64_t row_bytes = t->columns * (int64_t)sc_dtype_bytes((sc_dtype)t->out->dtype);
    sc_stream walk = indices_of(t);
    sc_stream_seek(&walk, from);
    (void)thread;
    for (int64_t i = from; i < to; i++)
        expand_row(t, next_index(t, &walk), (char *)t->out->data + i * row_bytes);
}

// (weight, scales, zero_points, quant_min, quant_max, indices, [dtype], out)
static sc_status look_up(const sc_kernel_call *call) {
    const uint32_t per_byte = (uint32_t)call->kernel->param;
    const sc_tensor *indices = sc_call_tensor(call, 5);
    table t;
    SC_TRY(table_init(call, &t, per_byte));
    if (indices->numel == 0 || t.columns == 0) return SC_OK;
    sc_stream walk = indices_of(&t);
    for (int64_t i = 0; i < indices->numel; i++) {
        const int64_t index = next_index(&t, &walk);
        if (index < 0 || index >= t.weight->sizes[0])
            return sc_call_fail(call, SC_ERR_INDEX,
                                "index %lld is out of range for a table of %lld rows",
                                (long long)index, (long long)t.weight->sizes[0]);
    }
    sc_parallel_rows(indices->numel, SC_COST_CONVERT * (double)t.columns, expand_rows, &t);
    return SC_OK;
}

SC_KERNEL(embedding_byte, .run = look_up, .param = 1);
SC_KERNEL(embedding_4bit, .run = look_up, .param = 2);
SC_KERNEL(embedding_2bit, .run = look_up, .param = 4);
