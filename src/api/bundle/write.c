// Writes bundles: the calls of the caller, checked against the open program, and that program.
#include "api/bundle/bundle.h"
#include "api/job/call_memory.h"
#include "api/record/records.h"

typedef struct bundling {
    sc_job *job;
    sc_bundle_spot at;
    const uint8_t *data;  // the tensors that values refer to
    uint64_t bytes;
} bundling;

static sc_status bad_json(const bundling *b) {
    return sc_bundle_refuse(&b->at, SC_ERR_ARGUMENT, NULL, "is not a value that can be bundled");
}

static sc_status read_sizes(bundling *b, const sc_json *json, sc_bundled_value *out) {
    sc_arena *arena = b->at.ctx->arena;
    if (!json || json->kind != SC_JSON_ARRAY || json->size > SC_RANK_MAX) return bad_json(b);
    int64_t *sizes = sc_new_array(arena, int64_t, json->size + 1);
    uint8_t *order = sc_new_array(arena, uint8_t, json->size + 1);
    const sc_json *item = sc_json_first(json);
    uint64_t bytes = sc_dtype_bytes(out->dtype);
    for (uint32_t d = 0; d < json->size; d++, item = sc_json_next(item)) {
        if (!sc_json_i64(item, &sizes[d]) || sizes[d] < 0 || sizes[d] > INT32_MAX ||
            !sc_mul_u64(bytes, (uint64_t)sizes[d], &bytes))
            return bad_json(b);
        order[d] = (uint8_t)d;
    }
    out->rank = json->size;
    out->sizes = sizes;
    out->dim_order = order;
    return bytes == out->bytes ? SC_OK : bad_json(b);
}

static sc_status read_tensor(bundling *b, const sc_json *json, sc_bundled_value *out) {
    int64_t dtype = 0, at = 0, bytes = 0;
    if (!sc_json_i64(sc_json_get(json, "dtype"), &dtype) || dtype < 0 || dtype > UINT8_MAX ||
        !sc_dtype_is_known((unsigned)dtype) || !sc_json_i64(sc_json_get(json, "at"), &at) ||
        !sc_json_i64(sc_json_get(json, "bytes"), &bytes) || at < 0 || bytes < 0 ||
        (uint64_t)at > b->bytes || (uint64_t)bytes > b->bytes - (uint64_t)at)
        return bad_json(b);
    *out = (sc_bundled_value){.kind = SC_BUNDLED_TENSOR,
                              .dtype = (sc_dtype)dtype,
                              .data = b->data + at,
                              .bytes = (uint64_t)bytes};
    return read_sizes(b, sc_json_get(json, "sizes"), out);
}

static sc_status read_value(bundling *b, const sc_json *json, sc_bundled_value *out) {
    const sc_json *integer = sc_json_get(json, "int"), *truth = sc_json_get(json, "bool");
    const sc_json *real = sc_json_get(json, "double");
    bool flag = false;
    *out = (sc_bundled_value){.kind = SC_BUNDLED_INT};
    if (sc_json_get(json, "dtype")) return read_tensor(b, json, out);
    if (integer && integer->kind == SC_JSON_STRING)
        return sc_parse_i64(sc_json_raw(integer), &out->i) ? SC_OK : bad_json(b);
    out->kind = SC_BUNDLED_DOUBLE;
    if (real) return sc_json_f64(real, &out->d) ? SC_OK : bad_json(b);
    out->kind = SC_BUNDLED_BOOL;
    if (!sc_json_bool(truth, &flag)) return bad_json(b);
    out->i = flag;
    return SC_OK;
}

