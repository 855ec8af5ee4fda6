// The null backend, at run time. Its bytes contain a program, which is loaded when the delegate
// starts and run when it is called. The program runs without rewriting, so its results are bit for
// bit those of the same kernels outside.
#include "backends/null/null.h"
#include "rt/rt.h"

typedef struct null_state {
    sc_arena arena;
    uint8_t *pte;
    sc_rt_program *program;
    sc_rt_method *method;
    uint32_t *passed;  // the program's inputs that calls pass
    uint32_t passed_count;
} null_state;

static sc_status bad(sc_ctx *ctx, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "the bytes for the null backend are not valid: %s",
                   what);
}

static void destroy(void *state) {
    null_state *s = state;
    if (s->program) sc_rt_program_close(s->program);
    sc_free(s->pte);
    sc_arena_deinit(&s->arena);
    sc_free(s);
}

// --- Starting ------------------------------------------------------------------------------------

// Without rewriting: a part's results are those of its program, to the last bit.
static sc_status open_program(sc_ctx *ctx, null_state *s, const sc_rt_start *start, uint64_t at) {
    const uint64_t size = start->processed_bytes - at;
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.optimize = false;
    s->pte = sc_try_alloc(size);
    if (!s->pte) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a part's program");
    memcpy(s->pte, start->processed + at, (size_t)size);
    SC_TRY(sc_rt_program_open(ctx, sc_source_from_memory(&s->arena, s->pte, size), &options,
                              &s->program));
    return sc_rt_method_load(ctx, s->program, SC_STR("forward"), &s->method);
}

// A weight stays set from run to run, so that its bytes are not needed again.
static sc_status set_weight(sc_ctx *ctx, null_state *s, const sc_rt_start *start, uint32_t index,
                            sc_str key) {
    sc_rt_weight weight = {.method = start->method, .backend = start->id};
    SC_TRY(start->named.find(start->named.user, ctx, key, &weight.bytes, &weight.size));
    sc_status status = sc_rt_method_set_weight(ctx, s->method, index, &weight);
    start->named.release(start->named.user, key);
    return status;
}

static sc_status start_program(sc_ctx *ctx, null_state *s, const sc_rt_start *start) {
    uint32_t count = 0;
    if (start->processed_bytes < 4) return bad(ctx, "they end too early");
    for (uint32_t i = 0; i < 4; i++) count |= (uint32_t)start->processed[i] << 8 * i;
    const uint64_t at = sc_null_pte_at(count);
    if (at > start->processed_bytes) return bad(ctx, "they end too early");
    SC_TRY(open_program(ctx, s, start, at));
    if (count != sc_rt_method_input_count(s->method))
        return bad(ctx, "they list different inputs than the program has");
    s->passed = sc_new_array(&s->arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *key = start->processed + 4 + (size_t)i * SC_NULL_KEY_BYTES;
        sc_str name = {(const char *)key, SC_NULL_KEY_BYTES};
        if (key[0])
            SC_TRY(set_weight(ctx, s, start, i, name));
        else
            s->passed[s->passed_count++] = i;
    }
    if (start->arg_count != s->passed_count + sc_rt_method_output_count(s->method))
        return bad(ctx, "the call has a different number of values than the program");
    return SC_OK;
}

static sc_status init(sc_ctx *ctx, const sc_rt_start *start, void **state, uint32_t *input_count) {
    null_state *s = sc_try_alloc(sizeof *s);
    if (!s) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a delegate");
    *s = (null_state){0};
    sc_arena_init(&s->arena);
    sc_status status = start_program(ctx, s, start);
    if (status != SC_OK) {
        destroy(s);
        return status;
    }
    *state = s;
    *input_count = s->passed_count;
    return SC_OK;
}

// --- Calls ---------------------------------------------------------------------------------------

static sc_status give(sc_ctx *ctx, const sc_evalue *from, sc_evalue *to) {
    if (from->tag != SC_EVALUE_TENSOR || to->tag != SC_EVALUE_TENSOR ||
        from->tensor->dtype != to->tensor->dtype)
        return bad(ctx, "a result has a different kind than the method declares");
    const sc_tensor *t = from->tensor;
    const size_t bytes = (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
    void *row_major = sc_arena_alloc(ctx->scratch, bytes + 1);
    SC_TRY(sc_rt_output_resize(ctx, to->tensor, t->sizes, t->rank));
    sc_rt_tensor_read(t, row_major, bytes);
    sc_rt_output_write(to->tensor, row_major);
    return SC_OK;
}

static sc_status execute(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call) {
    null_state *s = state;
    for (uint32_t i = 0; i < s->passed_count; i++) {
        if (call->args[i]->tag != SC_EVALUE_TENSOR) return bad(ctx, "the call passes a number");
        SC_TRY(sc_rt_method_set_tensor(ctx, s->method, s->passed[i], call->args[i]->tensor));
    }
    SC_TRY(sc_rt_method_run(ctx, s->method));
    for (uint32_t i = 0; i < sc_rt_method_output_count(s->method); i++)
        SC_TRY(give(ctx, sc_rt_method_output(s->method, i), call->args[call->input_count + i]));
    return SC_OK;
}

static sc_status reset(sc_ctx *ctx, void *state) {
    return sc_rt_program_reset(ctx, ((null_state *)state)->program);
}

const sc_rt_backend sc_rt_backend_null = {
    .id = SC_NULL_BACKEND, .init = init, .execute = execute, .destroy = destroy, .reset = reset};
