// Erases operators that only check something: what they assert is already in the symbols' ranges.
#include "passes/passes.h"

static sc_status sweep(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    (void)user;
    for (sc_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        if (!sc_op_has(node->op, SC_ASSERTION)) continue;
        bool used = false;
        for (uint32_t i = 0; i < node->out_count; i++) used = used || node->outs[i]->use_count > 0;
        if (!used) sc_node_erase(node);
    }
    return SC_OK;
}

sc_status sc_pass_assertions(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, sweep, NULL);
}
