// Cuts the groups of a graph out as parts. Private to src/backend.
// Prefix: sc_partition_cut moves the groups of a partition into parts.
#ifndef SC_CUT_H
#define SC_CUT_H

#include "backend/partition.h"

// A part, and the call that took its place.
typedef struct sc_cut_part {
    sc_part *part;
    sc_node *call;
    uint32_t number;  // in the partition
} sc_cut_part;

typedef SC_VEC(sc_cut_part) sc_cut_parts;

// Cuts all parts of the partition out of a graph whose order sc_partition_order has made, and
// appends them to `parts` in graph order. Constants that `takes_input` lists move into the parts of
// the method's own graph; parts of bodies are passed theirs. Each part that reads a constant
// contains it; a constant that is read outside also stays there. State that a part takes must be
// used by that part only: SC_ERR_ARGUMENT otherwise.
sc_status sc_partition_cut(sc_ctx *ctx, sc_graph *graph, const sc_partition *partition,
                           const bool *takes_input, sc_cut_parts *parts);

#endif
