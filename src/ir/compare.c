// Are two graphs the same up to names? Values are paired from the outputs backwards, so the order
// of independent nodes does not matter. Nodes without users (effects) are paired in order. The work
// is linear: a work list pairs every value once.
#include "ir/part.h"

typedef struct pair {
    const sc_node *a, *b;
} pair;

typedef struct comparer {
    sc_ctx *ctx;
    sc_imap partner;  // value or node of a -> of b
    sc_imap taken;    // value or node of b -> of a
    SC_VEC(pair) work;
    sc_sb *why;
    uint32_t depth;
} comparer;

static bool differ(comparer *c, const sc_node *a, const sc_node *b, const char *what) {
    if (c->why)
        sc_sb_addf(c->why, "%s (%s) and %s (%s): %s", a->name ? a->name->text : "return",
                   a->op ? a->op->name : "-", b->name ? b->name->text : "return",
                   b->op ? b->op->name : "-", what);
    return false;
}

// False if either is paired with another one already; sets `fresh` if neither was paired.
static bool pair_up(comparer *c, const void *a, const void *b, bool *fresh) {
    uint64_t *known = sc_imap_find(&c->partner, SC_PTR_KEY(a));
    *fresh = !known;
    if (known) return *known == SC_PTR_KEY(b);
    sc_imap_add(&c->partner, SC_PTR_KEY(a), SC_PTR_KEY(b));
    return sc_imap_add(&c->taken, SC_PTR_KEY(b), SC_PTR_KEY(a));
}

// --- Types ---------------------------------------------------------------------------------------

static bool same_dim(comparer *c, sc_dim a, sc_dim b) {
    if (sc_dim_is_int(a) || sc_dim_is_int(b)) return sc_dim_equal(a, b);
    if (a.expr == b.expr) return true;
    sc_mark mark = sc_arena_mark(c->ctx->scratch);  // different methods: compare as text
    sc_sb text_a, text_b;
    sc_sb_init(&text_a, c->ctx->scratch);
    sc_sb_init(&text_b, c->ctx->scratch);
    sc_dim_print(&text_a, a);
    sc_dim_print(&text_b, b);
    bool same = sc_str_equal(sc_sb_str(&text_a), sc_sb_str(&text_b));
    sc_arena_rewind(c->ctx->scratch, mark);
    return same;
}

static bool same_type(comparer *c, const sc_value *a, const sc_value *b) {
    if (a->type != b->type || a->has_dim != b->has_dim) return false;
    if (a->has_dim && !same_dim(c, a->dim, b->dim)) return false;
    if (a->type != SC_VALUE_TENSOR) return true;
    if (a->spec.dtype != b->spec.dtype || a->spec.rank != b->spec.rank) return false;
    for (uint32_t i = 0; i < a->spec.rank; i++) {
        if (!same_dim(c, a->spec.sizes[i], b->spec.sizes[i])) return false;
        bool irrelevant = sc_dim_is(a->spec.sizes[i], 1);
        if (!irrelevant && !same_dim(c, a->spec.strides[i], b->spec.strides[i])) return false;
    }
    return true;
}

// --- Pairing -------------------------------------------------------------------------------------

static bool pair_values(comparer *c, const sc_value *a, const sc_value *b) {
    bool fresh;
    if ((a->node == NULL) != (b->node == NULL) || a->index != b->index) return false;
    if (!a->node) {
        uint64_t *known = sc_imap_find(&c->partner, SC_PTR_KEY(a));
        return known && *known == SC_PTR_KEY(b);  // inputs were paired at the start
    }
    if (!pair_up(c, a->node, b->node, &fresh)) return false;
    if (fresh) sc_vec_push(c->ctx->scratch, &c->work, ((pair){a->node, b->node}));
    return true;
}

static bool same_graph(comparer *outer, const sc_graph *a, const sc_graph *b);

static bool same_part(comparer *c, const sc_part *a, const sc_part *b);

