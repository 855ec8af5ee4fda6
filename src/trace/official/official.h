// What the official runtime lacks or refuses, and what it is expanded into: one row for each in
// official.def, one subject per file. An expansion is exact, as far as PyTorch itself says what is
// exact: NaN, ties, zeros and integers come out as there; sums may be added up in another order.
#ifndef SC_OFFICIAL_H
#define SC_OFFICIAL_H

#include "trace/arithmetic.h"
#include "trace/trace.h"

typedef struct sc_official {
    bool (*lacks)(const sc_node *node);  // NULL: every call
    sc_x (*expand)(sc_trace *t, const sc_x *a);
} sc_official;

// The row for a call that the official runtime cannot make; NULL when it can, or nothing is known.
const sc_official *sc_official_lack(const sc_node *node);

#define OFFICIAL(fn, op, lacks) lacks sc_x sc_official_##fn(sc_trace *t, const sc_x *a);
#define ALWAYS
#define WHERE(condition) bool sc_official_##condition(const sc_node *node);
#include "trace/official/official.def"
#undef WHERE
#undef ALWAYS
#undef OFFICIAL

// --- What the files share (steps.c) --------------------------------------------------------------

// The dtype of the first result of the node that is expanded.
sc_dtype sc_o_result_dtype(const sc_trace *t);
// Whole numbers divided, rounded down, which is exact there, and what is left over: of the
// divisor's sign.
sc_x sc_o_floored(sc_trace *t, sc_x x, sc_x by, sc_x *rest);
// Does anybody use that result of the node that is expanded?
bool sc_o_wants(const sc_trace *t, uint32_t result);
// Every step-th element of [start, start + (count - 1) * step] of a dim, counted from the end if
// negative.
sc_x sc_o_steps(sc_trace *t, sc_x x, int64_t dim, int64_t start, int64_t count, int64_t step);
// [start, end) of a dim, whose size need not be known; x itself if that is all of it.
sc_x sc_o_part(sc_trace *t, sc_x x, uint32_t dim, sc_dim start, sc_dim end);
// The largest that a size can be: the trace fails where nothing says it.
int64_t sc_o_largest(sc_trace *t, sc_dim n);
// The smaller of two sizes.
sc_dim sc_o_smaller(sc_trace *t, sc_dim a, sc_dim b);
// As many elements more before and after, of one dim.
sc_x sc_o_pad(sc_trace *t, sc_x x, uint32_t dim, int64_t before, int64_t after, sc_x value);
// 0, 1, 2, ... along one dim of a tensor of that rank, and 1 in all others; int64.
sc_x sc_o_places(sc_trace *t, sc_dim count, uint32_t dim, uint32_t rank);
sc_x sc_o_not(sc_trace *t, sc_x x);
sc_x sc_o_and(sc_trace *t, sc_x x, sc_x y);
sc_x sc_o_or(sc_trace *t, sc_x x, sc_x y);
// x where it holds, else a number of x's dtype.
sc_x sc_o_where_else(sc_trace *t, sc_x condition, sc_x x, sc_x number);
// The least number of the dtype: -inf of floats.
sc_x sc_o_lowest(sc_trace *t, sc_dtype dtype);
// A tensor of rank 0 as one of rank 1; others as they are. And back, to the rank that `like` has.
sc_x sc_o_flat(sc_trace *t, sc_x x);
sc_x sc_o_unflat(sc_trace *t, sc_x x, sc_x like);
// The places of x along a dim in the order of its elements: stable, NaN as the largest.
sc_x sc_o_order(sc_trace *t, sc_x x, uint32_t dim, bool descending);
// What the expansion has no words for: the node stays whole.
sc_x sc_o_refuse(sc_trace *t);
// What sums of a tensor without dims come to: its one number, in the dtype of the node's result.
sc_x sc_o_alone(sc_trace *t, sc_x x);

// --- Loops (loop.c) ------------------------------------------------------------------------------

// What a turn makes of what is carried, a list; or whether there is another one, one bool. `x`:
// what is carried, and behind it what is fixed.
typedef sc_x (*sc_o_body_fn)(sc_trace *t, const sc_x *x, const void *user);
typedef struct sc_o_loop {
    const sc_x *carried, *fixed;  // what turns change, and what they read only
    uint32_t count, fixed_count;
    sc_o_body_fn goes_on, turn;
    const void *user;
} sc_o_loop;
// What is left of what is carried when there is no turn any more: a list.
sc_x sc_o_while(sc_trace *t, const sc_o_loop *loop);

// --- Scanning, for others than its own file (scan.c) --------------------------------------------

// x combined with all that comes before it along a dim, as far as `combine` says.
typedef sc_x (*sc_o_combine_fn)(sc_trace *t, const sc_x *before, const sc_x *after);
// `count` tensors travel together; what combine returns for several of them is a list.
void sc_o_scan(sc_trace *t, sc_x *x, uint32_t count, uint32_t dim, sc_o_combine_fn combine);
// Of integers that are not negative: is the next one along a dim another, or is there none?
sc_x sc_o_ends_run(sc_trace *t, sc_x x, uint32_t dim);

#endif
