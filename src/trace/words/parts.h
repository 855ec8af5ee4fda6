// Parts of tensors: steps, slices and padding of one dim. Prefix sc_f_: makes calls.
#ifndef SC_WORDS_PARTS_H
#define SC_WORDS_PARTS_H

#include "trace/trace.h"

// Every step-th element of [start, start + (count - 1) * step] of a dim, counted from the end if
// negative.
sc_x sc_f_steps(sc_trace *t, sc_x x, int64_t dim, int64_t start, int64_t count, int64_t step);
// [start, end) of a dim, whose size need not be known; x itself if that is all of it.
sc_x sc_f_part(sc_trace *t, sc_x x, uint32_t dim, sc_dim start, sc_dim end);
// [0, count) of a dim.
sc_x sc_f_first(sc_trace *t, sc_x x, uint32_t dim, sc_dim count);
// Every stride-th element of [start, start + span) of a dim, whose size need not be known.
sc_x sc_f_strided(sc_trace *t, sc_x x, uint32_t dim, int64_t start, sc_dim span, int64_t stride);
// The smaller of two sizes.
sc_dim sc_f_smaller(sc_trace *t, sc_dim a, sc_dim b);
// As many elements more before and after, of one dim.
sc_x sc_f_pad(sc_trace *t, sc_x x, uint32_t dim, int64_t before, int64_t after, sc_x value);
// 0, 1, 2, ... along one dim of a tensor of that rank, and 1 in all others; int64.
sc_x sc_f_places(sc_trace *t, sc_dim count, uint32_t dim, uint32_t rank);
// A tensor of rank 0 as one of rank 1; others as they are. And back, to the rank that `like` has.
sc_x sc_f_atleast_1d(sc_trace *t, sc_x x);
sc_x sc_f_restore_rank(sc_trace *t, sc_x x, sc_x like);

#endif
