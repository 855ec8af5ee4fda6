// The passes' functions, sc_pass_<name>, and the queries that they share.
// Prefixes: sc_pass_ runs one pass; sc_check_ refuses a method with unknown operators; sc_node_
// asks about one node.
#ifndef SC_PASSES_PASSES_H
#define SC_PASSES_PASSES_H

#include "passes/pass.h"

#define PASS(id, ...) sc_status sc_pass_##id(sc_ctx *ctx, sc_method *method);
#define PASS_ENV(id, ...) \
    sc_status sc_pass_##id(sc_ctx *ctx, sc_method *method, const sc_pass_env *env);
#define AGAIN(...)
#include "passes/passes.def"
#undef AGAIN
#undef PASS_ENV
#undef PASS

// Can the runtime's primitives compute this integer, directly or after the pass sym_prims?
bool sc_node_has_primitives(const sc_node *node);

// Report the operators that no table knows and, for a decomposed graph, also those that no runtime
// executes. SC_ERR_UNSUPPORTED_OP if there are any.
// Options (or NULL) may spare operators: check_ir_validity, core_aten_ops_exception_list.
sc_status sc_check_known_ops(sc_ctx *ctx, sc_graph *graph, const sc_options *options);
sc_status sc_check_core_ops(sc_ctx *ctx, sc_graph *graph, const sc_options *options);

#endif
