// The dtype in which operators that promote compute. Shared by the passes that make constants of
// numbers and that insert casts.
#ifndef SC_PASSES_PROMOTE_H
#define SC_PASSES_PROMOTE_H

#include "passes/passes.h"

// The dtype of an operator's operands: PyTorch's promotion of its tensors and of numbers in
// tensor slots; div's is a float. SC_DTYPE_NONE when there is none.
sc_dtype sc_node_operand_dtype(const sc_node *node);

// The dtype of this operand, where it is a number or has no dims, when the others are of dtype
// `common`: in half precision PyTorch multiplies and divides tensors by float32 numbers, and rounds
// all other numbers first.
sc_dtype sc_node_number_dtype(const sc_node *node, const sc_arg *arg, sc_dtype common);

#endif
