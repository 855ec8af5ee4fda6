// Inputs and outputs of a record, and example inputs of an opened file, in the form that crosses to
// JavaScript. JSON describes them, and one run of bytes has the tensors, row-major.
#include <inttypes.h>

#include "api/compiling.h"
#include "api/job/call_memory.h"
#include "api/record/records.h"
#include "base/print.h"

enum { DEPTH_MAX = 16, VALUES_MAX = 1 << 16 };
// The limit for all tensors together. A few bytes of a file may describe any number of elements,
// because expanded tensors are saved like that.
#define BYTES_MAX (UINT64_C(1) << 31)

// --- In ------------------------------------------------------------------------------------------

typedef struct reader {
    sc_ctx *ctx;
    sc_source *bytes;  // a copy of the input
} reader;

static sc_status bad(sc_ctx *ctx, const char *what) {
    return sc_fail(ctx, SC_ERR_ARGUMENT, "Pass tensors, numbers, texts, null, or lists of them.",
                   "a value of a record %s", what);
}

// Sizes of 0 count as 1 where a product must fit a number, because strides go on after them.
static bool read_sizes(const sc_json *json, int64_t *sizes, uint64_t *numel) {
    int64_t step = 1;
    *numel = 1;
    if (!json || json->kind != SC_JSON_ARRAY || json->size > SC_RANK_MAX) return false;
    const sc_json *item = sc_json_first(json);
    for (uint32_t d = 0; d < json->size; d++, item = sc_json_next(item))
        if (!sc_json_i64(item, &sizes[d]) || sizes[d] < 0 ||
            !sc_mul_i64(step, sc_max_i64(sizes[d], 1), &step) ||
            !sc_mul_u64(*numel, (uint64_t)sizes[d], numel))
            return false;
    return true;
}

// {"tensor": "float32", "sizes": [2, 3], "at": 0}
static sc_status read_tensor(reader *r, const sc_json *json, sc_pickle_value **out) {
    int64_t sizes[SC_RANK_MAX], at = -1;
    uint64_t numel = 0, bytes = 0;
    sc_extent extent;
    const sc_json *list = sc_json_get(json, "sizes");
    const sc_str name = sc_json_str(r->ctx->scratch, sc_json_get(json, "tensor"));
    const sc_dtype dtype = sc_dtype_from_short(name);
    if (dtype == SC_DTYPE_NONE || !sc_dtype_to_pt2(dtype))
        return bad(r->ctx, "has an unknown dtype");
    if (!read_sizes(list, sizes, &numel) || !sc_mul_u64(numel, sc_dtype_bytes(dtype), &bytes))
        return bad(r->ctx, "has invalid sizes");
    if (!sc_json_i64(sc_json_get(json, "at"), &at) || at < 0 ||
        !sc_extent_slice(sc_extent_whole(r->bytes), (uint64_t)at, bytes, &extent))
        return bad(r->ctx, "lies outside of the bytes");
    const sc_pickle_view view = {
        .code = sc_dtype_to_pt2(dtype), .rank = list->size, .sizes = sizes};
    sc_pickle_storage *storage = sc_pickle_make_storage(r->ctx->arena, extent);
    *out = sc_pickle_make_tensor(r->ctx->arena, storage, &view);
    return SC_OK;
}

static sc_status read_value(reader *r, const sc_json *json, uint32_t depth, sc_pickle_value **out);

static sc_status read_list(reader *r, const sc_json *json, uint32_t depth, sc_pickle_value **out) {
    if (json->kind != SC_JSON_ARRAY || depth > DEPTH_MAX) return bad(r->ctx, "is not a list");
    *out = sc_pickle_make_container(r->ctx->arena, SC_PICKLE_LIST);
    const sc_json *item = sc_json_first(json);
    for (uint32_t n = json->size; n--; item = sc_json_next(item)) {
        sc_pickle_value *value = NULL;
        SC_TRY(read_value(r, item, depth + 1, &value));
        sc_pickle_add(r->ctx->arena, *out, value);
    }
    return SC_OK;
}

