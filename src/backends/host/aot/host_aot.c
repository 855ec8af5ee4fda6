// Asks the host which nodes it takes, and lets it compile the parts. The host is asked once for all
// nodes of a graph, and once for the parts of all methods.
#include "backends/host/aot/host_aot.h"

#include "backend/node_json.h"
#include "backends/host/answer.h"
#include "backends/host/aot/part_json.h"

static const sc_host_backend *host_of(const sc_backend *backend) { return backend->user; }

// --- Which nodes ---------------------------------------------------------------------------------

// An error that the host throws ends the call that asks, after the question has ended.
static bool keeps(const sc_backend *backend, const sc_options *options, const sc_node *node,
                  sc_claim *claim) {
    sc_ctx *ctx = node->graph->method->program->ctx;
    const sc_host_backend *host = host_of(backend);
    sc_host_question question;
    sc_json_writer w;
    (void)options, (void)claim;
    sc_host_question_begin(&question, ctx);
    sc_json_writer_init(&w, &question.text, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_str(&w, "method", sc_name_str(node->graph->method->name));
    sc_json_key(&w, "node");
    sc_node_add_full_json(&w, ctx->scratch, node);
    sc_json_end_object(&w);
    bool is_kept =
        host->ask(host->number, &question, SC_HOST_QUESTION_KEEPS, 0, sc_sb_str(&question.text));
    sc_host_question_end(&question);
    return is_kept;
}

// Is it a buffer that the method writes? It stays in the method unless a part should keep it.
static bool is_state(const sc_survey *s, uint32_t input) {
    return !s->graph->parent && s->graph->method->inputs.data[input].constant &&
           !s->takes_input[input];
}

static uint32_t add_states(sc_json_writer *w, const sc_survey *s) {
    uint32_t count = 0;
    sc_json_put_array(w, "states");
    for (uint32_t i = 0; i < s->graph->inputs.count; i++) {
        if (!is_state(s, i)) continue;
        sc_json_add_str(w, s->graph->method->inputs.data[i].target);
        count++;
    }
    sc_json_end_array(w);
    return count;
}

// [true, ...], one item for each state.
static sc_status read_owned(sc_host_question *question, const sc_host_backend *host, sc_survey *s,
                            const sc_json *json, uint32_t states) {
    if (!json || json->kind != SC_JSON_ARRAY || json->size != states)
        return sc_host_answer_malformed(question, host,
                                        "a number of answers that is not the number of buffers");
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < s->graph->inputs.count; i++) {
        if (!is_state(s, i)) continue;
        s->takes_input[i] = item->kind == SC_JSON_BOOL && item->boolean;
        item = sc_json_next(item);
    }
    return SC_OK;
}

static sc_str text_of(const sc_survey *s, const sc_json *json) {
    if (!json || json->kind != SC_JSON_STRING) return (sc_str){0};
    return sc_str_copy(s->ctx->arena, sc_json_str(s->ctx->arena, json));
}

// [true, "why not", {"reason", "hint"}, ...], one item for each node.
static sc_status read_claims(sc_host_question *question, const sc_host_backend *host, sc_survey *s,
                             const sc_json *json) {
    if (!json || json->kind != SC_JSON_ARRAY || json->size != s->graph->node_count)
        return sc_host_answer_malformed(question, host,
                                        "a number of answers that is not the number of nodes");
    const sc_json *item = sc_json_first(json);
    for (sc_node *node = s->graph->first; node; node = node->next, item = sc_json_next(item)) {
        sc_claim *claim = sc_claim_of(s, node);
        claim->is_taken = item->kind == SC_JSON_BOOL && item->boolean;
        claim->reason = text_of(s, item);
        if (item->kind != SC_JSON_OBJECT) continue;
        claim->reason = text_of(s, sc_json_get(item, "reason"));
        claim->hint = text_of(s, sc_json_get(item, "hint"));
    }
    return SC_OK;
}

// {"nodes", "states"}
static sc_status read_survey(sc_host_question *question, const sc_host_backend *host, sc_survey *s,
                             uint32_t states) {
    const sc_json *json = NULL;
    SC_TRY(sc_host_answer_parse(question, &json));
    SC_TRY(read_claims(question, host, s, sc_json_get(json, "nodes")));
    return read_owned(question, host, s, sc_json_get(json, "states"), states);
}

