// Which method a block is of, and which nodes its events stand for. Dumps say neither: instructions
// are looked up in the maps of a record, whose debug handles lead to nodes. A block is of the one
// method whose instructions it fits best: where the kernels' names are among those of the nodes,
// and delegates are called where the maps have one.
#include "devtools/inspect/internal.h"

static const sc_str KERNEL_PREFIX = {"native_call_", 12};

static const sc_inspect_instruction *instruction_at(const sc_inspect_method *method,
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

void sc_inspect_warn(sc_inspection *in, sc_str text) {
    for (uint32_t i = 0; i < in->warnings.count; i++)
        if (sc_str_equal(in->warnings.data[i], text)) return;
    sc_vec_push(in->ctx->arena, &in->warnings, text);
}

// --- Names ---------------------------------------------------------------------------------------

// "add.out", as the runtime spells it, without what is behind the point.
static sc_str kernel_of(const sc_inspect_event *e) {
    if (e->is_delegated || !sc_str_starts_with(e->name, KERNEL_PREFIX.data)) return (sc_str){0};
    sc_str name = sc_str_slice(e->name, KERNEL_PREFIX.size, e->name.size);
    const ptrdiff_t dot = sc_str_find(name, '.');
    return dot < 0 ? name : sc_str_slice(name, 0, (size_t)dot);
}

// "add" of "aten.add.Tensor".
static sc_str base_of(sc_str op) {
    const ptrdiff_t first = sc_str_find(op, '.');
    if (first < 0) return op;
    const sc_str rest = sc_str_slice(op, (size_t)first + 1, op.size);
    const ptrdiff_t second = sc_str_find(rest, '.');
    return second < 0 ? rest : sc_str_slice(rest, 0, (size_t)second);
}

sc_str sc_inspect_op_of(const sc_inspect_event *event) {
    const sc_str kernel = kernel_of(event);
    for (uint32_t i = 0; kernel.size && i < event->node_count; i++)
        if (sc_str_equal(base_of(event->nodes[i]->op), kernel)) return event->nodes[i]->op;
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

// --- Methods -------------------------------------------------------------------------------------

static bool names_kernel(const sc_inspect_method *method, const sc_inspect_instruction *at,
                         sc_str kernel) {
    for (uint32_t h = 0; h < at->handles.count; h++) {
        const sc_inspect_node *n = NULL;
        while ((n = sc_inspect_node_of(method, at->handles.data[h], n)))
            if (sc_str_equal(base_of(n->op), kernel)) return true;
    }
    return false;
}

// Instructions of branches may be missing from the maps, and kernels of nodes without a handle.
static bool fits_event(const sc_inspect_method *method, const sc_inspect_event *e) {
    const sc_inspect_instruction *at = instruction_at(method, e->instruction);
    const sc_str kernel = kernel_of(e);
    if (sc_str_is(e->name, "DELEGATE_CALL")) return at && at->is_delegate;
    if (!at || !kernel.size) return true;
    return !at->is_delegate && names_kernel(method, at, kernel);
}

// How badly a block fits a method: events that are not what the method has in their place, and
// instructions that only one of the two has. Passes of a later stage may have put other kernels
// here and there; where most of them are others, the block is of another method.
#define NO_FIT UINT64_MAX

static uint64_t misfit(const sc_inspection *in, const sc_inspect_method *method,
                       const sc_inspect_block *block) {
    uint64_t missing = 0, placed = 0, wrong = 0;
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    sc_imap reached;
    sc_imap_init(&reached, in->ctx->scratch);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        const bool is_call = sc_str_is(e->name, "DELEGATE_CALL");
        if (e->chain != 0) continue;
        sc_imap_set(&reached, (uint64_t)e->instruction, 1);
        if (e->is_delegated || (!is_call && !kernel_of(e).size)) continue;
        placed++;
        wrong += !fits_event(method, e);
        missing += !instruction_at(method, e->instruction);
    }
    for (uint32_t i = 0; i < method->instruction_count; i++)
        missing += !sc_imap_find(&reached, (uint64_t)method->instructions[i].index);
    sc_arena_rewind(in->ctx->scratch, mark);
    return 2 * wrong > placed ? NO_FIT : (wrong << 32) + missing;
}

static bool has_instructions(const sc_inspect_block *block) {
    for (uint32_t i = 0; i < block->event_count; i++)
        if (block->events[i].chain >= 0) return true;
    return false;
}

static const sc_inspect_method *best_method(const sc_inspection *in,
                                            const sc_inspect_block *block) {
    const sc_inspect_method *best = NULL;
    uint64_t least = NO_FIT;
    for (uint32_t i = 0; i < in->method_count; i++) {
        const uint64_t found = misfit(in, &in->methods[i], block);
        if (found == NO_FIT || found > least) continue;
        best = found < least ? &in->methods[i] : NULL;
        least = found;
    }
    return best;
}

static void warn_misfit(sc_inspection *in, const sc_inspect_block *block,
                        const sc_inspect_method *method) {
    sc_inspect_warn(in, sc_str_format(in->ctx->arena,
                                      "block '" SC_STR_FMT "' is not of method '" SC_STR_FMT
                                      "', which has other instructions: dump and record are of "
                                      "different programs",
                                      SC_STR_ARG(block->name), SC_STR_ARG(method->name)));
}

static void choose(sc_inspection *in, sc_inspect_block *block, const sc_inspect_method *asked) {
    sc_arena *arena = in->ctx->arena;
    if (asked || in->method_count == 1) {
        const sc_inspect_method *method = asked ? asked : in->methods;
        const bool fits = !has_instructions(block) || misfit(in, method, block) != NO_FIT;
        if (!fits) {
            warn_misfit(in, block, method);
            return;
        }
        block->method = method;
        block->choice = asked ? SC_CHOICE_ASKED : SC_CHOICE_ONLY;
        return;
    }
    if (in->method_count == 0 || !has_instructions(block)) return;
    block->method = best_method(in, block);
    block->choice = block->method ? SC_CHOICE_MATCHED : SC_CHOICE_UNKNOWN;
    if (!block->method)
        sc_inspect_warn(in, sc_str_format(arena,
                                          "block '" SC_STR_FMT
                                          "' fits none of the record's methods, or several: "
                                          "say which one it is of",
                                          SC_STR_ARG(block->name)));
}

// --- Handles -------------------------------------------------------------------------------------

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Whether `id` stands in `text` as a word of its own: what backends add to an id begins with
// something else, and "fc_1" is not in "fc_12".
static bool holds_word(sc_str text, sc_str id) {
    for (size_t at = 0; id.size && at + id.size <= text.size; at++)
        if (memcmp(text.data + at, id.data, id.size) == 0 &&
            (at == 0 || !is_word(text.data[at - 1])) &&
            (at + id.size == text.size || !is_word(text.data[at + id.size])))
            return true;
    return false;
}

// The id itself; else the longest one that the backend has added something to.
static const sc_inspect_delegate_id *find_id(const sc_inspect_instruction *at, sc_str id) {
    const sc_inspect_delegate_id *best = NULL;
    for (uint32_t i = 0; i < at->id_count; i++) {
        const sc_inspect_delegate_id *d = &at->ids[i];
        if (sc_str_equal(d->id, id)) return d;
        if (holds_word(id, d->id) && (!best || d->id.size > best->id.size)) best = d;
    }
    return best;
}

static void find_handles(sc_inspection *in, const sc_inspect_instruction *at, sc_inspect_event *e) {
    e->out_count = at->out_count ? at->out_count : 1;
    if (at->is_delegate) e->backend = at->backend;
    if (!e->is_delegated || !at->has_ids) {
        e->handles = at->handles;
        if (e->is_delegated)
            sc_inspect_warn(in, sc_str_format(in->ctx->arena,
                                              "backend '" SC_STR_FMT
                                              "' gave no map of its events: each of them is "
                                              "associated with all of its delegate",
                                              SC_STR_ARG(at->backend)));
        return;
    }
    const sc_inspect_delegate_id *found = find_id(at, e->name);
    if (found) e->handles = found->handles;
}

static void find_nodes(sc_ctx *ctx, const sc_inspect_method *method, sc_inspect_event *e) {
    SC_VEC(const sc_inspect_node *) nodes = {0};
    for (uint32_t h = 0; h < e->handles.count; h++) {
        const sc_inspect_node *n = NULL;
        while ((n = sc_inspect_node_of(method, e->handles.data[h], n)))
            sc_vec_push(ctx->arena, &nodes, n);
    }
    e->nodes = nodes.data;
    e->node_count = nodes.count;
}

static void associate(sc_inspection *in, sc_inspect_block *block) {
    for (uint32_t i = 0; block->method && i < block->event_count; i++) {
        sc_inspect_event *e = &block->events[i];
        const sc_inspect_instruction *at =
            e->chain == 0 ? instruction_at(block->method, e->instruction) : NULL;
        if (!at) continue;
        find_handles(in, at, e);
        find_nodes(in->ctx, block->method, e);
    }
}

static sc_status find_asked(sc_inspection *in, sc_str name, const sc_inspect_method **out) {
    *out = NULL;
    if (!name.size) return SC_OK;
    for (uint32_t i = 0; i < in->method_count && !*out; i++)
        if (sc_str_equal(in->methods[i].name, name)) *out = &in->methods[i];
    if (*out) return SC_OK;
    return sc_fail(in->ctx, SC_ERR_NOT_FOUND, "Name a method of the record, or pass a record.",
                   "there is no method '" SC_STR_FMT "' in a record of this inspector",
                   SC_STR_ARG(name));
}

sc_status sc_inspect_correlate(sc_inspection *in, sc_str asked) {
    const sc_inspect_method *method;
    SC_TRY(find_asked(in, asked, &method));
    for (uint32_t i = 0; i < in->block_count; i++) {
        choose(in, &in->blocks[i], method);
        associate(in, &in->blocks[i]);
    }
    return SC_OK;
}