// {"int": "12"}, {"float": 1.5}, {"bool": true}, {"string": "x"}, {"none": true}, {"list": [...]}
static sc_status read_value(reader *r, const sc_json *json, uint32_t depth, sc_pickle_value **out) {
    sc_arena *arena = r->ctx->arena;
    sc_str tag;
    const sc_json *value = NULL;
    int64_t integer = 0;
    double real = 0;
    bool boolean = false;
    if (sc_json_get(json, "tensor")) return read_tensor(r, json, out);
    SC_TRY(sc_json_union(r->ctx, json, "a value of a record", &tag, &value));
    if (sc_str_is(tag, "list")) return read_list(r, value, depth, out);
    if (sc_str_is(tag, "int") && sc_parse_i64(sc_json_str(r->ctx->scratch, value), &integer))
        *out = sc_pickle_make_int(arena, integer);
    else if (sc_str_is(tag, "float") && sc_json_f64(value, &real))
        *out = sc_pickle_make_float(arena, real);
    else if (sc_str_is(tag, "bool") && sc_json_bool(value, &boolean))
        *out = sc_pickle_make_bool(arena, boolean);
    else if (sc_str_is(tag, "string") && value->kind == SC_JSON_STRING)
        *out = sc_pickle_make_str(arena, sc_str_copy(arena, sc_json_str(arena, value)));
    else if (sc_str_is(tag, "none"))
        *out = sc_pickle_make_none(arena);
    else
        return bad(r->ctx, "has an unknown kind");
    return SC_OK;
}

// {method: [case]}
static sc_status read_by_method(reader *r, const sc_json *json, sc_pickle_value **out) {
    if (json->kind != SC_JSON_OBJECT) return bad(r->ctx, "must be an object with methods as keys");
    *out = sc_pickle_make_container(r->ctx->arena, SC_PICKLE_DICT);
    const sc_json *key = sc_json_first(json);
    for (uint32_t n = json->size; n--; key = sc_json_next(key + 1)) {
        sc_pickle_value *cases = NULL;
        const sc_str method = sc_str_copy(r->ctx->arena, sc_json_str(r->ctx->arena, key));
        SC_TRY(read_list(r, key + 1, 0, &cases));
        sc_pickle_put(r->ctx->arena, *out, method, cases);
    }
    return SC_OK;
}

static sc_status read_update(sc_ctx *ctx, sc_str json, const void *bytes, size_t size,
                             sc_pickle_value **made, bool *are_outputs) {
    const sc_json *root = NULL, *value = NULL;
    sc_str tag;
    const sc_str kept = sc_str_copy(ctx->arena, (sc_str){bytes, size});
    reader r = {ctx, sc_source_from_memory(ctx->arena, kept.data, kept.size)};
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, json), &root));
    SC_TRY(sc_json_union(ctx, root, "the update of a record", &tag, &value));
    const bool is_inputs = sc_str_is(tag, "representative_inputs");
    if (!is_inputs && !sc_str_is(tag, "reference_outputs")) return bad(ctx, "has an unknown kind");
    if (value->kind != SC_JSON_NULL)
        SC_TRY(is_inputs ? read_list(&r, value, 0, made) : read_by_method(&r, value, made));
    *are_outputs = !is_inputs;
    return SC_OK;
}

// Frees the former value, unless a saved file still needs it.
sc_status sc_record_update(sc_job *job, uint32_t record, sc_str json, const void *bytes,
                           size_t size) {
    sc_etrecord *to = NULL;
    sc_pickle_value *made = NULL;
    bool are_outputs = false;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    sc_call_memory *memory = sc_call_memory_new();
    const sc_aside aside = sc_job_step_aside(job, &memory->arena);
    const sc_status status = read_update(ctx, json, bytes, size, &made, &are_outputs);
    sc_job_step_back(job, &aside);
    if (status == SC_OK) {
        sc_call_memory **place =
            &sc_job_compiling(job)->records.memories.data[record].of_values[are_outputs];
        sc_call_memory *old = *place;
        *place = memory;
        memory = old;
        *(are_outputs ? &to->reference_outputs : &to->representative_inputs) = made;
    }
    sc_call_memory_drop(job, memory);
    return status;
}

// --- Out -----------------------------------------------------------------------------------------

typedef struct writer {
    sc_ctx *ctx;
    sc_json_writer json;
    sc_cord bytes;
    uint32_t left;  // the number of values that may still come
} writer;

