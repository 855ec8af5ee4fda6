// Inputs to try a program with. A .pt2 contains those that it was exported with, as torch.save
// wrote (args, kwargs). If they do not fit the program, or the file has none, numbers are random
// but the same on every host: floats of a normal distribution, integers 0 and 1.
#include "api/verify/examples.h"

#include <math.h>

#include "api/compiling.h"
#include "format/torch_save.h"
#include "kernels/convert.h"

enum { LEAVES_MAX = 4096, DEPTH_MAX = 16 };

typedef struct setting {
    sc_ctx *ctx;
    sc_rt_method *const *methods;
    uint32_t count;
} setting;

static sc_status set_input(setting *s, uint32_t index, const sc_rt_input *input) {
    for (uint32_t i = 0; i < s->count; i++)
        SC_TRY(sc_rt_method_set_input(s->ctx, s->methods[i], index, input));
    return SC_OK;
}

// --- Examples in the file ------------------------------------------------------------------------

typedef struct leaves {
    const sc_pickle_value *items[LEAVES_MAX];
    uint32_t count;
    bool is_plain;  // contains only containers, tensors and numbers
} leaves;

static void flatten(leaves *l, const sc_pickle_value *value, uint32_t depth) {
    const bool is_dict = value->kind == SC_PICKLE_DICT;
    switch ((sc_pickle_kind)value->kind) {
    case SC_PICKLE_TUPLE:
    case SC_PICKLE_LIST:
    case SC_PICKLE_DICT:
        l->is_plain &= depth < DEPTH_MAX;
        for (uint32_t i = 0; i < value->count && l->is_plain; i++)
            flatten(l, value->items[is_dict ? 2 * i + 1 : i], depth + 1);
        return;
    case SC_PICKLE_TENSOR:
    case SC_PICKLE_INT:
    case SC_PICKLE_FLOAT:
    case SC_PICKLE_BOOL:
    case SC_PICKLE_NONE:
    case SC_PICKLE_STR:
        l->is_plain &= l->count < LEAVES_MAX;
        if (l->is_plain) l->items[l->count++] = value;
        return;
    default: l->is_plain = false;
    }
}

// A number that changes from call to call is a tensor without dimensions in the program.
static bool holds_number(const sc_tensor *declared, const sc_pickle_value *value) {
    if (declared->rank != 0) return false;
    switch ((sc_pickle_kind)value->kind) {
    case SC_PICKLE_INT: return declared->dtype == SC_DTYPE_I64;
    case SC_PICKLE_FLOAT: return declared->dtype == SC_DTYPE_F64;
    case SC_PICKLE_BOOL: return declared->dtype == SC_DTYPE_BOOL;
    default: return false;
    }
}

static uint8_t tag_of_number(const sc_pickle_value *value) {
    if (value->kind == SC_PICKLE_INT) return SC_EVALUE_INT;
    return value->kind == SC_PICKLE_BOOL ? SC_EVALUE_BOOL : SC_EVALUE_DOUBLE;
}

static bool fits(const sc_pickle_value *value, const sc_evalue *declared) {
    if (value->kind != SC_PICKLE_TENSOR)
        return declared->tag != SC_EVALUE_TENSOR || holds_number(declared->tensor, value);
    const sc_pickle_tensor *t = value->tensor;
    if (declared->tag != SC_EVALUE_TENSOR || t->rank != declared->tensor->rank) return false;
    if (sc_dtype_from_pt2(t->dtype) != (sc_dtype)declared->tensor->dtype) return false;
    for (uint32_t d = 0; d < t->rank; d++) {
        const int64_t most = declared->tensor->sizes[d];
        if (t->sizes[d] > most || (!declared->tensor->is_dynamic && t->sizes[d] != most))
            return false;
    }
    return t->numel == 0 || (t->storage && !t->storage->missing);
}

static bool fit(const leaves *l, const sc_rt_method *method) {
    bool all = l->is_plain && l->count == sc_rt_method_input_count(method);
    for (uint32_t i = 0; all && i < l->count; i++)
        all = fits(l->items[i], sc_rt_method_input(method, i));
    return all;
}

// Elements in row-major order, gathered by their strides.
static void gather(const sc_pickle_tensor *t, const uint8_t *storage, uint8_t *out) {
    int64_t at[SC_RANK_MAX] = {0};
    for (uint64_t i = 0; i < t->numel; i++) {
        int64_t offset = t->storage_offset;
        for (uint32_t d = 0; d < t->rank; d++) offset += at[d] * t->strides[d];
        memcpy(out + i * t->item_bytes, storage + (size_t)offset * t->item_bytes, t->item_bytes);
        for (uint32_t d = t->rank; d-- > 0 && ++at[d] == t->sizes[d];) at[d] = 0;
    }
}

