// Hands the host its own bytes of a part, and the values of each call. Answers are checked like the
// contents of a file, because the host's code is the user's own. The host is asked once for each
// call, so a call is one event: no event of the host's own is inside it.
#include "backends/host/run/host_run.h"

#include "backends/host/answer.h"
#include "backends/host/run/values.h"
#include "rt/rt.h"

typedef struct host_state {
    const sc_host_backend *host;
    uint32_t number;  // the number by which the host knows the delegate
    uint32_t output_count;
    sc_arena arena;
    sc_str method;
} host_state;

// Numbers of delegates, over all programs.
static uint32_t last_number;

// --- Starting ------------------------------------------------------------------------------------

typedef struct starting {
    sc_ctx *ctx;
    const sc_rt_start *start;
    host_state *state;
    sc_json_writer *w;
    SC_VEC(sc_str) found;  // keys, to be released
} starting;

static void put_specs(sc_json_writer *w, const sc_rt_start *start) {
    sc_json_put_array(w, "specs");
    for (uint32_t i = 0; i < start->spec_count; i++)
        sc_host_put_spec(w, start->specs[i].key, start->specs[i].value);
    sc_json_end_array(w);
}

// Names and sizes. The bytes are read for those that the host asks for.
static sc_str list_names(sc_host_question *question) {
    const starting *s = question->named_user;
    const sc_rt_named *named = &s->start->named;
    sc_json_writer w;
    sc_sb text;
    sc_sb_init(&text, &question->arena);
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    for (uint32_t i = 0; i < named->count; i++) {
        uint64_t bytes;
        sc_json_begin_object(&w);
        sc_json_put_str(&w, "key", named->key(named->user, i, &bytes));
        sc_json_put_u64(&w, "bytes", bytes);
        sc_json_end_object(&w);
    }
    sc_json_end_array(&w);
    return sc_sb_str(&text);
}

static sc_status find_named(sc_host_question *question, sc_str key, const uint8_t **bytes,
                            uint64_t *size) {
    starting *s = question->named_user;
    const sc_rt_named *named = &s->start->named;
    SC_TRY(named->find(named->user, s->ctx, key, bytes, size));
    sc_vec_push(&question->arena, &s->found, sc_str_copy(&question->arena, key));
    return SC_OK;
}

static sc_status ask_init(starting *s, sc_host_question *question) {
    question->named = find_named;
    question->names = list_names;
    question->named_user = s;
    sc_json_begin_object(s->w);
    sc_json_put_str(s->w, "method", s->start->method);
    put_specs(s->w, s->start);
    // Tells the parts of one program from those of another, for as long as it is open.
    sc_json_put_u64(s->w, "program", (uintptr_t)s->start->named.user);
    sc_host_put_bytes(s->w, "processed", s->start->processed, s->start->processed_bytes);
    sc_json_end_object(s->w);
    return sc_host_ask(question, s->state->host, SC_HOST_QUESTION_INIT, s->state->number);
}

static void free_state(host_state *state) {
    sc_arena_deinit(&state->arena);
    sc_free(state);
}

static sc_status init(sc_ctx *ctx, const sc_rt_start *start, void **state, uint32_t *input_count) {
    host_state *made = sc_try_alloc(sizeof *made);
    if (!made) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a delegate");
    *made = (host_state){.host = start->backend->user,
                         .number = ++last_number,
                         .output_count = start->arg_count - start->known_count};
    sc_arena_init(&made->arena);
    made->method = sc_str_copy(&made->arena, start->method);
    sc_json_writer w;
    sc_host_question question;
    sc_host_question_begin(&question, ctx);
    sc_json_writer_init(&w, &question.text, SC_JSON_COMPACT);
    starting s = {.ctx = ctx, .start = start, .state = made, .w = &w};
    sc_status status = ask_init(&s, &question);
    for (uint32_t i = 0; i < s.found.count; i++)
        start->named.release(start->named.user, s.found.data[i]);
    sc_host_question_end(&question);
    if (status != SC_OK) {
        free_state(made);
        return status;
    }
    *state = made;
    *input_count = start->known_count;
    return SC_OK;
}