static sc_extent elements_of(writer *w, const sc_pickle_tensor *t) {
    if (!t->storage || t->storage->missing)
        return sc_extent_whole(sc_source_zeros(w->ctx->arena, t->numel * t->item_bytes));
    return sc_extent_strided(w->ctx->arena, t->storage->extent, t->item_bytes, t->rank, t->sizes,
                             t->strides, t->storage_offset);
}

static sc_status put_tensor(writer *w, const sc_pickle_tensor *t) {
    uint64_t bytes;
    if (!sc_mul_u64(t->numel, t->item_bytes, &bytes) || bytes > BYTES_MAX - w->bytes.size)
        return sc_fail(w->ctx, SC_ERR_LIMIT, "Make the record with smaller tensors.",
                       "the tensors of the record's values have more than %llu bytes together",
                       (unsigned long long)BYTES_MAX);
    sc_json_put_text(&w->json, "tensor", sc_dtype_name(sc_dtype_from_pt2(t->dtype)));
    sc_json_put_array(&w->json, "sizes");
    for (uint32_t d = 0; d < t->rank; d++) sc_json_add_i64(&w->json, t->sizes[d]);
    sc_json_end_array(&w->json);
    sc_json_put_u64(&w->json, "at", w->bytes.size);
    if (t->numel) sc_cord_append_extent(&w->bytes, elements_of(w, t));
    sc_json_put_u64(&w->json, "bytes", bytes);
    return SC_OK;
}

static sc_status put_value(writer *w, const sc_pickle_value *value, uint32_t depth);

static sc_status put_list(writer *w, const sc_pickle_value *list, uint32_t depth) {
    sc_json_begin_array(&w->json);
    for (uint32_t i = 0; i < list->count; i++) SC_TRY(put_value(w, list->items[i], depth + 1));
    sc_json_end_array(&w->json);
    return SC_OK;
}

static void put_int(writer *w, int64_t value) {
    char text[24];
    sc_print(text, sizeof(text), "%" PRId64, value);
    sc_json_put_text(&w->json, "int", text);
}

static sc_status put_kind(writer *w, const sc_pickle_value *value, uint32_t depth) {
    switch ((sc_pickle_kind)value->kind) {
    case SC_PICKLE_NONE: sc_json_put_bool(&w->json, "none", true); return SC_OK;
    case SC_PICKLE_BOOL: sc_json_put_bool(&w->json, "bool", value->boolean); return SC_OK;
    case SC_PICKLE_INT: put_int(w, value->integer); return SC_OK;
    case SC_PICKLE_FLOAT: sc_json_put_f64(&w->json, "float", value->real); return SC_OK;
    case SC_PICKLE_STR: sc_json_put_str(&w->json, "string", sc_pickle_str(value)); return SC_OK;
    case SC_PICKLE_TENSOR:
        if (value->tensor->rank > SC_RANK_MAX ||
            sc_dtype_from_pt2(value->tensor->dtype) == SC_DTYPE_NONE)
            break;
        return put_tensor(w, value->tensor);
    case SC_PICKLE_TUPLE:
    case SC_PICKLE_LIST: sc_json_key(&w->json, "list"); return put_list(w, value, depth);
    default: break;
    }
    return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, "Make the record with tensors and numbers.",
                   "a value of the record is neither a tensor nor a number, text or list");
}

static sc_status put_value(writer *w, const sc_pickle_value *value, uint32_t depth) {
    if (depth > DEPTH_MAX || w->left-- == 0)
        return sc_fail(w->ctx, SC_ERR_LIMIT, NULL,
                       "the values of the record are nested too deeply "
                       "or too many");
    sc_json_begin_object(&w->json);
    SC_TRY(put_kind(w, value, depth));
    sc_json_end_object(&w->json);
    return SC_OK;
}

static sc_status put_by_method(writer *w, const sc_pickle_value *all) {
    sc_json_begin_object(&w->json);
    for (uint32_t i = 0; i < all->count; i++) {
        sc_json_key_str(&w->json, sc_pickle_str(all->items[2 * i]));
        SC_TRY(put_list(w, all->items[2 * i + 1], 0));
    }
    sc_json_end_object(&w->json);
    return SC_OK;
}

