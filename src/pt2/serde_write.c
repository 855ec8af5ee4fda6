// The document around the graph: the roles of inputs and outputs for the caller, ranges of symbols,
// and the trees that arguments and results are flattened from.
#include "pt2/serde_write.h"

enum { SCHEMA_MAJOR = 5, SCHEMA_MINOR = 4, OPSET = 10 };

static sc_status fail(sc_serde_writer *w, const char *what) {
    return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, "Leave the program out of the record.",
                   "records of programs cannot hold %s", what);
}

// "arg": {"name": ...}
static void put_arg_name(sc_serde_writer *w, const sc_value *value) {
    sc_json_put_object(&w->json, "arg");
    sc_json_put_str(&w->json, "name", sc_serde_name(w, value));
    sc_json_end_object(&w->json);
}

// --- The signature -------------------------------------------------------------------------------

static sc_status put_constant_input(sc_serde_writer *w, const sc_value *value,
                                    const sc_input_sig *sig) {
    sc_json_put_str(&w->json, "name", sc_name_str(value->name));
    sc_json_key(&w->json, "value");
    return sc_serde_put_arg(w, &sig->constant_value, NULL);
}

static sc_status put_user_input(sc_serde_writer *w, const sc_value *value,
                                const sc_input_sig *sig) {
    sc_json_key(&w->json, "arg");
    return sc_serde_put_input(w, value, sig);
}

static sc_status put_data_input(sc_serde_writer *w, const sc_value *value, const char *key,
                                const sc_input_sig *sig) {
    put_arg_name(w, value);
    sc_json_put_str(&w->json, key, sig->target);
    if (sig->kind == SC_INPUT_BUFFER) sc_json_put_bool(&w->json, "persistent", sig->persistent);
    return SC_OK;
}

typedef struct spec_row {
    const char *tag, *key;
} spec_row;

static const spec_row input_rows[] = {
    [SC_INPUT_USER] = {"user_input", NULL},
    [SC_INPUT_PARAMETER] = {"parameter", "parameter_name"},
    [SC_INPUT_BUFFER] = {"buffer", "buffer_name"},
    [SC_INPUT_CONSTANT_TENSOR] = {"tensor_constant", "tensor_constant_name"},
    [SC_INPUT_CUSTOM_OBJ] = {NULL, NULL},
    [SC_INPUT_TOKEN] = {NULL, NULL},
    [SC_INPUT_CONSTANT] = {"constant_input", NULL},
};

static sc_status put_input_spec(sc_serde_writer *w, const sc_value *value,
                                const sc_input_sig *sig) {
    const spec_row *row = &input_rows[sig->kind];
    if (!row->tag) return fail(w, "inputs other than tensors and numbers");
    sc_json_begin_object(&w->json);
    sc_json_put_object(&w->json, row->tag);
    if (sig->kind == SC_INPUT_CONSTANT)
        SC_TRY(put_constant_input(w, value, sig));
    else if (sig->kind == SC_INPUT_USER)
        SC_TRY(put_user_input(w, value, sig));
    else
        SC_TRY(put_data_input(w, value, row->key, sig));
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
    return SC_OK;
}

static spec_row output_row(sc_output_kind kind) {
    switch (kind) {
    case SC_OUTPUT_USER: return (spec_row){"user_output", NULL};
    case SC_OUTPUT_LOSS: return (spec_row){"loss_output", NULL};
    case SC_OUTPUT_BUFFER_MUTATION: return (spec_row){"buffer_mutation", "buffer_name"};
    case SC_OUTPUT_INPUT_MUTATION: return (spec_row){"user_input_mutation", "user_input_name"};
    case SC_OUTPUT_GRADIENT: return (spec_row){"gradient_to_parameter", "parameter_name"};
    case SC_OUTPUT_INPUT_GRADIENT: return (spec_row){"gradient_to_user_input", "user_input_name"};
    case SC_OUTPUT_TRAINED:
    case SC_OUTPUT_PARAMETER_MUTATION:
    case SC_OUTPUT_TOKEN: break;
    }
    return (spec_row){NULL, NULL};
}

