// Reads logged values: numbers, and tensors whose bytes are in the debug buffer. A tensor that
// reaches beyond the buffer has no bytes, because the buffer may be of another dump, or cut off.
#include "base/strides.h"
#include "core/spec.h"
#include "devtools/inspect/etdump_read_internal.h"
#include "etdump_fbs.h"

// --- Reading -------------------------------------------------------------------------------------

sc_status sc_dump_take(sc_dump_reader *r, uint64_t *taken, uint64_t count, const char *what) {
    if (!sc_add_u64(*taken, count, taken) || *taken > r->most)
        return sc_fail(r->ctx, SC_ERR_CORRUPT, "Write the dump again: it repeats itself.",
                       "the dump has more %s than its size allows", what);
    return SC_OK;
}

sc_status sc_dump_alloc(sc_dump_reader *r, uint64_t count, size_t item_bytes, const char *what,
                        void **out) {
    enum { SMALL = 1 << 12 };  // memory for these is bounded by the things that were counted
    uint64_t bytes;
    *out = NULL;
    if (sc_add_u64(count, 1, &count) && sc_mul_u64(count, item_bytes, &bytes) &&
        bytes <= SC_BLOCK_BYTES_MAX) {
        if (bytes <= SMALL)
            *out = sc_arena_alloc(r->ctx->arena, (size_t)bytes);
        else if ((*out = sc_arena_try_alloc(r->ctx->arena, (size_t)bytes)))
            memset(*out, 0, (size_t)bytes);
    }
    if (*out) return SC_OK;
    return sc_fail(r->ctx, SC_ERR_MEMORY, NULL, "no memory for the dump's %s", what);
}

static sc_status bad_tensor(sc_dump_reader *r, const char *what) {
    return sc_fail(r->ctx, SC_ERR_CORRUPT, "Write the dump again: the file contradicts itself.",
                   "a tensor of the dump %s", what);
}

static int64_t *read_numbers(sc_dump_reader *r, sc_fb_vec list, uint32_t count) {
    int64_t *out = sc_new_array(r->ctx->arena, int64_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) out[i] = sc_fb_vec_i64(list, i);
    return out;
}

static sc_status count_elements(sc_dump_reader *r, sc_dump_tensor *t) {
    t->numel = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->sizes[d] < 0) return bad_tensor(r, "has a negative size");
        if (!sc_mul_u64(t->numel, (uint64_t)t->sizes[d], &t->numel) || t->numel > INT64_MAX / 16)
            return bad_tensor(r, "is larger than any memory");
    }
    return SC_OK;
}

static const int64_t *row_major(sc_arena *arena, const sc_dump_tensor *t) {
    int64_t *strides = sc_new_array(arena, int64_t, (size_t)t->rank + 1);
    (void)sc_strides_of(t->sizes, t->rank, NULL, strides);
    return strides;
}

// Gives the place after the last element. False if memory could not have that place, or if elements
// share places, which no runtime logs.
static bool reach_of(const sc_dump_tensor *t, uint64_t *out) {
    int64_t last = 0;
    *out = 0;
    if (t->numel == 0) return true;
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t step;
        if (t->strides[d] < 0 || !sc_mul_i64(t->strides[d], t->sizes[d] - 1, &step) ||
            !sc_add_i64(last, step, &last))
            return false;
    }
    *out = (uint64_t)last + 1;
    return last < INT64_MAX / 16 && *out >= t->numel;
}

// The place of a tensor's bytes, if they are available.
static sc_extent place(sc_dump_reader *r, const sc_dump_tensor *t, int64_t offset) {
    const uint32_t item = sc_dtype_is_known(t->dtype) ? sc_dtype_bytes((sc_dtype)t->dtype) : 0;
    sc_extent found = {0};
    uint64_t reach;
    if (!r->buffer || offset < 0 || item == 0 || t->numel == 0) return found;
    if (!reach_of(t, &reach) ||
        !sc_extent_slice(sc_extent_whole(r->buffer), (uint64_t)offset, reach * item, &found)) {
        r->dump->beyond_buffer++;
        return (sc_extent){0};
    }
    return found;
}

static sc_status read_tensor(sc_dump_reader *r, sc_fb_table table, sc_dump_tensor *t) {
    const sc_fb_vec sizes = sc_etdp_Tensor_sizes(table), strides = sc_etdp_Tensor_strides(table);
    if (sizes.count > SC_RANK_MAX) return bad_tensor(r, "has too many dimensions");
    if (strides.count != 0 && strides.count != sizes.count)
        return bad_tensor(r, "has other strides than sizes");
    SC_TRY(sc_dump_take(r, &r->dims, (sizes.count + 3) / 4, "dimensions"));
    *t = (sc_dump_tensor){.dtype = (uint8_t)sc_etdp_Tensor_scalar_type(table),
                          .rank = sizes.count,
                          .sizes = read_numbers(r, sizes, sizes.count)};
    SC_TRY(count_elements(r, t));
    t->strides =
        strides.count ? read_numbers(r, strides, sizes.count) : row_major(r->ctx->arena, t);
    t->data = place(r, t, sc_etdp_Tensor_offset(table));
    return SC_OK;
}

