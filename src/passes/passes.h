// Small helpers that passes share.
#ifndef SC_PASSES_PASSES_H
#define SC_PASSES_PASSES_H

#include "passes/pass.h"

#define PASS(id, ...) sc_status sc_pass_##id(sc_ctx *ctx, sc_method *method);
#include "passes/passes.def"
#undef PASS

// Calls `visit` for the graph and then for every body inside it, outermost first.
typedef sc_status (*sc_graph_visitor)(sc_ctx *ctx, sc_graph *graph, void *user);
sc_status sc_graphs_visit(sc_ctx *ctx, sc_graph *graph, sc_graph_visitor visit, void *user);

// Writes, checks or cannot be known: the node stays although nobody uses its results.
bool sc_node_has_effect(const sc_node *node);

// Redirects all uses of a one-result node and erases it.
void sc_node_replace(sc_node *node, sc_value *value);

// Does the node only permute its first argument? `order`, with room for SC_RANK_MAX, says which dim
// of the source each dim of the result is.
bool sc_node_permutation(const sc_node *node, uint32_t *order);

#endif
