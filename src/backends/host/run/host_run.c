// Hands the host its own bytes of a part, and the values of each call. Answers are checked like the
// contents of a file: the host's code is the user's own. The host is asked once for each call, so
// that a call is one event: a host tells a listener nothing of what it does on the way.
#include "backends/host/run/host_run.h"

#include "backends/host/answer.h"
#include "rt/rt.h"

typedef struct host_state {
    const sc_host_backend *host;
    uint32_t number;  // by which the host knows the delegate
    uint32_t input_count, output_count;
    sc_arena arena;
    sc_str method;
} host_state;

// Numbers of delegates, over all programs.
static uint32_t last_number;

static sc_status bad(sc_ctx *ctx, const sc_rt_start *start, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                   "the bytes for the backend '" SC_STR_FMT "' in method '" SC_STR_FMT
                   "' are not valid: %s",
                   SC_STR_ARG(start->id), SC_STR_ARG(start->method), what);
}

// --- The header ----------------------------------------------------------------------------------

typedef struct cursor {
    const uint8_t *bytes;
    uint64_t size, at;
} cursor;

static bool take(cursor *c, uint64_t count, const uint8_t **bytes) {
    if (count > c->size - c->at) return false;
    *bytes = c->bytes + c->at;
    c->at += count;
    return true;
}

static bool take_u32(cursor *c, uint32_t *out) {
    const uint8_t *b = NULL;
    if (!take(c, 4, &b)) return false;
    *out = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return true;
}

// A key with its bytes, as the host sees it. Named data that was found is noted, to be released.
static sc_status put_key(sc_ctx *ctx, const sc_rt_start *start, cursor *c, sc_json_writer *w,
                         sc_str *key) {
    const uint8_t *text = NULL, *bytes = NULL;
    uint32_t length = 0;
    uint64_t size = 0;
    if (!take_u32(c, &length) || !take(c, length, &text))
        return bad(ctx, start, "they end too early");
    *key = (sc_str){(const char *)text, length};
    SC_TRY(start->named.find(start->named.user, ctx, *key, &bytes, &size));
    sc_json_begin_object(w);
    sc_json_put_str(w, "key", *key);
    sc_ask_put_bytes(w, "bytes", bytes, size);
    sc_json_end_object(w);
    return SC_OK;
}

// --- Starting ------------------------------------------------------------------------------------

typedef struct starting {
    sc_ctx *ctx;
    const sc_rt_start *start;
    host_state *state;
    sc_json_writer *w;
    SC_VEC(sc_str) found;  // keys
} starting;

static void put_specs(sc_json_writer *w, const sc_rt_start *start) {
    sc_json_key(w, "specs");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < start->spec_count; i++)
        sc_ask_put_spec(w, start->specs[i].key, start->specs[i].value);
    sc_json_end_array(w);
}

static sc_status put_header(starting *s) {
    const sc_rt_start *start = s->start;
    cursor c = {start->processed, start->processed_bytes, 0};
    const uint8_t *magic = NULL;
    uint32_t keys = 0;
    const uint32_t magic_bytes = sizeof SC_HOST_MAGIC - 1;
    if (!take(&c, magic_bytes, &magic) || memcmp(magic, SC_HOST_MAGIC, magic_bytes) != 0)
        return bad(s->ctx, start, "they were made by another");
    if (!take_u32(&c, &s->state->input_count) || !take_u32(&c, &s->state->output_count) ||
        !take_u32(&c, &keys))
        return bad(s->ctx, start, "they end too early");
    if ((uint64_t)s->state->input_count + s->state->output_count != start->arg_count)
        return sc_fail(s->ctx, SC_ERR_CORRUPT, NULL,
                       "a part for the backend '" SC_STR_FMT
                       "' takes %u values and gives %u, but method '" SC_STR_FMT
                       "' calls it with %u",
                       SC_STR_ARG(start->id), s->state->input_count, s->state->output_count,
                       SC_STR_ARG(start->method), start->arg_count);
    sc_json_key(s->w, "named");
    sc_json_begin_array(s->w);
    for (uint32_t i = 0; i < keys; i++) {
        sc_str key;
        SC_TRY(put_key(s->ctx, start, &c, s->w, &key));
        sc_vec_push(s->ctx->scratch, &s->found, key);
    }
    sc_json_end_array(s->w);
    c.at = sc_align_up(c.at, 16);
    if (c.at > c.size) return bad(s->ctx, start, "they end too early");
    sc_ask_put_bytes(s->w, "processed", c.bytes + c.at, c.size - c.at);
    return SC_OK;
}

