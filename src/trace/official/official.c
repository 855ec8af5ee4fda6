// The table of what the official runtime lacks.
#include "trace/official/official.h"

// clang-format off
static const sc_official rows[] = {
#define ALWAYS NULL
#define WHERE(condition) sc_official_##condition
#define OFFICIAL(fn, op, lacks) {SC_OP_##op, lacks, sc_official_##fn},
#include "trace/official/official.def"
#undef OFFICIAL
#undef WHERE
#undef ALWAYS
};
// clang-format on

const sc_official *sc_official_lack(const sc_node *node) {
    for (uint32_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == node->op->id)
            return !rows[i].lacks || rows[i].lacks(node) ? &rows[i] : NULL;
    return NULL;
}