static bool same_arg(comparer *c, const sc_arg *a, const sc_arg *b) {
    if (a->kind == SC_ARG_VALUE && b->kind == SC_ARG_VALUE)
        return pair_values(c, a->value, b->value);
    if (a->kind == SC_ARG_GRAPH && b->kind == SC_ARG_GRAPH)
        return same_graph(c, a->graph, b->graph);
    if (a->kind == SC_ARG_PART && b->kind == SC_ARG_PART) return same_part(c, a->part, b->part);
    if (a->kind != SC_ARG_LIST || b->kind != SC_ARG_LIST) return sc_arg_equal(a, b);
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!same_arg(c, &a->items[i], &b->items[i])) return false;
    return true;
}

static bool same_args(comparer *c, const sc_node *a, const sc_node *b) {
    if (a->arg_count != b->arg_count) return differ(c, a, b, "different numbers of arguments");
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!same_arg(c, &a->args[i], &b->args[i])) {
            if (c->why && c->why->size == 0) sc_sb_addf(c->why, "argument %u of ", i);
            return differ(c, a, b, "different");
        }
    return true;
}

static bool same_node(comparer *c, const sc_node *a, const sc_node *b) {
    if (strcmp(a->op->name, b->op->name) != 0) return differ(c, a, b, "different operators");
    if (a->out_count != b->out_count) return differ(c, a, b, "different numbers of results");
    for (uint32_t i = 0; i < a->out_count; i++)
        if (!same_type(c, a->outs[i], b->outs[i]))
            return differ(c, a, b, "results of different type");
    return same_args(c, a, b);
}

static bool drain(comparer *c) {
    while (c->work.count > 0) {
        pair next = c->work.data[--c->work.count];
        if (!same_node(c, next.a, next.b)) return false;
    }
    return true;
}

// The next node that has not been reached yet.
static const sc_node *next_unpaired(const sc_imap *paired, const sc_node *node) {
    while (node && sc_imap_find(paired, SC_PTR_KEY(node))) node = node->next;
    return node;
}

static bool is_sink(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->use_count) return false;
    return true;
}

static const sc_node *next_sink(const sc_imap *paired, const sc_node *node) {
    while ((node = next_unpaired(paired, node)) && !is_sink(node)) node = node->next;
    return node;
}

static bool pair_sinks(comparer *c, const sc_graph *a, const sc_graph *b) {
    const sc_node *x = next_sink(&c->partner, a->first), *y = next_sink(&c->taken, b->first);
    bool fresh;
    while (x && y) {
        pair_up(c, x, y, &fresh);
        if (!same_node(c, x, y) || !drain(c)) return false;
        x = next_sink(&c->partner, x);
        y = next_sink(&c->taken, y);
    }
    if ((x || y) && c->why)
        sc_sb_addf(c->why, "%s (%s) has no counterpart", x ? x->name->text : y->name->text,
                   x ? x->op->name : y->op->name);
    return !x && !y;
}

static bool compare_all(comparer *c, const sc_graph *a, const sc_graph *b) {
    bool fresh;
    if (a->inputs.count != b->inputs.count || a->ret->arg_count != b->ret->arg_count) {
        if (c->why)
            sc_sb_addf(c->why, "%u inputs and %u outputs, against %u and %u", a->inputs.count,
                       a->ret->arg_count, b->inputs.count, b->ret->arg_count);
        return false;
    }
    for (uint32_t i = 0; i < a->inputs.count; i++) {
        pair_up(c, a->inputs.data[i], b->inputs.data[i], &fresh);
        if (!same_type(c, a->inputs.data[i], b->inputs.data[i])) {
            if (c->why)
                sc_sb_addf(c->why, "input %u (%s) differs in type", i,
                           a->inputs.data[i]->name->text);
            return false;
        }
    }
    return same_args(c, a->ret, b->ret) && drain(c) && pair_sinks(c, a, b);
}

static bool compare_at(sc_ctx *ctx, const sc_graph *a, const sc_graph *b, sc_sb *why,
                       uint32_t depth) {
    if (depth >= ctx->limits.graph_depth_max) return false;
    comparer c = {.ctx = ctx, .why = why, .depth = depth};
    sc_imap_init(&c.partner, ctx->scratch);
    sc_imap_init(&c.taken, ctx->scratch);
    return compare_all(&c, a, b);
}

