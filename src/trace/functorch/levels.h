// A level while it is written out: functorch.c goes through the graph, levels_vmap.c and
// levels_jvp.c write what stands in a level of their kind. Prefix sc_functorch_level_: of the level
// that is being written out.
#ifndef SC_FUNCTORCH_LEVELS_H
#define SC_FUNCTORCH_LEVELS_H

#include "trace/functorch/functorch.h"

typedef enum sc_randomness {
    SC_RANDOMNESS_ERROR,
    SC_RANDOMNESS_SAME,
    SC_RANDOMNESS_DIFFERENT
} sc_randomness;

// A level of a graph that is being written out.
typedef struct sc_writer {
    sc_trace trace;  // first: the dispatch gets it
    sc_ctx *ctx;
    sc_dispatch_fn dispatch;  // of the calls that rules make
    sc_graph *graph;
    sc_functorch_level level;
    uint32_t depth;    // of the levels that are written out
    uint32_t at;       // how many are open where we are
    uint32_t regions;  // at `depth`, so far: each has values of its own
    uint8_t kind;      // of the one that is open
    uint8_t randomness;
    bool is_open;
    sc_imap values;  // of the graph -> a sc_known *
    SC_VEC(sc_node *) done;
} sc_writer;

typedef struct sc_known {
    sc_lifted lifted;
    uint32_t region;
} sc_known;

// Notes what a value of the graph is from here on.
void sc_functorch_level_know(sc_writer *w, const sc_value *value, sc_lifted lifted);
bool sc_functorch_level_knows_any(sc_writer *w, const sc_node *node);  // of its operands
sc_lifted sc_functorch_level_lift(sc_writer *w, const sc_arg *arg);
const sc_lifted *sc_functorch_level_lift_args(sc_writer *w, const sc_node *node);
// The node is written out, and goes at the end.
void sc_functorch_level_finish(sc_writer *w, sc_node *node);
// Replaces the node's result by a tensor that belongs to no level.
void sc_functorch_level_become(sc_writer *w, sc_node *node, uint32_t index, sc_x x);
// Does a call name the level that is written out? A failure if not.
bool sc_functorch_level_is_ours(sc_writer *w, sc_x level);

void sc_functorch_level_open_vmap(sc_writer *w, const sc_node *node);
void sc_functorch_level_write_vmap(sc_writer *w, sc_node *node);
void sc_functorch_level_write_jvp(sc_writer *w, sc_node *node);

#endif