static sc_status survey(const sc_backend *backend, sc_survey *s) {
    sc_host_question question;
    sc_json_writer w;
    sc_host_question_begin(&question, s->ctx);
    sc_json_writer_init(&w, &question.text, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_str(&w, "method", sc_name_str(s->graph->method->name));
    sc_host_put_nodes(&w, s->ctx->scratch, s->graph);
    sc_host_put_specs(&w, s->specs, s->spec_count);
    const uint32_t states = add_states(&w, s);
    sc_json_end_object(&w);
    sc_status status = sc_host_ask(&question, host_of(backend), SC_HOST_QUESTION_SURVEY, 0);
    if (status == SC_OK) status = read_survey(&question, host_of(backend), s, states);
    sc_host_question_end(&question);
    return status;
}

// --- Bytes of parts ------------------------------------------------------------------------------

typedef struct reading {
    sc_host_question *question;
    const sc_host_backend *host;
    sc_part *part;
} reading;

static sc_cord *copy_bytes(sc_arena *arena, const uint8_t *bytes, uint64_t size) {
    sc_cord *cord = sc_new(arena, sc_cord);
    sc_cord_init(cord, arena);
    sc_cord_append_copy(cord, bytes, size);
    return cord;
}

// {"dtype", "shape", "order"}; null for plain bytes.
static sc_status read_layout(reading *r, const sc_json *json, const sc_spec **out) {
    int64_t sizes[SC_RANK_MAX], order[SC_RANK_MAX];
    uint32_t rank = 0, dims = 0;
    if (!json || json->kind == SC_JSON_NULL) return SC_OK;
    const sc_json *name = sc_json_get(json, "dtype");
    const sc_dtype dtype = name && name->kind == SC_JSON_STRING
                               ? sc_dtype_from_short(sc_json_str(r->question->ctx->scratch, name))
                               : SC_DTYPE_NONE;
    const bool is_read = dtype != SC_DTYPE_NONE &&
                         sc_json_i64s(sc_json_get(json, "shape"), SC_RANK_MAX, sizes, &rank) &&
                         sc_json_i64s(sc_json_get(json, "order"), SC_RANK_MAX, order, &dims);
    *out = is_read && rank == dims ? sc_part_layout(r->part, dtype, rank, sizes, order) : NULL;
    return *out ? SC_OK
                : sc_host_answer_malformed(r->question, r->host,
                                           "named data with a layout that cannot be read");
}

// {"key", "tag", "align", "bytes", "layout"}
static sc_status read_data(reading *r, const sc_json *item) {
    sc_arena *arena = r->question->ctx->arena;
    const sc_json *key = sc_json_get(item, "key"), *tag = sc_json_get(item, "tag");
    const sc_json *align = sc_json_get(item, "align");
    const uint8_t *bytes = NULL;
    uint64_t size = 0;
    int64_t alignment = 0;
    if (!key || key->kind != SC_JSON_STRING || !tag || tag->kind != SC_JSON_STRING || !align ||
        !sc_json_i64(align, &alignment) || alignment < 1 || alignment > SC_HOST_ALIGN_MAX ||
        !sc_host_answer_range(r->question, sc_json_get(item, "bytes"), &bytes, &size))
        return sc_host_answer_malformed(r->question, r->host, "named data that cannot be read");
    sc_part_data data = {.key = sc_str_copy(arena, sc_json_str(arena, key)),
                         .tag = sc_str_copy(arena, sc_json_str(arena, tag)),
                         .align = (uint64_t)alignment};
    SC_TRY(read_layout(r, sc_json_get(item, "layout"), &data.layout));
    data.bytes = copy_bytes(arena, bytes, size);
    sc_vec_push(arena, &r->part->data, data);
    return SC_OK;
}

// {"name" or "id", "handles": [1, 2]}
static sc_status read_event(reading *r, const sc_json *item) {
    sc_arena *arena = r->question->ctx->arena;
    const sc_json *name = sc_json_get(item, "name"), *id = sc_json_get(item, "id");
    const sc_json *handles = sc_json_get(item, "handles");
    sc_part_event event = {0};
    if (name && name->kind == SC_JSON_STRING)
        event.name = sc_str_copy(arena, sc_json_str(arena, name));
    else if (!id || !sc_json_i64(id, &event.id))
        return sc_host_answer_malformed(r->question, r->host,
                                        "a debug handle map that cannot be read");
    if (!handles || handles->kind != SC_JSON_ARRAY)
        return sc_host_answer_malformed(r->question, r->host,
                                        "a debug handle map that cannot be read");
    event.handles = sc_new_array(arena, uint32_t, (size_t)handles->size + 1);
    const sc_json *handle = sc_json_first(handles);
    for (uint32_t i = 0; i < handles->size; i++, handle = sc_json_next(handle)) {
        int64_t value = -1;
        if (!sc_json_i64(handle, &value) || value < 0 || value > UINT32_MAX)
            return sc_host_answer_malformed(r->question, r->host,
                                            "a debug handle that is not a whole number");
        event.handles[event.handle_count++] = (uint32_t)value;
    }
    sc_vec_push(arena, &r->part->events, event);
    return SC_OK;
}

static sc_status read_list(reading *r, const sc_json *list,
                           sc_status (*read)(reading *, const sc_json *)) {
    if (!list) return SC_OK;
    const sc_json *item = sc_json_first(list);
    for (uint32_t n = list->kind == SC_JSON_ARRAY ? list->size : 0; n--; item = sc_json_next(item))
        SC_TRY(read(r, item));
    return SC_OK;
}

// {"processed": [offset, size], "data": [...], "events": [...]}; "events" may be null.
static sc_status read_result(reading *r, const sc_json *result) {
    sc_arena *arena = r->question->ctx->arena;
    const uint8_t *bytes = NULL;
    uint64_t size = 0;
    const sc_json *events = sc_json_get(result, "events");
    if (!sc_host_answer_range(r->question, sc_json_get(result, "processed"), &bytes, &size))
        return sc_host_answer_malformed(r->question, r->host, "a part without bytes");
    r->part->says_inputs = true;
    r->part->has_events = events && events->kind == SC_JSON_ARRAY;
    SC_TRY(read_list(r, sc_json_get(result, "data"), read_data));
    SC_TRY(read_list(r, r->part->has_events ? events : NULL, read_event));
    sc_cord *cord = sc_new(arena, sc_cord);
    sc_cord_init(cord, arena);
    sc_cord_append_copy(cord, bytes, size);
    r->part->processed = cord;
    return SC_OK;
}

static sc_status read_results(sc_host_question *question, const sc_host_backend *host,
                              sc_part *const *parts) {
    const sc_json *json = NULL;
    SC_TRY(sc_host_answer_parse(question, &json));
    if (json->kind != SC_JSON_ARRAY || json->size != question->part_count)
        return sc_host_answer_malformed(question, host,
                                        "a number of results that is not the number of parts");
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < question->part_count; i++, item = sc_json_next(item)) {
        reading r = {question, host, parts[i]};
        SC_TRY(read_result(&r, item));
    }
    return SC_OK;
}

