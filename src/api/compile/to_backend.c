// Reads from the host's request which parts of a program go to which backend, and provides what
// backends need.
#include "api/compile/executable.h"
#include "api/compile/named_passes.h"
#include "api/edit/edit.h"

// --- Reading partitioners ------------------------------------------------------------------------

typedef struct reader {
    sc_ctx *ctx;
    sc_job *job;  // whose host may have partitioners of its own; NULL: no host
    const sc_program *program;
    const sc_backends *backends;
} reader;

static sc_status bad(reader *r, const char *what) {
    return sc_fail(r->ctx, SC_ERR_ARGUMENT, "Give a backend, or one for each method.", "%s", what);
}

static sc_status read_bytes(reader *r, const sc_json *json, sc_str *out) {
    char *bytes;
    if (json->kind == SC_JSON_STRING) {
        *out = sc_str_copy(r->ctx->arena, sc_json_str(r->ctx->arena, json));
        return SC_OK;
    }
    if (json->kind != SC_JSON_ARRAY)
        return bad(r, "the value of a compile spec must be bytes or text");
    bytes = sc_arena_alloc(r->ctx->arena, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item)) {
        int64_t byte = -1;
        if (!sc_json_i64(item, &byte) || byte < 0 || byte > 255)
            return bad(r, "the bytes of a compile spec must be numbers from 0 to 255");
        bytes[i] = (char)byte;
    }
    *out = (sc_str){bytes, json->size};
    return SC_OK;
}

// [{"key": "k", "value": [1, 2] | "text"}]
static sc_status read_specs(reader *r, const sc_json *json, const sc_compile_spec **out,
                            uint32_t *count) {
    *out = NULL;
    *count = 0;
    if (!json) return SC_OK;
    if (json->kind != SC_JSON_ARRAY) return bad(r, "compile specs must be a list");
    sc_compile_spec *specs = sc_new_array(r->ctx->arena, sc_compile_spec, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item)) {
        const sc_json *key = sc_json_get(item, "key"), *value = sc_json_get(item, "value");
        if (!key || key->kind != SC_JSON_STRING || !value)
            return bad(r, "a compile spec must have a key, which is text, and a value");
        specs[i].key = sc_str_copy(r->ctx->arena, sc_json_str(r->ctx->arena, key));
        SC_TRY(read_bytes(r, value, &specs[i].value));
    }
    *out = specs;
    *count = json->size;
    return SC_OK;
}

static sc_status read_names(reader *r, const sc_json *json, sc_tagged *out) {
    if (!json || json->kind != SC_JSON_ARRAY) return bad(r, "a tag must have a list of nodes");
    sc_str *names = sc_new_array(r->ctx->arena, sc_str, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item)) {
        if (item->kind != SC_JSON_STRING) return bad(r, "the nodes of a tag must be names");
        names[i] = sc_json_str(r->ctx->arena, item);
    }
    out->nodes = names;
    out->node_count = json->size;
    return SC_OK;
}

// [{"tag": "t", "nodes": ["add"], "specs": [...]}]
static sc_status read_tags(reader *r, const sc_json *json, sc_partitioner *out) {
    if (!json) return SC_OK;
    if (json->kind != SC_JSON_ARRAY) return bad(r, "tags must be a list");
    sc_tagged *tagged = sc_new_array(r->ctx->arena, sc_tagged, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item)) {
        const sc_json *tag = sc_json_get(item, "tag");
        if (!tag || tag->kind != SC_JSON_STRING) return bad(r, "a tag must have a name");
        tagged[i].tag = sc_json_str(r->ctx->arena, tag);
        SC_TRY(read_names(r, sc_json_get(item, "nodes"), &tagged[i]));
        SC_TRY(read_specs(r, sc_json_get(item, "specs"), &tagged[i].specs, &tagged[i].spec_count));
    }
    out->has_tags = true;
    out->tagged = tagged;
    out->tagged_count = json->size;
    return SC_OK;
}

