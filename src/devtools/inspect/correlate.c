// Finds the nodes of each event. An instruction is looked up in the maps of a record, whose debug
// handles refer to nodes. The method of a block is known already (match.c).
#include "devtools/inspect/internal.h"

enum { WARNINGS_MAX = 64 };
// Bounds on the work: events, ids and nodes that are looked at, and nodes in lists.
#define WORK_MAX  (UINT64_C(1) << 27)
#define NODES_MAX (UINT64_C(1) << 23)

static const sc_str KERNEL_PREFIX = {"native_call_", 12};

const sc_inspect_instruction *sc_inspect_instruction_at(const sc_inspect_method *method,
                                                        int64_t index) {
    uint32_t low = 0, high = method->instruction_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (method->instructions[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == method->instruction_count || method->instructions[low].index != index) return NULL;
    return &method->instructions[low];
}

void sc_inspect_index_nodes(sc_arena *arena, sc_inspect_method *method) {
    uint32_t *next = sc_new_array(arena, uint32_t, (size_t)method->node_count + 1);
    sc_imap_init(&method->first, arena);
    for (uint32_t i = method->node_count; i-- > 0;) {
        uint64_t *first = sc_imap_at(&method->first, (uint64_t)method->nodes[i].handle);
        next[i] = (uint32_t)*first;
        *first = i + 1;
    }
    method->next = next;
}

const sc_inspect_node *sc_inspect_node_of(const sc_inspect_method *method, int64_t handle,
                                          const sc_inspect_node *after) {
    const uint64_t *first = handle ? sc_imap_find(&method->first, (uint64_t)handle) : NULL;
    const uint64_t at = after ? method->next[after - method->nodes] : first ? *first : 0;
    return at ? &method->nodes[at - 1] : NULL;
}

sc_inspect_handles sc_inspect_handles_of(sc_arena *arena, const uint32_t *handles, uint32_t count) {
    int64_t *once = sc_new_array(arena, int64_t, (size_t)count + 1);
    uint32_t kept = 0;
    sc_imap seen;
    sc_imap_init(&seen, arena);
    for (uint32_t i = 0; i < count; i++)
        if (count == 1 || sc_imap_add(&seen, handles[i], 1)) once[kept++] = handles[i];
    return (sc_inspect_handles){once, kept};
}

void sc_inspect_warn(sc_inspection *in, sc_str text) {
    if (sc_map_find(&in->warned, text)) return;
    if (in->warnings.count >= WARNINGS_MAX) {
        in->warnings_left++;
        return;
    }
    sc_map_set(&in->warned, text, in);
    sc_vec_push(in->ctx->arena, &in->warnings, text);
}

bool sc_inspect_may_work(sc_inspect_correlating *c, uint64_t work) {
    if (c->work <= WORK_MAX) c->work += work < WORK_MAX ? work : WORK_MAX + 1;
    return c->work <= WORK_MAX;
}

// --- Names ---------------------------------------------------------------------------------------

sc_str sc_inspect_kernel_of(const sc_inspect_event *e) {
    if (e->is_delegated || !sc_str_starts_with(e->name, KERNEL_PREFIX.data)) return (sc_str){0};
    sc_str name = sc_str_slice(e->name, KERNEL_PREFIX.size, e->name.size);
    const ptrdiff_t dot = sc_str_find(name, '.');
    return dot < 0 ? name : sc_str_slice(name, 0, (size_t)dot);
}

sc_str sc_inspect_base_of(sc_str op) {
    const ptrdiff_t first = sc_str_find(op, '.');
    if (first < 0) return op;
    const sc_str rest = sc_str_slice(op, (size_t)first + 1, op.size);
    const ptrdiff_t second = sc_str_find(rest, '.');
    return second < 0 ? rest : sc_str_slice(rest, 0, (size_t)second);
}

sc_str sc_inspect_op_of(const sc_inspect_event *event) {
    const sc_str kernel = sc_inspect_kernel_of(event);
    for (uint32_t i = 0; kernel.size && i < event->node_count; i++)
        if (sc_str_equal(sc_inspect_base_of(event->nodes[i]->op), kernel))
            return event->nodes[i]->op;
    if (!kernel.size && event->node_count) return event->nodes[0]->op;
    if (!kernel.size) return event->name;
    return sc_str_slice(event->name, KERNEL_PREFIX.size, event->name.size);
}

uint32_t sc_inspect_ops(sc_arena *arena, const sc_inspect_event *event, const sc_str **out) {
    sc_str *ops = sc_new_array(arena, sc_str, (size_t)event->node_count + 1);
    uint32_t count = 0;
    sc_map seen;
    sc_map_init(&seen, arena);
    for (uint32_t i = 0; i < event->node_count; i++)
        if (sc_map_add(&seen, event->nodes[i]->op, ops)) ops[count++] = event->nodes[i]->op;
    *out = ops;
    return count;
}

// --- Handles -------------------------------------------------------------------------------------

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// True if `id` is a word of its own in `text`. A backend may add something to an id, which begins
// with another kind of character: "fc_1" is not in "fc_12".
static bool holds_word(sc_str text, sc_str id) {
    for (size_t at = 0; id.size && at + id.size <= text.size; at++)
        if (memcmp(text.data + at, id.data, id.size) == 0 &&
            (at == 0 || !is_word(text.data[at - 1])) &&
            (at + id.size == text.size || !is_word(text.data[at + id.size])))
            return true;
    return false;
}

// The longest id that the event's id extends.
static const sc_inspect_delegate_id *find_within(sc_inspect_correlating *c,
                                                 const sc_inspect_instruction *at, sc_str id) {
    const sc_inspect_delegate_id *best = NULL;
    for (uint32_t i = 0; i < at->id_count && sc_inspect_may_work(c, 1 + id.size / 16); i++) {
        const sc_inspect_delegate_id *d = &at->ids[i];
        if (holds_word(id, d->id) && (!best || d->id.size > best->id.size)) best = d;
    }
    return best;
}

// The key of an instruction's id: all bytes of the instruction's address, then those of the id.
static sc_str id_key(sc_arena *arena, const sc_inspect_instruction *at, sc_str id) {
    char *text = sc_arena_alloc(arena, sizeof at + id.size);
    memcpy(text, &at, sizeof at);
    if (id.size) memcpy(text + sizeof at, id.data, id.size);
    return (sc_str){text, sizeof at + id.size};
}

const sc_inspect_delegate_id *sc_inspect_find_id(sc_inspect_correlating *c,
                                                 const sc_inspect_instruction *at, sc_str id) {
    sc_arena *arena = c->in->ctx->arena;
    const sc_str known = id_key(arena, at, (sc_str){0});
    if (sc_map_add(&c->found, known, c))
        for (uint32_t i = 0; i < at->id_count; i++)
            if (at->ids[i].id.size)
                sc_map_add(&c->found, id_key(arena, at, at->ids[i].id), (void *)&at->ids[i]);
    if (!id.size) return NULL;
    const sc_str key = id_key(arena, at, id);
    void **found = sc_map_find(&c->found, key);
    if (found) return *found;
    const sc_inspect_delegate_id *within = find_within(c, at, id);
    sc_map_set(&c->found, key, (void *)within);
    return within;
}

static void find_handles(sc_inspect_correlating *c, const sc_inspect_instruction *at,
                         sc_inspect_event *e) {
    sc_inspection *in = c->in;
    e->out_count = at->out_count ? at->out_count : 1;
    if (at->is_delegate) e->backend = at->backend;
    if (!e->is_delegated || !at->has_ids) {
        e->handles = at->handles;
        if (e->is_delegated && sc_map_add(&c->found, id_key(in->ctx->arena, at, (sc_str){0}), c))
            sc_inspect_warn(in, sc_str_format(in->ctx->arena,
                                              "backend '" SC_STR_FMT
                                              "' gave no map of its events: each of them is "
                                              "associated with all of its delegate",
                                              SC_STR_ARG(at->backend)));
        return;
    }
    const sc_inspect_delegate_id *found = sc_inspect_find_id(c, at, e->name);
    if (found) e->handles = found->handles;
}

typedef struct node_list {
    SC_VEC(const sc_inspect_node *) nodes;
} node_list;

static node_list *make_nodes(sc_inspect_correlating *c, const sc_inspect_method *method,
                             sc_inspect_handles handles) {
    sc_arena *arena = c->in->ctx->arena;
    node_list *list = sc_new(arena, node_list);
    for (uint32_t h = 0; h < handles.count && sc_inspect_may_work(c, 1); h++) {
        const sc_inspect_node *n = NULL;
        while ((n = sc_inspect_node_of(method, handles.data[h], n)) && c->nodes <= NODES_MAX) {
            sc_vec_push(arena, &list->nodes, n);
            c->nodes++;
        }
    }
    return list;
}

// Events that have the same handles of an instruction or an id share one list.
static void find_nodes(sc_inspect_correlating *c, const sc_inspect_method *method,
                       sc_inspect_event *e) {
    sc_arena *arena = c->in->ctx->arena;
    const uint64_t what[] = {SC_PTR_KEY(method), SC_PTR_KEY(e->handles.data), e->handles.count,
                             UINT64_MAX};
    sc_str key = {(const char *)what, sizeof what};
    node_list *list = sc_map_get(&c->found, key);
    if (!e->handles.count) return;
    if (!list) {
        list = make_nodes(c, method, e->handles);
        sc_map_set(&c->found, sc_str_copy(arena, key), list);
    }
    e->nodes = list->nodes.data;
    e->node_count = list->nodes.count;
}

static void associate(sc_inspect_correlating *c, sc_inspect_block *block) {
    for (uint32_t i = 0; block->method && i < block->event_count; i++) {
        sc_inspect_event *e = &block->events[i];
        const sc_inspect_instruction *at =
            e->chain == 0 ? sc_inspect_instruction_at(block->method, e->instruction) : NULL;
        if (!at) continue;
        find_handles(c, at, e);
        find_nodes(c, block->method, e);
    }
}

sc_status sc_inspect_correlate(sc_inspect_correlating *c) {
    sc_inspection *in = c->in;
    for (uint32_t i = 0; i < in->block_count; i++) {
        associate(c, &in->blocks[i]);
        if (c->work > WORK_MAX || c->nodes > NODES_MAX)
            return sc_fail(in->ctx, SC_ERR_LIMIT, "Log fewer events, or use a smaller model.",
                           "block '" SC_STR_FMT "' has too many events for the record's nodes",
                           SC_STR_ARG(in->blocks[i].name));
    }
    return SC_OK;
}
