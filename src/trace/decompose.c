// Decomposition: a method re-traced into a graph of functional core ATen operators.
// Walks the source graph in order, calls each operator on what its arguments became, and holds
// every result against the metadata the file recorded. Mutations of inputs become extra outputs.
// A call that cannot be expanded is reported and stays until the end, so that one run reports all
// calls for which the method cannot be lowered.
//
// No call is folded, merged or simplified; unused nodes are swept at the end.
//
// Levels of vmap and jvp are written out last, when few operators are left. Calls that stay are
// reported all at once by passes/check_ops.c.
#include "trace/decompose.h"

#include "trace/expand.h"
#include "trace/functorch/functorch.h"
#include "trace/number_input.h"

typedef struct method_trace {
    sc_ctx *ctx;
    sc_method *method;
    const sc_keep *keep;  // NULL: keep no call
    sc_arena arena;
    uint32_t depth;     // nesting of bodies
    sc_status refused;  // the first refusal, reported already
    sc_book book;       // of vmap and jvp
} method_trace;

typedef struct graph_trace {
    sc_trace trace;  // first: trace_body gets back here
    method_trace *m;
    sc_x *values;  // of the source graph, by value->mark
} graph_trace;

// --- Source arguments and results ---------------------------------------------------------------

static sc_status trace_graph(method_trace *m, const sc_graph *source, sc_graph *parent,
                             sc_graph **out);

static sc_x known_value(sc_trace *t, sc_value *value) {
    return ((graph_trace *)t)->values[value->mark];
}

static sc_x from_arg(graph_trace *g, const sc_arg *arg) {
    return sc_trace_cell(&g->trace, arg, known_value);
}

static sc_x *from_args(graph_trace *g, const sc_node *node) {
    sc_x *args = sc_new_array(g->trace.arena, sc_x, node->arg_count ? node->arg_count : 1);
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = from_arg(g, &node->args[i]);
    return args;
}

static sc_status bind_results(graph_trace *g, const sc_node *node, sc_x result) {
    bool single = node->out_count == 1 && result->kind != SC_X_LIST;
    uint32_t count = single ? 1 : result->kind == SC_X_LIST ? result->count : 0;
    if (node->out_count > count)
        return sc_fail(g->trace.ctx, SC_ERR_MISMATCH, NULL,
                       "%s has %u results in the file, but %u by its expansion", node->op->name,
                       node->out_count, count);
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_x x = single ? result : result->items[i];
        g->values[node->outs[i]->mark] = x;
        SC_TRY(sc_trace_reconcile(&g->trace, node->outs[i], x));
    }
    return SC_OK;
}

// --- Node kinds ---------------------------------------------------------------------------------

static void copy_value(sc_value *to, const sc_value *from) {
    to->type = from->type;
    to->has_dim = from->has_dim;
    to->dim = from->dim;
    to->spec = from->spec;
    to->spec.requires_grad = from->node ? false : from->spec.requires_grad;
}

static void sync_all(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) sc_trace_sync(t, x->tensor);
    for (uint32_t i = 0; x->kind == SC_X_LIST && i < x->count; i++) sync_all(t, x->items[i]);
}

static sc_x own_value(sc_trace *t, sc_value *value) {
    if (value->type != SC_VALUE_TENSOR) return sc_trace_number(t, value);
    sc_trace_note_sizes(t, value);
    return sc_trace_fresh(t, value);
}

// Copies an operator that is not decomposed: the same node on the new arguments, with the recorded
// results.
static sc_x copy_node(graph_trace *g, const sc_node *node, const sc_x *args) {
    sc_trace *t = &g->trace;
    sc_arg *list = sc_new_array(t->arena, sc_arg, node->arg_count ? node->arg_count : 1);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        sync_all(t, args[i]);
        list[i] = sc_trace_arg(t, args[i]);
    }
    if (t->status != SC_OK) return X_NONE;
    sc_node *copy = sc_node_new(t->graph, node->op, list, node->arg_count, node->out_count, NULL);
    copy->meta = t->meta;
    copy->arg_names = node->arg_names;
    sc_x *outs = sc_new_array(t->arena, sc_x, node->out_count ? node->out_count : 1);
    for (uint32_t i = 0; i < node->out_count; i++) {
        copy_value(copy->outs[i], node->outs[i]);
        if (!copy->outs[i]->name)
            copy->outs[i]->name = sc_graph_unique_name(t->graph, sc_name_str(copy->name));
        outs[i] = own_value(t, copy->outs[i]);
    }
    sc_graph_append(t->graph, copy);
    return sc_x_list_of(t, outs, node->out_count);
}

