// Writing out a jvp: where tangents begin and end, and calls by the table.
#include "trace/functorch/levels.h"

// (tensor, tangent)
static void make_dual(sc_writer *w, sc_node *node, const sc_lifted *a) {
    const sc_spec *x = sc_x_spec(a[0].x), *d = sc_x_spec(a[1].x);
    const bool alike = x->dtype == d->dtype && sc_spec_same_sizes(x, d);
    if (!alike || a[0].tangent || a[1].tangent)
        sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL,
                      alike ? "a tensor gets a second tangent at the same level"
                            : "a tangent is not of the sizes and the dtype of its tensor");
    sc_functorch_level_know(w, node->outs[0], (sc_lifted){.x = a[0].x, .tangent = a[1].x});
    sc_functorch_level_finish(w, node);
}

static void bind_tangents(sc_writer *w, const sc_node *node, sc_x d) {
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_x one = d->kind == SC_X_LIST ? (i < d->count ? d->items[i] : NULL) : i ? NULL : d;
        if (!one) continue;
        sc_x x = sc_trace_plain(&w->trace, node->outs[i]);
        sc_functorch_level_know(w, node->outs[i], (sc_lifted){.x = x, .tangent = one});
    }
}

// Numbers that are read off a tensor have no tangent.
static void write_tangent(sc_writer *w, sc_node *node, const sc_lifted *a) {
    const bool opaque = sc_op_has(node->op, SC_HIGHER_ORDER | SC_FOREIGN | SC_OWN | SC_MUTATES);
    if (opaque)
        sc_trace_fail(&w->trace, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                      "torch.func.jvp of %s is not supported", node->op->name);
    if (opaque || !node->out_count || node->outs[0]->type != SC_VALUE_TENSOR) return;
    sc_x d = sc_jvp_call(&w->level, a);
    if (d && w->trace.status == SC_OK) bind_tangents(w, node, d);
}

void sc_functorch_level_write_jvp(sc_writer *w, sc_node *node) {
    sc_trace *t = &w->trace;
    const sc_op_id id = (sc_op_id)node->op->id;
    const bool unpacks = id == SC_OP_functorch_unpack_dual || id == SC_OP__unpack_dual;
    if (!sc_functorch_level_knows_any(w, node) && !sc_op_has(node->op, SC_FUNCTORCH)) return;
    const sc_lifted *a = sc_functorch_level_lift_args(w, node);
    if (t->status != SC_OK || node->out_count == 0) return;
    if (id == SC_OP_functorch_make_dual || id == SC_OP__make_dual) {
        make_dual(w, node, a);
    } else if (unpacks) {
        sc_functorch_level_become(w, node, 0, a[0].x);
        sc_functorch_level_become(
            w, node, 1, a[0].tangent ? sc_f_contiguous(t, a[0].tangent) : sc_f_zeros_of(t, a[0].x));
        sc_functorch_level_finish(w, node);
    } else if (id == SC_OP_functorch_unwrap_for_grad) {
        if (!sc_functorch_level_is_ours(w, a[1].x)) return;
        sc_functorch_level_become(w, node, 0, a[0].x);
        sc_functorch_level_finish(w, node);
    } else if (sc_op_has(node->op, SC_FUNCTORCH)) {
        sc_trace_fail(t, SC_ERR_CORRUPT, NULL, "%s stands in a jvp", node->op->name);
    } else {
        write_tangent(w, node, a);
    }
}
