#include "api/constant_method_json.h"

enum { ANSWER_DEPTH_MAX = 8 };

// The tree of a result, and the bytes of the tensors in it.
typedef struct answer_reader {
    sc_ctx *ctx;
    sc_source *bytes;
} answer_reader;

static sc_status bad_answer(sc_ctx *ctx) {
    return sc_fail(ctx, SC_ERR_ARGUMENT,
                   "Use a number, true, false, a string, a dtype, a tensor, or a list or dict.",
                   "a constant method cannot return this value");
}

// {"tensor": "float32", "sizes": [2, 3], "at": 0}
static sc_status read_tensor(answer_reader *r, const sc_json *json, sc_answer *out) {
    sc_ctx *ctx = r->ctx;
    int64_t sizes[SC_RANK_MAX], at = -1;
    uint64_t bytes = 0;
    const sc_json *list = sc_json_get(json, "sizes");
    const sc_dtype dtype =
        sc_dtype_from_short(sc_json_str(ctx->scratch, sc_json_get(json, "tensor")));
    sc_constant *tensor = sc_new(ctx->arena, sc_constant);
    if (dtype == SC_DTYPE_NONE || !list || list->kind != SC_JSON_ARRAY || list->size > SC_RANK_MAX)
        return bad_answer(ctx);
    const sc_json *item = sc_json_first(list);
    for (uint32_t d = 0; d < list->size; d++, item = sc_json_next(item))
        if (!sc_json_i64(item, &sizes[d])) return bad_answer(ctx);
    tensor->spec = sc_spec_new(ctx->arena, dtype, list->size);
    if (!sc_spec_set_static(&tensor->spec, sizes, &bytes) ||
        !sc_json_i64(sc_json_get(json, "at"), &at) || at < 0 ||
        !sc_extent_slice(sc_extent_whole(r->bytes), (uint64_t)at, bytes, &tensor->data))
        return bad_answer(ctx);
    *out = (sc_answer){.kind = SC_ANSWER_TENSOR, .tensor = tensor};
    return SC_OK;
}

static sc_status read_answer(answer_reader *r, const sc_json *json, uint32_t depth, sc_answer *out);

static sc_status read_list(answer_reader *r, const sc_json *json, uint32_t depth, sc_answer *out) {
    sc_answer *items = sc_new_array(r->ctx->arena, sc_answer, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item))
        SC_TRY(read_answer(r, item, depth + 1, &items[i]));
    *out = (sc_answer){.kind = SC_ANSWER_LIST, .items = items, .count = json->size};
    return SC_OK;
}

// [[key, value], ...]
static sc_status read_dict(answer_reader *r, const sc_json *json, uint32_t depth, sc_answer *out) {
    sc_arena *arena = r->ctx->arena;
    sc_answer *items = sc_new_array(arena, sc_answer, (size_t)json->size + 1);
    sc_str *keys = sc_new_array(arena, sc_str, (size_t)json->size + 1);
    const sc_json *pair = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, pair = sc_json_next(pair)) {
        const sc_json *key = sc_json_first(pair);
        if (pair->kind != SC_JSON_ARRAY || pair->size != 2 || key->kind != SC_JSON_STRING)
            return bad_answer(r->ctx);
        keys[i] = sc_str_copy(arena, sc_json_str(arena, key));
        SC_TRY(read_answer(r, sc_json_next(key), depth + 1, &items[i]));
    }
    *out = (sc_answer){.kind = SC_ANSWER_DICT, .items = items, .keys = keys, .count = json->size};
    return SC_OK;
}

// {"dict": [...]}, {"dtype": "float16"} or a tensor.
static sc_status read_object(answer_reader *r, const sc_json *json, uint32_t depth,
                             sc_answer *out) {
    const sc_json *dict = sc_json_get(json, "dict"), *name = sc_json_get(json, "dtype");
    if (dict && dict->kind == SC_JSON_ARRAY) return read_dict(r, dict, depth, out);
    if (!name) return read_tensor(r, json, out);
    const sc_dtype dtype = sc_dtype_from_short(sc_json_str(r->ctx->scratch, name));
    if (dtype == SC_DTYPE_NONE) return bad_answer(r->ctx);
    out->plain = sc_arg_dtype(dtype);
    return SC_OK;
}

static sc_status read_answer(answer_reader *r, const sc_json *json, uint32_t depth,
                             sc_answer *out) {
    sc_ctx *ctx = r->ctx;
    double number = 0;
    *out = (sc_answer){.kind = SC_ANSWER_PLAIN};
    if (!json || depth > ANSWER_DEPTH_MAX) return bad_answer(ctx);
    switch (json->kind) {
    case SC_JSON_INT: out->plain = sc_arg_int(json->integer); return SC_OK;
    case SC_JSON_BOOL: out->plain = sc_arg_bool(json->boolean); return SC_OK;
    case SC_JSON_STRING:
        out->plain = sc_arg_str(sc_str_copy(ctx->arena, sc_json_str(ctx->arena, json)));
        return SC_OK;
    case SC_JSON_FLOAT:
        if (!sc_json_f64(json, &number)) return bad_answer(ctx);
        out->plain = sc_arg_float(number);
        return SC_OK;
    case SC_JSON_ARRAY: return read_list(r, json, depth, out);
    case SC_JSON_OBJECT: return read_object(r, json, depth, out);
    default: return bad_answer(ctx);
    }
}

static bool has_method(const sc_program *program, sc_str name) {
    for (uint32_t i = 0; i < program->constant_methods.count; i++)
        if (sc_str_equal(sc_name_str(program->constant_methods.data[i].name), name)) return true;
    return sc_program_method(program, name) != NULL;
}

sc_status sc_constant_method_read(sc_ctx *ctx, const sc_program *program, sc_str name,
                                  const sc_json *value, sc_str elements, sc_constant_method *out) {
    if (name.size == 0 || has_method(program, name))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give each method a different name.",
                       "there is already a method named '" SC_STR_FMT "'", SC_STR_ARG(name));
    *out = (sc_constant_method){.name = sc_name_intern(ctx->names, name)};
    uint8_t *kept = sc_arena_try_alloc(ctx->arena, sc_max_u64(elements.size, 1));
    if (!kept)
        return sc_fail(ctx, SC_ERR_MEMORY, "Use smaller tensors.",
                       "there is no memory for the tensors of constant method '" SC_STR_FMT "'",
                       SC_STR_ARG(name));
    if (elements.size) memcpy(kept, elements.data, elements.size);
    answer_reader r = {ctx, sc_source_from_memory(ctx->arena, kept, elements.size)};
    return read_answer(&r, value, 0, &out->value);
}
