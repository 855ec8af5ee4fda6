// The dtype in which operators that promote compute. Shared by the passes that make constants of
// numbers and that insert casts.
#ifndef SC_PASSES_PROMOTE_H
#define SC_PASSES_PROMOTE_H

#include "passes/passes.h"

// The dtype of an operator's operands: PyTorch's promotion of its tensors and of numbers in
// tensor slots; div's is a float. SC_DTYPE_NONE when there is none.
sc_dtype sc_node_operand_dtype(const sc_node *node);

// Is this operand, where it is a number, what the operator multiplies or divides by? In half
// precision PyTorch takes such a number as it is, and rounds all others to the dtype first.
bool sc_node_scales_by(const sc_node *node, const sc_arg *arg);

#endif
