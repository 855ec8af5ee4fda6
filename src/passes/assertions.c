// Erases operators that only check something: what they assert is already in the symbols' ranges.
#include "passes/passes.h"

static sc_status sweep(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    (void)user;
    for (sc_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        if (sc_op_has(node->op, SC_ASSERTION) && !sc_node_is_used(node)) sc_node_erase(node);
    }
    return SC_OK;
}

sc_status sc_pass_assertions(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, sweep, NULL);
}
