// Bytes that a graph holds at once, to compare them with those before a pass.
#ifndef SC_PASSES_PEAK_H
#define SC_PASSES_PEAK_H

#include "ir/ir.h"

// Nodes that are as if they were not there, [first, end); both may be NULL.
typedef struct sc_span {
    sc_node *first, *end;
} sc_span;

// The most bytes of inputs and results that are needed at the same time, of a whole method. Uses
// the marks of values. `at`, unless NULL, gets the node at which that is, if anything is held.
uint64_t sc_peak_bytes(sc_graph *graph, sc_span without, const sc_node **at);
// Bytes of the results of these nodes, all together, and of those of their bodies.
uint64_t sc_result_bytes(const sc_node *first, const sc_node *end);

#endif