static bool same_graph(comparer *outer, const sc_graph *a, const sc_graph *b) {
    return compare_at(outer->ctx, a, b, outer->why, outer->depth + 1);
}

// --- Delegated parts -----------------------------------------------------------------------------

static bool same_bytes(comparer *c, const sc_cord *a, const sc_cord *b) {
    bool same = a == b;
    if (same || a->size != b->size) return same;
    sc_mark mark = sc_arena_mark(c->ctx->scratch);
    sc_extent x = sc_extent_whole(sc_source_from_cord(c->ctx->scratch, a));
    sc_extent y = sc_extent_whole(sc_source_from_cord(c->ctx->scratch, b));
    same = sc_extent_equal(c->ctx, x, y, &same) == SC_OK && same;
    sc_arena_rewind(c->ctx->scratch, mark);
    return same;
}

static bool same_specs(const sc_part *a, const sc_part *b) {
    if (a->specs.count != b->specs.count) return false;
    for (uint32_t i = 0; i < a->specs.count; i++)
        if (!sc_str_equal(a->specs.data[i].key, b->specs.data[i].key) ||
            !sc_str_equal(a->specs.data[i].value, b->specs.data[i].value))
            return false;
    return true;
}

static bool same_events(const sc_part *a, const sc_part *b) {
    if (a->has_events != b->has_events || a->events.count != b->events.count) return false;
    for (uint32_t i = 0; i < a->events.count; i++) {
        const sc_part_event *x = &a->events.data[i], *y = &b->events.data[i];
        if (!sc_str_equal(x->name, y->name) || x->id != y->id || x->handle_count != y->handle_count)
            return false;
        for (uint32_t k = 0; k < x->handle_count; k++)
            if (x->handles[k] != y->handles[k]) return false;
    }
    return true;
}

static bool same_layout(const sc_spec *a, const sc_spec *b) {
    return a == b || (a && b && sc_spec_equal(a, b));
}

static bool same_data(comparer *c, const sc_part *a, const sc_part *b) {
    if (a->data.count != b->data.count) return false;
    for (uint32_t i = 0; i < a->data.count; i++) {
        const sc_part_data *x = &a->data.data[i], *y = &b->data.data[i];
        if (!sc_str_equal(x->key, y->key) || !sc_str_equal(x->tag, y->tag) ||
            x->align != y->align || !same_layout(x->layout, y->layout) ||
            !same_bytes(c, x->bytes, y->bytes))
            return false;
    }
    return true;
}

static bool same_signature(const sc_method *a, const sc_method *b) {
    if (a->inputs.count != b->inputs.count || a->outputs.count != b->outputs.count) return false;
    for (uint32_t i = 0; i < a->inputs.count; i++)
        if (a->inputs.data[i].kind != b->inputs.data[i].kind ||
            !sc_str_equal(a->inputs.data[i].target, b->inputs.data[i].target))
            return false;
    for (uint32_t i = 0; i < a->outputs.count; i++)
        if (a->outputs.data[i].kind != b->outputs.data[i].kind ||
            !sc_str_equal(a->outputs.data[i].target, b->outputs.data[i].target))
            return false;
    return true;
}

static bool same_part(comparer *c, const sc_part *a, const sc_part *b) {
    return a == b || (sc_str_equal(a->backend, b->backend) && same_specs(a, b) &&
                      same_events(a, b) && same_bytes(c, a->processed, b->processed) &&
                      same_data(c, a, b) && same_signature(a->method, b->method) &&
                      same_graph(c, a->method->graph, b->method->graph));
}

bool sc_graph_isomorphic(const sc_graph *a, const sc_graph *b, sc_sb *why) {
    sc_mark mark = sc_arena_mark(a->ctx->scratch);
    bool same = compare_at(a->ctx, a, b, why, 0);
    sc_arena_rewind(a->ctx->scratch, mark);
    return same;
}
