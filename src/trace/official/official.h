// Operators that the official runtime lacks or refuses, and their expansions: one row for each in
// official.def, one subject per file. An expansion is exact, as far as PyTorch itself is: NaN,
// ties, zeros and integers come out as there; sums may be added up in another order.
//
// A file has no mark that says which calls were expanded: it could lie, and tools that change it
// would not know. Loading recognises expansions by their instructions instead. On this runtime two
// thirds of 120 measured expansions take at most 1.3 times as long as the operator's own kernel.
// The target sconce keeps operators whole, except for rows BOTH, whose kernels are slower here.
//
// Prefix sc_official_: for the official runtime.
#ifndef SC_OFFICIAL_H
#define SC_OFFICIAL_H

#include "ops/forms.h"
#include "trace/official/limits.h"
#include "trace/text.h"
#include "trace/trace.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"
#include "trace/words/loop.h"
#include "trace/words/parts.h"

typedef struct sc_official {
    bool (*lacks)(const sc_node *node);          // NULL: every call
    sc_x (*expand)(sc_trace *t, const sc_x *a);  // NULL: the formulas of `form` are written out
    sc_op_id form;
    bool (*is_faster)(const sc_node *node);  // than the kernel of this runtime; NULL: never
} sc_official;

// The row for a call that the official runtime cannot make; NULL when it can, or its row is absent.
const sc_official *sc_official_lack(const sc_node *node);
// The row for a call that takes longer whole, in this runtime, than what it is expanded into.
const sc_official *sc_official_faster(const sc_node *node);

// The pairs that complex numbers were made of; NULL where no pairs are known (fft.c).
sc_value *sc_official_pairs(const sc_value *complex);

// Expands a call, by its row.
sc_x sc_official_expand(sc_trace *t, const sc_official *row, const sc_x *a);
// The first formula of an operator in forms.def that fits the dtype and the arguments, written out.
sc_x sc_official_form(sc_trace *t, sc_op_id op, const sc_x *a);
// A step of forms.def, written out.
sc_x sc_official_step(sc_trace *t, sc_step step, const sc_x *a);

#define FORMULA(form, op, lacks)    lacks
#define OFFICIAL(fn, op, lacks)     lacks sc_x sc_official_##fn(sc_trace *t, const sc_x *a);
#define BOTH(fn, op, lacks, faster) OFFICIAL(fn, op, lacks) faster
#define ALWAYS
#define WHERE(condition) bool sc_official_##condition(const sc_node *node);
#include "trace/official/official.def"
#undef WHERE
#undef ALWAYS
#undef OFFICIAL

// --- Shared by the files (steps.c) ---------------------------------------------------------------

// The dtype of the first result of the node that is expanded, and x rounded to it.
sc_dtype sc_official_result_dtype(const sc_trace *t);
sc_x sc_official_rounded(sc_trace *t, sc_x x);
// The sum over one dim, which stays with size 1; in the dtype of x (sum.c).
sc_x sc_official_sum_of(sc_trace *t, sc_x x, uint32_t dim);
// Does anybody use that result of the node that is expanded?
bool sc_official_wants(const sc_trace *t, uint32_t result);
// The largest that a size can be: the trace fails where no bound is known.
int64_t sc_official_size_max(sc_trace *t, sc_dim n);
// Can it be 0, by the ranges of the program? They exclude 0 for sizes of inputs (see
// sc_f_may_be_empty).
bool sc_official_can_be_empty(sc_dim size);
// amax, also if dims other than these are empty.
sc_x sc_official_amax_of(sc_trace *t, sc_x x, sc_x dims, sc_x keepdim);
// The places of x along a dim in the order of its elements: stable, NaN as the largest.
sc_x sc_official_order(sc_trace *t, sc_x x, uint32_t dim, bool descending);
// Refuses the call: the node stays whole. For calls that no limit explains, which only a malformed
// program, or one of odd dtypes or ranks, makes.
sc_x sc_official_refuse(sc_trace *t);
// The same of a call beyond a limit, which the warning then names; its operator has a row of that
// limit.
sc_x sc_official_beyond(sc_trace *t, sc_limit limit);
// A size that has to be known: beyond the limit where it is not.
int64_t sc_official_known(sc_trace *t, sc_dim size, sc_limit limit);
// The sum of a tensor without dims: its one number, in the dtype of the node's result.
sc_x sc_official_only_element(sc_trace *t, sc_x x);

// --- Loops (stacked.c) ---------------------------------------------------------------------------

// Loops whose results are stacked, of open size along another dim than the one of rounds: what a
// round gives is copied to its place there only where it is as large as it can be.
bool sc_official_refuses(const sc_node *node);

// --- Scanning, for others than its own file (scan.c) --------------------------------------------

// x combined with all that comes before it along a dim, as far as `combine` says.
typedef sc_x (*sc_official_combine_fn)(sc_trace *t, const sc_x *before, const sc_x *after);
// `count` tensors travel together; what combine returns for several of them is a list.
void sc_official_scan(sc_trace *t, sc_x *x, uint32_t count, uint32_t dim,
                      sc_official_combine_fn combine);
// Ends of runs of equal integers along a dim, which are not negative: true where the next one
// differs, or there is no next one.
sc_x sc_official_ends_run(sc_trace *t, sc_x x, uint32_t dim);

#endif