static sc_status set_tensor(setting *s, uint32_t index, const sc_pickle_tensor *t) {
    const uint64_t bytes = t->numel * t->item_bytes;
    const uint64_t stored = t->numel ? t->storage->extent.size : 0;
    uint8_t *storage = sc_try_alloc(stored + 1), *data = sc_try_alloc(bytes + 1);
    sc_status status =
        storage && data ? SC_OK
                        : sc_fail(s->ctx, SC_ERR_MEMORY, NULL, "no memory for the example inputs");
    if (status == SC_OK && stored)
        status = sc_extent_read(s->ctx, t->storage->extent, 0, storage, (size_t)stored);
    if (status == SC_OK) {
        gather(t, storage, data);
        sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                             .dtype = (uint8_t)sc_dtype_from_pt2(t->dtype),
                             .rank = t->rank,
                             .sizes = t->sizes,
                             .data = data,
                             .bytes = bytes};
        status = set_input(s, index, &input);
    }
    sc_free(storage);
    sc_free(data);
    return status;
}

static sc_status set_leaf(setting *s, uint32_t index, const sc_pickle_value *value) {
    const uint8_t tag = sc_rt_method_input(s->methods[0], index)->tag;
    sc_rt_input input = {.tag = tag == SC_EVALUE_TENSOR ? tag_of_number(value) : tag};
    switch ((sc_pickle_kind)value->kind) {
    case SC_PICKLE_TENSOR: return set_tensor(s, index, value->tensor);
    case SC_PICKLE_STR: input.str = sc_pickle_str(value); break;
    case SC_PICKLE_FLOAT: input.d = value->real; break;
    case SC_PICKLE_BOOL: input.b = value->boolean; break;
    case SC_PICKLE_INT:
        input.i = value->integer;
        input.d = (double)value->integer;
        input.b = value->integer != 0;
        break;
    default: break;
    }
    return set_input(s, index, &input);
}

static sc_status set_from(setting *s, const sc_pickle_value *root, bool *are_set) {
    leaves *l = sc_new(s->ctx->arena, leaves);
    l->is_plain = true;
    if (root) flatten(l, root, 0);
    if (!fit(l, s->methods[0])) return SC_OK;
    for (uint32_t i = 0; i < l->count; i++) SC_TRY(set_leaf(s, i, l->items[i]));
    *are_set = true;
    return SC_OK;
}

static sc_status set_from_file(setting *s, sc_extent examples, bool *are_set) {
    sc_torch_save save;
    if (!examples.size) return SC_OK;
    SC_TRY(sc_torch_save_open(s->ctx, s->ctx->arena, examples, &save));
    return set_from(s, save.root, are_set);
}

sc_status sc_set_values(sc_ctx *ctx, const sc_pickle_value *values, sc_rt_method *const *methods,
                        uint32_t count, bool *are_set) {
    setting s = {ctx, methods, count};
    *are_set = false;
    return set_from(&s, values, are_set);
}

// --- Made up -------------------------------------------------------------------------------------

// A number uniform in (0, 1).
static double next_uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 33) + 0.5) / 2147483648.0;
}

static bool is_float(uint8_t dtype) {
    sc_class class_ = sc_class_of(dtype);
    return class_ == SC_CLASS_F32 || class_ == SC_CLASS_F64 || class_ == SC_CLASS_COUNT;
}

static sc_status set_random(setting *s, uint32_t index, const sc_tensor *declared) {
    const size_t item = sc_dtype_bytes((sc_dtype)declared->dtype);
    int64_t count = 1;
    uint64_t state = 0x5eed + index;
    for (uint32_t d = 0; d < declared->rank; d++) count *= declared->sizes[d];
    uint8_t *data = sc_try_alloc((uint64_t)count * item + 1);
    if (!data) return sc_fail(s->ctx, SC_ERR_MEMORY, NULL, "no memory for made-up inputs");
    for (int64_t i = 0; i < count; i++) {
        const double u = next_uniform(&state), v = next_uniform(&state);
        const double normal = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        sc_put_number(data + (size_t)i * item, declared->dtype, normal, u < 0.5,
                      is_float(declared->dtype));
    }
    sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                         .dtype = declared->dtype,
                         .rank = declared->rank,
                         .sizes = declared->sizes,
                         .data = data,
                         .bytes = (uint64_t)count * item};
    sc_status status = set_input(s, index, &input);
    sc_free(data);
    return status;
}

// Numbers must be those that the program was specialised on.
static sc_status set_frozen(setting *s, uint32_t index, const sc_evalue *declared) {
    sc_rt_input input = {.tag = declared->tag};
    switch ((sc_evalue_tag)declared->tag) {
    case SC_EVALUE_INT: input.i = declared->i; break;
    case SC_EVALUE_DOUBLE: input.d = declared->d; break;
    case SC_EVALUE_BOOL: input.b = declared->b; break;
    case SC_EVALUE_STRING: input.str = declared->str; break;
    default: break;
    }
    return set_input(s, index, &input);
}

sc_status sc_set_examples(sc_ctx *ctx, const sc_method *source, sc_rt_method *const *methods,
                          uint32_t count, bool *are_examples) {
    setting s = {ctx, methods, count};
    *are_examples = false;
    SC_TRY(set_from_file(&s, source->examples, are_examples));
    if (*are_examples) return SC_OK;
    for (uint32_t i = 0; i < sc_rt_method_input_count(methods[0]); i++) {
        const sc_evalue *declared = sc_rt_method_input(methods[0], i);
        SC_TRY(declared->tag == SC_EVALUE_TENSOR ? set_random(&s, i, declared->tensor)
                                                 : set_frozen(&s, i, declared));
    }
    return SC_OK;
}