// Integers are computed when somebody needs the expression; what has no expression is a node.
static sc_x trace_symbolic(graph_trace *g, const sc_node *node, const sc_x *args) {
    sc_trace *t = &g->trace;
    const sc_value *out = node->out_count == 1 ? node->outs[0] : NULL;
    bool is_int = out && out->type == SC_VALUE_INT && out->has_dim;
    if (is_int && (!out->dim.expr || node->op->id == SC_OP_sym_size_int ||
                   sc_imap_find(&t->symbols, SC_PTR_KEY(out->dim.expr)))) {
        sc_trace_claim_size(t, out->dim);
        return sc_x_dim(t, out->dim);
    }
    for (uint32_t i = 0; i < node->arg_count; i++) sync_all(t, args[i]);
    sc_x result = sc_trace_record(t, node->op, args, node->arg_count);
    if (is_int && result->kind == SC_X_INT && !sc_dim_equal(result->dim, out->dim))
        sc_trace_note_symbol(t, out->dim, sc_trace_arg(t, result).value);
    return is_int ? sc_x_dim(t, out->dim) : result;
}

static sc_x trace_bodies(graph_trace *g, const sc_node *node, const sc_x *args) {
    sc_trace *t = &g->trace;
    for (uint32_t i = 0; i < node->arg_count; i++) sync_all(t, args[i]);
    sc_x result = sc_trace_record(t, node->op, args, node->arg_count);
    uint32_t count = result->kind == SC_X_LIST ? result->count : 1;
    sc_x *outs = sc_new_array(t->arena, sc_x, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) {
        outs[i] = result->kind == SC_X_LIST ? result->items[i] : result;
        if (outs[i]->kind == SC_X_TENSOR) {
            sc_value *value = outs[i]->tensor->value;
            if (i < node->out_count && node->outs[i]->type == SC_VALUE_TENSOR)
                copy_value(value, node->outs[i]);
            outs[i] = own_value(t, value);
        }
    }
    return sc_x_list_of(t, outs, count);
}

static sc_status walk(graph_trace *g, const sc_graph *source);
static uint32_t number_values(const sc_graph *graph, uint32_t next);

// SC_INLINED: wrap_with_set_grad_enabled and wrap_with_autocast.
static sc_status inline_body(graph_trace *g, const sc_node *node, const sc_x *args,
                             uint32_t body_index, sc_x *result) {
    const sc_graph *body = node->args[body_index].graph;
    uint32_t given = node->arg_count - body_index - 1;
    const sc_x *operands = args + body_index + 1;
    if (given == 1 && operands[0]->kind == SC_X_LIST) {
        given = operands[0]->count;
        operands = operands[0]->items;
    }
    sc_x *outer = g->values;
    uint32_t count = number_values(body, 0);
    if (given != body->inputs.count)
        return sc_fail(g->trace.ctx, SC_ERR_CORRUPT, NULL, "%s gives its body %u inputs, not %u",
                       node->op->name, given, body->inputs.count);
    g->values = sc_new_array(g->trace.arena, sc_x, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) g->values[i] = X_NONE;
    for (uint32_t i = 0; i < given; i++) g->values[body->inputs.data[i]->mark] = operands[i];
    SC_TRY(walk(g, body));
    uint32_t outs = body->ret->arg_count;
    sc_x *items = sc_new_array(g->trace.arena, sc_x, outs ? outs : 1);
    for (uint32_t i = 0; i < outs; i++) items[i] = from_arg(g, &body->ret->args[i]);
    *result = sc_x_list_of(&g->trace, items, outs);
    g->values = outer;
    return SC_OK;
}