static sc_status put_output_spec(sc_serde_writer *w, const sc_arg *arg, const sc_output_sig *sig) {
    const spec_row row = output_row(sig->kind);
    if (!row.tag) return fail(w, "parameters that the program writes");
    if (sig->kind != SC_OUTPUT_USER && arg->kind != SC_ARG_VALUE)
        return fail(w, "state that is written with a constant");
    sc_json_begin_object(&w->json);
    sc_json_put_object(&w->json, row.tag);
    if (sig->kind == SC_OUTPUT_USER) {
        sc_json_key(&w->json, "arg");
        SC_TRY(sc_serde_put_output(w, arg));
    } else {
        put_arg_name(w, arg->value);
    }
    if (row.key) sc_json_put_str(&w->json, row.key, sig->target);
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
    return SC_OK;
}

static sc_status put_signature(sc_serde_writer *w) {
    const sc_method *method = w->method;
    const sc_graph *graph = method->graph;
    sc_json_put_object(&w->json, "signature");
    sc_json_put_array(&w->json, "input_specs");
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        SC_TRY(put_input_spec(w, graph->inputs.data[i], &method->inputs.data[i]));
    sc_json_end_array(&w->json);
    sc_json_put_array(&w->json, "output_specs");
    for (uint32_t i = 0; i < graph->ret->arg_count; i++)
        SC_TRY(put_output_spec(w, &graph->ret->args[i], &method->outputs.data[i]));
    sc_json_end_array(&w->json);
    sc_json_end_object(&w->json);
    return SC_OK;
}

// --- Trees ---------------------------------------------------------------------------------------

static void begin_tree(sc_json_writer *json, const char *type, const char *context) {
    sc_json_begin_object(json);
    sc_json_put_text(json, "type", type);
    sc_json_put_text(json, "context", context);
    sc_json_put_array(json, "children_spec");
}

static void end_tree(sc_json_writer *json) {
    sc_json_end_array(json);
    sc_json_end_object(json);
}

// A tuple of that many leaves.
static void put_leaves(sc_json_writer *json, uint32_t count) {
    begin_tree(json, "builtins.tuple", "null");
    for (uint32_t i = 0; i < count; i++) {
        sc_json_begin_object(json);
        sc_json_put_null(json, "type");
        sc_json_put_null(json, "context");
        sc_json_put_array(json, "children_spec");
        sc_json_end_array(json);
        sc_json_end_object(json);
    }
    end_tree(json);
}

// The tree of a call (inputs...) -> (outputs...), for programs without one.
static sc_str plain_tree(sc_arena *arena, uint32_t count, bool is_input) {
    sc_json_writer json;
    sc_sb text;
    sc_sb_init(&text, arena);
    sc_json_writer_init(&json, &text, SC_JSON_PYTHON);
    sc_json_begin_array(&json);
    sc_json_add_i64(&json, 1);
    if (is_input) begin_tree(&json, "builtins.tuple", "null");
    put_leaves(&json, count);
    if (is_input) {
        begin_tree(&json, "builtins.dict", "[]");
        end_tree(&json);
        end_tree(&json);
    }
    sc_json_end_array(&json);
    return sc_sb_str(&text);
}

static sc_str in_spec(sc_serde_writer *w) {
    const sc_method *method = w->method;
    uint32_t count = 0;
    for (uint32_t i = 0; i < method->inputs.count; i++)
        count += method->inputs.data[i].kind == SC_INPUT_USER ||
                 method->inputs.data[i].kind == SC_INPUT_CONSTANT;
    return method->in_spec.size ? method->in_spec : plain_tree(w->work, count, true);
}

static sc_str out_spec(sc_serde_writer *w) {
    const sc_method *method = w->method;
    uint32_t count = 0;
    for (uint32_t i = 0; i < method->outputs.count; i++)
        count += method->outputs.data[i].kind == SC_OUTPUT_USER;
    return method->out_spec.size ? method->out_spec : plain_tree(w->work, count, false);
}

static void put_empty_list(sc_serde_writer *w, const char *key) {
    sc_json_put_array(&w->json, key);
    sc_json_end_array(&w->json);
}

static void put_calls(sc_serde_writer *w) {
    sc_json_put_array(&w->json, "module_call_graph");
    sc_json_begin_object(&w->json);
    sc_json_put_text(&w->json, "fqn", "");
    sc_json_put_object(&w->json, "signature");
    put_empty_list(w, "inputs");
    put_empty_list(w, "outputs");
    sc_json_put_str(&w->json, "in_spec", in_spec(w));
    sc_json_put_str(&w->json, "out_spec", out_spec(w));
    // No forward_arg_names: the reader of executorch 1.5 refuses members that it does not know.
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
    sc_json_end_array(&w->json);
}

