// The passes' functions, what else they offer each other, and small helpers that they share.
#ifndef SC_PASSES_PASSES_H
#define SC_PASSES_PASSES_H

#include "passes/pass.h"

#define PASS(id, ...) sc_status sc_pass_##id(sc_ctx *ctx, sc_method *method);
#include "passes/passes.def"
#undef PASS

// The pass decompose without its report: the graph may hold operators that nothing executes. A
// refusal (sc_is_refusal) has been reported, and what was refused stands in the graph as it was.
sc_status sc_decompose(sc_ctx *ctx, sc_method *method);

// Calls `visit` for the graph and then for every body inside it, outermost first.
typedef sc_status (*sc_graph_visitor)(sc_ctx *ctx, sc_graph *graph, void *user);
sc_status sc_graphs_visit(sc_ctx *ctx, sc_graph *graph, sc_graph_visitor visit, void *user);

// Writes, checks or cannot be known: the node stays although nobody uses its results.
bool sc_node_has_effect(const sc_node *node);

// Can the runtime's primitives compute this integer, as it stands or by the pass sym_prims?
bool sc_node_has_primitives(const sc_node *node);

// Report the operators that nobody knows, and of a decomposed graph also those that nothing
// executes. SC_ERR_UNSUPPORTED_OP when there are any.
sc_status sc_check_known_ops(sc_ctx *ctx, sc_graph *graph);
sc_status sc_check_core_ops(sc_ctx *ctx, sc_graph *graph);

// Redirects all uses of a one-result node and erases it.
void sc_node_replace(sc_node *node, sc_value *value);

// Does the node only permute its first argument? `order`, with room for SC_RANK_MAX, says which dim
// of the source each dim of the result is.
bool sc_node_permutation(const sc_node *node, uint32_t *order);

#endif
