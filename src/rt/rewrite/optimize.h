// Load-time rewriting of a method's instructions. Each rewrite looks at who reads and writes which
// value when, changes calls or where tensors point, and leaves results within rounding of what the
// file says: nothing is computed with fewer or more bits than the file does it with. One thing is
// regrouped: a product of floats that is scanned by doubling, in float64 or of what is scattered to
// one place, is made from the first element on, as PyTorch makes it, so that which partial products
// leave the range may differ.
//
// Only instructions that run exactly once are rewritten. Those that jumps may repeat or leave out
// stay as they are, and count as one step of the code around them: everything in there happens
// between the instructions before and those after, in any order and any number of times.
//
// Private to src/rt.
// Prefix: sc_rt_, the runtime.
#ifndef SC_RT_OPTIMIZE_H
#define SC_RT_OPTIMIZE_H

#include "rt/method.h"

// Runs the rewritings of rewrites.def. It changes nothing in methods that move or free tensors
// during a run.
sc_status sc_rt_optimize(sc_ctx *ctx, sc_rt_method *method);

#endif
