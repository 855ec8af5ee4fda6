// Removes operators whose result is their operand. In to_edge these are the casts and slices that
// the official exporter removes; in to_executorch also every copy in the layout of its source.
//
// Two kinds of copies stay. One is returned, and its source is an input or is returned too. The
// other's source is written before the copy is read for the last time.
#include "passes/passes.h"

// --- Copies that matter --------------------------------------------------------------------------

// Read at the end: by the return, or by a node that writes.
static bool is_read_last(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user == value->graph->ret || sc_op_has(use->user->op, SC_MUTATES)) return true;
    return false;
}

enum { WRITTEN_INPUT = 1 };

static bool matters(const sc_value *source, const sc_value *result) {
    if (!source->node && source->mark == WRITTEN_INPUT && is_read_last(result)) return true;
    return sc_value_is_returned(result) && (!source->node || sc_value_is_returned(source));
}

// Marks the graph's inputs that the method writes: by a mutating node, or by an output of its
// signature.
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
    const sc_op_traits *trait = user;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    mark_written(graph->method, graph, ctx->scratch);
    sc_arena_rewind(ctx->scratch, mark);
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (sc_op_has(node->op, *trait) && is_noop(node))
            sc_node_replace(node, node->args[0].value);
    }
    return SC_OK;
}

sc_status sc_pass_noops(sc_ctx *ctx, sc_method *method) {
    sc_op_traits trait = SC_EDGE_NOOP;
    return sc_graphs_visit(ctx, method->graph, visit, &trait);
}

sc_status sc_pass_copies(sc_ctx *ctx, sc_method *method) {
    sc_op_traits trait = SC_HANDS_ON;
    return sc_graphs_visit(ctx, method->graph, visit, &trait);
}
