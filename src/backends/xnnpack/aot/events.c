// Events of a part: one for each node of its XNNPACK graph, with the id that the executor reports
// and debug handles of our nodes. The handles are those of the node that it was made for, of nodes
// that were merged into it, and of nodes without a trace, such as casts of weights, which count for
// their readers. Every event of a node has all of them, in the part's order, so that the last one
// is the result's.
#include "backends/xnnpack/aot/rule.h"

typedef SC_VEC(uint32_t) handle_list;

typedef struct lister {
    sc_xa_maker *m;
    sc_imap made;               // nodes that XNNPACK nodes were made for -> their number
    sc_imap behind;             // node -> the one of those that it belongs to
    sc_imap taken;              // number and handle -> that number has the handle
    SC_VEC(handle_list) lists;  // by number
} lister;

static const sc_node *node_at(const sc_imap *map, const sc_node *key) {
    const uint64_t *found = key ? sc_imap_find(map, SC_PTR_KEY(key)) : NULL;
    return found ? (const sc_node *)(uintptr_t)*found : NULL;
}

static const sc_node *known(const lister *l, const sc_node *node) {
    const sc_node *with = node_at(&l->m->absorbed, node);
    if (with) return sc_imap_find(&l->made, SC_PTR_KEY(with)) ? with : NULL;
    return node_at(&l->behind, node);
}

static const sc_node *by_users(const lister *l, const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use; use = use->next_use) {
            const sc_node *found = use->user->op ? known(l, use->user) : NULL;
            if (found) return found;
        }
    return NULL;
}

// The producer of a value. An operand that is returned unchanged belongs to its own producer.
typedef struct producer {
    const lister *l;
    const sc_node *found;
} producer;

static bool find_producer(void *user, sc_arg *arg) {
    producer *p = user;
    p->found = arg->value->node ? known(p->l, arg->value->node) : NULL;
    return p->found == NULL;
}

static const sc_node *by_operands(const lister *l, const sc_node *node) {
    producer p = {.l = l};
    (void)sc_node_visit_values(node, find_producer, &p);
    return p.found;
}

static void set_behind(lister *l, const sc_node *node, const sc_node *main) {
    if (main) sc_imap_set(&l->behind, SC_PTR_KEY(node), SC_PTR_KEY(main));
}

// The node that a value was made for, perhaps together with others. NULL for copies of inputs.
static const sc_node *maker_of(const lister *l, uint32_t index) {
    const sc_node *maker = l->m->makers.data[index];
    const sc_node *with = node_at(&l->m->absorbed, maker);
    return with ? with : maker;
}

static void find_makers(lister *l) {
    for (uint32_t i = 0; i < l->m->makers.count; i++) {
        const sc_node *maker = maker_of(l, i);
        if (!maker || sc_imap_find(&l->made, SC_PTR_KEY(maker))) continue;
        sc_imap_set(&l->made, SC_PTR_KEY(maker), l->lists.count);
        sc_vec_push(l->m->x.ctx->arena, &l->lists, (handle_list){0});
        set_behind(l, maker, maker);
    }
}

static void find_behind(lister *l) {
    const sc_graph *graph = l->m->x.graph;
    for (const sc_node *node = graph->last; node; node = node->prev)
        if (!known(l, node)) set_behind(l, node, by_users(l, node));
    for (const sc_node *node = graph->first; node; node = node->next)
        if (!known(l, node)) set_behind(l, node, by_operands(l, node));
}

static void reverse(handle_list *list) {
    for (uint32_t i = 0; i < list->count / 2; i++) {
        const uint32_t last = list->data[list->count - 1 - i];
        list->data[list->count - 1 - i] = list->data[i];
        list->data[i] = last;
    }
}

// Nodes that were one node in the source share a handle. It is listed at the place of the last of
// them.
static void gather_handles(lister *l) {
    for (const sc_node *node = l->m->x.graph->last; node; node = node->prev) {
        const sc_node *main = known(l, node);
        if (!main) continue;
        const uint64_t number = *sc_imap_find(&l->made, SC_PTR_KEY(main));
        const uint64_t key = (number << 32 | node->meta.debug_handle) + 1;
        if (sc_imap_find(&l->taken, key)) continue;
        sc_imap_set(&l->taken, key, 1);
        sc_vec_push(l->m->x.ctx->arena, &l->lists.data[number], node->meta.debug_handle);
    }
    for (uint32_t i = 0; i < l->lists.count; i++) reverse(&l->lists.data[i]);
}

static void add_event(lister *l, uint32_t index) {
    const sc_xnn_graph *graph = l->m->graph;
    sc_arena *arena = l->m->x.ctx->arena;
    char text[SC_XNN_EVENT_ID_BYTES];
    const sc_str id = sc_xnn_event_id(&graph->nodes.data[index], index, graph->nodes.count, text);
    sc_part_event event = {.name = sc_str_copy(arena, id)};
    const sc_node *maker = maker_of(l, index);
    if (maker) {
        const uint64_t number = *sc_imap_find(&l->made, SC_PTR_KEY(maker));
        event.handles = l->lists.data[number].data;
        event.handle_count = l->lists.data[number].count;
    }
    sc_vec_push(arena, &l->m->part->events, event);
}

void sc_xa_add_events(sc_xa_maker *m) {
    lister l = {.m = m};
    sc_imap_init(&l.made, m->x.ctx->arena);
    sc_imap_init(&l.behind, m->x.ctx->arena);
    sc_imap_init(&l.taken, m->x.ctx->arena);
    find_makers(&l);
    find_behind(&l);
    gather_handles(&l);
    for (uint32_t i = 0; i < m->graph->nodes.count; i++) add_event(&l, i);
    m->part->has_events = true;
}
