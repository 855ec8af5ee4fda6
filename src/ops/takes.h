// What the kernel column of an operator says of dtypes, without a call to ask about.
#ifndef SC_TAKES_H
#define SC_TAKES_H

#include "ops/op.h"

// Is there a kernel here that takes the dtype as its first tensor?
bool sc_op_takes(const sc_op *op, sc_dtype dtype);

#endif
