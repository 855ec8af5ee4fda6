// Calls that a pass makes or changes: their results by inference. An operator with an expansion has
// no shape rule of its own, so its expansion is traced for the types alone.
#include "api/edit/edit.h"
#include "trace/kept.h"

static bool is_composite(const sc_op *op) { return !op->infer && !sc_op_has(op, SC_HIGHER_ORDER); }

sc_status sc_edit_make_node(const sc_edit *edit, sc_graph *graph, sc_node *position,
                            const sc_op *op, const sc_arg *args, const sc_meta *meta,
                            sc_node **out) {
    const uint32_t count = op->schema->param_count;
    if (!is_composite(op)) return sc_build(graph, position, op, args, count, meta, out);
    SC_TRY(sc_kept_build(graph, position, op, args, count, meta, out));
    // Before decomposition it is a call like any other: a view of it is a view.
    (*out)->is_kept = edit->is_edge;
    return SC_OK;
}

sc_status sc_edit_infer(sc_node *node) {
    if (sc_op_has(node->op, SC_FOREIGN | SC_OWN)) return SC_OK;
    return is_composite(node->op) ? sc_kept_infer(node) : sc_node_infer(node);
}
