// Primitives of the runtime. Private to src/rt.
// Prefix: sc_rt_prim runs a primitive, which needs no kernel.
#ifndef SC_RT_RUN_PRIM_H
#define SC_RT_RUN_PRIM_H

#include "rt/code.h"

// NULL when `op` is not a primitive.
sc_prim_fn sc_rt_prim(const sc_op *op);

#endif
