// Which library an operator comes with (namespaces.def). Prefix: sc_op_, one operator.
#ifndef SC_LIBRARY_H
#define SC_LIBRARY_H

#include "ops/op.h"

// The namespace of an operator that a library brings; NULL of PyTorch's own, and of those that only
// lowering makes.
const char *sc_op_library(const sc_op *op);
// Is it an operator of a library that is not known here?
bool sc_op_is_elsewhere(const sc_op *op);
// The same for the name that a file has: "mylib::scale". May the host have a kernel for it? Not if
// there is advice for it.
bool sc_op_name_may_be_own(const char *name);
bool sc_op_may_be_own(const sc_op *op);

#endif
