// Which library an operator comes with (namespaces.def).
#ifndef SC_LIBRARY_H
#define SC_LIBRARY_H

#include "ops/op.h"

// The namespace of an operator that a library brings; NULL of PyTorch's own, and of those that only
// lowering makes.
const char *sc_op_library(const sc_op *op);

#endif