static void destroy(void *state) {
    host_state *s = state;
    sc_host_question question;
    sc_host_question_begin(&question, NULL);
    (void)s->host->ask(s->host->number, &question, SC_HOST_QUESTION_DESTROY, s->number,
                       (sc_str){0});
    sc_host_question_end(&question);
    free_state(s);
}

// --- Values that come out ------------------------------------------------------------------------

typedef struct giving {
    sc_host_question *question;
    const host_state *state;
    uint32_t index;  // size of the output
} giving;

static sc_status wrong(const giving *g, const char *what, sc_str found, sc_str declared) {
    return sc_fail(g->question->ctx, SC_ERR_DELEGATE,
                   "Return the values that the part's `outputs` declare, in that order.",
                   "backend '" SC_STR_FMT "' gave %s " SC_STR_FMT
                   " as output %u of a part of method '" SC_STR_FMT "', which declares " SC_STR_FMT,
                   SC_STR_ARG(g->state->host->id), what, SC_STR_ARG(found), g->index,
                   SC_STR_ARG(g->state->method), SC_STR_ARG(declared));
}

static sc_status set_sizes(const giving *g, const sc_json *shape, sc_tensor *out) {
    int64_t sizes[SC_RANK_MAX];
    sc_arena *scratch = g->question->ctx->scratch;
    const sc_str declared = sc_host_sizes_text(scratch, out->sizes, out->rank);
    if (!shape || shape->kind != SC_JSON_ARRAY)
        return wrong(g, "a tensor with", SC_STR("no list of sizes as its shape"), declared);
    const uint32_t rank = shape->size;
    if (rank > SC_RANK_MAX)
        return wrong(g, "a shape of", sc_str_format(scratch, "%u dimensions", rank), declared);
    const sc_json *item = sc_json_first(shape);
    bool same = rank == out->rank;
    for (uint32_t d = 0; d < rank; d++, item = sc_json_next(item)) {
        if (!sc_json_i64(item, &sizes[d]) || sizes[d] < 0)
            return wrong(g, "a shape with", SC_STR("a size that is not a whole number"), declared);
        same = same && sizes[d] == out->sizes[d];
    }
    if (same) return SC_OK;
    if (rank != out->rank || !out->is_dynamic)
        return wrong(g, "the shape", sc_host_sizes_text(scratch, sizes, rank), declared);
    const sc_diag_mark mark = sc_diags_mark(g->question->ctx);
    if (sc_rt_output_resize(g->question->ctx, out, sizes, rank) == SC_OK) return SC_OK;
    sc_diags_rewind(g->question->ctx, mark);
    return wrong(g, "the shape", sc_host_sizes_text(scratch, sizes, rank),
                 SC_STR("smaller sizes as its largest ones"));
}

static sc_status give_tensor(const giving *g, const sc_json *json, sc_tensor *out) {
    const sc_json *dtype = sc_json_get(json, "dtype");
    const char *declared = sc_dtype_name((sc_dtype)out->dtype);
    sc_arena *scratch = g->question->ctx->scratch;
    const uint8_t *bytes = NULL;
    uint64_t size = 0;
    if (!dtype || !sc_json_is_str(dtype, declared))
        return wrong(g, "a tensor of", dtype ? sc_json_str(scratch, dtype) : SC_STR("no dtype"),
                     sc_str_from(declared));
    SC_TRY(set_sizes(g, sc_json_get(json, "shape"), out));
    if (!sc_host_answer_range(g->question, sc_json_get(json, "bytes"), &bytes, &size) ||
        size != sc_host_tensor_bytes(out))
        return wrong(g, "a tensor of",
                     sc_str_format(scratch, "%llu bytes", (unsigned long long)size),
                     sc_str_format(scratch, "%zu", sc_host_tensor_bytes(out)));
    if (size) sc_rt_output_write(out, bytes);
    return SC_OK;
}

