// Reads the textual IR (grammar at the top of print.c). Every graph that it accepts is well-formed
// in its use lists, order and unique names. verify.c checks whether arguments suit their operators.
// Recursion is bounded: bodies by limits.graph_depth_max, lists by SC_TEXT_LIST_DEPTH_MAX.
#include "ir/parse.h"

// --- Operators -----------------------------------------------------------------------------------

static const sc_op *find_op(sc_parser *p, sc_str name) {
    const sc_op *op = sc_op_find(name);
    if (op) return op;
    sc_op *foreign = sc_map_get(&p->foreign, name);
    if (foreign) return foreign;
    sc_arena *arena = p->c.arena;
    sc_schema *schema = sc_new(arena, sc_schema);
    schema->name = sc_str_copy(arena, name);
    foreign = sc_new(arena, sc_op);
    foreign->traits = SC_FOREIGN;
    foreign->name = schema->name.data;
    foreign->schema = schema;
    sc_map_set(&p->foreign, schema->name, foreign);
    return foreign;
}

typedef struct arg_text {
    sc_str name;  // empty: positional
    sc_arg arg;
} arg_text;

typedef SC_VEC(arg_text) arg_texts;

// Reads "name=", if that comes next.
static sc_status parse_arg_name(sc_parser *p, sc_str *out) {
    char next = sc_text_peek(&p->c);
    size_t start = p->c.at;
    if (next != '"' && sc_text_peek_word(&p->c).size == 0) return SC_OK;
    SC_TRY(sc_text_name(&p->c, out));
    if (sc_text_accept(&p->c, '=')) return SC_OK;
    p->c.at = start;
    *out = (sc_str){0};
    return SC_OK;
}

static sc_status parse_arg_texts(sc_parser *p, const sc_parse_scope *s, arg_texts *out) {
    SC_TRY(sc_text_expect(&p->c, '('));
    while (!sc_text_accept(&p->c, ')')) {
        if (out->count > 0) SC_TRY(sc_text_expect(&p->c, ','));
        arg_text item = {0};
        SC_TRY(parse_arg_name(p, &item.name));
        SC_TRY(sc_parse_arg(p, s, 0, &item.arg));
        sc_vec_push(p->c.ctx->scratch, out, item);
    }
    return SC_OK;
}

static uint32_t find_param(const sc_schema *schema, sc_str name) {
    uint32_t index = 0;
    while (index < schema->param_count && !sc_str_equal(schema->params[index].name, name)) index++;
    return index;
}

static sc_status place_args(sc_parser *p, const sc_op *op, const arg_texts *texts, sc_arg *args) {
    sc_arena *scratch = p->c.ctx->scratch;
    uint32_t param_count = op->schema->param_count;
    bool *given = sc_new_array(scratch, bool, param_count + 1);
    for (uint32_t i = 0; i < texts->count; i++) {
        const arg_text *text = &texts->data[i];
        uint32_t index = text->name.size ? find_param(op->schema, text->name) : i;
        if (index >= param_count || given[index])
            return sc_text_fail(&p->c, "arguments that the operator takes");
        args[index] = text->arg;
        given[index] = true;
    }
    for (uint32_t i = 0; i < param_count; i++) {
        if (given[i]) continue;
        if (op->schema->params[i].default_kind == SC_DEFAULT_REQUIRED)
            return sc_text_fail(&p->c, "all arguments without default");
        args[i] = sc_arg_default(scratch, &op->schema->params[i]);
    }
    return SC_OK;
}

static sc_status make_node(sc_parser *p, const sc_parse_scope *s, const sc_op *op,
                           const arg_texts *texts, uint32_t out_count, sc_str name, sc_node **out) {
    sc_arena *scratch = p->c.ctx->scratch;
    const char *terminated = sc_str_dup(scratch, name);
    if (!sc_op_has(op, SC_FOREIGN)) {
        sc_arg *args = sc_new_array(scratch, sc_arg, op->schema->param_count + 1);
        SC_TRY(place_args(p, op, texts, args));
        *out = sc_node_new(s->graph, op, args, op->schema->param_count, out_count, terminated);
        return SC_OK;
    }
    sc_arg *args = sc_new_array(scratch, sc_arg, texts->count + 1);
    sc_str *names = sc_new_array(p->c.arena, sc_str, texts->count + 1);
    for (uint32_t i = 0; i < texts->count; i++) {
        args[i] = texts->data[i].arg;
        names[i] = sc_str_copy(p->c.arena, texts->data[i].name);
    }
    *out = sc_node_new(s->graph, op, args, texts->count, out_count, terminated);
    (*out)->arg_names = names;
    return SC_OK;
}

