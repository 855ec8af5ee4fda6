// Expands single nodes of an edge program, each in its place: calls that the official runtime lacks
// or refuses, calls that run faster expanded, and calls that were kept whole for nobody.
// Prefix: sc_expander_ works on the nodes of one graph.
#ifndef SC_EXPAND_NODE_H
#define SC_EXPAND_NODE_H

#include "trace/official/limits.h"
#include "trace/trace.h"

typedef enum sc_node_verdict {
    SC_NODE_STAYS,     // the call needs no expansion
    SC_NODE_REFUSED,   // the official runtime cannot run it, and it cannot be expanded
    SC_NODE_EXPANDED,  // its expansion stands before it
} sc_node_verdict;

// The outcome of one node.
typedef struct sc_node_expansion {
    sc_node_verdict verdict;
    sc_limit limit;   // of a refused call: the limit that it exceeds, or SC_LIMIT_NONE
    bool has_kernel;  // of a refused call: the official runtime knows the operator
    bool is_faster;   // the target sconce expands it, too
    sc_node *first;   // of an expansion: its first node, or the node itself if it has none
    sc_x *results;    // of an expansion: by result of the node, NULL for unused ones
} sc_node_expansion;

typedef struct sc_expander {
    bool is_official;   // the target; for sconce, only calls that are faster expanded
    uint64_t recorded;  // nodes of all expansions, which are limited
    sc_arena arena;
    sc_trace inputs;  // knows the sizes of the graph's inputs, once they are noted
    bool knows_inputs;
    sc_trace trace;  // of the present node
} sc_expander;

// `recorded` counts on through the graphs of a method.
void sc_expander_begin(sc_expander *e, sc_ctx *ctx, sc_graph *graph, bool is_official,
                       uint64_t recorded);
void sc_expander_end(sc_expander *e);

// Traces the expansion of a node, if it needs one, and puts it before the node, which stays. If an
// expansion fails, the graph is as it was. SC_ERR_LIMIT if the expansions have too many nodes.
sc_status sc_expander_expand(sc_expander *e, sc_node *node, sc_node_expansion *out);
// Puts the results of the expansion in the place of the node's, and erases the node.
void sc_expander_replace(sc_expander *e, sc_node *node, const sc_node_expansion *expansion);

#endif