static sc_status read_tensors(sc_dump_reader *r, sc_fb_vec list, sc_dump_value *out) {
    SC_TRY(sc_dump_take(r, &r->values, list.count, "values"));
    void *made;
    SC_TRY(sc_dump_alloc(r, list.count, sizeof(sc_dump_tensor), "tensors", &made));
    sc_dump_tensor *tensors = made;
    for (uint32_t i = 0; i < list.count; i++)
        SC_TRY(read_tensor(r, sc_fb_vec_table(list, i), &tensors[i]));
    out->tensors = tensors;
    out->tensor_count = list.count;
    return SC_OK;
}

static sc_status read_one(sc_dump_reader *r, sc_fb_table table, sc_dump_value *out) {
    sc_dump_tensor *tensor = sc_new(r->ctx->arena, sc_dump_tensor);
    if (!table.at) return bad_tensor(r, "is missing");
    SC_TRY(read_tensor(r, table, tensor));
    out->tensors = tensor;
    out->tensor_count = 1;
    return SC_OK;
}

sc_status sc_dump_read_value(sc_dump_reader *r, sc_fb_table table, const sc_dump_value **out) {
    sc_dump_value *value = sc_new(r->ctx->arena, sc_dump_value);
    *out = value;
    SC_TRY(sc_dump_take(r, &r->values, 1, "values"));
    if (!table.at) return SC_OK;
    const int8_t kind = sc_etdp_Value_val(table);
    const sc_fb_table output = sc_etdp_Value_output(table);
    if (kind < SC_DUMP_NULL || kind > SC_DUMP_STRING)
        return sc_fail(r->ctx, SC_ERR_CORRUPT, "Write the dump again: the file contradicts itself.",
                       "a value of the dump has the unknown kind %d", kind);
    value->kind = (sc_dump_value_kind)kind;
    value->is_output = output.at && sc_etdp_Bool_bool_val(output);
    const sc_fb_table i = sc_etdp_Value_int_value(table), b = sc_etdp_Value_bool_value(table);
    const sc_fb_table f = sc_etdp_Value_float_value(table), d = sc_etdp_Value_double_value(table);
    const sc_fb_table list = sc_etdp_Value_tensor_list(table);
    switch (value->kind) {
    case SC_DUMP_INT: value->i = i.at ? sc_etdp_Int_int_val(i) : 0; break;
    case SC_DUMP_BOOL: value->i = b.at && sc_etdp_Bool_bool_val(b); break;
    case SC_DUMP_FLOAT: value->d = f.at ? (double)sc_etdp_Float_float_val(f) : 0; break;
    case SC_DUMP_DOUBLE: value->d = d.at ? sc_etdp_Double_double_val(d) : 0; break;
    case SC_DUMP_TENSOR: return read_one(r, sc_etdp_Value_tensor(table), value);
    case SC_DUMP_TENSOR_LIST:
        return list.at ? read_tensors(r, sc_etdp_TensorList_tensors(list), value) : SC_OK;
    default: break;
    }
    return SC_OK;
}

// --- Elements ------------------------------------------------------------------------------------

#define LOAD_AS(type)             \
    {                             \
        type v;                   \
        memcpy(&v, at, sizeof v); \
        *out = (double)v;         \
        return true;              \
    }

static uint16_t load_u16(const uint8_t *at) {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return bits;
}

static bool number_at(const uint8_t *at, uint8_t dtype, double *out) {
    switch ((int)dtype) {
    case SC_DTYPE_U8: *out = *at; return true;
    case SC_DTYPE_I8: LOAD_AS(int8_t)
    case SC_DTYPE_I16: LOAD_AS(int16_t)
    case SC_DTYPE_I32: LOAD_AS(int32_t)
    case SC_DTYPE_I64: LOAD_AS(int64_t)
    case SC_DTYPE_U16: LOAD_AS(uint16_t)
    case SC_DTYPE_U32: LOAD_AS(uint32_t)
    case SC_DTYPE_U64: LOAD_AS(uint64_t)
    case SC_DTYPE_F32: LOAD_AS(float)
    case SC_DTYPE_F64: LOAD_AS(double)
    case SC_DTYPE_F16: *out = (double)sc_f16_to_f32(load_u16(at)); return true;
    case SC_DTYPE_BF16: *out = (double)sc_bf16_to_f32(load_u16(at)); return true;
    case SC_DTYPE_BOOL: *out = *at != 0; return true;
    default: return false;
    }
}

static bool gather(const sc_dump_tensor *t, const uint8_t *bytes, double *out) {
    const uint32_t item = sc_dtype_bytes((sc_dtype)t->dtype);
    int64_t at[SC_RANK_MAX] = {0};
    for (uint64_t i = 0; i < t->numel; i++) {
        uint64_t offset = 0;
        for (uint32_t d = 0; d < t->rank; d++) offset += (uint64_t)(at[d] * t->strides[d]);
        if (!number_at(bytes + offset * item, t->dtype, &out[i])) return false;
        for (uint32_t d = t->rank; d-- > 0 && ++at[d] == t->sizes[d];) at[d] = 0;
    }
    return true;
}

sc_status sc_dump_tensor_read(sc_ctx *ctx, const sc_dump_tensor *tensor, double *out,
                              bool *is_read) {
    const uint8_t *bytes;
    *is_read = tensor->numel == 0;
    if (*is_read || tensor->data.size == 0) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = sc_extent_load(ctx, ctx->scratch, tensor->data, tensor->data.size, &bytes);
    if (status == SC_OK) *is_read = gather(tensor, bytes, out);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
