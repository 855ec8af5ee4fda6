// The table of what the official runtime lacks, by operator: every node of a program asks.
#include "trace/official/official.h"

// clang-format off
static const sc_official rows[SC_OP_COUNT] = {
#define ALWAYS NULL
#define WHERE(condition) sc_official_##condition
#define OFFICIAL(fn, op, lacks) [SC_OP_##op] = {lacks, sc_official_##fn},
#include "trace/official/official.def"
#undef OFFICIAL
#undef WHERE
#undef ALWAYS
};
// clang-format on

const sc_official *sc_official_lack(const sc_node *node) {
    const sc_official *row = &rows[node->op->id];
    return row->expand && (!row->lacks || row->lacks(node)) ? row : NULL;
}