// --- Nodes ---------------------------------------------------------------------------------------

static sc_status parse_meta(sc_parser *p, sc_node *node) {
    sc_text_cursor *c = &p->c;
    sc_text_skip(c, true);
    if (c->at >= c->text.size || c->text.data[c->at] != '!') return SC_OK;
    c->at++;
    SC_TRY(sc_text_expect(c, '('));
    do {
        sc_str name;
        int64_t handle;
        if (sc_text_accept_word(c, "trace")) {
            SC_TRY(sc_text_quoted(c, &node->meta.stack_trace));
        } else if (sc_text_accept_word(c, "modules")) {
            SC_TRY(sc_text_quoted(c, &node->meta.module_stack));
        } else if (sc_text_accept_word(c, "origin")) {
            SC_TRY(sc_text_name(c, &name));
            node->meta.origin = sc_name_intern(c->ctx->names, name);
        } else if (sc_text_accept_word(c, "handle")) {
            SC_TRY(sc_text_i64(c, &handle));
            if (handle < 0 || handle > UINT32_MAX) return sc_text_fail(c, "a debug handle");
            node->meta.debug_handle = (uint32_t)handle;
        } else if (sc_text_accept_word(c, "tag")) {
            SC_TRY(sc_text_name(c, &name));
            node->tag = sc_name_intern(c->ctx->names, name);
        } else if (sc_text_accept_word(c, "kept")) {
            node->is_kept = true;
        } else {
            return sc_text_fail(c, "trace, modules, origin, handle, tag or kept");
        }
    } while (sc_text_accept(c, ','));
    return sc_text_expect(c, ')');
}

// A result in the text, before its node exists.
typedef SC_VEC(sc_value) result_list;

static sc_status parse_result(sc_parser *p, const sc_parse_scope *s, sc_str node_name,
                              result_list *out) {
    sc_value value = {.graph = s->graph};
    sc_str name;
    SC_TRY(sc_text_expect(&p->c, '%'));
    SC_TRY(sc_text_name(&p->c, &name));
    for (uint32_t i = 0; i < out->count; i++)
        if (sc_str_equal(sc_name_str(out->data[i].name), name))
            return sc_text_fail(&p->c, "a name that is not taken");
    bool taken = sc_graph_has_name(s->graph, name);
    if (taken || name.size == 0 || (sc_str_equal(name, node_name) && out->count > 0))
        return sc_text_fail(&p->c, "a name that is not taken");
    value.name = sc_name_intern(p->c.ctx->names, name);
    SC_TRY(sc_parse_type(p, &value));
    sc_vec_push(p->c.ctx->scratch, out, value);
    return SC_OK;
}

static void adopt_results(sc_parse_scope *s, sc_node *node, const result_list *results) {
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_value *value = node->outs[i];
        const sc_value *text = &results->data[i];
        value->name = text->name == node->name
                          ? text->name
                          : sc_graph_unique_name(s->graph, sc_name_str(text->name));
        value->type = text->type;
        value->has_dim = text->has_dim;
        value->spec = text->spec;
        value->dim = text->dim;
        sc_map_set(&s->values, sc_name_str(value->name), value);
    }
}