static sc_status ask_init(starting *s, sc_ask *ask) {
    sc_json_begin_object(s->w);
    sc_json_put_str(s->w, "method", s->start->method);
    put_specs(s->w, s->start);
    SC_TRY(put_header(s));
    sc_json_end_object(s->w);
    return sc_ask_host(ask, s->state->host, SC_ASK_INIT, s->state->number);
}

static void free_state(host_state *state) {
    sc_arena_deinit(&state->arena);
    sc_free(state);
}

static sc_status init(sc_ctx *ctx, const sc_rt_start *start, void **state, uint32_t *input_count) {
    host_state *made = sc_try_alloc(sizeof *made);
    if (!made) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a delegate");
    *made = (host_state){.host = start->backend->user, .number = ++last_number};
    sc_arena_init(&made->arena);
    made->method = sc_str_copy(&made->arena, start->method);
    sc_json_writer w;
    sc_ask ask;
    sc_ask_begin(&ask, ctx);
    sc_json_writer_init(&w, &ask.text, SC_JSON_COMPACT);
    starting s = {.ctx = ctx, .start = start, .state = made, .w = &w};
    sc_status status = ask_init(&s, &ask);
    sc_ask_end(&ask);
    for (uint32_t i = 0; i < s.found.count; i++)
        start->named.release(start->named.user, s.found.data[i]);
    if (status != SC_OK) {
        free_state(made);
        return status;
    }
    *state = made;
    *input_count = made->input_count;
    return SC_OK;
}

static void destroy(void *state) {
    host_state *s = state;
    sc_ask ask;
    sc_ask_begin(&ask, NULL);
    (void)s->host->ask(s->host->number, &ask, SC_ASK_DESTROY, s->number, (sc_str){0});
    sc_ask_end(&ask);
    free_state(s);
}

// --- Values that go in ---------------------------------------------------------------------------

