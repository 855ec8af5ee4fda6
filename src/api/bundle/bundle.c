// Reads bundles and runs their calls, for a job.
#include "api/bundle/bundle.h"

#include <math.h>

// The elements row-major: in place, or on `arena`.
static sc_status dense_of(sc_ctx *ctx, sc_arena *arena, const sc_tensor *t, const void **out) {
    const uint64_t items = (uint64_t)t->numel;
    uint64_t bytes;
    void *dense = NULL;
    *out = t->data;
    if (!items || sc_tensor_is_contiguous(t)) return SC_OK;
    if (sc_mul_u64(items, sc_dtype_bytes((sc_dtype)t->dtype), &bytes) &&
        bytes <= SC_BLOCK_BYTES_MAX)
        dense = sc_arena_try_alloc(arena, (size_t)bytes);
    if (!dense)
        return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory to reorder a tensor's elements");
    sc_rt_tensor_read(t, dense, (size_t)bytes);
    *out = dense;
    return SC_OK;
}

// --- Reading -------------------------------------------------------------------------------------

static sc_status put_tensor(sc_ctx *ctx, sc_json_writer *w, sc_arena *arena,
                            const sc_bundled_value *value) {
    const sc_tensor t = sc_bundle_tensor(arena, value);
    const void *dense;
    SC_TRY(dense_of(ctx, arena, &t, &dense));
    sc_json_put_u64(w, "dtype", value->dtype);
    sc_json_put_array(w, "sizes");
    for (uint32_t d = 0; d < value->rank; d++) sc_json_add_i64(w, value->sizes[d]);
    sc_json_end_array(w);
    sc_json_put_u64(w, "at", (uint64_t)(uintptr_t)dense);
    sc_json_put_u64(w, "bytes", value->bytes);
    return SC_OK;
}

static sc_status put_value(sc_ctx *ctx, sc_json_writer *w, sc_arena *arena,
                           const sc_bundled_value *value) {
    sc_json_begin_object(w);
    if (value->kind == SC_BUNDLED_TENSOR) SC_TRY(put_tensor(ctx, w, arena, value));
    // Written as text: JavaScript's numbers are too narrow.
    if (value->kind == SC_BUNDLED_INT)
        sc_json_put_str(w, "int", sc_str_format(arena, "%lld", (long long)value->i));
    if (value->kind == SC_BUNDLED_BOOL) sc_json_put_bool(w, "bool", value->i != 0);
    if (value->kind == SC_BUNDLED_DOUBLE) sc_json_put_f64(w, "double", value->d);
    sc_json_end_object(w);
    return SC_OK;
}

static sc_status put_values(sc_ctx *ctx, sc_json_writer *w, sc_arena *arena, const char *key,
                            sc_bundled_values values) {
    sc_json_put_array(w, key);
    for (uint32_t i = 0; i < values.count; i++) SC_TRY(put_value(ctx, w, arena, &values.items[i]));
    sc_json_end_array(w);
    return SC_OK;
}

static sc_status put_suite(sc_ctx *ctx, sc_json_writer *w, sc_arena *arena,
                           const sc_bundled_suite *suite) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "method", suite->method);
    sc_json_put_array(w, "cases");
    for (uint32_t i = 0; i < suite->case_count; i++) {
        sc_json_begin_object(w);
        SC_TRY(put_values(ctx, w, arena, "inputs", suite->cases[i].inputs));
        SC_TRY(put_values(ctx, w, arena, "expected", suite->cases[i].expected));
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    sc_json_end_object(w);
    return SC_OK;
}

sc_status sc_bundle_read(sc_job *job, sc_str *json) {
    (void)sc_job_begin(job);
    if (!sc_job_running(job)->program)
        return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "open a program first");
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    // Elements that were made row-major live as long as the text.
    const sc_bundled *calls = &sc_job_running(job)->bundle.calls;
    for (uint32_t i = 0; i < calls->suite_count; i++)
        SC_TRY(put_suite(&job->ctx, &w, &job->text_arena, &calls->suites[i]));
    sc_json_end_array(&w);
    *json = sc_sb_str(&sb);
    return SC_OK;
}

// --- Verifying -----------------------------------------------------------------------------------

static sc_status set_input(sc_job *job, uint32_t index, const sc_bundled_value *value) {
    sc_ctx *ctx = &job->ctx;
    static const uint8_t TAGS[] = {SC_EVALUE_TENSOR, SC_EVALUE_INT, SC_EVALUE_BOOL,
                                   SC_EVALUE_DOUBLE};
    if (value->kind == SC_BUNDLED_TENSOR) {
        const sc_tensor t = sc_bundle_tensor(ctx->scratch, value);
        return sc_rt_method_set_tensor(ctx, sc_job_running(job)->method, index, &t);
    }
    const sc_rt_input input = {
        .tag = TAGS[value->kind], .i = value->i, .d = value->d, .b = value->i != 0};
    return sc_rt_method_set_input(ctx, sc_job_running(job)->method, index, &input);
}

