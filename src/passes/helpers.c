// Small helpers that passes share.
#include "passes/passes.h"

static sc_status visit_arg(sc_ctx *ctx, sc_arg *arg, sc_graph_visitor visit, void *user) {
    if (arg->kind == SC_ARG_GRAPH) return sc_graphs_visit(ctx, arg->graph, visit, user);
    if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            SC_TRY(visit_arg(ctx, &arg->items[i], visit, user));
    return SC_OK;
}

// Recursion is as deep as bodies nest, which importer and parser bound.
sc_status sc_graphs_visit(sc_ctx *ctx, sc_graph *graph, sc_graph_visitor visit, void *user) {
    SC_TRY(visit(ctx, graph, user));
    for (sc_node *node = graph->first; node && graph->has_bodies; node = node->next)
        if (sc_op_has(node->op, SC_HIGHER_ORDER) || sc_op_has(node->op, SC_FOREIGN))
            for (uint32_t i = 0; i < node->arg_count; i++)
                SC_TRY(visit_arg(ctx, &node->args[i], visit, user));
    return SC_OK;
}

void sc_node_replace(sc_node *node, sc_value *value) {
    SC_ASSERT(node->out_count == 1);
    sc_replace_uses(node->outs[0], value);
    sc_node_erase(node);
}

static bool wrap(const sc_arg *arg, uint32_t rank, uint32_t *out) {
    int64_t dim = arg->kind == SC_ARG_INT ? arg->i : INT64_MIN;
    if (dim < 0 && dim > INT64_MIN) dim += rank;
    *out = (uint32_t)dim;
    return dim >= 0 && dim < rank;
}

bool sc_node_permutation(const sc_node *node, uint32_t rank, uint32_t *order) {
    uint32_t first = 0, second = rank > 1 ? 1 : 0;
    for (uint32_t i = 0; i < rank; i++) order[i] = i;
    switch (node->op->id) {
    case SC_OP_permute_copy: {
        const sc_arg *dims = sc_node_arg(node, "dims");
        if (dims->kind != SC_ARG_LIST || dims->count != rank) return false;
        for (uint32_t i = 0; i < rank; i++)
            if (!wrap(&dims->items[i], rank, &order[i])) return false;
        return true;
    }
    case SC_OP_transpose_copy_int:
        if (!wrap(sc_node_arg(node, "dim0"), rank, &first) ||
            !wrap(sc_node_arg(node, "dim1"), rank, &second))
            return false;
        break;
    case SC_OP_t_copy: break;
    default: return false;
    }
    if (rank > 0) {
        order[first] = second;
        order[second] = first;
    }
    return true;
}
