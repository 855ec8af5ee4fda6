// Load-time rewriting of a method's instructions. Each rewrite looks at who reads and writes which
// value when, changes calls or where tensors point, and leaves results within rounding of what the
// file says: nothing is computed with fewer or more bits than the file does it with. One thing is
// regrouped: a product of floats that is scanned by doubling, in float64 or of what is scattered to
// one place, is made from the first element on, as PyTorch makes it, so that which partial products
// leave the range may differ.
//
// Only what runs exactly once is rewritten. What jumps may repeat or leave out stays as it is, and
// counts as one step of the code around it: everything in there happens between what stands before
// and what stands after, in whatever order and however often.
#ifndef SC_RT_OPTIMIZE_H
#define SC_RT_OPTIMIZE_H

#include "rt/rewrite/uses.h"

// Runs every rewrite; a no-op for methods that move or free tensors on the way.
sc_status sc_rt_optimize(sc_ctx *ctx, sc_rt_method *method);

// The rewrites, in the order they run.
sc_status sc_rt_recognise(sc_rt_optimizer *o, bool *changed);  // forms.c: uses are stale then
sc_status sc_rt_fold_constants(sc_rt_optimizer *o);            // fold.c
sc_status sc_rt_elide_copies(sc_rt_optimizer *o);              // elide.c
sc_status sc_rt_fuse(sc_rt_optimizer *o);                      // fuse.c
sc_status sc_rt_relayout(sc_rt_optimizer *o);  // relayout.c: the last, it counts uses anew

#endif
