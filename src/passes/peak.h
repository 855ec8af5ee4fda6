// What a graph holds at once, to compare it with what it held before a pass.
#ifndef SC_PASSES_PEAK_H
#define SC_PASSES_PEAK_H

#include "ir/ir.h"

// The most bytes of results that are needed at the same time. Uses the marks of values.
// `at`, unless NULL, gets the node at which that is, if anything is held.
uint64_t sc_peak_bytes(sc_graph *graph, const sc_node **at);

#endif
