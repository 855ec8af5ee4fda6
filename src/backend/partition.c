// Groups nodes by capability. Each node begins as a unit of its own. Units that feed one another
// are joined in graph order, unless a unit outside lies between them, because the part would then
// depend on itself. A join is tested by walking back from the consumer, over whole units, to where
// the producer begins. A unit that began before the producer may reach further back, so the test is
// a guess. The final parts are checked; if the guess was wrong, all joins are repeated without it.
// A budget of nodes and operands bounds all walks together. When it is spent, units stay apart:
// that makes more parts, but never wrong ones. Groups that a backend requests are joined first,
// with the nodes between them if the backend takes all of those.
#include "backend/partition.h"

#include "base/sets.h"

enum { WALK_PER_NODE = 1024, WALK_AT_LEAST = 100000 };

typedef struct unit {
    uint32_t first, last;  // members, linked by `next`
    uint32_t begin, end;   // first and last place in the graph
    uint32_t seen;         // number of the last walk that visited it
    uint32_t fed;          // number of uses of other units, while they are counted
    uint32_t between;      // number of the last walk that found it on a way from a unit back to
                           // itself
    bool is_taken;
} unit;

typedef struct grouping {
    sc_ctx *ctx;
    sc_node **nodes;  // by place
    unit *units;      // by place of the first node
    uint32_t *sets;   // by place: units that were merged
    uint32_t *next;   // the next member, NONE at the end
    uint32_t *stack;
    uint32_t count;
    uint32_t walk;
    uint64_t budget;
    bool is_exact;  // walks go all the way
} grouping;

#define NONE UINT32_MAX

static uint32_t unit_of(grouping *g, uint32_t place) { return sc_sets_root(g->sets, place); }

static void join(grouping *g, uint32_t a, uint32_t b) {
    unit *into = &g->units[a], *from = &g->units[b];
    g->next[into->last] = from->first;
    into->last = from->last;
    into->begin = sc_min_u32(into->begin, from->begin);
    into->end = sc_max_u32(into->end, from->end);
    g->sets[b] = a;
}

// --- Walking back --------------------------------------------------------------------------------

typedef struct walker {
    grouping *g;
    uint32_t depth;         // of the stack
    uint32_t target, from;  // units
    bool is_first;          // producers of `from` itself: a direct way to the target is no detour
    bool found;
} walker;

// Charges the budget for one more step. Once the budget is spent, the walk counts as a find.
static bool is_spent(walker *w) {
    if (w->g->budget == 0)
        w->found = true;
    else
        w->g->budget--;
    return w->found;
}

static bool visit_producer(void *user, sc_arg *arg) {
    walker *w = user;
    grouping *g = w->g;
    if (is_spent(w)) return false;
    if (!arg->value->node) return true;
    uint32_t at = unit_of(g, arg->value->node->mark);
    unit *u = &g->units[at];
    if (at == w->from || (at == w->target && w->is_first)) return true;
    if (at == w->target) {
        w->found = true;
        return false;
    }
    if (u->seen == g->walk) return true;
    if (!g->is_exact && u->end < g->units[w->target].begin) return true;
    u->seen = g->walk;
    g->stack[w->depth++] = at;
    return true;
}

static void visit_unit(walker *w, uint32_t at) {
    grouping *g = w->g;
    for (uint32_t m = g->units[at].first; m != NONE && !w->found; m = g->next[m]) {
        if (is_spent(w)) return;
        (void)sc_node_visit_values(g->nodes[m], visit_producer, w);
    }
}

// Does a unit outside lie on a way from `target` to `from`? True also if the budget is spent.
static bool has_detour(grouping *g, uint32_t target, uint32_t from) {
    walker w = {.g = g, .target = target, .from = from, .is_first = true};
    g->walk++;
    visit_unit(&w, from);
    w.is_first = false;
    while (w.depth && !w.found) visit_unit(&w, g->stack[--w.depth]);
    return w.found;
}

