// Uses that share a scale: a union-find over the annotated uses. A shared spec joins the use that
// it names. Uses of one value join each other, and the value itself, if they have the same spec.
#include "quant/plan.h"

static sc_str text_of(quant_use use, uint64_t key[2]) {
    key[0] = SC_PTR_KEY(use.value);
    key[1] = SC_PTR_KEY(use.user);
    return (sc_str){(const char *)key, 2 * sizeof(*key)};
}

static uint32_t find_key(const sc_quant_plan *plan, quant_use use) {
    uint64_t bytes[2];
    const void *found = sc_map_get(&plan->key_of, text_of(use, bytes));
    return found ? (uint32_t)(uintptr_t)found - 1 : SC_QUANT_NO;
}

quant_key *sc_quant_key(const sc_quant_plan *plan, sc_value *value, sc_node *user) {
    const uint32_t index = find_key(plan, (quant_use){value, user});
    return index == SC_QUANT_NO ? NULL : &plan->keys.data[index];
}

static void add_key(sc_quant_plan *plan, quant_use use, quant_spec spec) {
    sc_arena *arena = plan->ctx->arena;
    const uint32_t index = plan->keys.count;
    uint64_t bytes[2];
    quant_key key = {.use = use, .spec = spec, .parent = index, .probe = SC_QUANT_NO};
    sc_vec_push(arena, &plan->keys, key);
    sc_map_add(&plan->key_of, sc_str_copy(arena, text_of(use, bytes)),
               (void *)(uintptr_t)(index + 1));
}

quant_key *sc_quant_take_key(sc_quant_plan *plan, quant_use use, uint32_t group) {
    if (find_key(plan, use) == SC_QUANT_NO) {
        add_key(plan, use, plan->groups.data[group].spec);
        sc_vec_last(&plan->keys).group = group;
    }
    return &plan->keys.data[find_key(plan, use)];
}

static void list_keys(sc_quant_plan *plan) {
    for (sc_node *node = plan->method->graph->first; node; node = node->next) {
        quant_note *note = sc_quant_note(plan, node);
        if (!note) continue;
        for (uint32_t i = 0; i < note->inputs.count; i++)
            add_key(plan, (quant_use){note->inputs.data[i].value, node}, note->inputs.data[i].spec);
        if (note->has_output) add_key(plan, (quant_use){node->outs[0], NULL}, note->output);
    }
}

// --- Union-find ----------------------------------------------------------------------------------

static uint32_t root_of(sc_quant_plan *plan, uint32_t index) {
    quant_key *keys = plan->keys.data;
    while (keys[index].parent != index)
        index = keys[index].parent = keys[keys[index].parent].parent;
    return index;
}

// The earlier one becomes the root.
static void join(sc_quant_plan *plan, uint32_t a, uint32_t b) {
    a = root_of(plan, a);
    b = root_of(plan, b);
    plan->keys.data[a > b ? a : b].parent = a > b ? b : a;
}

// The spec at the end of a chain of shared specs. Each link was annotated after the one that it
// names.
static void resolve_spec(sc_quant_plan *plan, uint32_t index) {
    quant_key *keys = plan->keys.data;
    uint32_t end = index;
    while (keys[end].spec.kind == QUANT_SHARED) {
        const uint32_t next = find_key(plan, keys[end].spec.with);
        SC_ASSERT(next != SC_QUANT_NO);
        end = next;
    }
    const quant_spec spec = keys[end].spec;
    while (keys[index].spec.kind == QUANT_SHARED) {
        const uint32_t next = find_key(plan, keys[index].spec.with);
        join(plan, index, next);
        keys[index].spec = spec;
        index = next;
    }
}

static bool same_spec(const quant_key *a, const quant_key *b) {
    return a->spec.kind == b->spec.kind && a->spec.axis == b->spec.axis &&
           a->spec.by_channel == b->spec.by_channel && a->spec.is_dynamic == b->spec.is_dynamic;
}

// The first use of each value with one of the few specs that exist. A use joins the first one with
// its spec, which represents all the others.
typedef SC_VEC(uint32_t) key_list;

static void join_with_value(sc_quant_plan *plan, sc_imap *lists, uint32_t index) {
    sc_arena *scratch = plan->ctx->scratch;
    const quant_key *key = &plan->keys.data[index];
    uint64_t *slot = sc_imap_at(lists, SC_PTR_KEY(key->use.value));
    if (!*slot) *slot = SC_PTR_KEY(sc_new(scratch, key_list));
    key_list *list = (key_list *)(uintptr_t)*slot;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!same_spec(&plan->keys.data[list->data[i]], key)) continue;
        join(plan, list->data[i], index);
        return;
    }
    sc_vec_push(scratch, list, index);
}

static void form(sc_quant_plan *plan) {
    const sc_mark mark = sc_arena_mark(plan->ctx->scratch);
    sc_imap lists;
    sc_imap_init(&lists, plan->ctx->scratch);
    for (uint32_t i = 0; i < plan->keys.count; i++) resolve_spec(plan, i);
    for (uint32_t i = 0; i < plan->keys.count; i++) join_with_value(plan, &lists, i);
    sc_arena_rewind(plan->ctx->scratch, mark);
}

static void number(sc_quant_plan *plan) {
    for (uint32_t i = 0; i < plan->keys.count; i++) {
        quant_key *key = &plan->keys.data[i];
        const uint32_t root = root_of(plan, i);
        if (root == i) {
            key->group = plan->groups.count;
            quant_group group = {.spec = key->spec, .observer = SC_QUANT_NO};
            sc_vec_push(plan->ctx->arena, &plan->groups, group);
        } else {
            key->group = plan->keys.data[root].group;
        }
    }
}

void sc_quant_form_groups(sc_quant_plan *plan) {
    list_keys(plan);
    form(plan);
    number(plan);
}
