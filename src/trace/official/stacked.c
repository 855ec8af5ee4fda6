// Loops whose results are stacked, which the official runtime cannot grow along other dims.
#include "trace/official/official.h"

static bool has_open_rows(const sc_value *value) {
    for (uint32_t d = 1; value->type == SC_VALUE_TENSOR && d < value->spec.rank; d++)
        if (value->spec.sizes[d].expr) return true;
    return false;
}

bool sc_official_refuses(const sc_node *node) {
    const bool stacks =
        node->op->id == SC_OP_higher_order_map_impl || node->op->id == SC_OP_higher_order_scan;
    const sc_arg *init = node->op->id == SC_OP_higher_order_scan ? &node->args[1] : NULL;
    const uint32_t carried = init && init->kind == SC_ARG_LIST ? init->count : 0;
    for (uint32_t i = carried; stacks && i < node->out_count; i++)
        if (has_open_rows(node->outs[i])) return true;
    return false;
}