static bool read_number(sc_arena *scratch, const sc_json *json, sc_evalue *out) {
    const sc_json *value = sc_json_get(json, "value");
    int64_t integer = 0;
    if (!value || value->kind != SC_JSON_STRING) return false;
    sc_str text = sc_json_str(scratch, value);
    if (out->tag == SC_EVALUE_DOUBLE) return sc_parse_f64(text, &out->d);
    if (!sc_parse_i64(text, &integer)) return false;
    if (out->tag == SC_EVALUE_BOOL)
        out->b = integer != 0;
    else
        out->i = integer;
    return true;
}

static sc_status give(const giving *g, const sc_json *json, sc_evalue *out) {
    sc_arena *scratch = g->question->ctx->scratch;
    const char *declared = out->tag == SC_EVALUE_TENSOR   ? "tensor"
                           : out->tag == SC_EVALUE_DOUBLE ? "double"
                           : out->tag == SC_EVALUE_BOOL   ? "bool"
                                                          : "int";
    const sc_json *kind = sc_json_get(json, "kind");
    // A whole number may stand for a double.
    bool is_like = kind && (sc_json_is_str(kind, declared) ||
                            (out->tag == SC_EVALUE_DOUBLE && sc_json_is_str(kind, "int")));
    if (!is_like)
        return wrong(g, "a value of the kind", kind ? sc_json_str(scratch, kind) : SC_STR("none"),
                     sc_str_from(declared));
    if (out->tag == SC_EVALUE_TENSOR) return give_tensor(g, json, out->tensor);
    return read_number(scratch, json, out)
               ? SC_OK
               : wrong(g, "a value of the kind", sc_json_str(scratch, kind), sc_str_from(declared));
}

static sc_status give_all(sc_host_question *question, const host_state *s,
                          const sc_rt_delegate_call *call) {
    const sc_json *json = NULL;
    SC_TRY(sc_host_answer_parse(question, &json));
    const bool is_list = json->kind == SC_JSON_ARRAY;
    if (!is_list || json->size != s->output_count)
        return sc_fail(question->ctx, SC_ERR_DELEGATE,
                       "Return the values that the part's `outputs` declare, in that order.",
                       "backend '" SC_STR_FMT "' gave %s for a part of method '" SC_STR_FMT
                       "', which has %u output%s",
                       SC_STR_ARG(s->host->id),
                       is_list ? sc_str_format(question->ctx->scratch, "%u result%s", json->size,
                                               json->size == 1 ? "" : "s")
                                     .data
                               : "no list of results",
                       SC_STR_ARG(s->method), s->output_count, s->output_count == 1 ? "" : "s");
    giving g = {question, s, 0};
    const sc_json *item = sc_json_first(json);
    for (; g.index < s->output_count; g.index++, item = sc_json_next(item))
        SC_TRY(give(&g, item, call->args[call->input_count + g.index]));
    return SC_OK;
}

// --- Calls ---------------------------------------------------------------------------------------

static sc_status execute(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call) {
    const host_state *s = state;
    sc_host_question question;
    sc_json_writer w;
    sc_host_question_begin(&question, ctx);
    sc_json_writer_init(&w, &question.text, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    for (uint32_t i = 0; i < call->input_count; i++)
        sc_host_add_value(&w, ctx->scratch, call->args[i]);
    sc_json_end_array(&w);
    sc_status status = sc_host_ask(&question, s->host, SC_HOST_QUESTION_EXECUTE, s->number);
    if (status == SC_OK) status = give_all(&question, s, call);
    sc_host_question_end(&question);
    return status;
}

static sc_status reset(sc_ctx *ctx, void *state) {
    const host_state *s = state;
    sc_host_question question;
    sc_host_question_begin(&question, ctx);
    sc_status status = sc_host_ask(&question, s->host, SC_HOST_QUESTION_RESET, s->number);
    sc_host_question_end(&question);
    return status;
}

sc_rt_backend sc_host_run(const sc_host_backend *host) {
    return (sc_rt_backend){.init = init,
                           .execute = execute,
                           .destroy = destroy,
                           .reset = reset,
                           .user = (void *)(uintptr_t)host};
}