static sc_status parse_node(sc_parser *p, sc_parse_scope *s) {
    sc_text_cursor *c = &p->c;
    result_list results = {0};
    sc_str name = {0}, op_name;
    if (++p->node_count > c->ctx->limits.node_max)
        return sc_fail(c->ctx, SC_ERR_LIMIT, NULL, "the program has more than %llu nodes",
                       (unsigned long long)c->ctx->limits.node_max);
    if (sc_text_peek(c) == '%') {
        SC_TRY(parse_result(p, s, name, &results));
        name = sc_name_str(results.data[0].name);
    } else {
        SC_TRY(sc_text_name(c, &name));
        if (name.size == 0 || sc_graph_has_name(s->graph, name))
            return sc_text_fail(c, "a name that is not taken");
        SC_TRY(sc_text_expect(c, ':'));
        SC_TRY(sc_text_expect(c, '('));
        while (!sc_text_accept(c, ')')) {
            if (results.count > 0) SC_TRY(sc_text_expect(c, ','));
            SC_TRY(parse_result(p, s, name, &results));
        }
    }
    SC_TRY(sc_text_expect(c, '='));
    SC_TRY(sc_text_name(c, &op_name));
    arg_texts texts = {0};
    SC_TRY(parse_arg_texts(p, s, &texts));
    sc_node *node;
    SC_TRY(make_node(p, s, find_op(p, op_name), &texts, results.count, name, &node));
    adopt_results(s, node, &results);
    sc_graph_append(s->graph, node);
    return parse_meta(p, node);
}

// --- Bodies --------------------------------------------------------------------------------------

static sc_status parse_lifted(sc_parser *p, sc_constant *constant) {
    sc_str hex;
    SC_TRY(sc_text_word(&p->c, &hex));
    if (hex.size != constant->data.size * 2 || hex.size > 64)
        return sc_text_fail(&p->c, "the bytes of the constant");
    uint8_t *bytes = sc_new_array(p->c.arena, uint8_t, hex.size / 2 + 1);
    for (size_t i = 0; i < hex.size; i++) {
        char d = hex.data[i];
        bool digit = d >= '0' && d <= '9';
        if (!digit && !(d >= 'a' && d <= 'f')) return sc_text_fail(&p->c, "hexadecimal digits");
        bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | (digit ? d - '0' : d - 'a' + 10));
    }
    constant->lifted_scalar = true;
    constant->data = sc_extent_whole(sc_source_from_memory(p->c.arena, bytes, hex.size / 2));
    return SC_OK;
}

static sc_status parse_constant(sc_parser *p, sc_exprs *exprs, sc_input_sig *sig) {
    int64_t bytes;
    sc_constant *constant = sc_new(p->c.arena, sc_constant);
    constant->name = sig->target;
    SC_TRY(sc_parse_spec(p, exprs, &constant->spec));
    SC_TRY(sc_text_i64(&p->c, &bytes));
    if (bytes < 0) return sc_text_fail(&p->c, "a size in bytes");
    constant->data = sc_extent_whole(sc_source_zeros(p->c.arena, (uint64_t)bytes));
    if (sc_text_accept_word_here(&p->c, "named")) SC_TRY(sc_text_quoted(&p->c, &constant->name));
    constant->persistent = sc_text_accept_word_here(&p->c, "kept");
    if (sc_text_accept_word_here(&p->c, "lifted")) SC_TRY(parse_lifted(p, constant));
    sig->constant = constant;
    return SC_OK;
}

static sc_status parse_input_sig(sc_parser *p, sc_parse_scope *s) {
    sc_method *method = s->graph->method;
    sc_input_sig sig = {.kind = SC_INPUT_USER};
    for (uint32_t i = 0; i < SC_COUNT_OF(sc_text_input_kinds); i++)
        if (sc_text_accept_word_here(&p->c, sc_text_input_kinds[i])) sig.kind = (sc_input_kind)i;
    if (sc_text_quote_is_here(&p->c) && sig.kind != SC_INPUT_CONSTANT)
        SC_TRY(sc_text_quoted(&p->c, &sig.target));
    sig.persistent = sc_text_accept_word_here(&p->c, "persistent");
    sig.is_trained = sc_text_accept_word_here(&p->c, "trained");
    if (sig.kind == SC_INPUT_CONSTANT) {
        sc_parse_scope empty = {.graph = s->graph, .depth = p->c.ctx->limits.graph_depth_max};
        SC_TRY(sc_parse_arg(p, &empty, 0, &sig.constant_value));
        if (sig.constant_value.kind == SC_ARG_LIST)
            return sc_text_fail(&p->c, "a number, a string or None");
    }
    if (sc_text_accept_word_here(&p->c, "const")) SC_TRY(parse_constant(p, method->exprs, &sig));
    sc_vec_push(p->c.arena, &method->inputs, sig);
    return SC_OK;
}