static sc_status read_values(bundling *b, const char *list, const sc_json *json,
                             sc_bundled_values *out) {
    b->at.list = list;
    b->at.index = 0;
    if (!json || json->kind != SC_JSON_ARRAY) return bad_json(b);
    sc_bundled_value *values = sc_new_array(b->at.ctx->arena, sc_bundled_value, json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (; b->at.index < json->size; b->at.index++, item = sc_json_next(item))
        SC_TRY(read_value(b, item, &values[b->at.index]));
    *out = (sc_bundled_values){values, json->size};
    return SC_OK;
}

// Row-major bytes in the method's own layout: official runtimes copy them without change.
static void lay_out(sc_arena *arena, sc_bundled_values values, const sc_rt_value_info *declared) {
    for (uint32_t i = 0; i < values.count; i++) {
        sc_bundled_value *value = (sc_bundled_value *)(uintptr_t)&values.items[i];
        if (value->kind != SC_BUNDLED_TENSOR) continue;
        const void *row_major = value->data;
        value->dim_order = declared[i].dim_order;
        value->data = sc_arena_alloc(arena, (size_t)value->bytes + 1);
        sc_tensor t = sc_bundle_tensor(arena, value);
        if (value->bytes) sc_rt_output_write(&t, row_major);
    }
}

// The official tools read no other expected values.
static sc_status check_expected(sc_bundle_spot *at, sc_bundled_values values) {
    at->list = "expected output";
    for (at->index = 0; at->index < values.count; at->index++)
        if (values.items[at->index].kind != SC_BUNDLED_TENSOR)
            return sc_bundle_refuse(at, SC_ERR_UNSUPPORTED, "Bundle methods that return tensors.",
                                    "is not a tensor, and expected outputs must be tensors");
    return SC_OK;
}

static sc_status read_case(bundling *b, const sc_json *json, const sc_rt_method_info *info,
                           sc_bundled_case *out) {
    const sc_json *expected = sc_json_get(json, "expected");
    SC_TRY(read_values(b, "input", sc_json_get(json, "inputs"), &out->inputs));
    out->expected = (sc_bundled_values){0};
    if (expected && expected->kind != SC_JSON_NULL) {
        SC_TRY(read_values(b, "expected output", expected, &out->expected));
        b->at.list = "expected output";
        SC_TRY(sc_bundle_check_count(&b->at, out->expected.count, info->output_count));
    }
    SC_TRY(sc_bundle_check_case(&b->at, out, info));
    SC_TRY(check_expected(&b->at, out->expected));
    lay_out(b->at.ctx->arena, out->inputs, info->inputs);
    lay_out(b->at.ctx->arena, out->expected, info->outputs);
    return SC_OK;
}

static sc_status read_suite(bundling *b, const sc_json *json, sc_bundled_suite *out) {
    const sc_json *cases = sc_json_get(json, "cases");
    sc_rt_method_info info;
    b->at.method = sc_json_str(b->at.ctx->arena, sc_json_get(json, "method"));
    SC_TRY(sc_bundle_method(b->job, b->at.method, &info));
    if (!cases || cases->kind != SC_JSON_ARRAY)
        return sc_fail(b->at.ctx, SC_ERR_ARGUMENT, NULL, "a test suite has no list of cases");
    sc_bundled_case *read = sc_new_array(b->at.ctx->arena, sc_bundled_case, cases->size + 1);
    const sc_json *item = sc_json_first(cases);
    for (b->at.test_case = 0; b->at.test_case < cases->size; b->at.test_case++) {
        SC_TRY(read_case(b, item, &info, &read[b->at.test_case]));
        item = sc_json_next(item);
    }
    *out = (sc_bundled_suite){b->at.method, read, cases->size};
    return SC_OK;
}

// Lists the suites in the order of their methods' names, each once.
static sc_status place_suite(sc_ctx *ctx, sc_bundled_suite *suites, uint32_t count) {
    const sc_bundled_suite added = suites[count];
    uint32_t at = count;
    for (; at > 0 && sc_str_compare(added.method, suites[at - 1].method) < 0; at--)
        suites[at] = suites[at - 1];
    suites[at] = added;
    if (at == 0 || !sc_str_equal(added.method, suites[at - 1].method)) return SC_OK;
    return sc_fail(ctx, SC_ERR_ARGUMENT, "Put all cases of a method into one suite.",
                   "there are two test suites of method '" SC_STR_FMT "'",
                   SC_STR_ARG(added.method));
}

static sc_status read_suites(bundling *b, sc_str suites_json, sc_bundled *out) {
    sc_ctx *ctx = b->at.ctx;
    const sc_json *json = NULL;
    SC_TRY(sc_json_parse(ctx, ctx->arena, suites_json, &json));
    if (json->kind != SC_JSON_ARRAY)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "test suites must be a list");
    sc_bundled_suite *suites = sc_new_array(ctx->arena, sc_bundled_suite, json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item)) {
        SC_TRY(read_suite(b, item, &suites[i]));
        SC_TRY(place_suite(ctx, suites, i));
    }
    *out = (sc_bundled){suites, json->size, NULL, 0};
    return SC_OK;
}

// Makes the file on `arena`; intermediate data is freed with the context's arena.
static sc_status write_file(bundling *b, sc_str suites_json, sc_arena *arena, sc_cord *out) {
    sc_bundled bundled;
    const uint8_t *head = NULL;
    size_t size = 0;
    sc_source *program = sc_job_running(b->job)->file;
    SC_TRY(read_suites(b, suites_json, &bundled));
    if (program->size > UINT32_MAX / 2)
        return sc_fail(b->at.ctx, SC_ERR_LIMIT,
                       "Write the weights to a separate .ptd file (externalConstants).",
                       "a bundled program must be smaller than 2 GB");
    bundled.program_bytes = (uint32_t)program->size;
    SC_TRY(sc_bundled_write(b->at.ctx, arena, &bundled, &head, &size));
    sc_cord_init(out, arena);
    sc_cord_append_bytes(out, head, size);
    sc_cord_append_extent(out, sc_extent_whole(program));
    return SC_OK;
}

sc_status sc_bundle_write(sc_job *job, sc_str suites_json, const void *data, uint64_t bytes,
                          uint32_t *number) {
    sc_ctx *ctx = sc_job_begin(job);
    bundling b = {.job = job, .at = {.ctx = ctx}, .data = data, .bytes = bytes};
    if (!sc_job_running(job)->program)
        return sc_fail(ctx, SC_ERR_STATE, NULL, "open a program first");
    sc_output output = {
        .program = SC_NO_PROGRAM, .name = SC_STR("bundle"), .memories = {sc_call_memory_new()}};
    sc_arena own;
    sc_arena_init(&own);
    const sc_aside aside = sc_job_step_aside(job, &own);
    const sc_status status = write_file(&b, suites_json, &output.memories[0]->arena, &output.cord);
    sc_job_step_back(job, &aside);
    sc_arena_deinit(&own);
    return sc_job_keep_output(job, status, &output, number);
}
