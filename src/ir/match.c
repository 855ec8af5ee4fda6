#include "ir/match.h"

static uint32_t index_of(const sc_pattern *pattern, const char *name) {
    uint32_t index = 0;
    while (index < pattern->count && strcmp(pattern->nodes[index].name, name) != 0) index++;
    SC_ASSERT(index < pattern->count && index < SC_PATTERN_NODES_MAX);
    return index;
}

static bool fits(const sc_pattern_node *wanted, const sc_node *node) {
    if (wanted->op != SC_OP_FOREIGN && node->op->id != wanted->op) return false;
    if (wanted->traits && !(node->op->traits & wanted->traits)) return false;
    return !wanted->fits || wanted->fits(node);
}

// The node whose first result the argument is.
static sc_node *source_of(const sc_node *node, uint32_t index) {
    const sc_arg *arg = index < node->arg_count ? &node->args[index] : NULL;
    if (!arg || arg->kind != SC_ARG_VALUE || arg->value->index != 0) return NULL;
    return arg->value->node;
}

// Each node of the pattern is bound once, which bounds the recursion.
static bool bind(sc_match *match, uint32_t index, sc_node *node) {
    const sc_pattern_node *wanted = &match->pattern->nodes[index];
    if (match->nodes[index]) return match->nodes[index] == node;
    if (!fits(wanted, node)) return false;
    match->nodes[index] = node;
    for (uint32_t i = 0; i < SC_PATTERN_OPERANDS_MAX; i++) {
        if (!wanted->operands[i]) continue;
        sc_node *source = source_of(node, i);
        if (!source || !bind(match, index_of(match->pattern, wanted->operands[i]), source))
            return false;
    }
    return true;
}

static bool is_bound(const sc_match *match, const sc_node *node) {
    for (uint32_t i = 0; i < match->pattern->count; i++)
        if (match->nodes[i] == node) return true;
    return false;
}

static bool is_private(const sc_match *match, const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use; use = use->next_use)
            if (!is_bound(match, use->user)) return false;
    return true;
}

bool sc_match_at(const sc_pattern *pattern, sc_node *last, sc_match *out) {
    *out = (sc_match){.pattern = pattern};
    if (!bind(out, 0, last)) return false;
    for (uint32_t i = 1; i < pattern->count; i++) {
        SC_ASSERT(out->nodes[i]);  // the pattern has nodes that do not lead to its last one
        if (!pattern->nodes[i].is_shared && !is_private(out, out->nodes[i])) return false;
    }
    return true;
}

sc_node *sc_match_node(const sc_match *match, const char *name) {
    return match->nodes[index_of(match->pattern, name)];
}

// --- Putting together ----------------------------------------------------------------------------

sc_value *sc_match_made_of(const sc_value *value, sc_op_id op) {
    const sc_node *node = value ? value->node : NULL;
    if (!node || node->op->id != op || value->index != 0) return NULL;
    return node->args[0].kind == SC_ARG_VALUE ? node->args[0].value : NULL;
}

static bool is_dim(const sc_arg *arg, int64_t dim, int64_t rank) {
    return arg->kind == SC_ARG_INT && (arg->i == dim || arg->i + rank == dim);
}

// The value to which a dim of size 1 was added there.
static sc_value *unsqueezed(const sc_arg *item, int64_t dim) {
    sc_value *value = item->kind == SC_ARG_VALUE ? item->value : NULL;
    sc_value *below = sc_match_made_of(value, SC_OP_unsqueeze);
    if (!below) below = sc_match_made_of(value, SC_OP_unsqueeze_copy);
    return below && is_dim(&value->node->args[1], dim, value->spec.rank) ? below : NULL;
}

sc_value *sc_match_stacked(const sc_value *stack, int64_t dim, int64_t index) {
    const sc_node *cat = stack->node;
    if (!cat || cat->op->id != SC_OP_cat || cat->args[0].kind != SC_ARG_LIST) return NULL;
    const sc_arg *items = cat->args[0].items;
    const int64_t count = cat->args[0].count, rank = stack->spec.rank;
    if (dim < 0) dim += rank;
    if (index < 0) index += count;
    if (index < 0 || index >= count || !is_dim(&cat->args[1], dim, rank)) return NULL;
    for (int64_t i = 0; i < count; i++)
        if (!unsqueezed(&items[i], dim)) return NULL;
    return unsqueezed(&items[index], dim);
}
