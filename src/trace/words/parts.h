// Slices and padding of one dim. Prefix: sc_f_, functions that add calls to a trace.
#ifndef SC_WORDS_PARTS_H
#define SC_WORDS_PARTS_H

#include "trace/trace.h"

// Every step-th element of [start, start + (count - 1) * step]. A negative dim counts from the last
// one.
sc_x sc_f_slice_steps(sc_trace *t, sc_x x, int64_t dim, int64_t start, int64_t count, int64_t step);
// [start, end) of a dim, which may have any size; x itself if that is the whole dim.
sc_x sc_f_slice_range(sc_trace *t, sc_x x, uint32_t dim, sc_dim start, sc_dim end);
// [0, count) of a dim.
sc_x sc_f_slice_first(sc_trace *t, sc_x x, uint32_t dim, sc_dim count);
// Every stride-th element of [start, start + span) of a dim, which may have any size.
sc_x sc_f_slice_strided(sc_trace *t, sc_x x, uint32_t dim, int64_t start, sc_dim span,
                        int64_t stride);
// The smaller of two sizes.
sc_dim sc_f_smaller(sc_trace *t, sc_dim a, sc_dim b);
// Adds elements with that value before and after the others of a dim.
sc_x sc_f_pad(sc_trace *t, sc_x x, uint32_t dim, int64_t before, int64_t after, sc_x value);
// 0, 1, 2, ... along one dim of a tensor of that rank, and 1 in all others; int64.
sc_x sc_f_places(sc_trace *t, sc_dim count, uint32_t dim, uint32_t rank);
// A tensor of rank 0 as a tensor of rank 1; other tensors stay. And back, to the rank of `like`.
sc_x sc_f_atleast_1d(sc_trace *t, sc_x x);
sc_x sc_f_restore_rank(sc_trace *t, sc_x x, sc_x like);

#endif
