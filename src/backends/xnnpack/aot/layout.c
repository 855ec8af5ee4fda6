// Chooses the places of transposes. Convolutions and pools compute channels-last, views and
// products row-major. A node that computes in either layout takes the one in which fewest elements
// are transposed. Neighbours with the same layout change it together, as long as that makes the
// graph cheaper.
#include "backends/xnnpack/aot/layout.h"

#include "base/sets.h"

enum { ROUNDS_MAX = 8 };

typedef struct chooser {
    sc_xa_maker *m;
    SC_VEC(const sc_node *) sites;  // nodes that may choose
    sc_imap places;                 // node -> index among them
    sc_imap seen;                   // values that were counted already
} chooser;

// --- Free layouts --------------------------------------------------------------------------------

static bool is_one_or_constant(const sc_value *value) {
    sc_xa_constant constant;
    if (sc_xa_constant_of(value, &constant)) return true;
    for (uint32_t d = 0; d < value->spec.rank; d++)
        if (!sc_dim_is(value->spec.sizes[d], 1)) return false;
    return value->spec.rank < 2;
}

typedef struct reading {
    uint32_t rank;
    bool is_free;
} reading;

static bool look_at_input(void *user, sc_arg *arg) {
    reading *r = user;
    if (arg->value->type != SC_VALUE_TENSOR) return true;
    r->is_free = arg->value->spec.rank == r->rank || is_one_or_constant(arg->value);
    return r->is_free;
}

static bool is_free(const sc_node *node) {
    const sc_xa_row *row = sc_xa_row_of(node);
    if (!row || !row->family->follows || node->out_count == 0) return false;
    const uint32_t rank = node->outs[0]->spec.rank;
    if (rank != 4 && (rank != 3 || row->family == &sc_xa_permute)) return false;
    if (rank == 3 && sc_xa_dynamic_dims(node->outs[0]) > 1) return false;
    reading r = {rank, true};
    sc_node_visit_values(node, look_at_input, &r);
    return r.is_free;
}

// --- Costs ---------------------------------------------------------------------------------------

static sc_xa_layout layout_of(const chooser *c, const sc_node *node) {
    return sc_xa_row_of(node) ? sc_xa_layout_of(c->m, node) : SC_XA_PLAIN;
}

// The layout in which a user reads it; false if the user accepts either.
static bool wanted(const chooser *c, const sc_value *value, const sc_node *user,
                   sc_xa_layout *out) {
    if (!user->op)
        *out = sc_xa_outer_layout(c->m, value);
    else if (sc_xa_is(user, &sc_xa_permute))
        return false;
    else
        *out = layout_of(c, user);
    return true;
}

// Elements that are moved because a reader needs the value in another layout.
static double cost_of(const chooser *c, const sc_value *value) {
    sc_xa_constant constant;
    const uint32_t rank = value->spec.rank;
    double size = 1;
    if (rank < 3 || rank > 4 || sc_xa_constant_of(value, &constant)) return 0;
    const sc_xa_layout made =
        value->node ? layout_of(c, value->node) : sc_xa_outer_layout(c->m, value);
    bool moves = false;
    for (const sc_arg *use = value->first_use; use && !moves; use = use->next_use) {
        sc_xa_layout layout;
        moves = wanted(c, value, use->user, &layout) && layout != made;
    }
    if (!moves) return 0;
    if (sc_xa_is_trivial(value)) return 1;
    for (uint32_t d = 0; d < rank; d++) size *= sc_xa_size(value, d);
    return size + 1;
}

typedef struct sum {
    chooser *c;
    double cost;
} sum;

static void add_value(sum *s, const sc_value *value) {
    if (value->type == SC_VALUE_TENSOR && sc_imap_add(&s->c->seen, SC_PTR_KEY(value), 1))
        s->cost += cost_of(s->c, value);
}

static bool add_input(void *user, sc_arg *arg) {
    add_value(user, arg->value);
    return true;
}

static double cost_of_cluster(chooser *c, const uint32_t *members, uint32_t count) {
    sum s = {c, 0};
    sc_mark mark = sc_arena_mark(c->m->x.ctx->scratch);
    sc_imap_init(&c->seen, c->m->x.ctx->scratch);
    for (uint32_t i = 0; i < count; i++) {
        const sc_node *node = c->sites.data[members[i]];
        sc_node_visit_values(node, add_input, &s);
        for (uint32_t o = 0; o < node->out_count; o++) add_value(&s, node->outs[o]);
    }
    sc_arena_rewind(c->m->x.ctx->scratch, mark);
    return s.cost;
}

