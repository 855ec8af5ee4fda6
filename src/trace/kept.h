// Whole calls of operators that have an expansion. Their results have the types of the expansion's.
// Prefix: sc_kept_, which makes such calls and infers them.
#ifndef SC_KEPT_H
#define SC_KEPT_H

#include "ir/ir.h"

// As sc_build, for an operator without a shape rule. `args` are complete. The node is marked
// (sc_node.is_kept). SC_ERR_UNSUPPORTED_OP for an operator without an expansion.
sc_status sc_kept_build(sc_graph *graph, sc_node *position, const sc_op *op, const sc_arg *args,
                        uint32_t arg_count, const sc_meta *meta, sc_node **out);
// As sc_node_infer, for a node of such an operator.
sc_status sc_kept_infer(sc_node *node);

#endif
