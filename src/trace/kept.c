// The results of a whole call come from a trace of its expansion into a graph that is then dropped.
#include "trace/kept.h"

#include "trace/expand.h"

typedef struct dry_run {
    sc_trace trace;
    sc_graph *graph;  // of the expansion; its inputs stand for the values of the call
    sc_imap inputs;   // value of the call -> index of the input
    sc_arena *arena;
} dry_run;

static void copy_type(sc_value *to, const sc_value *from) {
    to->type = from->type;
    to->has_dim = from->has_dim;
    to->dim = from->dim;
    to->spec = from->spec;
}

static bool add_input(void *user, sc_arg *arg) {
    dry_run *d = user;
    if (!sc_imap_add(&d->inputs, SC_PTR_KEY(arg->value), d->graph->inputs.count)) return true;
    copy_type(sc_graph_add_input(d->graph, sc_name_str(arg->value->name), arg->value->type),
              arg->value);
    return true;
}

// The dry run is the first member of what the trace's functions get.
static sc_x input_cell(sc_trace *t, sc_value *value) {
    const dry_run *d = (const dry_run *)t;
    const uint64_t *index = sc_imap_find(&d->inputs, SC_PTR_KEY(value));
    return sc_trace_plain(t, d->graph->inputs.data[*index]);
}

static sc_x trace_call(dry_run *d, const sc_node *node) {
    sc_trace *t = &d->trace;
    sc_x *args = sc_new_array(d->arena, sc_x, node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++)
        args[i] = sc_trace_cell(t, &node->args[i], input_cell);
    const sc_expansion *how = sc_call_expansion(node->op, args);
    if (!how)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP, sc_op_foreign_hint(node->op),
                             "%s has neither a shape rule nor an expansion", node->op->name);
    return sc_trace_expand(t, node->op, how, args);
}

static const sc_value *result_value(sc_x x) {
    return x->kind == SC_X_TENSOR ? x->tensor->value : x->kind == SC_X_VALUE ? x->value : NULL;
}

static void take_result(sc_value *out, sc_x x) {
    const sc_value *value = result_value(x);
    *out = (sc_value){.type = SC_VALUE_NONE};
    if (value) copy_type(out, value);
    if (x->kind == SC_X_INT)
        *out = (sc_value){.type = SC_VALUE_INT, .has_dim = true, .dim = x->dim};
}

// The results of the node's call, on `arena`.
static sc_status results_of(sc_node *node, sc_arena *arena, sc_value **results, uint32_t *count) {
    static const sc_trace_hooks hooks = {.dispatch = sc_trace_dispatch};
    sc_ctx *ctx = node->graph->ctx;
    dry_run d = {.arena = arena};
    d.graph = sc_graph_new(node->graph->method, NULL, (sc_str){0});
    sc_imap_init(&d.inputs, arena);
    sc_node_visit_values(node, add_input, &d);
    sc_where_set_node(ctx, node);
    sc_trace_init(&d.trace, ctx, arena, d.graph, &hooks);
    d.trace.plain = 1;
    d.trace.source = node;
    d.trace.meta = node->meta;
    const sc_x x = trace_call(&d, node);
    SC_TRY(d.trace.status);
    *count = x->kind == SC_X_LIST ? x->count : 1;
    *results = sc_new_array(arena, sc_value, *count + 1);
    for (uint32_t i = 0; i < *count; i++)
        take_result(&(*results)[i], x->kind == SC_X_LIST ? x->items[i] : x);
    return SC_OK;
}

sc_status sc_kept_infer(sc_node *node) {
    sc_value *results;
    uint32_t count;
    sc_arena arena;
    sc_arena_init(&arena);
    sc_status status = results_of(node, &arena, &results, &count);
    if (status == SC_OK && count != node->out_count)
        status = sc_fail(node->graph->ctx, SC_ERR_MISMATCH, NULL,
                         "%s has %u results here and %u by its expansion", node->op->name,
                         node->out_count, count);
    for (uint32_t i = 0; status == SC_OK && i < count; i++) {
        copy_type(node->outs[i], &results[i]);
        if (results[i].type == SC_VALUE_TENSOR)
            sc_spec_share(node->graph->method->exprs, &node->outs[i]->spec);
    }
    sc_arena_deinit(&arena);
    return status;
}

// The call as a node that is in no graph and uses no value, with one result like its first operand.
static sc_node *as_node(sc_arena *arena, sc_graph *graph, const sc_op *op, const sc_arg *args,
                        uint32_t count, const sc_meta *meta) {
    sc_node *call = sc_new(arena, sc_node);
    *call = (sc_node){.op = op, .graph = graph, .arg_count = count, .out_count = 1};
    call->name = sc_name_intern(graph->ctx->names, SC_STR("call"));
    call->args = sc_new_array(arena, sc_arg, count + 1);
    for (uint32_t i = 0; i < count; i++) call->args[i] = args[i];
    call->only_out = sc_new(arena, sc_value);
    call->outs = &call->only_out;
    if (count && args[0].kind == SC_ARG_VALUE) copy_type(call->only_out, args[0].value);
    call->only_out->graph = graph;
    call->only_out->name = call->name;
    if (meta) call->meta = *meta;
    return call;
}

sc_status sc_kept_build(sc_graph *graph, sc_node *position, const sc_op *op, const sc_arg *args,
                        uint32_t arg_count, const sc_meta *meta, sc_node **out) {
    sc_value *results;
    uint32_t count;
    sc_arena arena;
    sc_arena_init(&arena);
    sc_status status =
        results_of(as_node(&arena, graph, op, args, arg_count, meta), &arena, &results, &count);
    if (status == SC_OK) {
        sc_node *node = *out = sc_node_new(graph, op, args, arg_count, count, NULL);
        for (uint32_t i = 0; i < count; i++) {
            copy_type(node->outs[i], &results[i]);
            if (results[i].type == SC_VALUE_TENSOR)
                sc_spec_share(graph->method->exprs, &node->outs[i]->spec);
        }
        sc_node_name_results(node);
        if (meta) node->meta = *meta;
        node->is_kept = true;
        sc_graph_insert_before(position, node);
    }
    sc_arena_deinit(&arena);
    return status;
}
