// The table of what the official runtime lacks, by operator: every node of a program asks.
#include "trace/official/official.h"

// clang-format off
static const sc_official rows[SC_OP_COUNT] = {
#define ALWAYS NULL
#define WHERE(condition) sc_official_##condition
#define OFFICIAL(fn, op, lacks) BOTH(fn, op, lacks, NULL)
#define BOTH(fn, op, lacks, faster) [SC_OP_##op] = {lacks, sc_official_##fn, faster},
#include "trace/official/official.def"
#undef OFFICIAL
#undef WHERE
#undef ALWAYS
};
// clang-format on

const sc_official *sc_official_lack(const sc_node *node) {
    const sc_official *row = &rows[node->op->id];
    if (!row->expand || node->is_settled) return NULL;
    return !row->lacks || row->lacks(node) ? row : NULL;
}

const sc_official *sc_official_faster(const sc_node *node) {
    const sc_official *row = &rows[node->op->id];
    return row->is_faster && row->is_faster(node) ? row : NULL;
}

// The size from which an expansion is faster: for fewer elements the kernel is done before so many
// calls have begun.
enum { LARGE_MIN = 128 };

bool sc_official_is_large(const sc_node *node) {
    sc_exprs *exprs = node->graph->method->exprs;
    return sc_dim_range(sc_spec_numel(exprs, &node->outs[0]->spec)).min >= LARGE_MIN;
}
