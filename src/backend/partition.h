// Groups nodes that a backend takes into parts. Private to src/backend.
// Prefix: sc_partition_ makes groups of claimed nodes, and orders them.
#ifndef SC_PARTITION_H
#define SC_PARTITION_H

#include "backend/backend.h"

// The part of each node of a graph, by node->mark, which is its place in the graph: a number from 1
// to `count`, or 0 for no part.
typedef struct sc_partition {
    uint32_t *of;
    uint32_t count;
} sc_partition;

// Numbers the nodes of the graph, in order, through `mark`.
uint32_t sc_graph_number(sc_graph *graph);
// Joins taken nodes that feed one another, as long as no part depends on itself through nodes
// outside. Groups are joined first, each as a whole. A group that cannot be joined gets a reason in
// `claims`. `claims` are indexed by mark, which sc_graph_number has set. With `is_per_op`, only
// groups are joined. Made on the context's scratch.
void sc_partition_make(sc_ctx *ctx, const sc_graph *graph, sc_claim *claims, bool is_per_op,
                       sc_partition *out);
// Drops parts whose nodes all only move elements.
void sc_partition_leave_moves(sc_ctx *ctx, const sc_graph *graph, sc_claim *claims,
                              sc_partition *partition);
// Puts the nodes in an order in which those of a part are adjacent. If a part depends on itself:
// SC_ERR_ARGUMENT, which names the nodes in between. `names` are those of the parts, by number less
// one.
sc_status sc_partition_order(sc_ctx *ctx, sc_graph *graph, const sc_partition *partition,
                             const sc_str *names);

#endif
