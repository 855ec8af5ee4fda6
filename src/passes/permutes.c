// Two permutations in a row become one, and two that cancel disappear. Attention is full of them:
// keys are permuted twice before they are multiplied.
#include "ir/match.h"
#include "passes/passes.h"

static bool is_identity(const uint32_t *order, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++)
        if (order[i] != i) return false;
    return true;
}

static bool permutes(const sc_node *node) {
    uint32_t order[SC_RANK_MAX];
    return sc_node_permutation(node, order);
}

static const sc_pattern_node pair_nodes[] = {
    {.name = "outer", .traits = SC_PERMUTES, .operands = {"inner"}},
    {.name = "inner", .traits = SC_PERMUTES, .fits = permutes},
};
static const sc_pattern pair = {pair_nodes, SC_COUNT_OF(pair_nodes)};

static sc_status fuse(sc_ctx *ctx, sc_node *node, sc_node *inner, const uint32_t *dims,
                      uint32_t rank) {
    sc_node *made;
    int64_t order[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) order[i] = dims[i];
    sc_arg args[2] = {inner->args[0], sc_arg_ints(ctx->scratch, order, rank)};
    sc_where_set_node(ctx, node);
    SC_TRY(sc_build(node->graph, node, sc_op_get(SC_OP_permute_copy), args, 2, &node->meta, &made));
    made->outs[0]->spec = node->outs[0]->spec;
    sc_node_replace(node, made->outs[0]);
    return SC_OK;
}

static sc_status try_node(sc_ctx *ctx, sc_node *node) {
    uint32_t outer_order[SC_RANK_MAX], inner_order[SC_RANK_MAX], order[SC_RANK_MAX];
    if (!sc_node_permutation(node, outer_order)) return SC_OK;
    uint32_t rank = node->args[0].value->spec.rank;
    sc_match match;
    sc_node *inner = sc_match_at(&pair, node, &match) ? sc_match_node(&match, "inner") : NULL;
    if (inner) sc_node_permutation(inner, inner_order);
    for (uint32_t i = 0; i < rank; i++)
        order[i] = inner ? inner_order[outer_order[i]] : outer_order[i];
    sc_value *source = inner ? inner->args[0].value : node->args[0].value;
    bool same = is_identity(order, rank) && sc_spec_equal(&source->spec, &node->outs[0]->spec);
    if (same && source->node && !sc_value_is_returned(node->outs[0])) {
        sc_node_replace(node, source);
        return SC_OK;
    }
    return inner ? fuse(ctx, node, inner, order, rank) : SC_OK;
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        sc_mark mark = sc_arena_mark(ctx->scratch);
        sc_status status = try_node(ctx, node);
        sc_arena_rewind(ctx->scratch, mark);
        SC_TRY(status);
    }
    return SC_OK;
}

sc_status sc_pass_permutes(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
