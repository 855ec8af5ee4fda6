// The dtype in which operators that promote compute, for the passes that make constants of numbers
// and that insert casts.
// Prefix: sc_node_ asks about one node of the IR (ir/ir.h).
#ifndef SC_PASSES_PROMOTE_H
#define SC_PASSES_PROMOTE_H

#include "passes/passes.h"

// Is the argument a known number?
static inline bool sc_arg_is_number(const sc_arg *arg) {
    return arg->kind == SC_ARG_INT || arg->kind == SC_ARG_FLOAT || arg->kind == SC_ARG_BOOL;
}

// The dtype of an operator's operands: PyTorch's promotion of its tensors and of numbers in tensor
// slots. For div it is a float. SC_DTYPE_NONE if they do not promote.
sc_dtype sc_node_operand_dtype(const sc_node *node);

// The dtype of this operand, if it is a number or has no dims, when the others have dtype `common`.
// In half precision PyTorch multiplies and divides tensors by float32 numbers, and rounds all other
// numbers first.
sc_dtype sc_node_number_dtype(const sc_node *node, const sc_arg *arg, sc_dtype common);

// The bytes of the constant of that dtype for a number, little endian (numbers.c).
void sc_number_encode(const sc_arg *number, sc_dtype dtype, uint8_t *bytes);

#endif