// --- Groups that the backend asks for ------------------------------------------------------------

static void refuse_group(grouping *g, sc_claim *claims, const uint32_t *members, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        claims[members[i]].is_taken = g->units[members[i]].is_taken = false;
        claims[members[i]].reason =
            g->budget
                ? SC_STR(
                      "it needs nodes in its part that depend on one another through nodes outside")
                : SC_STR("it needs other nodes in its part, and the graph is too large to check "
                         "whether they can share one");
    }
}

// Does the unit reach itself? Nodes of a group are joined into one unit first, which then must not.
static bool reaches_itself(grouping *g, uint32_t root) {
    walker w = {.g = g, .target = root, .from = root, .is_first = true};
    g->walk++;
    visit_unit(&w, root);
    w.is_first = false;
    w.from = NONE;
    while (w.depth && !w.found) visit_unit(&w, g->stack[--w.depth]);
    return w.found;
}

static void split(grouping *g, const uint32_t *members, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t m = members[i];
        g->units[m] = (unit){.first = m, .last = m, .begin = m, .end = m};
        g->sets[m] = m;
        g->next[m] = NONE;
    }
}

static bool join_group(grouping *g, const uint32_t *members, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) join(g, members[0], members[i]);
    if (!reaches_itself(g, members[0])) return true;
    split(g, members, count);
    return false;
}

// --- Nodes in between ----------------------------------------------------------------------------

typedef SC_VEC(uint32_t) places;

typedef struct feeding {
    walker w;  // number of the walk whose units are examined
    bool feeds;
} feeding;

static bool visit_feeder(void *user, sc_arg *arg) {
    feeding *f = user;
    grouping *g = f->w.g;
    if (is_spent(&f->w)) return false;
    if (!arg->value->node) return true;
    const uint32_t at = unit_of(g, arg->value->node->mark);
    f->feeds = at == f->w.target || g->units[at].between == g->walk;
    return !f->feeds;
}

// Does it read a value of the target, or of a unit between?
static bool is_fed(feeding *f, uint32_t at) {
    grouping *g = f->w.g;
    f->feeds = false;
    for (uint32_t m = g->units[at].first; m != NONE && !f->feeds && !f->w.found; m = g->next[m])
        (void)sc_node_visit_values(g->nodes[m], visit_feeder, f);
    return f->feeds;
}

// Visits all units that a unit depends on, from its first node on; false if the budget is spent.
static bool find_behind(grouping *g, uint32_t root, places *behind) {
    walker w = {.g = g, .target = root, .from = root};
    g->walk++;
    visit_unit(&w, root);
    while (w.depth && !w.found) {
        const uint32_t at = g->stack[--w.depth];
        sc_vec_push(g->ctx->scratch, behind, at);
        visit_unit(&w, at);
    }
    return !w.found;
}

// Joins all units on ways from a unit back to itself, unless one of them must not be taken:
// together they do not depend on themselves. The last units in graph order are visited first,
// because they are mostly the first ones that the unit feeds.
static bool join_between(grouping *g, uint32_t root) {
    places behind = {0};
    if (!find_behind(g, root, &behind)) return false;
    feeding f = {.w = {.g = g, .target = root}};
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = behind.count; i-- > 0;) {
            unit *u = &g->units[behind.data[i]];
            if (u->between == g->walk || !is_fed(&f, behind.data[i])) continue;
            if (!u->is_taken) return false;
            u->between = g->walk;
            is_new = true;
        }
    }
    if (f.w.found) return false;
    for (uint32_t i = 0; i < behind.count; i++)
        if (g->units[behind.data[i]].between == g->walk) join(g, root, behind.data[i]);
    return true;
}

static bool join_across(grouping *g, const uint32_t *members, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) join(g, members[0], members[i]);
    g->units[members[0]].is_taken = true;
    if (join_between(g, members[0])) return true;
    split(g, members, count);
    return false;
}