static sc_status unknown_backend(reader *r, sc_str name) {
    sc_sb known;
    const sc_backend *backend;
    const char *near = NULL;
    const char *hint = "Check its name, or register it first, with registerBackend() or "
                       "--import FILE on the command line.";
    sc_sb_init(&known, r->ctx->scratch);
    for (uint32_t i = 0; (backend = r->backends->at(r->backends->user, i)) != NULL; i++) {
        sc_sb_addf(&known, "%s%s", i ? ", " : "", backend->name);
        if (sc_str_equal_any_case(name, sc_str_from(backend->name))) near = backend->name;
    }
    if (near) {
        hint =
            sc_str_format(r->ctx->scratch, "Write '%s': ids of backends are case-sensitive.", near)
                .data;
    }
    return sc_fail(r->ctx, SC_ERR_NOT_FOUND, hint,
                   "there is no backend '" SC_STR_FMT "'; there are: %s", SC_STR_ARG(name),
                   sc_sb_terminate(&known));
}

// ["noops", 0]
static sc_status read_passes(reader *r, const sc_json *json, sc_partitioner *out) {
    if (!json) return SC_OK;
    SC_TRY(sc_early_passes_check(r->ctx, json));
    out->passes = json->size ? json : NULL;
    return SC_OK;
}

// ["aten::silu"]
static sc_status read_kept(reader *r, const sc_json *json, sc_partitioner *out) {
    if (!json) return SC_OK;
    if (json->kind != SC_JSON_ARRAY) return bad(r, "the operators to keep must be a list");
    const sc_op **kept = sc_new_array(r->ctx->arena, const sc_op *, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item)) {
        if (item->kind != SC_JSON_STRING)
            return bad(r, "the operators to keep must be named by text");
        const sc_str name = sc_json_str(r->ctx->scratch, item);
        kept[i] = sc_op_find(name);
        if (!kept[i])
            return sc_fail(r->ctx, SC_ERR_NOT_FOUND,
                           "Write the operator with its overload, as the text of the graph does.",
                           "there is no operator '" SC_STR_FMT "' to keep", SC_STR_ARG(name));
    }
    out->kept = kept;
    out->kept_count = json->size;
    return SC_OK;
}

static sc_status check_keys(reader *r, const sc_json *json) {
    static const char *const KEYS[] = {"backend", "whole", "specs",      "passes", "tags",
                                       "host",    "keeps", "precisions", "per_op"};
    if (json->kind != SC_JSON_OBJECT) return bad(r, "a partitioner must have a backend");
    const sc_json *key = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, key = sc_json_next(key + 1)) {
        bool is_known = false;
        for (uint32_t k = 0; k < SC_COUNT_OF(KEYS); k++) is_known |= sc_json_is_str(key, KEYS[k]);
        if (!is_known)
            return sc_fail(r->ctx, SC_ERR_ARGUMENT,
                           "Use the fields backend, whole, specs, passes and tags, or host, keeps "
                           "and passes.",
                           "a partitioner has no field '" SC_STR_FMT "'",
                           SC_STR_ARG(sc_json_str(r->ctx->scratch, key)));
    }
    return SC_OK;
}

// {"host": 0, "keeps": ["aten::silu"], "passes": [...]}
static sc_status read_host(reader *r, const sc_json *json, sc_partitioner *out) {
    if (!r->job || !sc_pass_entry_number(sc_json_get(json, "host"), &out->number))
        return bad(r, "a partitioner of the host must be the number of one that it has");
    SC_TRY(read_kept(r, sc_json_get(json, "keeps"), out));
    return read_passes(r, sc_json_get(json, "passes"), out);
}

// {"precisions": ["fp32"], "per_op": true}
static sc_status read_mode(reader *r, const sc_json *json, sc_partitioner *out) {
    const sc_json *names = sc_json_get(json, "precisions"), *per_op = sc_json_get(json, "per_op");
    sc_option_names list = {0};
    if (!names && !per_op) return SC_OK;
    if (!out->backend->has_precisions)
        return sc_fail(r->ctx, SC_ERR_OPTION, "Leave out both for this backend.",
                       "configPrecisions and perOpMode are for xnnpack, not for backend '%s'",
                       out->backend->name);
    if (per_op && !sc_json_bool(per_op, &out->is_per_op))
        return bad(r, "per_op must be true or false");
    out->has_mode = per_op != NULL;
    if (!names) return SC_OK;
    if (names->kind != SC_JSON_ARRAY) return bad(r, "precisions must be a list");
    sc_str *items = sc_new_array(r->ctx->arena, sc_str, (size_t)names->size + 1);
    const sc_json *item = sc_json_first(names);
    for (; list.count < names->size; list.count++, item = sc_json_next(item))
        items[list.count] = sc_json_str(r->ctx->arena, item);
    list.items = items;
    return sc_precisions_read(r->ctx, &list, &out->precisions);
}

