// Runs a program for a job. A job has one program and one selected method. Inputs are copied in,
// and outputs are returned row-major.
#include "api/job/options.h"
#include "api/run/backends.h"
#include "api/run/etdump.h"
#include "api/run/open_bundle.h"
#include "api/run/tensor_output.h"

// A packed file has its data files in itself, and was packed for one value of the option.
static sc_status open_packed(sc_ctx *ctx, const sc_rt_packed_file *packed, sc_rt_options *runtime) {
    static const char *const words[] = {
        [SC_RT_FASTER] = "faster", [SC_RT_NEVER] = "never", [SC_RT_ALWAYS] = "always"};
    const unsigned saved = packed->channels_last;
    if (runtime->data_file_count)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Leave out the data files.",
                       "a packed program has its data files in itself");
    if (!runtime->optimize)
        return sc_fail(ctx, SC_ERR_OPTION, "Load the .pte without optimizing.",
                       "a packed program is always optimized");
    if (saved >= SC_COUNT_OF(words) || packed->channels_last != runtime->channels_last)
        return sc_fail(ctx, SC_ERR_OPTION, "Pass that option, or load the .pte.",
                       "this packed program was saved with channels_last '%s', not '%s'",
                       saved < SC_COUNT_OF(words) ? words[saved] : "?",
                       words[runtime->channels_last]);
    runtime->data_files = (sc_source *const *)(packed->files + 1);
    runtime->data_file_count = packed->file_count - 1;
    runtime->packed = packed;
    return SC_OK;
}

sc_status sc_run_open(sc_job *job, sc_source *pte, sc_source *const *ptds, uint32_t ptd_count,
                      sc_str options_json) {
    sc_ctx *ctx = sc_job_begin(job);
    sc_options options;
    SC_TRY(sc_options_read(ctx, SC_OPTIONS_LOAD, options_json, &options));
    if (sc_job_running(job)->program)
        return sc_fail(ctx, SC_ERR_STATE, "Open it in another job.",
                       "this job already has a program open");
    SC_TRY(sc_ops_init());
    ctx->limits.instruction_max = options.instruction_max;

    sc_rt_options runtime;
    sc_rt_options_default(&runtime);
    sc_source **files = sc_new_array(ctx->arena, sc_source *, (size_t)ptd_count + 1);
    for (uint32_t i = 0; i < ptd_count; i++) files[i] = ptds[i];
    runtime.data_files = files;
    runtime.data_file_count = ptd_count;
    runtime.optimize = options.optimize;
    runtime.seed = options.seed;
    if (sc_str_is(options.channels_last, "never")) runtime.channels_last = SC_RT_NEVER;
    if (sc_str_is(options.channels_last, "always")) runtime.channels_last = SC_RT_ALWAYS;
    runtime.backends = &sc_all_rt_backends;
    sc_running *running = sc_job_running(job);
    sc_etdump_set_bytes_max(running->tracer.dump, options.event_bytes_max);
    sc_rt_packed_file *packed = NULL;
    SC_TRY(sc_rt_packed_file_open(ctx, ctx->arena, pte, &packed));
    if (packed) SC_TRY(open_packed(ctx, packed, &runtime));
    SC_TRY(sc_open_bundle_read(ctx, &running->bundle, packed ? packed->files[0] : pte,
                               &running->file));
    return sc_rt_program_open(ctx, running->file, &runtime, &running->program);
}

static sc_status require_method(sc_job *job) {
    if (!sc_job_running(job)->method)
        return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "select a method first");
    return SC_OK;
}

sc_status sc_run_save_packed(sc_job *job, uint32_t *output) {
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_require_program(job));
    sc_call_memory *memory = sc_call_memory_new();
    sc_output out = {.program = SC_NO_PROGRAM, .name = SC_STR("packed"), .memories = {memory}};
    sc_cord_init(&out.cord, &memory->arena);
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    const sc_status status = sc_rt_program_save(ctx, sc_job_running(job)->program, &out.cord);
    sc_arena_rewind(ctx->scratch, mark);
    if (status == SC_OK)
        *output = sc_job_add_output(job, &out);
    else
        sc_call_memory_drop(job, memory);
    return status;
}

sc_status sc_run_select(sc_job *job, sc_str method) {
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_require_program(job));
    // An unknown name leaves the selection unchanged.
    sc_rt_method *found = NULL;
    sc_job_begin_events(job);
    SC_TRY(sc_job_end_events(job,
                             sc_rt_method_load(ctx, sc_job_running(job)->program, method, &found)));
    sc_job_running(job)->method = found;
    return SC_OK;
}

// --- Values --------------------------------------------------------------------------------------

