// Queries and small rewrites over whole graphs: visiting bodies, a node's effects besides its
// results, replacing a node, the order of a permutation.
#include "ir/part.h"

static sc_status visit_arg(sc_ctx *ctx, sc_arg *arg, sc_graph_visitor visit, void *user) {
    if (arg->kind == SC_ARG_GRAPH) return sc_graphs_visit(ctx, arg->graph, visit, user);
    if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            SC_TRY(visit_arg(ctx, &arg->items[i], visit, user));
    return SC_OK;
}

// The recursion is as deep as bodies nest, which the importer and the parser bound.
sc_status sc_graphs_visit(sc_ctx *ctx, sc_graph *graph, sc_graph_visitor visit, void *user) {
    SC_TRY(visit(ctx, graph, user));
    for (sc_node *node = graph->first; node && graph->has_bodies; node = node->next)
        if (sc_op_has(node->op, SC_HIGHER_ORDER) || sc_op_has(node->op, SC_FOREIGN))
            for (uint32_t i = 0; i < node->arg_count; i++)
                SC_TRY(visit_arg(ctx, &node->args[i], visit, user));
    return SC_OK;
}

sc_str sc_graph_path(sc_arena *arena, const sc_graph *graph) {
    if (!graph->parent) return (sc_str){0};
    sc_str outer = sc_graph_path(arena, graph->parent);
    return sc_str_format(arena, SC_STR_FMT "%s%s", SC_STR_ARG(outer), outer.size ? "/" : "",
                         graph->name ? graph->name->text : "body");
}

const sc_name *sc_graph_origin(const sc_graph *graph, sc_str name) {
    sc_ctx *ctx = graph->ctx;
    if (!graph->parent) return sc_name_intern(ctx->names, name);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const sc_str path = sc_graph_path(ctx->scratch, graph);
    const sc_str full =
        sc_str_format(ctx->scratch, SC_STR_FMT "/" SC_STR_FMT, SC_STR_ARG(path), SC_STR_ARG(name));
    const sc_name *origin = sc_name_intern(ctx->names, full);
    sc_arena_rewind(ctx->scratch, mark);
    return origin;
}

const sc_name *sc_node_origin(const sc_node *node) {
    return node->meta.origin ? node->meta.origin
                             : sc_graph_origin(node->graph, sc_name_str(node->name));
}

static sc_status find_highest(sc_ctx *ctx, sc_graph *graph, void *user) {
    uint32_t *highest = user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_part *part = sc_node_part(node);
        *highest = sc_max_u32(*highest, node->meta.debug_handle);
        if (part) (void)sc_graphs_visit(ctx, part->method->graph, find_highest, user);
    }
    return SC_OK;
}

uint32_t sc_method_free_handle(const sc_method *method) {
    uint32_t highest = 0;
    (void)sc_graphs_visit(method->graph->ctx, method->graph, find_highest, &highest);
    return highest + 1;
}

static bool graph_has_effect(const sc_graph *graph);

static bool arg_has_effect(const sc_arg *arg) {
    if (arg->kind == SC_ARG_GRAPH) return graph_has_effect(arg->graph);
    if (arg->kind == SC_ARG_PART) return sc_part_has_effect(arg->part);
    if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            if (arg_has_effect(&arg->items[i])) return true;
    return false;
}

bool sc_node_has_effect(const sc_node *node) {
    if (sc_op_has(node->op, SC_FOREIGN)) return !sc_op_is_pure(node->op);
    if (sc_op_has(node->op, SC_MUTATES) || sc_op_has(node->op, SC_ASSERTION)) return true;
    if (sc_op_has(node->op, SC_FUNCTORCH)) return node->out_count == 0;
    if (!sc_op_has(node->op, SC_HIGHER_ORDER)) return false;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (arg_has_effect(&node->args[i])) return true;
    return false;
}

static bool graph_has_effect(const sc_graph *graph) {
    for (const sc_node *node = graph->first; node; node = node->next)
        if (sc_node_has_effect(node)) return true;
    return false;
}

void sc_node_replace(sc_node *node, sc_value *value) {
    SC_ASSERT(node->out_count == 1);
    sc_replace_uses(node->outs[0], value);
    sc_node_erase(node);
}

bool sc_node_permutation(const sc_node *node, uint32_t *order) {
    if (!sc_op_has(node->op, SC_PERMUTES)) return false;
    sc_ctx *ctx = node->graph->ctx;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_infer in = {.ctx = ctx,
                   .arena = ctx->scratch,
                   .exprs = node->graph->method->exprs,
                   .op = node->op,
                   .arg_count = node->arg_count};
    sc_iarg *args = NULL;
    bool ok = sc_node_infer_args(ctx->scratch, node, &args) == SC_OK;
    in.args = args;
    ok = ok && sc_infer_order(&in, order) == SC_OK;
    sc_arena_rewind(ctx->scratch, mark);
    return ok;
}
