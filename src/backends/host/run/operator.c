// Runs an operator of the user's own: the host gets the operands and the results as ranges of this
// memory, and writes into the results. If the sizes of results change from call to call, it is
// asked for these first. Answers are checked, because the host's code is the user's own.
#include "backends/host/run/operator.h"

#include "backends/host/answer.h"
#include "backends/host/run/values.h"
#include "rt/rt.h"

#define RETURN_SIZES "Return a shape for each result, within the bounds of the exported model."

static const sc_host_operator *host_of(const sc_kernel_call *call) {
    return ((const sc_host_kernel *)call->kernel)->host;
}

static uint32_t input_count(const sc_kernel_call *call) {
    return call->arg_count - call->op->schema->return_count;
}

static sc_tensor *result(const sc_kernel_call *call, uint32_t index) {
    return call->args[input_count(call) + index]->tensor;
}

static void put_operands(sc_json_writer *w, sc_arena *arena, const sc_kernel_call *call) {
    sc_json_put_str(w, "method", call->ctx->where.method);
    sc_json_put_object(w, "args");
    for (uint32_t i = 0; i < input_count(call); i++) {
        sc_json_key_str(w, call->op->schema->params[i].name);
        sc_host_add_value(w, arena, call->args[i]);
    }
    sc_json_end_object(w);
}

static sc_status ask(sc_host_question *question, const sc_kernel_call *call,
                     sc_host_question_kind kind) {
    const sc_host_operator *host = host_of(call);
    if (host->ask(host->number, question, kind, 0, sc_sb_str(&question->text))) return SC_OK;
    if (question->is_cancelled) return SC_ERR_CANCELLED;
    return sc_fail(call->ctx, SC_ERR_OPERATOR, NULL, SC_STR_FMT,
                   SC_STR_ARG(sc_host_answer_json(question)));
}

// --- Sizes ---------------------------------------------------------------------------------------

static sc_status wrong_sizes(const sc_kernel_call *call, uint32_t index, const char *what,
                             sc_str found) {
    const sc_tensor *out = result(call, index);
    const sc_str declared = sc_host_sizes_text(call->ctx->scratch, out->sizes, out->rank);
    return sc_fail(call->ctx, SC_ERR_OPERATOR, RETURN_SIZES,
                   "infer of %s gave %s " SC_STR_FMT " for result %u in method '" SC_STR_FMT
                   "', where %s" SC_STR_FMT " is expected",
                   call->op->name, what, SC_STR_ARG(found), index,
                   SC_STR_ARG(call->ctx->where.method), out->is_dynamic ? "at most " : "",
                   SC_STR_ARG(declared));
}

static sc_status take_sizes(const sc_kernel_call *call, uint32_t index, const sc_json *shape) {
    int64_t sizes[SC_RANK_MAX];
    sc_ctx *ctx = call->ctx;
    sc_tensor *out = result(call, index);
    const bool is_list = shape && shape->kind == SC_JSON_ARRAY && shape->size <= SC_RANK_MAX;
    const sc_json *item = is_list ? sc_json_first(shape) : NULL;
    for (uint32_t d = 0; is_list && d < shape->size; d++, item = sc_json_next(item))
        if (!sc_json_i64(item, &sizes[d]) || sizes[d] < 0)
            return wrong_sizes(call, index, "a size that is no whole number", SC_STR(""));
    if (!is_list) return wrong_sizes(call, index, "no shape", SC_STR(""));
    if (shape->size == out->rank &&
        (out->rank == 0 || memcmp(sizes, out->sizes, out->rank * sizeof *sizes) == 0))
        return SC_OK;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    if (shape->size == out->rank && out->is_dynamic &&
        sc_rt_output_resize(ctx, out, sizes, out->rank) == SC_OK)
        return SC_OK;
    sc_diags_rewind(ctx, mark);
    return wrong_sizes(call, index, "the shape",
                       sc_host_sizes_text(ctx->scratch, sizes, shape->size));
}