// Refuses dtypes and ranks that do not exist, which no declaration can name.
static sc_status check_tensor(sc_ctx *ctx, uint32_t index, const sc_io *value) {
    if (!sc_dtype_is_known(value->dtype))
        return sc_fail(ctx, SC_ERR_INPUT, NULL, "input %u: there is no dtype %u", index,
                       value->dtype);
    if (value->rank > SC_RANK_MAX)
        return sc_fail(ctx, SC_ERR_INPUT, NULL,
                       "input %u has %u dimensions, but at most %d are possible", index,
                       value->rank, SC_RANK_MAX);
    return SC_OK;
}

sc_status sc_run_set_input(sc_job *job, uint32_t index, const sc_io *value) {
    static const sc_evalue_tag TAGS[] = {SC_EVALUE_NONE, SC_EVALUE_INT,    SC_EVALUE_DOUBLE,
                                         SC_EVALUE_BOOL, SC_EVALUE_STRING, SC_EVALUE_TENSOR};
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(require_method(job));
    SC_ASSERT((unsigned)value->kind < SC_COUNT_OF(TAGS));
    if (value->kind == SC_KIND_TENSOR) SC_TRY(check_tensor(ctx, index, value));
    sc_rt_input input = {.tag = TAGS[value->kind],
                         .i = value->i,
                         .d = value->d,
                         .b = value->i != 0,
                         .str = value->str,
                         .dtype = (uint8_t)value->dtype,
                         .rank = (uint8_t)value->rank,
                         .sizes = value->sizes,
                         .data = value->data,
                         .bytes = value->bytes};
    return sc_rt_method_set_input(ctx, sc_job_running(job)->method, index, &input);
}

sc_status sc_run_execute(sc_job *job, bool tells_progress) {
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(require_method(job));
    sc_job_begin_events(job);
    ctx->tells_runs = tells_progress;
    sc_status status = sc_rt_method_run(ctx, sc_job_running(job)->method);
    ctx->tells_runs = false;
    return sc_job_end_events(job, status);
}

uint32_t sc_run_output_count(const sc_job *job) {
    return sc_job_running(job)->method ? sc_rt_method_output_count(sc_job_running(job)->method) : 0;
}

static sc_status dense_block(sc_job *job, uint32_t index, uint64_t bytes, void **out) {
    while (sc_job_running(job)->dense.count <= index)
        sc_vec_push(&job->arena, &sc_job_running(job)->dense, (sc_dense){0});
    sc_dense *dense = &sc_job_running(job)->dense.data[index];
    if (dense->capacity < bytes) {
        sc_free(dense->data);
        dense->data = sc_try_alloc(bytes);
        dense->capacity = dense->data ? bytes : 0;
    }
    *out = dense->data;
    if (!*out)
        return sc_fail(&job->ctx, SC_ERR_MEMORY, NULL, "no memory for the %llu bytes of output %u",
                       (unsigned long long)bytes, index);
    return SC_OK;
}

sc_status sc_job_tensor_output(sc_job *job, uint32_t index, const sc_tensor *tensor, sc_io *out) {
    out->kind = SC_KIND_TENSOR;
    out->dtype = tensor->dtype;
    out->rank = tensor->rank;
    out->sizes = tensor->sizes;
    out->dim_order = tensor->dim_order;
    out->data = tensor->data;
    out->bytes = (uint64_t)tensor->numel * sc_dtype_bytes((sc_dtype)tensor->dtype);
    if (sc_tensor_is_contiguous(tensor) || out->bytes == 0) return SC_OK;
    void *dense = NULL;
    SC_TRY(dense_block(job, index, out->bytes, &dense));
    sc_rt_tensor_read(tensor, dense, (size_t)out->bytes);
    out->data = dense;
    return SC_OK;
}

sc_status sc_run_output(sc_job *job, uint32_t index, sc_io *out) {
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(require_method(job));
    if (index >= sc_rt_method_output_count(sc_job_running(job)->method))
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "there is no output %u", index);
    const sc_evalue *value = sc_rt_method_output(sc_job_running(job)->method, index);
    *out = (sc_io){.kind = SC_KIND_NONE};
    switch ((sc_evalue_tag)value->tag) {
    case SC_EVALUE_NONE: return SC_OK;
    case SC_EVALUE_INT: *out = (sc_io){.kind = SC_KIND_INT, .i = value->i}; return SC_OK;
    case SC_EVALUE_DOUBLE: *out = (sc_io){.kind = SC_KIND_DOUBLE, .d = value->d}; return SC_OK;
    case SC_EVALUE_BOOL: *out = (sc_io){.kind = SC_KIND_BOOL, .i = value->b}; return SC_OK;
    case SC_EVALUE_STRING: *out = (sc_io){.kind = SC_KIND_STRING, .str = value->str}; return SC_OK;
    case SC_EVALUE_TENSOR: return sc_job_tensor_output(job, index, value->tensor, out);
    default:
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Return the elements one by one in the model.",
                       "output %u is a list, which cannot be returned", index);
    }
}

sc_status sc_run_reset(sc_job *job) {
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_require_program(job));
    return sc_rt_program_reset(ctx, sc_job_running(job)->program);
}