static sc_status trace_wrapper(graph_trace *g, const sc_node *node, const sc_x *args,
                               sc_x *result) {
    sc_trace *t = &g->trace;
    uint32_t body = 0;
    while (body < node->arg_count && node->args[body].kind != SC_ARG_GRAPH) body++;
    if (body == node->arg_count)
        return sc_fail(t->ctx, SC_ERR_CORRUPT, NULL, "%s has no body", node->op->name);
    if (++g->m->depth > t->ctx->limits.graph_depth_max)
        return sc_fail(t->ctx, SC_ERR_LIMIT, NULL, "bodies are nested too deeply");
    sc_autocast saved = t->autocast;
    if (body >= 3 && args[0]->kind == SC_X_STR) {  // device, dtype, enabled
        t->autocast.enabled = sc_x_truth(args[2]);
        t->autocast.dtype = args[1]->kind == SC_X_DTYPE ? args[1]->code : SC_DTYPE_BF16;
    }
    SC_TRY(inline_body(g, node, args, body, result));
    t->autocast = saved;
    g->m->depth--;
    return SC_OK;
}

static bool is_true(const sc_node *node, const char *param) {
    const int32_t index = sc_op_param_index(node->op, param);
    return index >= 0 && node->args[index].kind == SC_ARG_BOOL && node->args[index].b;
}

// Schemas do not say that norms in training mode write their running statistics.
static bool writes_statistics(const sc_node *node) {
    const int32_t index = sc_op_param_index(node->op, "running_mean");
    return index >= 0 && node->args[index].kind == SC_ARG_VALUE &&
           (is_true(node, "training") || is_true(node, "use_input_stats"));
}

// A result may be the memory of an operand.
static bool aliases(const sc_op *op) {
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        if (op->schema->params[i].is_written) return true;
    return sc_op_has(op, SC_VIEW | SC_MUTATES | SC_INPLACE) || sc_op_may_return_alias(op);
}

// Does somebody want this call whole? Only plain operators that have an expansion are asked about,
// since writes and views would be lost. A call with a batch or a tangent is not plain.
static bool is_kept(const graph_trace *g, const sc_node *node) {
    const sc_keep *keep = g->m->keep;
    bool is_plain = sc_op_expansion(node->op) && !aliases(node->op) && !writes_statistics(node);
    return node->is_kept || (keep && is_plain && !g->m->book.open && keep->wants(keep->user, node));
}

// The node on its new arguments, marked, so that everything after knows it is meant to be here.
static sc_x keep_whole(graph_trace *g, const sc_node *node, sc_x *args) {
    sc_trace *t = &g->trace;
    bool recast = t->autocast.enabled && sc_trace_autocast(t, node->op, args, node->arg_count);
    sc_x result = copy_node(g, node, args);
    if (recast) t->autocast.enabled = true;
    if (t->status == SC_OK) t->graph->last->is_kept = true;
    return result;
}

static sc_x keep_refused(graph_trace *g, const sc_node *node, const sc_x *args) {
    sc_trace *t = &g->trace;
    if (g->m->refused == SC_OK) g->m->refused = t->status;
    t->status = SC_OK;
    return copy_node(g, node, args);
}

static sc_status trace_node(graph_trace *g, const sc_node *node) {
    sc_trace *t = &g->trace;
    t->meta = node->meta;
    t->meta.origin = sc_node_origin(node);
    t->source = node;
    t->unchecked = false;
    t->has_pairs = false;
    t->begun = t->recorded;
    sc_mark mark = sc_arena_mark(t->ctx->scratch);
    sc_x *args = from_args(g, node);
    sc_x result = X_NONE;
    if (is_kept(g, node))
        result = keep_whole(g, node, args);
    else if (sc_op_has(node->op, SC_INLINED))
        SC_TRY(trace_wrapper(g, node, args, &result));
    else if (sc_op_has(node->op, SC_FOREIGN | SC_OWN))
        result = copy_node(g, node, args);
    else if (sc_op_has(node->op, SC_HIGHER_ORDER))
        result = trace_bodies(g, node, args);
    else if (sc_op_has(node->op, SC_SYMBOLIC))
        result = trace_symbolic(g, node, args);
    else if (sc_functorch_is_book(&g->m->book, node->op))
        result = sc_functorch_book(&g->m->book, t, node->op, args, node->arg_count);
    else
        result = sc_trace_call(t, node->op, args, node->arg_count);
    if (sc_status_is_refusal(t->status)) result = keep_refused(g, node, args);
    SC_TRY(t->status);
    sc_status status = bind_results(g, node, result);
    sc_arena_rewind(t->ctx->scratch, mark);
    return status;
}