static sc_status parse_input(sc_parser *p, sc_parse_scope *s) {
    result_list results = {0};
    SC_TRY(parse_result(p, s, (sc_str){0}, &results));
    sc_value *value =
        sc_graph_add_input(s->graph, sc_name_str(results.data[0].name), results.data[0].type);
    value->spec = results.data[0].spec;
    value->dim = results.data[0].dim;
    value->has_dim = results.data[0].has_dim;
    sc_map_set(&s->values, sc_name_str(value->name), value);
    return s->graph->parent ? SC_OK : parse_input_sig(p, s);
}

static sc_status parse_return(sc_parser *p, sc_parse_scope *s) {
    SC_VEC(sc_arg) args = {0};
    sc_method *method = s->graph->method;
    while (sc_text_peek(&p->c) != '}') {
        sc_arg arg;
        if (args.count > 0) SC_TRY(sc_text_expect(&p->c, ','));
        SC_TRY(sc_parse_arg(p, s, 0, &arg));
        sc_vec_push(p->c.ctx->scratch, &args, arg);
        if (s->graph->parent) continue;
        sc_output_sig sig = {.kind = SC_OUTPUT_USER};
        for (uint32_t i = 0; i < SC_COUNT_OF(sc_text_output_kinds); i++)
            if (sc_text_accept_word_here(&p->c, sc_text_output_kinds[i]))
                sig.kind = (sc_output_kind)i;
        if (sc_text_quote_is_here(&p->c)) SC_TRY(sc_text_quoted(&p->c, &sig.target));
        sc_vec_push(p->c.arena, &method->outputs, sig);
    }
    sc_graph_set_outputs(s->graph, args.data, args.count);
    return sc_text_expect(&p->c, '}');
}

// Reads from after '{' to after '}'; a graph without parent fills its method's signature.
static sc_status parse_body(sc_parser *p, sc_parse_scope *s) {
    while (sc_text_begins(&p->c, "input")) SC_TRY(parse_input(p, s));
    while (!sc_text_begins(&p->c, "return")) SC_TRY(parse_node(p, s));
    return parse_return(p, s);
}

sc_status sc_parse_graph(sc_parser *p, const sc_parse_scope *outer, sc_graph **out) {
    sc_ctx *ctx = p->c.ctx;
    sc_str name = {0};
    if (outer->depth + 1 >= ctx->limits.graph_depth_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "bodies are nested deeper than %u",
                       ctx->limits.graph_depth_max);
    if (!sc_text_accept_word(&p->c, "graph")) return sc_text_fail(&p->c, "a graph");
    if (sc_text_peek(&p->c) != '{') SC_TRY(sc_text_name(&p->c, &name));
    SC_TRY(sc_text_expect(&p->c, '{'));
    sc_parse_scope s = {.graph = sc_graph_new(outer->graph->method, outer->graph, name),
                        .depth = outer->depth + 1};
    sc_map_init(&s.values, ctx->scratch);
    *out = s.graph;
    return parse_body(p, &s);
}

// It sees no value from outside; its depth counts with the bodies around it.
sc_status sc_parse_part(sc_parser *p, const sc_parse_scope *outer, const sc_part **out) {
    sc_ctx *ctx = p->c.ctx;
    sc_str name;
    if (outer->depth + 1 >= ctx->limits.graph_depth_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "bodies are nested deeper than %u",
                       ctx->limits.graph_depth_max);
    if (!sc_text_accept_word(&p->c, "part")) return sc_text_fail(&p->c, "a part");
    SC_TRY(sc_text_name(&p->c, &name));
    sc_part *part = sc_part_new(outer->graph->method, name);
    *out = part;
    SC_TRY(sc_text_quoted(&p->c, &part->backend));
    SC_TRY(sc_text_expect(&p->c, '{'));
    SC_TRY(sc_parse_part_header(p, part));
    sc_parse_scope s = {.graph = part->method->graph, .depth = outer->depth + 1};
    sc_map_init(&s.values, ctx->scratch);
    return parse_body(p, &s);
}

// --- Methods and programs ------------------------------------------------------------------------

