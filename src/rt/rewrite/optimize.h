// Rewrites a method's instructions at load. Each rewrite looks at the readers and writers of each
// value, and changes calls or where tensors point. Results stay within rounding of the file's: the
// precision of a computation never changes. One order changes. The expansion of a scanned or
// scattered product of floats multiplies by doubling, in float64 or at one place. The rewrite
// multiplies from the first element on, as PyTorch does, so different partial products may
// overflow. And infinities and NaN in keys and values that a mask excludes for all queries of a
// tile have no effect on attention, because these are not read.
//
// Only instructions that run exactly once are rewritten. Instructions that jumps may repeat or skip
// stay as they are, and count as one step of the code around them. That step happens between the
// instructions before and after it; the order and number of its parts are unknown.
//
// Private to src/rt.
// Prefix: sc_rt_optimize runs all rewrites of the runtime.
#ifndef SC_RT_OPTIMIZE_H
#define SC_RT_OPTIMIZE_H

#include "rt/method.h"

// Runs the rewritings of rewrites.def. It changes nothing in methods that move or free tensors
// during a run.
sc_status sc_rt_optimize(sc_ctx *ctx, sc_rt_method *method);

#endif