static sc_status walk(graph_trace *g, const sc_graph *source) {
    sc_ctx *ctx = g->trace.ctx;
    uint32_t done = 0;
    for (const sc_node *node = source->first; node; node = node->next) {
        sc_where_set_node(ctx, node);
        SC_TRY(trace_node(g, node));
        if (++done % 256 == 0)
            SC_TRY(sc_progress(ctx, SC_STEP_decompose, done, source->node_count));
    }
    return SC_OK;
}

// --- Outputs ------------------------------------------------------------------------------------

static bool is_state(sc_output_kind kind) {
    return kind == SC_OUTPUT_BUFFER_MUTATION || kind == SC_OUTPUT_PARAMETER_MUTATION;
}

static uint32_t output_rank(sc_output_kind kind) {
    if (kind == SC_OUTPUT_TOKEN) return 0;
    return is_state(kind) ? 1 : kind == SC_OUTPUT_INPUT_MUTATION ? 2 : 3;
}

// A tensor that the exporter lifted out of the code, such as a cache that is no buffer, is state as
// well once it is written to.
static sc_status mutation_of(graph_trace *g, const sc_graph *source, uint32_t index,
                             sc_output_sig *out) {
    sc_input_sig *sig = &g->m->method->inputs.data[index];
    if (sig->kind == SC_INPUT_CONSTANT_TENSOR) sig->kind = SC_INPUT_BUFFER;
    *out = (sc_output_sig){.target = sig->target};
    switch (sig->kind) {
    case SC_INPUT_BUFFER: out->kind = SC_OUTPUT_BUFFER_MUTATION; return SC_OK;
    case SC_INPUT_PARAMETER: out->kind = SC_OUTPUT_PARAMETER_MUTATION; return SC_OK;
    case SC_INPUT_USER:
        out->kind = SC_OUTPUT_INPUT_MUTATION;
        out->target = sc_name_str(source->inputs.data[index]->name);
        return SC_OK;
    default:
        return sc_fail(g->trace.ctx, SC_ERR_UNSUPPORTED, "Register the tensor as a buffer.",
                       "the constant '%s' is written to", source->inputs.data[index]->name->text);
    }
}

typedef SC_VEC(sc_output_sig) sig_list;
typedef SC_VEC(sc_arg) arg_list;

static sc_status collect_outputs(graph_trace *g, const sc_graph *source, uint32_t rank,
                                 sig_list *sigs, arg_list *args) {
    sc_trace *t = &g->trace;
    sc_method *method = g->m->method;
    for (uint32_t i = 0; i < source->ret->arg_count; i++) {
        sc_output_sig sig = i < method->outputs.count ? method->outputs.data[i]
                                                      : (sc_output_sig){.kind = SC_OUTPUT_USER};
        if (output_rank(sig.kind) != rank) continue;
        sc_x x = from_arg(g, &source->ret->args[i]);
        sync_all(t, x);
        sc_vec_push(t->ctx->arena, sigs, sig);
        sc_vec_push(t->arena, args, sc_trace_arg(t, x));
    }
    for (uint32_t i = 0; i < source->inputs.count && i < method->inputs.count; i++) {
        sc_x x = g->values[source->inputs.data[i]->mark];
        sc_output_sig sig;
        if (x->kind != SC_X_TENSOR || x->tensor->storage->generation == 0) continue;
        SC_TRY(mutation_of(g, source, i, &sig));
        if (output_rank(sig.kind) != rank) continue;
        sc_trace_sync(t, x->tensor);
        sc_vec_push(t->ctx->arena, sigs, sig);
        sc_vec_push(t->arena, args, sc_trace_arg(t, x));
    }
    return t->status;
}