static sc_status read_partitioner(reader *r, const sc_json *json, sc_partitioner *out) {
    const sc_json *backend = sc_json_get(json, "backend"), *whole = sc_json_get(json, "whole");
    *out = (sc_partitioner){0};
    SC_TRY(check_keys(r, json));
    if (sc_json_get(json, "host")) return read_host(r, json, out);
    if (!backend || backend->kind != SC_JSON_STRING)
        return bad(r, "a partitioner must have a backend");
    sc_str name = sc_json_str(r->ctx->arena, backend);
    out->backend = r->backends->find(r->backends->user, name);
    if (!out->backend) return unknown_backend(r, name);
    if (whole && !sc_json_bool(whole, &out->is_whole)) return bad(r, "whole must be true or false");
    if (out->is_whole && sc_json_get(json, "tags"))
        return sc_fail(r->ctx, SC_ERR_ARGUMENT, "Leave out `whole` or `tags`.",
                       "a partitioner for " SC_STR_FMT
                       " asks for the whole method and for tagged parts of it",
                       SC_STR_ARG(name));
    SC_TRY(read_mode(r, json, out));
    SC_TRY(read_specs(r, sc_json_get(json, "specs"), &out->specs, &out->spec_count));
    SC_TRY(read_passes(r, sc_json_get(json, "passes"), out));
    return read_tags(r, sc_json_get(json, "tags"), out);
}

static sc_status read_rounds(reader *r, const sc_json *json, sc_method_partitioners *out) {
    if (json->kind != SC_JSON_ARRAY) return bad(r, "the partitioners of a method must be a list");
    sc_partitioner *items = sc_new_array(r->ctx->arena, sc_partitioner, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item))
        SC_TRY(read_partitioner(r, item, &items[i]));
    out->items = items;
    out->count = json->size;
    return SC_OK;
}

// {"methods": {"prefill": [PARTITIONER...]}} or {"all": [PARTITIONER...]}
static sc_status read_all(reader *r, const sc_json *json, sc_partitioners *out) {
    const sc_json *all = sc_json_get(json, "all"), *methods = sc_json_get(json, "methods");
    if (all) {
        out->count = r->program->methods.count;
        out->methods = sc_new_array(r->ctx->arena, sc_method_partitioners, (size_t)out->count + 1);
        for (uint32_t i = 0; i < out->count; i++) {
            SC_TRY(read_rounds(r, all, &out->methods[i]));
            out->methods[i].method = sc_name_str(r->program->methods.data[i]->name);
        }
        return SC_OK;
    }
    if (!methods || methods->kind != SC_JSON_OBJECT) return bad(r, "no method has a backend");
    out->count = methods->size;
    out->methods = sc_new_array(r->ctx->arena, sc_method_partitioners, (size_t)out->count + 1);
    const sc_json *key = sc_json_first(methods);
    for (uint32_t i = 0; i < out->count; i++, key = sc_json_next(key + 1)) {
        out->methods[i].method = sc_json_str(r->ctx->arena, key);
        SC_TRY(read_rounds(r, key + 1, &out->methods[i]));
    }
    return SC_OK;
}

sc_status sc_partitioners_read(sc_ctx *ctx, sc_job *job, const sc_program *program,
                               const sc_json *json, const sc_backends *backends,
                               sc_partitioners *out) {
    reader r = {ctx, job, program, backends};
    *out = (sc_partitioners){.job = job, .backends = backends};
    return read_all(&r, json, out);
}

// --- Partitioners of the host --------------------------------------------------------------------

