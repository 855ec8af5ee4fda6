// Checks calls of bundles against the declarations of methods.
#include "api/bundle/bundle.h"
#include "base/strides.h"

sc_status sc_bundle_refuse(const sc_bundle_spot *at, sc_status code, const char *hint,
                           const char *what) {
    return sc_fail(at->ctx, code, hint, "%s %u of case %u of method '" SC_STR_FMT "' %s", at->list,
                   at->index, at->test_case, SC_STR_ARG(at->method), what);
}

sc_status sc_bundle_check_count(const sc_bundle_spot *at, uint32_t count, uint32_t declared) {
    if (count == declared) return SC_OK;
    return sc_fail(at->ctx, SC_ERR_INPUT, "Give one value for each that the method declares.",
                   "case %u of method '" SC_STR_FMT "' has %u %ss, but the method has %u",
                   at->test_case, SC_STR_ARG(at->method), count, at->list, declared);
}

static sc_status check_value(const sc_bundle_spot *at, const sc_bundled_value *value,
                             const sc_rt_value_info *declared) {
    static const uint8_t TAGS[] = {SC_EVALUE_TENSOR, SC_EVALUE_INT, SC_EVALUE_BOOL,
                                   SC_EVALUE_DOUBLE};
    if (TAGS[value->kind] != declared->tag)
        return sc_bundle_refuse(at, SC_ERR_INPUT,
                                "Pass the kind of value that the method declares.",
                                "has a different kind than the method declares");
    if (value->kind != SC_BUNDLED_TENSOR) return SC_OK;
    if (value->dtype != (sc_dtype)declared->dtype)
        return sc_fail(at->ctx, SC_ERR_DTYPE, "Pass the dtype that the method declares.",
                       "%s %u of case %u of method '" SC_STR_FMT "' is %s, but the method has %s",
                       at->list, at->index, at->test_case, SC_STR_ARG(at->method),
                       sc_dtype_name(value->dtype), sc_dtype_name((sc_dtype)declared->dtype));
    if (value->rank != declared->rank)
        return sc_bundle_refuse(at, SC_ERR_SHAPE, NULL,
                                "has a different number of dimensions than the method declares");
    for (uint32_t d = 0; d < value->rank; d++) {
        const int64_t size = value->sizes[d], most = declared->sizes[d];
        if (size > most || (size < most && !declared->is_dynamic))
            return sc_bundle_refuse(at, SC_ERR_SHAPE, NULL,
                                    "has different sizes than the method declares");
    }
    return SC_OK;
}

static sc_status check_values(sc_bundle_spot *at, const char *list, sc_bundled_values values,
                              const sc_rt_value_info *declared, uint32_t count) {
    at->list = list;
    SC_TRY(sc_bundle_check_count(at, values.count, count));
    for (at->index = 0; at->index < count; at->index++)
        SC_TRY(check_value(at, &values.items[at->index], &declared[at->index]));
    return SC_OK;
}

sc_status sc_bundle_check_case(sc_bundle_spot *at, const sc_bundled_case *test_case,
                               const sc_rt_method_info *info) {
    SC_TRY(check_values(at, "input", test_case->inputs, info->inputs, info->input_count));
    if (!test_case->expected.count) return SC_OK;
    return check_values(at, "expected output", test_case->expected, info->outputs,
                        info->output_count);
}

sc_status sc_bundle_method(sc_job *job, sc_str name, sc_rt_method_info *info) {
    sc_ctx *ctx = &job->ctx;
    if (!sc_job_running(job)->program)
        return sc_fail(ctx, SC_ERR_STATE, NULL, "open a program first");
    const uint32_t count = sc_rt_program_method_count(sc_job_running(job)->program);
    for (uint32_t i = 0; i < count; i++)
        if (sc_str_equal(sc_rt_program_method_name(sc_job_running(job)->program, i), name))
            return sc_rt_method_info_get(ctx, sc_job_running(job)->program, i, ctx->arena, info);
    return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL,
                   "there are test cases for method '" SC_STR_FMT
                   "', but the program has no such method",
                   SC_STR_ARG(name));
}

// --- Tensors -------------------------------------------------------------------------------------

sc_tensor sc_bundle_tensor(sc_arena *arena, const sc_bundled_value *value) {
    sc_tensor t = {.data = (void *)(uintptr_t)value->data,
                   .sizes = (int64_t *)(uintptr_t)value->sizes,
                   .strides = sc_new_array(arena, int64_t, value->rank + 1),
                   .dim_order = (uint8_t *)(uintptr_t)value->dim_order,
                   .capacity_bytes = value->bytes,
                   .numel = 1,
                   .dtype = (uint8_t)value->dtype,
                   .rank = (uint8_t)value->rank};
    (void)sc_strides_of(t.sizes, t.rank, t.dim_order, t.strides);
    for (uint32_t d = 0; d < t.rank; d++) t.numel *= t.sizes[d];
    return t;
}