static sc_status take_all_sizes(const sc_kernel_call *call, sc_host_question *question) {
    const sc_json *json = NULL;
    const uint32_t count = call->op->schema->return_count;
    SC_TRY(sc_host_answer_parse(question, &json));
    if (json->kind != SC_JSON_ARRAY || json->size != count)
        return sc_fail(call->ctx, SC_ERR_OPERATOR, RETURN_SIZES,
                       "infer of %s gave %u shapes in method '" SC_STR_FMT "', not %u",
                       call->op->name, json->kind == SC_JSON_ARRAY ? json->size : 0,
                       SC_STR_ARG(call->ctx->where.method), count);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < count; i++, item = sc_json_next(item))
        SC_TRY(take_sizes(call, i, item));
    return SC_OK;
}

static bool has_open_sizes(const sc_kernel_call *call) {
    for (uint32_t i = 0; i < call->op->schema->return_count; i++)
        if (result(call, i)->is_dynamic) return true;
    return false;
}

static sc_status sizes(const sc_kernel_call *call, bool at_load) {
    if (!has_open_sizes(call)) return SC_OK;
    if (!host_of(call)->infers)
        return sc_fail(call->ctx, SC_ERR_OPERATOR,
                       "Give registerOperator() a function infer that returns their shapes.",
                       "the results of %s in method '" SC_STR_FMT
                       "' have sizes that change from call to call, and the operator has no infer",
                       call->op->name, SC_STR_ARG(call->ctx->where.method));
    if (at_load) return SC_OK;
    const sc_mark mark = sc_arena_mark(call->ctx->scratch);
    sc_host_question question;
    sc_json_writer w;
    sc_host_question_begin(&question, call->ctx);
    sc_json_writer_init(&w, &question.text, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    put_operands(&w, &question.arena, call);
    sc_json_end_object(&w);
    sc_status status = ask(&question, call, SC_HOST_QUESTION_INFER_OPERATOR);
    if (status == SC_OK) status = take_all_sizes(call, &question);
    sc_host_question_end(&question);
    sc_arena_rewind(call->ctx->scratch, mark);
    return status;
}

// --- Calls ---------------------------------------------------------------------------------------

// A result starts as zeros, so that what the host leaves out is the same in every run.
static void *begin_result(sc_arena *arena, const sc_tensor *out) {
    const size_t bytes = sc_host_tensor_bytes(out);
    void *row_major = sc_tensor_is_contiguous(out) ? out->data : sc_arena_alloc(arena, bytes + 1);
    if (bytes) memset(row_major, 0, bytes);
    return row_major;
}

static sc_status run(const sc_kernel_call *call) {
    sc_host_question question;
    sc_json_writer w;
    const uint32_t count = call->op->schema->return_count;
    sc_host_question_begin(&question, call->ctx);
    sc_json_writer_init(&w, &question.text, SC_JSON_COMPACT);
    void **results = sc_new_array(&question.arena, void *, count);
    sc_json_begin_object(&w);
    put_operands(&w, &question.arena, call);
    sc_json_put_array(&w, "outs");
    for (uint32_t i = 0; i < count; i++) {
        results[i] = begin_result(&question.arena, result(call, i));
        sc_json_begin_object(&w);
        sc_host_put_tensor(&w, result(call, i), results[i]);
        sc_json_end_object(&w);
    }
    sc_json_end_array(&w);
    sc_json_end_object(&w);
    const sc_status status = ask(&question, call, SC_HOST_QUESTION_RUN_OPERATOR);
    for (uint32_t i = 0; i < count && status == SC_OK; i++)
        if (results[i] != result(call, i)->data) sc_rt_output_write(result(call, i), results[i]);
    sc_host_question_end(&question);
    return status;
}

sc_host_kernel sc_host_kernel_of(const sc_host_operator *host) {
    return (sc_host_kernel){.kernel = {.run = run, .sizes = sizes}, .host = host};
}