static sc_status write_values(sc_job *job, const sc_pickle_value *values, bool are_outputs,
                              sc_str *json, sc_cord *bytes) {
    writer w = {.ctx = &job->ctx, .left = VALUES_MAX};
    sc_sb sb = sc_job_text(job);
    sc_json_writer_init(&w.json, &sb, SC_JSON_COMPACT);
    sc_cord_init(&w.bytes, w.ctx->arena);
    if (!values)
        sc_json_add_null(&w.json);
    else
        SC_TRY(are_outputs ? put_by_method(&w, values) : put_list(&w, values, 0));
    *bytes = w.bytes;
    *json = sc_sb_str(&sb);
    return SC_OK;
}

sc_status sc_record_values(sc_job *job, uint32_t record, bool are_outputs, sc_str *json,
                           uint32_t *output) {
    sc_etrecord *from = NULL;
    (void)sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &from));
    sc_output file = sc_job_record_output(job, record, SC_STR("values"));
    const sc_aside aside = sc_job_step_aside(job, &file.memories[0]->arena);
    const sc_pickle_value *values =
        are_outputs ? from->reference_outputs : from->representative_inputs;
    const sc_status status = write_values(job, values, are_outputs, json, &file.cord);
    sc_job_step_back(job, &aside);
    return sc_job_keep_output(job, status, &file, output);
}

static sc_status write_examples(sc_job *job, const sc_method *method, sc_str *json,
                                sc_cord *bytes) {
    const sc_pickle_value *values = NULL;
    SC_TRY(sc_etrecord_examples(&job->ctx, method, &values));
    return write_values(job, values, false, json, bytes);
}

sc_status sc_compile_examples(sc_job *job, sc_str method, sc_str *json, uint32_t *output) {
    sc_version *opened = NULL;
    (void)sc_job_begin(job);
    SC_TRY(sc_job_version(job, 0, &opened));
    const sc_method *found = sc_program_method(opened->program, method);
    if (!found)
        return sc_fail(&job->ctx, SC_ERR_NOT_FOUND, NULL, "there is no method '" SC_STR_FMT "'",
                       SC_STR_ARG(method));
    sc_output file = {
        .program = SC_NO_PROGRAM, .name = SC_STR("examples"), .memories = {sc_call_memory_new()}};
    const sc_aside aside = sc_job_step_aside(job, &file.memories[0]->arena);
    const sc_status status = write_examples(job, found, json, &file.cord);
    sc_job_step_back(job, &aside);
    return sc_job_keep_output(job, status, &file, output);
}

// Any stage of a method may have them, because files of several methods have the exported program
// of only one.
static sc_status find_examples(sc_ctx *ctx, const sc_etrecord *from, sc_str method,
                               const sc_pickle_value **out) {
    const char *const stages[] = {SC_ETRECORD_EXPORTED, SC_ETRECORD_EDGE};
    bool is_there = false;
    *out = NULL;
    for (size_t i = 0; i < SC_COUNT_OF(stages) && !*out; i++) {
        const sc_etrecord_program *of = sc_etrecord_find(from, sc_str_from(stages[i]), method);
        if (!of) continue;
        is_there = true;
        SC_TRY(sc_etrecord_examples(ctx, of->method, out));
    }
    if (is_there) return SC_OK;
    return sc_fail(ctx, SC_ERR_NOT_FOUND, "Name a method of the record.",
                   "the record has no method '" SC_STR_FMT "'", SC_STR_ARG(method));
}

sc_status sc_record_examples(sc_job *job, uint32_t record, sc_str method, sc_str *json,
                             uint32_t *output) {
    sc_etrecord *from = NULL;
    const sc_pickle_value *examples = NULL;
    (void)sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &from));
    sc_output file = sc_job_record_output(job, record, SC_STR("values"));
    const sc_aside aside = sc_job_step_aside(job, &file.memories[0]->arena);
    sc_status status = find_examples(&job->ctx, from, method, &examples);
    if (status == SC_OK) status = write_values(job, examples, false, json, &file.cord);
    sc_job_step_back(job, &aside);
    return sc_job_keep_output(job, status, &file, output);
}