static sc_status check_answer(reader *r, const sc_method_partitioners *answer) {
    for (uint32_t i = 0; i < answer->count; i++)
        if (!answer->items[i].backend || !answer->items[i].has_tags || answer->items[i].passes)
            return bad(r, "a partitioner of the host must answer with tags of backends");
    return SC_OK;
}

static sc_status ask_host(void *user, sc_ctx *ctx, sc_method *method, uint32_t number,
                          const sc_partitioner **items, uint32_t *count) {
    const sc_partitioners *partitioners = user;
    reader r = {ctx, NULL, method->program, partitioners->backends};
    sc_method_partitioners answer = {.method = sc_name_str(method->name)};
    sc_str text;
    const sc_json *json;
    SC_TRY(sc_edit_ask(partitioners->job, method, number, &text));
    SC_TRY(sc_json_parse(ctx, ctx->arena, text, &json));
    SC_TRY(read_rounds(&r, json, &answer));
    SC_TRY(check_answer(&r, &answer));
    *items = answer.items;
    *count = answer.count;
    return SC_OK;
}

// --- The input of backends -----------------------------------------------------------------------

sc_status sc_part_program(sc_ctx *ctx, const sc_part *part, sc_program **out) {
    const sc_method *from = part->method;
    sc_method *method = NULL;
    *out = sc_program_new(ctx);
    SC_TRY(sc_program_add_method(*out, SC_STR("forward"), &method));
    SC_TRY(sc_graph_clone(from->graph, method, NULL, &method->graph));
    method->facts = from->facts;
    for (uint32_t i = 0; i < from->inputs.count; i++) {
        sc_input_sig sig = from->inputs.data[i];
        if (sig.constant && !sc_part_writes(part, sig.target))
            sig = (sc_input_sig){.kind = SC_INPUT_USER};
        sc_vec_push(ctx->arena, &method->inputs, sig);
    }
    for (uint32_t i = 0; i < from->outputs.count; i++)
        sc_vec_push(ctx->arena, &method->outputs, from->outputs.data[i]);
    return SC_OK;
}

static sc_status emit_part(void *user, sc_ctx *ctx, const sc_part *part, sc_cord *pte) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.env = {.options = &options}};
    sc_program *program = NULL;
    sc_executable made;
    (void)user;
    SC_TRY(sc_part_program(ctx, part, &program));
    SC_TRY(sc_make_executable(ctx, &pipeline, program, &made));
    sc_cord_append_cord(pte, &made.result.program);
    return SC_OK;
}

sc_status sc_delegate_parts(sc_ctx *ctx, sc_program *program, const sc_partitioners *partitioners,
                            const sc_options *options, bool is_draft, sc_delegation *delegation) {
    const sc_backend_env env = {.options = options,
                                .is_draft = is_draft,
                                .emit = emit_part,
                                .partition = ask_host,
                                .user = (void *)partitioners};
    return sc_lower_to_backends(ctx, program, partitioners->methods, partitioners->count, &env,
                                delegation);
}

// The program is decomposed already, so requests for passes before decomposition have no effect.
static sc_status refuse_early_passes(sc_ctx *ctx, const sc_method_partitioners *method) {
    for (uint32_t i = 0; i < method->count; i++)
        if (method->items[i].passes)
            return sc_fail(ctx, SC_ERR_ARGUMENT,
                           "Leave out \"passes\", or decompose and delegate in one step.",
                           "a partitioner of method '" SC_STR_FMT
                           "' has passes that run before decomposition, but the program is "
                           "decomposed already",
                           SC_STR_ARG(method->method));
    return SC_OK;
}

sc_status sc_delegate_program(sc_ctx *ctx, sc_job *job, sc_program *program, const sc_json *json,
                              const sc_options *options, const sc_backends *backends,
                              bool passes_have_run, sc_delegation *delegation) {
    sc_partitioners partitioners;
    SC_TRY(sc_partitioners_read(ctx, job, program, json, backends, &partitioners));
    for (uint32_t i = 0; i < partitioners.count && !passes_have_run; i++)
        SC_TRY(refuse_early_passes(ctx, &partitioners.methods[i]));
    return sc_delegate_parts(ctx, program, &partitioners, options, false, delegation);
}
