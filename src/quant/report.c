// What became of each node, and why not what was asked for.
#include "quant/plan.h"

void sc_quant_begin_rows(sc_quant_plan *plan) {
    for (const sc_node *node = plan->method->graph->first; node; node = node->next) {
        sc_quant_row row = {.node = node->name,
                            .op = node->op,
                            .origin = sc_node_origin(node),
                            .module_stack = node->meta.module_stack};
        sc_vec_push(plan->ctx->arena, &plan->rows, row);
        sc_imap_set(&plan->row_of, SC_PTR_KEY(node), plan->rows.count);
    }
}

void sc_quant_absorb(sc_quant_plan *plan, const sc_node *node, const sc_node *layer) {
    const uint64_t *row = sc_imap_find(&plan->row_of, SC_PTR_KEY(node));
    if (row) sc_imap_set(&plan->absorbed, *row - 1, SC_PTR_KEY(layer));
}

static const char *reason(const sc_quant_plan *plan, const sc_node *node) {
    const uint64_t *known = sc_imap_find(&plan->why_not, SC_PTR_KEY(node));
    const quant_role role = sc_quant_role(node->op);
    if (known) return (const char *)(uintptr_t)*known;
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) return "bodies of control flow are not quantized";
    if (plan->config.mode > SC_QUANT_DYNAMIC) return "it has no weight of a layer";
    if (role != QUANT_NONE && plan->config.mode == SC_QUANT_DYNAMIC)
        return "only linear layers and convolutions are quantized dynamically";
    if (role == QUANT_POOL || sc_quant_shares(node->op))
        return "it has the scale of its input, which has none";
    return "no pattern has this operator";
}

static void tell(sc_quant_plan *plan, sc_quant_row *row, const sc_node *node) {
    row->is_quantized = sc_quant_note(plan, node) != NULL;
    if (!row->is_quantized) row->why_not = sc_str_from(reason(plan, node));
}

void sc_quant_end_rows(sc_quant_plan *plan) {
    for (const sc_node *node = plan->method->graph->first; node; node = node->next) {
        const uint64_t *row = sc_imap_find(&plan->row_of, SC_PTR_KEY(node));
        if (row) tell(plan, &plan->rows.data[*row - 1], node);
    }
    for (uint32_t i = 0; i < plan->absorbed.count; i++) {
        const sc_imap_entry *entry = &plan->absorbed.entries[i];
        const sc_node *layer = (const sc_node *)(uintptr_t)entry->value;
        tell(plan, &plan->rows.data[entry->key], layer);
    }
}

uint32_t sc_quant_row_count(const sc_quant_plan *plan) { return plan->rows.count; }

const sc_quant_row *sc_quant_row_at(const sc_quant_plan *plan, uint32_t index) {
    return index < plan->rows.count ? &plan->rows.data[index] : NULL;
}

uint32_t sc_quant_range_count(const sc_quant_plan *plan) { return plan->groups.count; }

const sc_quant_range *sc_quant_range_at(const sc_quant_plan *plan, uint32_t index) {
    return index < plan->groups.count ? &plan->groups.data[index].range : NULL;
}

const sc_name *sc_quant_place(const sc_quant_plan *plan, uint32_t range, uint32_t place) {
    if (range >= plan->groups.count || place >= plan->groups.data[range].probes.count) return NULL;
    return plan->probes.data[plan->groups.data[range].probes.data[place]].value->name;
}
