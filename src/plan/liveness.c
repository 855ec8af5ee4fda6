// Lifetimes by one walk over the graph. A value may live longer than its own uses suggest. The
// reasons are shared storage (views, branch results), loops (values from outside a body must
// survive until the last iteration), and the signature (outputs and mutated buffers live to the
// end).
#include "plan/liveness.h"

typedef struct walk {
    const sc_storage_table *table;
    sc_liveness *live;
    uint32_t now;
    uint32_t depth;
} walk;

static void touch(walk *w, const sc_value *value, uint32_t moment) {
    if (value->type != SC_VALUE_TENSOR) return;
    uint64_t offset = 0;
    const sc_storage *root = sc_storage_root(w->table, value, &offset);
    sc_interval *interval = &w->live->intervals[root->value->mark];
    if (moment < interval->first) interval->first = moment;
    if (interval->last < moment || interval->last == UINT32_MAX) interval->last = moment;
}

typedef struct touch_at {
    walk *w;
    uint32_t moment;
} touch_at;

static bool touch_arg(void *user, sc_arg *arg) {
    touch_at *t = user;
    touch(t->w, arg->value, t->moment);
    return true;
}

static void touch_args(walk *w, const sc_node *node, uint32_t moment) {
    sc_node_visit_values(node, touch_arg, &(touch_at){w, moment});
}

static sc_status walk_graph(sc_ctx *ctx, walk *w, const sc_graph *graph);

// Bodies run after the node's operands are ready and before its results are: operands live through
// all bodies (a loop reads them again), and so do results, which the bodies write.
static sc_status walk_bodies(sc_ctx *ctx, walk *w, const sc_node *node) {
    uint32_t begin = w->now;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (node->args[i].kind != SC_ARG_GRAPH) continue;
        const sc_graph *body = node->args[i].graph;
        SC_TRY(walk_graph(ctx, w, body));
        // A result may be the very tensor that the body ends with: both live as long as either.
        touch_args(w, body->ret, w->now);
    }
    w->now++;
    for (uint32_t i = 0; i < node->out_count; i++) touch(w, node->outs[i], begin);
    return SC_OK;
}

static sc_status walk_graph(sc_ctx *ctx, walk *w, const sc_graph *graph) {
    if (++w->depth > ctx->limits.graph_depth_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "control flow is nested deeper than %u",
                       ctx->limits.graph_depth_max);
    for (uint32_t i = 0; i < graph->inputs.count; i++) touch(w, graph->inputs.data[i], w->now);
    for (const sc_node *node = graph->first; node; node = node->next) {
        w->now++;
        touch_args(w, node, w->now);
        if (sc_op_has(node->op, SC_HIGHER_ORDER)) {
            SC_TRY(walk_bodies(ctx, w, node));
            touch_args(w, node, w->now);
        }
        for (uint32_t i = 0; i < node->out_count; i++) touch(w, node->outs[i], w->now);
    }
    w->depth--;
    return SC_OK;
}

// A branch's result that is moved rather than written (an operand passed through) hands its storage
// on: it must live as long as the node's result. This repeats until no lifetime grows, because
// results of inner control flow can be results of outer control flow.
static bool extend_moved(walk *w, const sc_graph *graph, uint32_t depth) {
    bool grew = false;
    for (const sc_node *node = graph->first; node; node = node->next) {
        if (!sc_op_has(node->op, SC_HIGHER_ORDER)) continue;
        for (uint32_t i = 0; i < node->arg_count; i++) {
            if (node->args[i].kind != SC_ARG_GRAPH) continue;
            const sc_graph *body = node->args[i].graph;
            uint32_t count =
                body->ret->arg_count < node->out_count ? body->ret->arg_count : node->out_count;
            for (uint32_t k = 0; k < count; k++) {
                const sc_arg *from = &body->ret->args[k];
                if (from->kind != SC_ARG_VALUE || from->value->type != SC_VALUE_TENSOR ||
                    node->outs[k]->type != SC_VALUE_TENSOR)
                    continue;
                uint64_t offset = 0;
                const sc_storage *to = sc_storage_root(w->table, node->outs[k], &offset);
                const sc_storage *source = sc_storage_root(w->table, from->value, &offset);
                uint32_t last = w->live->intervals[to->value->mark].last;
                if (w->live->intervals[source->value->mark].last < last) {
                    touch(w, from->value, last);
                    grew = true;
                }
            }
            if (depth > 0) grew |= extend_moved(w, body, depth - 1);
        }
    }
    return grew;
}

sc_status sc_liveness_compute(sc_ctx *ctx, sc_arena *arena, const sc_storage_table *table,
                              sc_liveness *out) {
    const sc_method *method = table->method;
    out->intervals = sc_new_array(arena, sc_interval, table->items.count + 1);
    for (uint32_t i = 0; i < table->items.count; i++)
        out->intervals[i] = (sc_interval){UINT32_MAX, UINT32_MAX};
    walk w = {table, out, 0, 0};
    SC_TRY(walk_graph(ctx, &w, method->graph));
    w.now++;
    touch_args(&w, method->graph->ret, w.now);
    out->moment_count = w.now + 1;
    for (uint32_t i = 0; i < table->items.count; i++) {
        const sc_storage *storage = &table->items.data[i];
        if (storage->kind == SC_STORAGE_MUTABLE)
            out->intervals[i] = (sc_interval){0, w.now};
        else if (out->intervals[i].first == UINT32_MAX)
            out->intervals[i] = (sc_interval){1, 0};
    }
    for (uint32_t round = 0; round <= ctx->limits.graph_depth_max; round++)
        if (!extend_moved(&w, method->graph, ctx->limits.graph_depth_max)) break;
    return SC_OK;
}
