// Gives debug handles: one small number, from 1 on, for each node of the source program. All nodes
// that a rewrite made of that node share it. Bodies are visited after the graph that contains them,
// breadth first. Bodies of cond, map and scan come as ExecuTorch visits them; those of while_loop,
// which it leaves out, too. All results of a node have its handle, while ExecuTorch counts each
// getitem of the source.
//
// Later passes keep handles: copies, casts and views that serve a node have its handle. A call of a
// part has a handle of its own, above all others. So has a copy between inputs and state that the
// call writes back, since no node of the source stands for it.
//
// Nodes without a line of the author's, such as those that quantize, get the line of the node whose
// result they take. If it has no line, they get the line of the node that takes theirs.
#include "passes/passes.h"

typedef struct numberer {
    uint32_t next;
    sc_imap handles;  // by origin: its handle
    SC_VEC(sc_graph *) queue;
} numberer;

static void find_bodies(sc_ctx *ctx, numberer *n, const sc_arg *arg) {
    if (arg->kind == SC_ARG_GRAPH)
        sc_vec_push(ctx->scratch, &n->queue, arg->graph);
    else if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++) find_bodies(ctx, n, &arg->items[i]);
}

// Takes the trace of the first operand that has one.
static bool take_trace(void *user, sc_arg *arg) {
    sc_node *node = user;
    const sc_node *maker = arg->value->node;
    if (maker) node->meta.stack_trace = maker->meta.stack_trace;
    return node->meta.stack_trace.size == 0;
}

static void take_trace_of_users(sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use; use = use->next_use) {
            if (use->user->graph == node->graph && use->user->op)
                node->meta.stack_trace = use->user->meta.stack_trace;
            if (node->meta.stack_trace.size) return;
        }
}

static void trace_graph(sc_graph *graph) {
    for (sc_node *node = graph->first; node; node = node->next)
        if (!node->meta.stack_trace.size) (void)sc_node_visit_values(node, take_trace, node);
    for (sc_node *node = graph->last; node; node = node->prev)
        if (!node->meta.stack_trace.size) take_trace_of_users(node);
}

static void number_graph(sc_ctx *ctx, numberer *n, sc_graph *graph) {
    for (sc_node *node = graph->first; node; node = node->next) {
        node->meta.origin = sc_node_origin(node);
        uint64_t *known = sc_imap_find(&n->handles, SC_PTR_KEY(node->meta.origin));
        node->meta.debug_handle = known ? (uint32_t)*known : n->next++;
        if (!known)
            sc_imap_add(&n->handles, SC_PTR_KEY(node->meta.origin), node->meta.debug_handle);
        if (sc_op_has(node->op, SC_HIGHER_ORDER))
            for (uint32_t i = 0; i < node->arg_count; i++) find_bodies(ctx, n, &node->args[i]);
    }
}

sc_status sc_pass_handles(sc_ctx *ctx, sc_method *method) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    numberer n = {.next = 1};
    sc_imap_init(&n.handles, ctx->scratch);
    sc_vec_push(ctx->scratch, &n.queue, method->graph);
    for (uint32_t i = 0; i < n.queue.count; i++) {
        trace_graph(n.queue.data[i]);
        number_graph(ctx, &n, n.queue.data[i]);
    }
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
