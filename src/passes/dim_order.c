// Memory formats become dim orders: _to_copy, clone and empty turn into the operators of the
// dim_order_ops library, whose argument states the layout of the result.
#include "ir/layout.h"
#include "passes/passes.h"

static sc_op_id successor(const sc_op *op) {
    switch (op->id) {
    case SC_OP__to_copy: return SC_OP_dim_order_ops__to_dim_order_copy;
    case SC_OP_clone: return SC_OP_dim_order_ops__clone_dim_order;
    case SC_OP_empty_memory_format: return SC_OP_dim_order_ops__empty_dim_order;
    default: return SC_OP_FOREIGN;
    }
}

// The same parameters by name, except that dim_order takes the place of memory_format.
static sc_arg successor_arg(sc_arena *arena, const sc_node *node, const sc_param *param) {
    char name[32] = {0};
    if (sc_str_is(param->name, "dim_order"))
        return sc_arg_dim_order(arena, node->graph->method->exprs, &node->outs[0]->spec);
    if (param->name.size < sizeof(name)) memcpy(name, param->name.data, param->name.size);
    if (sc_op_param_index(node->op, name) < 0) return sc_arg_default(arena, param);
    return *sc_node_arg(node, name);
}

static sc_status replace(sc_ctx *ctx, sc_node *node, const sc_op *op) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_where_set_node(ctx, node);
    sc_arg *args = sc_new_array(ctx->scratch, sc_arg, op->schema->param_count);
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        args[i] = successor_arg(ctx->scratch, node, &op->schema->params[i]);
    sc_node *made = sc_node_new(node->graph, op, args, op->schema->param_count, 1, NULL);
    sc_arena_rewind(ctx->scratch, mark);
    made->meta = node->meta;
    made->outs[0]->type = SC_VALUE_TENSOR;
    made->outs[0]->spec = node->outs[0]->spec;
    sc_graph_insert_before(node, made);
    sc_node_replace(node, made->outs[0]);
    return SC_OK;
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        sc_op_id id = successor(node->op);
        if (id != SC_OP_FOREIGN) SC_TRY(replace(ctx, node, sc_op_get(id)));
    }
    return SC_OK;
}

sc_status sc_pass_dim_order(sc_ctx *ctx, sc_method *method) {
    if (method->facts & SC_FACT_FORMATS) return SC_OK;
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
