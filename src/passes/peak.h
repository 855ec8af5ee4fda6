// Bytes that a graph needs at once, to compare them with those before a pass.
// Prefixes: sc_peak_ is the largest sum at one time, sc_result_ the results of nodes.
#ifndef SC_PASSES_PEAK_H
#define SC_PASSES_PEAK_H

#include "ir/ir.h"

// Nodes to leave out, [first, end); both may be NULL.
typedef struct sc_span {
    sc_node *first, *end;
} sc_span;

// The most bytes of inputs and results of a whole method that are needed at the same time. Uses the
// marks of values. `at`, unless NULL, gets the node at that peak; it is unchanged if no value is
// kept.
uint64_t sc_peak_bytes(sc_graph *graph, sc_span without, const sc_node **at);
// The bytes of the results of these nodes, all together, and of those of their bodies.
uint64_t sc_result_bytes(const sc_node *first, const sc_node *end);

#endif
