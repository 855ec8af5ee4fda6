// Patterns over graphs. A pattern is data: nodes with names, the one that the others lead to first,
// each with the operators that fit and with the other nodes whose first results its arguments are.
// A match gives the graph's nodes by those names. Inner nodes belong to the match alone, so that a
// rewrite may leave them without a user: any other use of their results, the return included, rules
// the match out, unless the pattern says that they may be shared.
// Prefix: sc_match_.
#ifndef SC_IR_MATCH_H
#define SC_IR_MATCH_H

#include "ir/ir.h"

#define SC_PATTERN_NODES_MAX    8
#define SC_PATTERN_OPERANDS_MAX 4

typedef struct sc_pattern_node {
    const char *name;
    sc_op_id op;                        // SC_OP_FOREIGN: whichever has one of `traits`
    sc_op_traits traits;                // 0: any operator
    bool (*fits)(const sc_node *node);  // what else must be true of it; NULL: no more
    bool is_shared;
    const char *operands[SC_PATTERN_OPERANDS_MAX];  // by argument; NULL: whatever it is
} sc_pattern_node;

typedef struct sc_pattern {
    const sc_pattern_node *nodes;
    uint32_t count;
} sc_pattern;

typedef struct sc_match {
    const sc_pattern *pattern;
    sc_node *nodes[SC_PATTERN_NODES_MAX];  // as in the pattern
} sc_match;

// Is `last` where the pattern ends?
bool sc_match_at(const sc_pattern *pattern, sc_node *last, sc_match *out);
// The pattern must have a node of that name.
sc_node *sc_match_node(const sc_match *match, const char *name);

// Takes apart again what some operators put together.

// The first argument of that operator's call that made the value. NULL if no such call made it.
sc_value *sc_match_made_of(const sc_value *value, sc_op_id op);
// The tensor at `index` among those that were stacked along that dim: each got a dim of size 1, and
// then they were joined. NULL where they were not; both may count from the end.
sc_value *sc_match_stacked(const sc_value *stack, int64_t dim, int64_t index);

#endif
