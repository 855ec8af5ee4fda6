// When every tensor of a method is alive: one walk over all graphs in execution order, then one over
// the nodes with bodies, outermost first, to let what bodies return live on as the node's result.
#include "passes/liveness.h"

typedef struct watcher {
    sc_ctx *ctx;
    sc_method *method;
    const sc_view *views;
    sc_life *lives;
    uint32_t position, end;
    SC_VEC(sc_node *) holders;  // nodes with bodies, in order, outer before inner
} watcher;

static sc_life *life_of(const watcher *w, const sc_value *value) {
    while (w->views[value->mark].base)
        value = w->views[value->mark].base;
    return &w->lives[value->mark];
}

static void touch(const watcher *w, const sc_value *value, uint32_t position) {
    if (value->type != SC_VALUE_TENSOR)
        return;
    sc_life *life = life_of(w, value);
    if (life->first > life->last) {
        life->first = life->last = position;
        return;
    }
    if (position < life->first)
        life->first = position;
    if (position > life->last)
        life->last = position;
}

// --- Execution order -----------------------------------------------------------------------------------

static void walk(watcher *w, const sc_graph *graph);

static void walk_bodies(watcher *w, const sc_arg *arg) {
    if (arg->kind == SC_ARG_GRAPH)
        walk(w, arg->graph);
    else if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            walk_bodies(w, &arg->items[i]);
}

static bool touch_arg(void *user, sc_arg *arg) {
    const watcher *w = user;
    touch(w, arg->value, w->position);
    return true;
}

static void walk_node(watcher *w, sc_node *node) {
    sc_node_visit_values(node, touch_arg, w);
    for (uint32_t i = 0; i < node->out_count; i++)
        touch(w, node->outs[i], w->position);
    if (!sc_op_has(node->op, SC_HIGHER_ORDER))
        return;
    sc_vec_push(w->ctx->scratch, &w->holders, node);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        w->position++;
        walk_bodies(w, &node->args[i]);
    }
    // Bodies read what the node was handed until the last of them ends.
    sc_node_visit_values(node, touch_arg, w);
    for (uint32_t i = 0; i < node->out_count; i++)
        touch(w, node->outs[i], w->position);
}

static void walk(watcher *w, const sc_graph *graph) {
    for (sc_node *node = graph->first; node; node = node->next, w->position++)
        walk_node(w, node);
    sc_node_visit_values(graph->ret, touch_arg, w);
    w->position++;
}

// --- Bodies' results -----------------------------------------------------------------------------------

static void extend_returned(const watcher *w, const sc_node *holder, const sc_arg *arg) {
    if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            extend_returned(w, holder, &arg->items[i]);
    if (arg->kind != SC_ARG_GRAPH)
        return;
    const sc_node *ret = arg->graph->ret;
    for (uint32_t i = 0; i < ret->arg_count && i < holder->out_count; i++)
        if (ret->args[i].kind == SC_ARG_VALUE && holder->outs[i]->type == SC_VALUE_TENSOR)
            touch(w, ret->args[i].value, life_of(w, holder->outs[i])->last);
}

// A body that returns what it was given returns the operand itself: it lives on too. Which operand a
// body's input is follows from the order in which the node lists them, after its graphs.
static void extend_operands(const watcher *w, const sc_node *holder) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < holder->out_count; i++)
        if (holder->outs[i]->type == SC_VALUE_TENSOR && life_of(w, holder->outs[i])->last > last)
            last = life_of(w, holder->outs[i])->last;
    for (uint32_t g = 0; g < holder->arg_count; g++) {
        const sc_node *ret = holder->args[g].kind == SC_ARG_GRAPH ? holder->args[g].graph->ret : NULL;
        for (uint32_t i = 0; ret && i < ret->arg_count; i++) {
            const sc_arg *returned = &ret->args[i];
            if (returned->kind != SC_ARG_VALUE || returned->value->node)
                continue;
            watcher at = *w;
            at.position = last;
            sc_node_visit_values(holder, touch_arg, &at);
        }
    }
}

// --- Signature ---------------------------------------------------------------------------------------

static bool is_written(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user->op && sc_op_has(use->user->op, SC_MUTATES) && use == &use->user->args[0])
            return true;
    return false;
}

static void touch_signature(const watcher *w) {
    const sc_graph *graph = w->method->graph;
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        touch(w, graph->inputs.data[i], 0);
        if (is_written(graph->inputs.data[i]))
            touch(w, graph->inputs.data[i], w->end);
    }
    for (uint32_t i = 0; i < graph->ret->arg_count; i++)
        if (graph->ret->args[i].kind == SC_ARG_VALUE)
            touch(w, graph->ret->args[i].value, w->end);
}

static void measure(const watcher *w, uint32_t value_count, const sc_graph *graph);

static void measure_value(const watcher *w, const sc_value *value) {
    uint64_t bytes = 0;
    if (value->type == SC_VALUE_TENSOR && sc_spec_bytes_max(&value->spec, &bytes))
        w->lives[value->mark].bytes = bytes;
}

static void measure_bodies(const watcher *w, uint32_t value_count, const sc_arg *arg) {
    if (arg->kind == SC_ARG_GRAPH)
        measure(w, value_count, arg->graph);
    else if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            measure_bodies(w, value_count, &arg->items[i]);
}

static void measure(const watcher *w, uint32_t value_count, const sc_graph *graph) {
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        measure_value(w, graph->inputs.data[i]);
    for (const sc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->out_count; i++) {
            SC_ASSERT(node->outs[i]->mark < value_count);
            measure_value(w, node->outs[i]);
        }
        if (sc_op_has(node->op, SC_HIGHER_ORDER))
            for (uint32_t i = 0; i < node->arg_count; i++)
                measure_bodies(w, value_count, &node->args[i]);
    }
}

sc_status sc_liveness_find(sc_ctx *ctx, sc_method *method, uint32_t value_count,
                           const sc_view *views, sc_life *lives, uint32_t *position_count) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    watcher w = {.ctx = ctx, .method = method, .views = views, .lives = lives};
    for (uint32_t i = 0; i < value_count; i++)
        lives[i] = (sc_life){.first = 1, .last = 0};
    measure(&w, value_count, method->graph);
    walk(&w, method->graph);
    w.end = w.position - 1;
    touch_signature(&w);
    for (uint32_t i = 0; i < w.holders.count; i++) {
        extend_operands(&w, w.holders.data[i]);
        for (uint32_t k = 0; k < w.holders.data[i]->arg_count; k++)
            extend_returned(&w, w.holders.data[i], &w.holders.data[i]->args[k]);
    }
    if (position_count)
        *position_count = w.position;
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
