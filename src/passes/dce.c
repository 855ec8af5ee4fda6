// Erases nodes without effect whose results are not used, bodies included. One backward sweep
// suffices: it visits a node after all of its users.
#include "passes/passes.h"

static sc_status sweep(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    (void)user;
    for (sc_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        if (!sc_node_is_used(node) && !sc_node_has_effect(node)) sc_node_erase(node);
    }
    return SC_OK;
}

sc_status sc_pass_dce(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, sweep, NULL);
}