static size_t bytes_of(const sc_tensor *t) {
    return (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
}

static void put_sizes(sc_json_writer *w, const sc_tensor *t) {
    sc_json_key(w, "shape");
    sc_json_begin_array(w);
    for (uint32_t d = 0; d < t->rank; d++) sc_json_add_i64(w, t->sizes[d]);
    sc_json_end_array(w);
}

// Numbers are text: 64 bits are more than a number of JavaScript holds, and JSON has no infinities.
static void put_number(sc_json_writer *w, sc_arena *arena, const sc_evalue *value) {
    sc_sb text;
    sc_sb_init(&text, arena);
    if (value->tag == SC_EVALUE_DOUBLE)
        sc_sb_add_f64(&text, value->d);
    else
        sc_sb_add_i64(&text, value->tag == SC_EVALUE_BOOL ? value->b : value->i);
    sc_json_put_text(w, "kind",
                     value->tag == SC_EVALUE_DOUBLE ? "double"
                     : value->tag == SC_EVALUE_BOOL ? "bool"
                                                    : "int");
    sc_json_put_str(w, "value", sc_sb_str(&text));
}

static void put_value(sc_json_writer *w, sc_arena *arena, const sc_evalue *value) {
    sc_json_begin_object(w);
    if (value->tag == SC_EVALUE_TENSOR) {
        const sc_tensor *t = value->tensor;
        void *row_major = t->data;
        if (!sc_tensor_is_contiguous(t)) {
            row_major = sc_arena_alloc(arena, bytes_of(t) + 1);
            sc_rt_tensor_read(t, row_major, bytes_of(t));
        }
        sc_json_put_text(w, "kind", "tensor");
        sc_json_put_text(w, "dtype", sc_dtype_name((sc_dtype)t->dtype));
        put_sizes(w, t);
        sc_ask_put_bytes(w, "bytes", row_major, bytes_of(t));
    } else {
        put_number(w, arena, value);
    }
    sc_json_end_object(w);
}

// --- Values that come out ------------------------------------------------------------------------

typedef struct giving {
    sc_ask *ask;
    const host_state *state;
    uint32_t index;  // of the output
} giving;

static sc_status wrong(const giving *g, const char *what, sc_str found, sc_str declared) {
    return sc_fail(g->ask->ctx, SC_ERR_DELEGATE,
                   "Return the values that the part's `outputs` declare, in that order.",
                   "backend '" SC_STR_FMT "' gave %s " SC_STR_FMT
                   " as output %u of a part of method '" SC_STR_FMT "', which declares " SC_STR_FMT,
                   SC_STR_ARG(g->state->host->id), what, SC_STR_ARG(found), g->index,
                   SC_STR_ARG(g->state->method), SC_STR_ARG(declared));
}

static sc_str sizes_text(sc_arena *arena, const int64_t *sizes, uint32_t rank) {
    sc_sb sb;
    sc_sb_init(&sb, arena);
    sc_sb_add_char(&sb, '[');
    for (uint32_t d = 0; d < rank; d++)
        sc_sb_addf(&sb, "%s%lld", d ? ", " : "", (long long)sizes[d]);
    sc_sb_add_char(&sb, ']');
    return sc_sb_str(&sb);
}

static sc_status set_sizes(const giving *g, const sc_json *shape, sc_tensor *out) {
    int64_t sizes[SC_RANK_MAX];
    sc_arena *scratch = g->ask->ctx->scratch;
    const sc_str declared = sizes_text(scratch, out->sizes, out->rank);
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
        return wrong(g, "the shape", sizes_text(scratch, sizes, rank), declared);
    return sc_rt_output_resize(g->ask->ctx, out, sizes, rank);
}

static sc_status give_tensor(const giving *g, const sc_json *json, sc_tensor *out) {
    const sc_json *dtype = sc_json_get(json, "dtype");
    const char *declared = sc_dtype_name((sc_dtype)out->dtype);
    sc_arena *scratch = g->ask->ctx->scratch;
    const uint8_t *bytes = NULL;
    uint64_t size = 0;
    if (!dtype || !sc_json_is_str(dtype, declared))
        return wrong(g, "a tensor of", dtype ? sc_json_str(scratch, dtype) : SC_STR("no dtype"),
                     sc_str_from(declared));
    SC_TRY(set_sizes(g, sc_json_get(json, "shape"), out));
    if (!sc_ask_range(g->ask, sc_json_get(json, "bytes"), &bytes, &size) || size != bytes_of(out))
        return wrong(g, "a tensor of",
                     sc_str_format(scratch, "%llu bytes", (unsigned long long)size),
                     sc_str_format(scratch, "%zu", bytes_of(out)));
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
    sc_arena *scratch = g->ask->ctx->scratch;
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

static sc_status give_all(sc_ask *ask, const host_state *s, const sc_rt_delegate_call *call) {
    const sc_json *json = NULL;
    SC_TRY(sc_ask_parse(ask, &json));
    const bool is_list = json->kind == SC_JSON_ARRAY;
    if (!is_list || json->size != s->output_count)
        return sc_fail(ask->ctx, SC_ERR_DELEGATE,
                       "Return the values that the part's `outputs` declare, in that order.",
                       "backend '" SC_STR_FMT "' gave %s for a part of method '" SC_STR_FMT
                       "', which has %u output%s",
                       SC_STR_ARG(s->host->id),
                       is_list ? sc_str_format(ask->ctx->scratch, "%u result%s", json->size,
                                               json->size == 1 ? "" : "s")
                                     .data
                               : "no list of results",
                       SC_STR_ARG(s->method), s->output_count, s->output_count == 1 ? "" : "s");
    giving g = {ask, s, 0};
    const sc_json *item = sc_json_first(json);
    for (; g.index < s->output_count; g.index++, item = sc_json_next(item))
        SC_TRY(give(&g, item, call->args[call->input_count + g.index]));
    return SC_OK;
}

// --- Calls ---------------------------------------------------------------------------------------

static sc_status execute(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call) {
    const host_state *s = state;
    sc_ask ask;
    sc_json_writer w;
    sc_ask_begin(&ask, ctx);
    sc_json_writer_init(&w, &ask.text, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    for (uint32_t i = 0; i < call->input_count; i++) put_value(&w, ctx->scratch, call->args[i]);
    sc_json_end_array(&w);
    sc_status status = sc_ask_host(&ask, s->host, SC_ASK_EXECUTE, s->number);
    if (status == SC_OK) status = give_all(&ask, s, call);
    sc_ask_end(&ask);
    return status;
}

static sc_status reset(sc_ctx *ctx, void *state) {
    const host_state *s = state;
    sc_ask ask;
    sc_ask_begin(&ask, ctx);
    sc_status status = sc_ask_host(&ask, s->host, SC_ASK_RESET, s->number);
    sc_ask_end(&ask);
    return status;
}

sc_rt_backend sc_host_run(const sc_host_backend *host) {
    return (sc_rt_backend){.init = init,
                           .execute = execute,
                           .destroy = destroy,
                           .reset = reset,
                           .user = (void *)(uintptr_t)host};
}
