// Complex numbers that were put together only to be taken apart again: real parts of a stack of two
// parts, and pairs of what was made of pairs (trace/complex). What is handed on is what went in.
#include "passes/passes.h"

static const sc_value *operand(const sc_value *value, sc_op_id id) {
    const sc_node *node = value->node;
    return node && node->op->id == id && node->args[0].kind == SC_ARG_VALUE ? node->args[0].value
                                                                            : NULL;
}

// What select takes out of tensors stacked along its dim; NULL if that is not what they are.
static const sc_value *stacked(const sc_node *select) {
    const sc_value *stack = select->args[0].value;
    const sc_node *cat = stack->node;
    if (!cat || cat->op->id != SC_OP_cat || cat->args[0].kind != SC_ARG_LIST) return NULL;
    const sc_arg *dim = &select->args[1], *index = &select->args[2];
    if (dim->kind != SC_ARG_INT || index->kind != SC_ARG_INT) return NULL;
    const int64_t rank = stack->spec.rank, count = cat->args[0].count;
    const int64_t along = dim->i < 0 ? dim->i + rank : dim->i;
    const int64_t at = index->i < 0 ? index->i + count : index->i;
    const int64_t joined = cat->args[1].kind == SC_ARG_INT ? cat->args[1].i : INT64_MIN;
    if (at < 0 || at >= count || (joined != along && joined + rank != along)) return NULL;
    for (int64_t i = 0; i < count; i++) {
        const sc_arg *item = &cat->args[0].items[i];
        if (item->kind != SC_ARG_VALUE || !operand(item->value, SC_OP_unsqueeze_copy)) return NULL;
        const sc_arg *place = &item->value->node->args[1];
        if (place->kind != SC_ARG_INT || (place->i != along && place->i + rank != along))
            return NULL;
    }
    return operand(cat->args[0].items[at].value, SC_OP_unsqueeze_copy);
}

static const sc_value *handed_on(const sc_node *node) {
    if (node->arg_count == 0 || node->args[0].kind != SC_ARG_VALUE || node->out_count != 1)
        return NULL;
    switch ((sc_op_id)node->op->id) {
    case SC_OP_select_copy_int: return stacked(node);
    case SC_OP_view_as_real_copy: return operand(node->args[0].value, SC_OP_view_as_complex_copy);
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