// buffer.copy_(x) leaves `copy(buffer, x)` as the buffer's new value: x itself will do, once it has
// the buffer's dtype and shape (PyTorch forgets that condition).
static sc_status elide_copy(graph_trace *g, sc_value *value) {
    sc_trace *t = &g->trace;
    sc_node *node = value->node;
    if (!node || node->op->id != SC_OP_copy || node->args[1].kind != SC_ARG_VALUE) return SC_OK;
    sc_value *from = node->args[1].value;
    t->meta = node->meta;
    sc_meta *meta = &node->meta;
    if (from->spec.dtype != value->spec.dtype) {
        sc_arg args[2] = {sc_arg_value(from), sc_arg_dtype((sc_dtype)value->spec.dtype)};
        sc_node *cast;
        SC_TRY(sc_build(t->graph, node, sc_op_get(SC_OP__to_copy), args, 2, meta, &cast));
        from = cast->outs[0];
    }
    if (!sc_spec_same_sizes(&from->spec, &value->spec)) {
        sc_x sizes = sc_x_dims(t, value->spec.sizes, value->spec.rank);
        sc_arg args[2] = {sc_arg_value(from), sc_trace_arg(t, sizes)};
        sc_node *expand;
        SC_TRY(t->status);
        SC_TRY(sc_build(t->graph, node, sc_op_get(SC_OP_expand), args, 2, meta, &expand));
        from = expand->outs[0];
    }
    sc_replace_uses(value, from);
    sc_node_erase(node);
    return SC_OK;
}

static sc_status finish_outputs(graph_trace *g, const sc_graph *source) {
    sc_trace *t = &g->trace;
    sig_list sigs = {0};
    arg_list args = {0};
    for (uint32_t rank = 0; rank < 4; rank++)
        SC_TRY(collect_outputs(g, source, rank, &sigs, &args));
    sc_graph_set_outputs(t->graph, args.data, args.count);
    for (uint32_t i = 0; i < sigs.count; i++)
        if (is_state(sigs.data[i].kind) && t->graph->ret->args[i].kind == SC_ARG_VALUE)
            SC_TRY(elide_copy(g, t->graph->ret->args[i].value));
    sc_method *method = g->m->method;
    method->outputs.data = sigs.data;
    method->outputs.count = sigs.count;
    method->outputs.capacity = sigs.capacity;
    return SC_OK;
}

static sc_status finish_body(graph_trace *g, const sc_graph *source) {
    sc_trace *t = &g->trace;
    arg_list args = {0};
    for (uint32_t i = 0; i < source->inputs.count; i++) {
        sc_x x = g->values[source->inputs.data[i]->mark];
        if (x->kind == SC_X_TENSOR && x->tensor->storage->generation > 0)
            return sc_fail(t->ctx, SC_ERR_UNSUPPORTED, "Return the new value instead.",
                           "the body '%s' writes to its input '%s'",
                           source->name ? source->name->text : "?",
                           source->inputs.data[i]->name->text);
    }
    for (uint32_t i = 0; i < source->ret->arg_count; i++) {
        sc_x x = from_arg(g, &source->ret->args[i]);
        sync_all(t, x);
        sc_vec_push(t->arena, &args, sc_trace_arg(t, x));
    }
    sc_graph_set_outputs(t->graph, args.data, args.count);
    return t->status;
}

// --- Graphs -------------------------------------------------------------------------------------

static uint32_t number_values(const sc_graph *graph, uint32_t next) {
    for (uint32_t i = 0; i < graph->inputs.count; i++) graph->inputs.data[i]->mark = next++;
    for (const sc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->out_count; i++) node->outs[i]->mark = next++;
    return next;
}

static void sweep(sc_graph *graph) {
    for (sc_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        bool used = sc_node_has_effect(node);
        for (uint32_t i = 0; i < node->out_count && !used; i++) used = node->outs[i]->use_count > 0;
        if (!used) sc_node_erase(node);
    }
}