// Checks for groups that depend on themselves through other units. One group may lie between the
// nodes of another; then it is handled first.
static void join_apart(grouping *g, sc_claim *claims, places *groups, uint32_t count) {
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = 0; i < count; i++) {
            if (!groups[i].count || !join_across(g, groups[i].data, groups[i].count)) continue;
            groups[i].count = 0;
            is_new = true;
        }
    }
    for (uint32_t i = 0; i < count; i++) refuse_group(g, claims, groups[i].data, groups[i].count);
}

// --- All groups ----------------------------------------------------------------------------------

// A group that contains a refused node is refused.
static bool is_whole(const sc_claim *claims, const uint32_t *members, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!claims[members[i]].is_taken) return false;
    return true;
}

static void leave_group(grouping *g, sc_claim *claims, const uint32_t *members, uint32_t count) {
    uint32_t refused = 0;
    while (claims[members[refused]].is_taken) refused++;
    const char *name = g->nodes[members[refused]]->name->text;
    for (uint32_t i = 0; i < count; i++) {
        g->units[members[i]].is_taken = false;
        if (!claims[members[i]].is_taken) continue;
        claims[members[i]].is_taken = false;
        claims[members[i]].reason = sc_str_format(
            g->ctx->arena, "it can only be taken with %%%s, which is not taken", name);
        claims[members[i]].hint = SC_STR("See the reason of that node.");
    }
}

static void join_groups(grouping *g, sc_claim *claims) {
    sc_arena *scratch = g->ctx->scratch;
    sc_imap index;
    SC_VEC(places) groups = {0}, apart = {0};
    sc_imap_init(&index, scratch);
    for (uint32_t i = 0; i < g->count; i++) {
        if (!claims[i].group) continue;
        uint64_t *slot = sc_imap_at(&index, claims[i].group);
        if (!*slot) {
            sc_vec_push(scratch, &groups, (places){0});
            *slot = groups.count;
        }
        sc_vec_push(scratch, &groups.data[*slot - 1], i);
    }
    for (uint32_t i = 0; i < groups.count; i++) {
        const places *m = &groups.data[i];
        if (!is_whole(claims, m->data, m->count))
            leave_group(g, claims, m->data, m->count);
        else if (!join_group(g, m->data, m->count))
            sc_vec_push(scratch, &apart, *m);
    }
    join_apart(g, claims, apart.data, apart.count);
}

// --- All -----------------------------------------------------------------------------------------

static bool join_producer(void *user, sc_arg *arg) {
    walker *w = user;
    grouping *g = w->g;
    if (!arg->value->node) return true;
    uint32_t a = unit_of(g, arg->value->node->mark), b = unit_of(g, w->from);
    if (a == b || !g->units[a].is_taken || has_detour(g, a, b)) return true;
    join(g, a, b);
    return true;
}

static void number_parts(grouping *g, sc_partition *out) {
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t root = unit_of(g, i);
        if (!g->units[root].is_taken) continue;
        if (!out->of[root]) out->of[root] = ++out->count;
        out->of[i] = out->of[root];
    }
}

uint32_t sc_graph_number(sc_graph *graph) {
    uint32_t count = 0;
    for (sc_node *node = graph->first; node; node = node->next) node->mark = count++;
    return count;
}

// The unit on which a use makes the node's unit depend; NONE if there is none, or if it is the
// same.
static uint32_t reader_of(grouping *g, const sc_node *node, const sc_arg *use) {
    if (!use->user->op || use->user->graph != node->graph) return NONE;
    const uint32_t at = unit_of(g, use->user->mark);
    return at == unit_of(g, node->mark) ? NONE : at;
}

static void count_readers(grouping *g, uint32_t place, int change, uint32_t *ready) {
    const sc_node *node = g->nodes[place];
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use; use = use->next_use) {
            const uint32_t at = reader_of(g, node, use);
            if (at == NONE) continue;
            g->units[at].fed += (uint32_t)change;
            if (change < 0 && g->units[at].fed == 0) g->stack[(*ready)++] = at;
        }
}