static sc_status preprocess(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                            const sc_method_parts *methods, uint32_t count) {
    sc_host_question question;
    sc_json_writer w;
    sc_host_question_begin(&question, ctx);
    question.done = env->parts_done;
    question.total = env->parts_total;
    for (uint32_t m = 0; m < count; m++) question.part_count += methods[m].count;
    sc_part **parts = sc_new_array(ctx->scratch, sc_part *, (size_t)question.part_count + 1);
    for (uint32_t m = 0, at = 0; m < count; m++)
        for (uint32_t i = 0; i < methods[m].count; i++) parts[at++] = methods[m].parts[i];
    question.parts = parts;
    sc_json_writer_init(&w, &question.text, SC_JSON_COMPACT);
    sc_host_add_methods(&w, ctx->scratch, methods, count);
    sc_status status = sc_host_ask(&question, host_of(backend), SC_HOST_QUESTION_PREPROCESS, 0);
    if (status == SC_OK) status = read_results(&question, host_of(backend), parts);
    sc_host_question_end(&question);
    return status;
}

sc_backend sc_host_aot(const sc_host_backend *host) {
    return (sc_backend){.name = host->id.data,
                        .id = host->id.data,
                        .keeps = host->keeps ? keeps : NULL,
                        .survey = survey,
                        .preprocess_multimethod = preprocess,
                        .user = (void *)(uintptr_t)host};
}
