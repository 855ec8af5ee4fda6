// Drops inputs without elements from cat; a cat without other inputs becomes an empty tensor.
#include "passes/passes.h"

static bool is_empty(const sc_arg *arg) {
    return arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_TENSOR &&
           sc_spec_is_empty(&arg->value->spec);
}

static sc_status replace_by_full(sc_ctx *ctx, sc_node *node) {
    const sc_spec *spec = &node->outs[0]->spec;
    sc_node *full;
    int64_t sizes[SC_RANK_MAX];
    for (uint32_t i = 0; i < spec->rank; i++) {
        if (!sc_dim_is_int(spec->sizes[i])) return SC_OK;  // no constant states its size
        sizes[i] = spec->sizes[i].value;
    }
    sc_arg args[3] = {sc_arg_ints(ctx->scratch, sizes, spec->rank), sc_arg_int(0),
                      sc_arg_dtype((sc_dtype)spec->dtype)};
    SC_TRY(sc_build(node->graph, node, sc_op_get(SC_OP_full), args, 3, &node->meta, &full));
    sc_node_replace(node, full->outs[0]);
    return SC_OK;
}

static sc_status prune(sc_ctx *ctx, sc_node *node) {
    sc_arg *list = &node->args[0];
    sc_arg *kept = sc_new_array(ctx->scratch, sc_arg, list->count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (!is_empty(&list->items[i])) kept[count++] = list->items[i];
    if (count == list->count) return SC_OK;
    sc_where_set_node(ctx, node);
    if (count == 0) return replace_by_full(ctx, node);
    // The result's dtype is promoted over all inputs, so only inputs of that dtype may be dropped.
    for (uint32_t i = 0; i < count; i++)
        if (kept[i].value->spec.dtype != node->outs[0]->spec.dtype) return SC_OK;
    sc_arg_set(list, sc_arg_list(kept, count));
    return SC_OK;
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (node->op->id != SC_OP_cat || node->args[0].kind != SC_ARG_LIST) continue;
        sc_mark mark = sc_arena_mark(ctx->scratch);
        sc_status status = prune(ctx, node);
        sc_arena_rewind(ctx->scratch, mark);
        SC_TRY(status);
    }
    return SC_OK;
}

sc_status sc_pass_empty_cats(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