static sc_status compare_tensors(sc_ctx *ctx, const sc_tensor *actual, const sc_tensor *expected,
                                 double rtol, double atol, sc_bundled_verdict *out) {
    const void *found, *wanted;
    *out = (sc_bundled_verdict){.why_not = "dtype"};
    if (actual->dtype != expected->dtype) return SC_OK;
    out->why_not = "sizes";
    if (actual->rank != expected->rank) return SC_OK;
    const size_t bytes = actual->rank * sizeof(int64_t);
    if (bytes && memcmp(actual->sizes, expected->sizes, bytes) != 0) return SC_OK;
    SC_TRY(dense_of(ctx, ctx->scratch, actual, &found));
    SC_TRY(dense_of(ctx, ctx->scratch, expected, &wanted));
    sc_bundled_compare((sc_dtype)actual->dtype, found, wanted, (uint64_t)actual->numel, rtol, atol,
                       out);
    if (bytes && actual->numel && memcmp(actual->strides, expected->strides, bytes) != 0) {
        out->why_not = "strides";
        out->is_close = false;
    }
    return SC_OK;
}

static void compare_numbers(const sc_evalue *actual, const sc_bundled_value *expected, double rtol,
                            double atol, sc_bundled_verdict *out) {
    if (actual->tag == SC_EVALUE_DOUBLE && expected->kind == SC_BUNDLED_DOUBLE) {
        sc_bundled_compare(SC_DTYPE_F64, &actual->d, &expected->d, 1, rtol, atol, out);
        return;
    }
    const int64_t i = actual->tag == SC_EVALUE_BOOL ? actual->b : actual->i;
    const bool is_int = actual->tag == SC_EVALUE_INT && expected->kind == SC_BUNDLED_INT;
    const bool is_bool = actual->tag == SC_EVALUE_BOOL && expected->kind == SC_BUNDLED_BOOL;
    if (is_int || is_bool)
        sc_bundled_compare(SC_DTYPE_I64, &i, &expected->i, 1, 0, 0, out);
    else
        *out = (sc_bundled_verdict){.why_not = "kind"};
}

static sc_status compare(sc_ctx *ctx, const sc_evalue *actual, const sc_bundled_value *expected,
                         double rtol, double atol, sc_bundled_verdict *out) {
    if (expected->kind != SC_BUNDLED_TENSOR || actual->tag != SC_EVALUE_TENSOR) {
        compare_numbers(actual, expected, rtol, atol, out);
        return SC_OK;
    }
    const sc_tensor wanted = sc_bundle_tensor(ctx->scratch, expected);
    return compare_tensors(ctx, actual->tensor, &wanted, rtol, atol, out);
}

static void put_real(sc_json_writer *w, const char *key, double value) {
    sc_json_key(w, key);
    if (isfinite(value))
        sc_json_add_f64(w, value);
    else
        sc_json_add_null(w);
}

static void put_verdict(sc_json_writer *w, const sc_bundled_verdict *verdict) {
    sc_json_begin_object(w);
    sc_json_put_bool(w, "is_close", verdict->is_close);
    if (verdict->why_not)
        sc_json_put_text(w, "why_not", verdict->why_not);
    else
        sc_json_put_null(w, "why_not");
    sc_json_put_u64(w, "elements", verdict->elements);
    sc_json_put_u64(w, "mismatches", verdict->mismatches);
    sc_json_put_u64(w, "worst", verdict->worst);
    put_real(w, "max_absolute", verdict->max_absolute);
    put_real(w, "max_relative", verdict->max_relative);
    put_real(w, "mean_absolute", verdict->mean_absolute);
    sc_json_end_object(w);
}

static sc_status put_verdicts(sc_job *job, sc_bundled_values expected, double rtol, double atol,
                              sc_str *json) {
    sc_arena *scratch = job->ctx.scratch;
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    for (uint32_t i = 0; i < expected.count; i++) {
        sc_bundled_verdict verdict = {0};
        const sc_mark mark = sc_arena_mark(scratch);
        const sc_evalue *actual = sc_rt_method_output(sc_job_running(job)->method, i);
        SC_TRY(compare(&job->ctx, actual, &expected.items[i], rtol, atol, &verdict));
        put_verdict(&w, &verdict);
        sc_arena_rewind(scratch, mark);
    }
    sc_json_end_array(&w);
    *json = sc_sb_str(&sb);
    return SC_OK;
}

static sc_status find_case(sc_job *job, uint32_t suite, uint32_t test_case,
                           const sc_bundled_case **out) {
    const sc_bundled *calls = &sc_job_running(job)->bundle.calls;
    if (suite < calls->suite_count && test_case < calls->suites[suite].case_count) {
        *out = &calls->suites[suite].cases[test_case];
        return SC_OK;
    }
    return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "there is no case %u in suite %u", test_case,
                   suite);
}

sc_status sc_bundle_verify(sc_job *job, uint32_t suite, uint32_t test_case, double rtol,
                           double atol, sc_str *json) {
    sc_ctx *ctx = sc_job_begin(job);
    const sc_bundled_case *found = NULL;
    sc_rt_method_info info;
    SC_TRY(find_case(job, suite, test_case, &found));
    sc_bundle_spot at = {.ctx = ctx,
                         .method = sc_job_running(job)->bundle.calls.suites[suite].method,
                         .test_case = test_case};
    SC_TRY(sc_bundle_method(job, at.method, &info));
    SC_TRY(sc_bundle_check_case(&at, found, &info));
    SC_TRY(sc_run_select(job, at.method));
    SC_TRY(sc_rt_program_reset(ctx, sc_job_running(job)->program));
    for (uint32_t i = 0; i < found->inputs.count; i++)
        SC_TRY(set_input(job, i, &found->inputs.items[i]));
    SC_TRY(sc_run_execute(job, true));
    return put_verdicts(job, found->expected, rtol, atol, json);
}
