// Replaces views by their *_copy twins: in the edge dialect every result has its own storage. The
// copy of a view is dense in row-major order, whatever the strides of the view were.
#include "ir/layout.h"
#include "passes/passes.h"

static void make_dense(sc_value *value) {
    if (value->type != SC_VALUE_TENSOR) return;
    sc_spec_set_layout(value->graph->method->exprs, &value->spec, false);
}

static sc_status replace(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (sc_node *node = graph->first; node; node = node->next) {
        if (!sc_op_has(node->op, SC_VIEW)) continue;
        const sc_op *twin = node->op->copy;
        if (!twin) {
            sc_where_set_node(ctx, node);
            return sc_fail(ctx, SC_ERR_UNSUPPORTED_OP, NULL, "%s has no copying form",
                           node->op->name);
        }
        node->op = twin;
        for (uint32_t i = 0; i < node->out_count; i++) make_dense(node->outs[i]);
    }
    return SC_OK;
}

sc_status sc_pass_view_copies(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, replace, NULL);
}