static sc_graph *trace_body(sc_trace *t, const sc_graph *body) {
    graph_trace *g = (graph_trace *)t;
    sc_graph *out = NULL;
    sc_where where = t->ctx->where;
    sc_status status = trace_graph(g->m, body, t->graph, &out);
    t->ctx->where = where;
    if (status != SC_OK && t->status == SC_OK) t->status = status;
    return out;
}

// A method is called with tensors: a number that changes from call to call comes as one without
// dimensions. PyTorch's item() has the same form.
static bool comes_as_tensor(const graph_trace *g, const sc_graph *graph, uint32_t input,
                            const sc_value *value) {
    return !graph->parent && input < g->m->method->inputs.count &&
           g->m->method->inputs.data[input].kind == SC_INPUT_USER &&
           sc_number_dtype(value) != SC_DTYPE_NONE;
}

static sc_x input_cell(graph_trace *g, const sc_graph *source, uint32_t index, sc_value *to) {
    const sc_value *from = source->inputs.data[index];
    if (to->type != SC_VALUE_TENSOR) return sc_trace_number(&g->trace, to);
    if (from->type != SC_VALUE_TENSOR) return sc_number_in_tensor(&g->trace, to, from);
    return sc_trace_fresh(&g->trace, to);
}

static void copy_inputs(graph_trace *g, const sc_graph *source, sc_graph *graph) {
    sc_trace *t = &g->trace;
    for (uint32_t i = 0; i < source->inputs.count; i++) {
        const sc_value *from = source->inputs.data[i];
        const bool as_tensor = comes_as_tensor(g, graph, i, from);
        sc_value *to = sc_graph_add_input(graph, sc_name_str(from->name),
                                          as_tensor ? SC_VALUE_TENSOR : from->type);
        if (as_tensor)
            to->spec = (sc_spec){.dtype = (uint8_t)sc_number_dtype(from)};
        else
            copy_value(to, from);
    }
    static const sc_trace_hooks hooks = {.dispatch = sc_trace_dispatch, .body = trace_body};
    sc_trace_init(t, g->m->ctx, &g->m->arena, graph, &hooks);
    for (uint32_t i = 0; i < source->inputs.count && t->status == SC_OK; i++)
        g->values[source->inputs.data[i]->mark] = input_cell(g, source, i, graph->inputs.data[i]);
}

static sc_status trace_graph(method_trace *m, const sc_graph *source, sc_graph *parent,
                             sc_graph **out) {
    if (++m->depth > m->ctx->limits.graph_depth_max)
        return sc_fail(m->ctx, SC_ERR_LIMIT, NULL, "bodies are nested too deeply");
    graph_trace *g = sc_new(&m->arena, graph_trace);
    g->m = m;
    uint32_t count = number_values(source, 0);
    g->values = sc_new_array(&m->arena, sc_x, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) g->values[i] = X_NONE;
    sc_str name = source->name ? sc_name_str(source->name) : SC_STR("");
    sc_graph *graph = sc_graph_new(m->method, parent, name);
    copy_inputs(g, source, graph);
    SC_TRY(g->trace.status);
    SC_TRY(walk(g, source));
    SC_TRY(parent ? finish_body(g, source) : finish_outputs(g, source));
    sweep(graph);
    sc_trace_adopt(graph);
    m->depth--;
    *out = graph;
    return SC_OK;
}

sc_status sc_decompose(sc_ctx *ctx, sc_method *method, const sc_keep *keep) {
    method_trace m = {.ctx = ctx, .method = method, .keep = keep};
    sc_graph *graph = NULL;
    sc_arena_init(&m.arena);
    m.book.shows.arena = &m.arena;
    sc_where_set_method(ctx, method);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = trace_graph(&m, method->graph, NULL, &graph);
    if (status == SC_OK) status = sc_functorch_check(ctx, &m.book);
    sc_arena_rewind(ctx->scratch, mark);
    sc_arena_deinit(&m.arena);
    SC_TRY(status);
    method->graph = graph;
    method->decomposed = true;
    const sc_functorch_env env = {ctx, sc_trace_dispatch};
    status = sc_functorch(&env, method);
    return m.refused == SC_OK ? status : m.refused;
}