// --- The rest ------------------------------------------------------------------------------------

static void put_bound(sc_serde_writer *w, const char *key, int64_t bound) {
    sc_json_key(&w->json, key);
    if (bound == SC_DIM_INF)
        sc_json_add_raw(&w->json, SC_STR("Infinity"));
    else if (bound == SC_DIM_NEG_INF)
        sc_json_add_raw(&w->json, SC_STR("-Infinity"));
    else
        sc_json_add_i64(&w->json, bound);
}

static void put_ranges(sc_serde_writer *w) {
    sc_exprs *exprs = w->method->exprs;
    sc_json_put_object(&w->json, "range_constraints");
    for (uint32_t i = 0; i < sc_exprs_symbol_count(exprs); i++) {
        const sc_symbol *symbol = sc_exprs_symbol_at(exprs, i);
        sc_json_key_str(&w->json, sc_name_str(symbol->name));
        sc_json_begin_object(&w->json);
        put_bound(w, "min_val", symbol->range.min);
        put_bound(w, "max_val", symbol->range.max);
        sc_json_end_object(&w->json);
    }
    sc_json_end_object(&w->json);
}

static const char *verifier(const sc_serde_writer *w) {
    if (w->options->dialect == SC_SERDE_EDGE) return "EDGE";
    return w->method->decomposed ? "ATEN" : "TRAINING";
}

static void put_version(sc_serde_writer *w) {
    sc_json_put_object(&w->json, "schema_version");
    sc_json_put_u64(&w->json, "major", SCHEMA_MAJOR);
    sc_json_put_u64(&w->json, "minor", SCHEMA_MINOR);
    sc_json_end_object(&w->json);
    sc_json_put_text(&w->json, "dialect", "");
    sc_json_put_array(&w->json, "verifiers");
    sc_json_add_text(&w->json, verifier(w));
    sc_json_end_array(&w->json);
}

sc_status sc_serde_put_program(sc_serde_writer *w) {
    sc_json_begin_object(&w->json);
    sc_json_put_object(&w->json, "graph_module");
    sc_json_key(&w->json, "graph");
    SC_TRY(sc_serde_put_graph(w, w->method->graph));
    SC_TRY(put_signature(w));
    put_calls(w);
    sc_json_end_object(&w->json);
    sc_json_put_object(&w->json, "opset_version");
    sc_json_put_u64(&w->json, "aten", OPSET);
    sc_json_end_object(&w->json);
    put_ranges(w);
    put_version(w);
    sc_json_end_object(&w->json);
    return SC_OK;
}

// --- Files ---------------------------------------------------------------------------------------

static sc_status note_sources(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    sc_imap *sources = user;
    for (const sc_node *node = graph->first; node; node = node->next)
        sc_imap_add(sources, SC_PTR_KEY(node->name), (uintptr_t)node);
    return SC_OK;
}

static sc_status write_files(sc_serde_writer *w, sc_serde_files *out) {
    sc_imap sources;
    sc_cord program;
    sc_serde_writer document;
    bool has_warned = false;
    uint32_t bodies = 0;
    sc_imap_init(&sources, w->work);
    w->sources = &sources;
    w->has_warned = &has_warned;
    w->bodies = &bodies;
    if (w->options->source)
        SC_TRY(sc_graphs_visit(w->ctx, w->options->source->graph, note_sources, &sources));
    sc_cord_init(&program, w->ctx->arena);
    sc_serde_begin(&document, w, &program);
    SC_TRY(sc_serde_put_program(&document));
    sc_serde_flush(&document, true);
    out->program = sc_serde_extent(w, &program);
    if (w->options->light) return SC_OK;
    SC_TRY(sc_serde_write_constants(w, w->method, true, &out->state_dict));
    SC_TRY(sc_serde_write_constants(w, w->method, false, &out->constants));
    return sc_serde_write_examples(w->ctx, w->method, &out->example_inputs);
}

sc_status sc_serde_write(sc_ctx *ctx, const sc_method *method, const sc_serde_options *options,
                         sc_serde_files *out) {
    sc_arena work;
    sc_serde_writer w = {.ctx = ctx, .work = &work, .options = options, .method = method};
    sc_where outer = ctx->where;
    *out = (sc_serde_files){0};
    sc_where_set_method(ctx, method);
    sc_arena_init(&work);
    sc_status status = write_files(&w, out);
    sc_arena_deinit(&work);
    ctx->where = outer;
    return status;
}