// --- Choosing ------------------------------------------------------------------------------------

static void set(chooser *c, const sc_node *node, sc_xa_layout layout) {
    sc_imap_set(&c->m->layouts, SC_PTR_KEY(node), layout);
}

typedef struct search {
    const chooser *c;
    bool found;
} search;

static bool find_last(void *user, sc_arg *arg) {
    search *s = user;
    sc_xa_constant constant;
    const sc_value *value = arg->value;
    if (value->type != SC_VALUE_TENSOR || sc_xa_constant_of(value, &constant)) return true;
    s->found = (value->node ? layout_of(s->c, value->node) : sc_xa_outer_layout(s->c->m, value)) ==
               SC_XA_CHANNELS_LAST;
    return !s->found;
}

// At first each node follows its operands: channels-last if any operand is.
static void begin(chooser *c) {
    for (const sc_node *node = c->m->x.graph->first; node; node = node->next) {
        if (!is_free(node)) continue;
        sc_imap_set(&c->places, SC_PTR_KEY(node), c->sites.count);
        sc_vec_push(c->m->x.ctx->scratch, &c->sites, node);
        search last = {c, false};
        if (!sc_xa_is(node, &sc_xa_permute)) sc_node_visit_values(node, find_last, &last);
        set(c, node, last.found ? SC_XA_CHANNELS_LAST : SC_XA_PLAIN);
    }
}

// Free nodes that read each other's results in the same layout, as sets of their indices.
static uint32_t *find_clusters(chooser *c) {
    uint32_t *clusters = sc_sets_new(c->m->x.ctx->scratch, c->sites.count);
    for (uint32_t i = 0; i < c->sites.count; i++) {
        const sc_node *node = c->sites.data[i];
        for (uint32_t o = 0; o < node->out_count; o++)
            for (const sc_arg *use = node->outs[o]->first_use; use; use = use->next_use) {
                const uint64_t *other =
                    use->user->op ? sc_imap_find(&c->places, SC_PTR_KEY(use->user)) : NULL;
                if (!other || sc_xa_is(use->user, &sc_xa_permute) ||
                    layout_of(c, use->user) != layout_of(c, node))
                    continue;
                sc_sets_join(clusters, i, (uint32_t)*other);
            }
    }
    return clusters;
}

static bool try_cluster(chooser *c, const uint32_t *members, uint32_t count) {
    const sc_xa_layout now = layout_of(c, c->sites.data[members[0]]);
    const double before = cost_of_cluster(c, members, count);
    if (before == 0) return false;
    for (uint32_t i = 0; i < count; i++) set(c, c->sites.data[members[i]], !now);
    if (cost_of_cluster(c, members, count) < before) return true;
    for (uint32_t i = 0; i < count; i++) set(c, c->sites.data[members[i]], now);
    return false;
}

// Members of all clusters, cluster after cluster.
static bool improve(chooser *c) {
    const uint32_t count = c->sites.count;
    uint32_t *begins = sc_new_array(c->m->x.ctx->scratch, uint32_t, count + 1);
    uint32_t *members = sc_new_array(c->m->x.ctx->scratch, uint32_t, count);
    uint32_t *clusters = find_clusters(c);
    bool improved = false;
    for (uint32_t i = 0; i < count; i++) begins[sc_sets_root(clusters, i) + 1]++;
    for (uint32_t i = 0; i < count; i++) begins[i + 1] += begins[i];
    uint32_t *next = sc_new_array(c->m->x.ctx->scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t root = sc_sets_root(clusters, i);
        members[begins[root] + next[root]++] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        if (begins[i + 1] > begins[i])
            improved = try_cluster(c, members + begins[i], begins[i + 1] - begins[i]) || improved;
    for (uint32_t i = 0; i < count; i++) improved = try_cluster(c, &i, 1) || improved;
    return improved;
}

void sc_xa_choose_layouts(sc_xa_maker *m) {
    chooser c = {.m = m};
    sc_arena *scratch = m->x.ctx->scratch;
    sc_mark mark = sc_arena_mark(scratch);
    sc_imap_init(&c.places, scratch);
    begin(&c);
    for (uint32_t round = 0; round < ROUNDS_MAX && c.sites.count && improve(&c);) round++;
    sc_arena_rewind(scratch, mark);
}
