// Removes complex numbers that are composed only to be split again (trace/complex): the parts of a
// stack of two parts, and the pairs of a tensor made of pairs. Their operands replace them.
#include "ir/match.h"
#include "passes/passes.h"

static const sc_value *selected(const sc_node *select) {
    const sc_arg *dim = &select->args[1], *index = &select->args[2];
    if (dim->kind != SC_ARG_INT || index->kind != SC_ARG_INT) return NULL;
    return sc_match_stacked(select->args[0].value, dim->i, index->i);
}

static const sc_value *handed_on(const sc_node *node) {
    if (node->arg_count == 0 || node->args[0].kind != SC_ARG_VALUE || node->out_count != 1)
        return NULL;
    switch ((sc_op_id)node->op->id) {
    case SC_OP_select_copy_int: return selected(node);
    case SC_OP_view_as_real_copy:
        return sc_match_made_of(node->args[0].value, SC_OP_view_as_complex_copy);
    default: return NULL;
    }
}

// A copy that is returned stays one.
static bool may_stand_for(const sc_value *value, const sc_value *result) {
    return value->spec.dtype == result->spec.dtype &&
           sc_spec_same_sizes(&value->spec, &result->spec) &&
           (!sc_value_is_returned(result) || (value->node && !sc_value_is_returned(value)));
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    (void)user;
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        const sc_value *value = handed_on(node);
        if (value && may_stand_for(value, node->outs[0])) sc_node_replace(node, (sc_value *)value);
    }
    return SC_OK;
}

sc_status sc_pass_pairs(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
