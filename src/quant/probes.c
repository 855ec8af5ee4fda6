// Places of observers, as PT2E chooses them: after a value, for those of its uses that need one,
// unless the value that they read already has the same observer.
#include "quant/plan.h"

static quant_probe *probe_at(const sc_quant_plan *plan, uint32_t index) {
    return &plan->probes.data[index];
}

static uint32_t first_probe(const sc_quant_plan *plan, const sc_value *value) {
    const uint64_t *found = sc_imap_find(&plan->first_probe, SC_PTR_KEY(value));
    return found ? (uint32_t)*found - 1 : SC_QUANT_NO;
}

uint32_t sc_quant_output_probe(const sc_quant_plan *plan, const sc_value *value) {
    const uint32_t first = first_probe(plan, value);
    return first != SC_QUANT_NO && probe_at(plan, first)->is_output ? first : SC_QUANT_NO;
}

static uint32_t add_probe(sc_quant_plan *plan, quant_probe probe) {
    const uint32_t index = plan->probes.count;
    probe.next = SC_QUANT_NO;
    sc_vec_push(plan->ctx->arena, &plan->probes, probe);
    sc_vec_push(plan->ctx->arena, &plan->groups.data[probe.group].probes, index);
    return index;
}

// Inserts it directly after the value that it observes, before probes that were inserted there
// earlier.
static uint32_t insert_probe(sc_quant_plan *plan, sc_value *value, uint32_t group) {
    const uint32_t after = sc_quant_output_probe(plan, value);
    const uint32_t index = add_probe(plan, (quant_probe){value, group, .after = after});
    if (after != SC_QUANT_NO) {
        probe_at(plan, index)->next = probe_at(plan, after)->next;
        probe_at(plan, after)->next = index;
    } else {
        probe_at(plan, index)->next = first_probe(plan, value);
        sc_imap_set(&plan->first_probe, SC_PTR_KEY(value), index + 1);
    }
    return index;
}

static uint32_t find_probe(const sc_quant_plan *plan, const sc_value *value, uint32_t group) {
    uint32_t index = first_probe(plan, value);
    while (index != SC_QUANT_NO && probe_at(plan, index)->group != group)
        index = probe_at(plan, index)->next;
    return index;
}

// State that the node writes is not observed, since a quantized copy would not be written.
static bool is_written_state(const sc_node *node, const sc_value *value) {
    return sc_op_has(node->op, SC_MUTATES) && node->args[0].kind == SC_ARG_VALUE &&
           node->args[0].value == value && !value->node;
}

static void probe_input(sc_quant_plan *plan, sc_node *node, sc_value *value) {
    quant_key *key = sc_quant_key(plan, value, node);
    if (is_written_state(node, value)) return;
    key->probe = find_probe(plan, value, key->group);
    if (key->probe == SC_QUANT_NO) key->probe = insert_probe(plan, value, key->group);
}

static void probe_output(sc_quant_plan *plan, sc_node *node) {
    sc_value *value = node->outs[0];
    quant_key *key = sc_quant_key(plan, value, NULL);
    quant_probe probe = {value, key->group, .after = SC_QUANT_NO, .is_output = true};
    key->probe = add_probe(plan, probe);
    sc_imap_set(&plan->first_probe, SC_PTR_KEY(value), key->probe + 1);
}

// Operands in the order of the arguments, whatever the order of the note.
static bool visit_operand(void *user, sc_arg *arg) {
    sc_quant_plan *plan = user;
    const quant_key *key = sc_quant_key(plan, arg->value, arg->user);
    if (key && key->probe == SC_QUANT_NO) probe_input(plan, arg->user, arg->value);
    return true;
}

void sc_quant_place_probes(sc_quant_plan *plan) {
    for (sc_node *node = plan->method->graph->first; node; node = node->next) {
        const quant_note *note = sc_quant_note(plan, node);
        if (!note) continue;
        (void)sc_node_visit_values(node, visit_operand, plan);
        if (note->has_output) probe_output(plan, node);
    }
}

void sc_quant_clear_probes(sc_quant_plan *plan) {
    plan->probes.count = 0;
    sc_imap_init(&plan->first_probe, plan->ctx->arena);
    for (uint32_t i = 0; i < plan->groups.count; i++) plan->groups.data[i].probes.count = 0;
    for (uint32_t i = 0; i < plan->keys.count; i++) plan->keys.data[i].probe = SC_QUANT_NO;
}

uint32_t sc_quant_append_probe(sc_quant_plan *plan, quant_probe probe) {
    uint32_t last = first_probe(plan, probe.value);
    const uint32_t index = add_probe(plan, probe);
    while (last != SC_QUANT_NO && probe_at(plan, last)->next != SC_QUANT_NO)
        last = probe_at(plan, last)->next;
    if (last == SC_QUANT_NO)
        sc_imap_set(&plan->first_probe, SC_PTR_KEY(probe.value), index + 1);
    else
        probe_at(plan, last)->next = index;
    return index;
}

// --- In the order of the graph -------------------------------------------------------------------

static void add_all(const sc_quant_plan *plan, const sc_value *value, sc_node *before,
                    quant_order *out) {
    uint32_t index = first_probe(plan, value);
    for (; index != SC_QUANT_NO; index = probe_at(plan, index)->next)
        sc_vec_push(plan->ctx->scratch, out, (quant_place){index, before});
}

// Constants that were added stand before the node that they were added for, all others first. A
// pass may have erased that node.
static void forget_erased_places(const sc_quant_plan *plan, sc_imap *placed) {
    sc_imap nodes;
    sc_imap_init(&nodes, plan->ctx->scratch);
    sc_imap_init(placed, plan->ctx->scratch);
    for (const sc_node *node = plan->method->graph->first; node; node = node->next)
        sc_imap_set(&nodes, SC_PTR_KEY(node), 1);
    for (uint32_t i = 0; i < plan->placed.count; i++) {
        const sc_imap_entry *entry = &plan->placed.entries[i];
        if (sc_imap_find(&nodes, entry->value)) sc_imap_set(placed, entry->key, entry->value);
    }
}

quant_order sc_quant_order(const sc_quant_plan *plan) {
    const sc_graph *graph = plan->method->graph;
    quant_order out = {0};
    uint32_t next = 0;
    sc_imap placed;
    forget_erased_places(plan, &placed);
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        const sc_value *value = graph->inputs.data[i];
        if (!sc_imap_find(&placed, SC_PTR_KEY(value))) add_all(plan, value, graph->first, &out);
    }
    for (sc_node *node = graph->first; node; node = node->next) {
        for (; next < placed.count; next++) {
            const sc_imap_entry *entry = &placed.entries[next];
            if (entry->value != SC_PTR_KEY(node)) break;
            add_all(plan, (const sc_value *)(uintptr_t)entry->key, node, &out);
        }
        for (uint32_t i = 0; i < node->out_count; i++)
            add_all(plan, node->outs[i], node->next, &out);
    }
    return out;
}