static sc_status parse_bound(sc_parser *p, int64_t *out) {
    if (sc_text_accept_word(&p->c, "inf")) {
        *out = SC_DIM_INF;
        return SC_OK;
    }
    if (sc_text_peek(&p->c) == '-' && p->c.at + 1 < p->c.text.size &&
        p->c.text.data[p->c.at + 1] == 'i') {
        p->c.at++;
        *out = SC_DIM_NEG_INF;
        return sc_text_accept_word(&p->c, "inf") ? SC_OK : sc_text_fail(&p->c, "-inf");
    }
    return sc_text_i64(&p->c, out);
}

// Is it the name of a symbol inside expressions?
static bool is_identifier(sc_str name) {
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] == '.' || name.data[i] == ':') return false;
    return name.size > 0 && (name.data[0] < '0' || name.data[0] > '9');
}

static sc_status parse_symbol(sc_parser *p, sc_exprs *exprs) {
    sc_str name;
    SC_TRY(sc_text_word(&p->c, &name));
    if (!is_identifier(name)) return sc_text_fail(&p->c, "a symbol's name");
    uint32_t before = sc_exprs_symbol_count(exprs);
    sc_symbol *symbol = sc_exprs_symbol(exprs, name);
    if (sc_exprs_symbol_count(exprs) == before)
        return sc_text_fail(&p->c, "a symbol that is not declared yet");
    SC_TRY(sc_text_expect(&p->c, '['));
    SC_TRY(parse_bound(p, &symbol->range.min));
    SC_TRY(sc_text_expect(&p->c, ','));
    SC_TRY(parse_bound(p, &symbol->range.max));
    SC_TRY(sc_text_expect(&p->c, ']'));
    if (symbol->range.min > symbol->range.max)
        return sc_text_fail(&p->c, "a range that is not empty");
    if (sc_text_accept_word_here(&p->c, "hint")) {
        SC_TRY(sc_text_i64(&p->c, &symbol->hint));
        symbol->has_hint = true;
    }
    return SC_OK;
}

static sc_status parse_method_header(sc_parser *p, sc_method *method) {
    if (sc_text_accept_word(&p->c, "torch")) SC_TRY(sc_text_quoted(&p->c, &method->torch_version));
    if (sc_text_accept_word(&p->c, "schema")) {
        SC_TRY(sc_text_i64(&p->c, &method->schema_major));
        SC_TRY(sc_text_expect(&p->c, '.'));
        SC_TRY(sc_text_i64(&p->c, &method->schema_minor));
    }
    method->decomposed = sc_text_accept_word(&p->c, "decomposed");
    SC_TRY(sc_text_expect(&p->c, '{'));
    if (sc_text_begins(&p->c, "pytree")) {
        if (sc_text_accept_word_here(&p->c, "in")) SC_TRY(sc_text_quoted(&p->c, &method->in_spec));
        if (sc_text_accept_word_here(&p->c, "out"))
            SC_TRY(sc_text_quoted(&p->c, &method->out_spec));
        if (sc_text_accept_word_here(&p->c, "args"))
            SC_TRY(sc_text_quoted(&p->c, &method->arg_names));
    }
    while (sc_text_begins(&p->c, "symbol")) SC_TRY(parse_symbol(p, method->exprs));
    return SC_OK;
}

static sc_status parse_method(sc_parser *p) {
    sc_str name;
    sc_method *method;
    SC_TRY(sc_text_name(&p->c, &name));
    SC_TRY(sc_program_add_method(p->program, name, &method));
    SC_TRY(parse_method_header(p, method));
    sc_parse_scope s = {.graph = method->graph};
    sc_map_init(&s.values, p->c.ctx->scratch);
    return parse_body(p, &s);
}

// --- Constant methods ----------------------------------------------------------------------------

static sc_status parse_sizes(sc_parser *p, int64_t *sizes, uint32_t *rank) {
    sc_str items[SC_RANK_MAX];
    SC_TRY(sc_text_items(&p->c, '[', ']', items, SC_RANK_MAX, rank));
    for (uint32_t d = 0; d < *rank; d++)
        if (!sc_parse_i64(items[d], &sizes[d])) return sc_text_fail(&p->c, "a size");
    return SC_OK;
}