// Do the units have an order in which each comes after those that it reads?
static bool has_order(grouping *g) {
    uint32_t ready = 0, left = 0;
    for (uint32_t i = 0; i < g->count; i++) count_readers(g, i, 1, &ready);
    for (uint32_t i = 0; i < g->count; i++) {
        if (unit_of(g, i) != i) continue;
        left++;
        if (g->units[i].fed == 0) g->stack[ready++] = i;
    }
    for (; ready > 0; left--) {
        uint32_t m = g->units[g->stack[--ready]].first;
        for (; m != NONE; m = g->next[m]) count_readers(g, m, -1, &ready);
    }
    return left == 0;
}

static bool make(sc_ctx *ctx, const sc_graph *graph, sc_claim *claims, bool is_per_op,
                 bool is_exact, sc_partition *out) {
    const uint32_t count = graph->node_count;
    grouping g = {.ctx = ctx, .count = count, .is_exact = is_exact};
    g.budget = (uint64_t)count * WALK_PER_NODE + WALK_AT_LEAST;
    g.nodes = sc_new_array(ctx->scratch, sc_node *, (size_t)count + 1);
    g.units = sc_new_array(ctx->scratch, unit, (size_t)count + 1);
    g.sets = sc_sets_new(ctx->scratch, count);
    g.next = sc_new_array(ctx->scratch, uint32_t, (size_t)count + 1);
    g.stack = sc_new_array(ctx->scratch, uint32_t, (size_t)count + 1);
    *out = (sc_partition){.of = sc_new_array(ctx->scratch, uint32_t, (size_t)count + 1)};
    for (sc_node *node = graph->first; node; node = node->next) {
        const uint32_t i = node->mark;
        g.nodes[i] = node;
        g.next[i] = NONE;
        g.units[i] = (unit){.first = i, .last = i, .begin = i, .end = i};
        g.units[i].is_taken = claims[i].is_taken;
    }
    join_groups(&g, claims);
    for (uint32_t i = 0; i < count && !is_per_op; i++) {
        walker w = {.g = &g, .from = i};
        if (g.units[unit_of(&g, i)].is_taken)
            (void)sc_node_visit_values(g.nodes[i], join_producer, &w);
    }
    number_parts(&g, out);
    return has_order(&g);
}

void sc_partition_make(sc_ctx *ctx, const sc_graph *graph, sc_claim *claims, bool is_per_op,
                       sc_partition *out) {
    const size_t count = (size_t)graph->node_count + 1;
    sc_claim *given = sc_new_array(ctx->scratch, sc_claim, count);
    memcpy(given, claims, graph->node_count * sizeof *given);
    if (make(ctx, graph, claims, is_per_op, false, out)) return;
    memcpy(claims, given, graph->node_count * sizeof *given);
    (void)make(ctx, graph, claims, is_per_op, true, out);
}

void sc_partition_leave_moves(sc_ctx *ctx, const sc_graph *graph, sc_claim *claims,
                              sc_partition *partition) {
    uint32_t *numbers = sc_new_array(ctx->scratch, uint32_t, (size_t)partition->count + 1);
    uint32_t kept = 0;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (node->op->family != SC_FAMILY_SHAPE) numbers[partition->of[node->mark]] = 1;
    for (uint32_t k = 1; k <= partition->count; k++)
        if (numbers[k]) numbers[k] = ++kept;
    numbers[0] = 0;
    for (const sc_node *node = graph->first; node; node = node->next) {
        uint32_t *part = &partition->of[node->mark];
        if (*part && !numbers[*part]) {
            claims[node->mark].is_taken = false;
            claims[node->mark].reason =
                SC_STR("its part would only move elements, which is not worth a delegate call");
            if (!graph->parent)  // nodes of bodies are not tagged
                claims[node->mark].hint = SC_STR("Tag it to put it in a part anyway.");
        }
        *part = numbers[*part];
    }
    partition->count = kept;
}
