// Removes operators that hand on what they got. In to_edge the casts and slices that the official
// exporter removes; in to_executorch also every copy whose layout is that of its source.
//
// A copy stays where it matters that it is one: when it is returned, and its source is an input or
// is returned too, or when its source is written before it is read for the last time.
#include "passes/passes.h"

// For these, a result of equal spec is equal in every element.
static bool hands_on(const sc_op *op) {
    switch (op->id) {
    case SC_OP_alias_copy:
    case SC_OP_detach_copy:
    case SC_OP_lift_fresh_copy:
    case SC_OP_clone:
    case SC_OP__to_copy:
    case SC_OP_dim_order_ops__clone_dim_order:
    case SC_OP_dim_order_ops__to_dim_order_copy:
    case SC_OP_view_copy:
    case SC_OP_expand_copy:
    case SC_OP_slice_copy_Tensor:
    case SC_OP_repeat: return true;
    default: return false;
    }
}

static bool hands_on_in_edge(const sc_op *op) {
    return op->id == SC_OP__to_copy || op->id == SC_OP_slice_copy_Tensor;
}

// --- Where a copy matters ------------------------------------------------------------------------

static bool is_returned(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user == value->graph->ret) return true;
    return false;
}

// Read at the end: by the return, or by a node that writes.
static bool is_read_last(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user == value->graph->ret || sc_op_has(use->user->op, SC_MUTATES)) return true;
    return false;
}

enum { WRITTEN_INPUT = 1 };

static bool matters(const sc_value *source, const sc_value *result) {
    if (source->mark == WRITTEN_INPUT && is_read_last(result)) return true;
    return is_returned(result) && (!source->node || is_returned(source));
}

// Marks the inputs that the method writes: by a mutating node, or by an output of its signature.
static void mark_written(const sc_method *method, sc_graph *graph, sc_arena *scratch) {
    sc_map targets;
    sc_map_init(&targets, scratch);
    for (uint32_t i = 0; !graph->parent && i < method->outputs.count; i++)
        if (method->outputs.data[i].target.size)
            sc_map_set(&targets, method->outputs.data[i].target, graph);
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        sc_value *value = graph->inputs.data[i];
        bool written = sc_map_find(&targets, sc_name_str(value->name)) != NULL;
        if (!graph->parent && i < method->inputs.count)
            written = written || sc_map_find(&targets, method->inputs.data[i].target);
        for (const sc_arg *use = value->first_use; use && !written; use = use->next_use)
            written =
                use->user->op && sc_op_has(use->user->op, SC_MUTATES) && use == &use->user->args[0];
        value->mark = written ? WRITTEN_INPUT : 0;
    }
}

// --- The pass ------------------------------------------------------------------------------------

static bool is_noop(const sc_node *node) {
    if (node->out_count != 1 || node->args[0].kind != SC_ARG_VALUE) return false;
    const sc_value *source = node->args[0].value, *result = node->outs[0];
    if (source->type != SC_VALUE_TENSOR || !sc_spec_equal(&source->spec, &result->spec))
        return false;
    return !matters(source, result);
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    bool (*candidate)(const sc_op *op) = *(bool (**)(const sc_op *))user;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    mark_written(graph->method, graph, ctx->scratch);
    sc_arena_rewind(ctx->scratch, mark);
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        for (uint32_t i = 0; i < node->out_count; i++) node->outs[i]->mark = 0;
        if (candidate(node->op) && is_noop(node)) sc_node_replace(node, node->args[0].value);
    }
    return SC_OK;
}

sc_status sc_pass_noops(sc_ctx *ctx, sc_method *method) {
    bool (*candidate)(const sc_op *) = hands_on_in_edge;
    return sc_graphs_visit(ctx, method->graph, visit, &candidate);
}

sc_status sc_pass_copies(sc_ctx *ctx, sc_method *method) {
    bool (*candidate)(const sc_op *) = hands_on;
    return sc_graphs_visit(ctx, method->graph, visit, &candidate);
}
