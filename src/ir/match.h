// Patterns over graphs. A pattern is data: nodes with names, beginning with the one that the others
// lead to. Each has the operators that match and, for its arguments, the nodes whose first results
// they are. A match gives the graph's nodes by those names. Inner nodes must belong to the match
// alone, so that a rewrite may leave them without a user. If their results have any other use, the
// return included, there is no match, unless the pattern says that they may be shared.
// Prefix: sc_match_ finds a pattern and names the nodes of the match.
#ifndef SC_IR_MATCH_H
#define SC_IR_MATCH_H

#include "ir/ir.h"

#define SC_PATTERN_NODES_MAX    8
#define SC_PATTERN_OPERANDS_MAX 4

typedef struct sc_pattern_node {
    const char *name;
    sc_op_id op;                        // SC_OP_FOREIGN: any operator with one of `traits`
    sc_op_traits traits;                // 0: any operator
    bool (*fits)(const sc_node *node);  // a further condition; NULL: no condition
    bool is_shared;
    const char *operands[SC_PATTERN_OPERANDS_MAX];  // by argument; NULL: any argument
} sc_pattern_node;

typedef struct sc_pattern {
    const sc_pattern_node *nodes;
    uint32_t count;
} sc_pattern;

typedef struct sc_match {
    const sc_pattern *pattern;
    sc_node *nodes[SC_PATTERN_NODES_MAX];  // in the order of the pattern
} sc_match;

// Does the pattern match with `last` as its end?
bool sc_match_at(const sc_pattern *pattern, sc_node *last, sc_match *out);
// The matched node of that name, which the pattern must have.
sc_node *sc_match_node(const sc_match *match, const char *name);

// Functions that find the operands of composed operators.

// The first argument of that operator's call, if the value is its result; else NULL.
sc_value *sc_match_made_of(const sc_value *value, sc_op_id op);
// The tensor at `index` among those that were stacked along that dim: each got a dim of size 1, and
// then they were joined. NULL if the value is no stack. Both numbers may count from the end.
sc_value *sc_match_stacked(const sc_value *stack, int64_t dim, int64_t index);

#endif