// The text has no content: all elements are 0.
static sc_status parse_tensor(sc_parser *p, sc_answer *out) {
    sc_constant *tensor = sc_new(p->c.arena, sc_constant);
    int64_t sizes[SC_RANK_MAX];
    uint32_t rank = 0;
    uint64_t bytes = 0;
    sc_str word;
    SC_TRY(sc_text_word(&p->c, &word));
    const sc_dtype dtype = sc_dtype_from_short(word);
    if (dtype == SC_DTYPE_NONE) return sc_text_fail(&p->c, "a dtype");
    SC_TRY(parse_sizes(p, sizes, &rank));
    tensor->spec = sc_spec_new(p->c.arena, dtype, rank);
    if (!sc_spec_set_static(&tensor->spec, sizes, &bytes))
        return sc_text_fail(&p->c, "smaller sizes");
    tensor->data = sc_extent_whole(sc_source_zeros(p->c.arena, bytes));
    *out = (sc_answer){.kind = SC_ANSWER_TENSOR, .tensor = tensor};
    return SC_OK;
}

static sc_status parse_answer(sc_parser *p, uint32_t depth, sc_answer *out);

static sc_status parse_items(sc_parser *p, uint32_t depth, bool is_dict, sc_answer *out) {
    SC_VEC(sc_answer) items = {0};
    SC_VEC(sc_str) keys = {0};
    if (depth >= SC_TEXT_LIST_DEPTH_MAX)
        return sc_text_fail(&p->c, "lists that are nested less deeply");
    SC_TRY(sc_text_expect(&p->c, is_dict ? '{' : '['));
    while (!sc_text_accept(&p->c, is_dict ? '}' : ']')) {
        sc_answer item;
        sc_str key;
        if (items.count > 0) SC_TRY(sc_text_expect(&p->c, ','));
        if (is_dict) {
            (void)sc_text_peek(&p->c);
            SC_TRY(sc_text_quoted(&p->c, &key));
            SC_TRY(sc_text_expect(&p->c, ':'));
            sc_vec_push(p->c.arena, &keys, key);
        }
        SC_TRY(parse_answer(p, depth + 1, &item));
        sc_vec_push(p->c.arena, &items, item);
    }
    if (is_dict) sc_vec_reserve(p->c.arena, &keys, 1);
    *out = (sc_answer){.kind = is_dict ? SC_ANSWER_DICT : SC_ANSWER_LIST,
                       .items = items.data,
                       .keys = keys.data,
                       .count = items.count};
    return SC_OK;
}

static sc_status parse_answer(sc_parser *p, uint32_t depth, sc_answer *out) {
    const char next = sc_text_peek(&p->c);
    if (next == '[' || next == '{') return parse_items(p, depth, next == '{', out);
    if (sc_text_accept_word(&p->c, "tensor")) return parse_tensor(p, out);
    const sc_parse_scope empty = {.depth = p->c.ctx->limits.graph_depth_max};
    *out = (sc_answer){.kind = SC_ANSWER_PLAIN};
    return sc_parse_arg(p, &empty, 0, &out->plain);
}

static sc_status parse_constant_method(sc_parser *p) {
    sc_str name;
    sc_constant_method method = {0};
    SC_TRY(sc_text_name(&p->c, &name));
    method.name = sc_name_intern(p->c.ctx->names, name);
    SC_TRY(sc_text_expect(&p->c, '='));
    SC_TRY(parse_answer(p, 0, &method.value));
    sc_vec_push(p->c.arena, &p->program->constant_methods, method);
    return SC_OK;
}

// --- Programs ------------------------------------------------------------------------------------

sc_status sc_program_parse(sc_ctx *ctx, sc_str text, sc_program **out) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_parser p = {.c = {.ctx = ctx, .arena = ctx->arena, .text = text},
                   .program = sc_program_new(ctx)};
    sc_map_init(&p.foreign, ctx->scratch);
    sc_status status = SC_OK;
    while (status == SC_OK && sc_text_peek(&p.c) != '\0') {
        if (sc_text_accept_word(&p.c, "method"))
            status = parse_method(&p);
        else if (sc_text_accept_word(&p.c, "constant"))
            status = parse_constant_method(&p);
        else
            status = sc_text_fail(&p.c, "a method or a constant");
    }
    if (status == SC_OK && p.c.at < text.size)
        status = sc_text_fail(&p.c, "a method or a constant");
    sc_arena_rewind(ctx->scratch, mark);
    *out = p.program;
    return status;
}
