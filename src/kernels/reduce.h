// The walk that reductions, scans and sorts share: some dims of a tensor are kept, the others are
// visited for each kept position.
// Prefix: sc_reduction_ walks over the dims that a reduction removes.
#ifndef SC_REDUCE_H
#define SC_REDUCE_H

#include "kernels/iter.h"

typedef struct sc_reduction {
    const sc_tensor *in;
    uint32_t rank;  // kept dims, larger steps of the input first, merged
    int64_t sizes[SC_RANK_MAX];
    int64_t in_strides[SC_RANK_MAX];
    int64_t out_strides[SC_RANK_MAX];
    int64_t out_count;  // product of `sizes`
    sc_stream reduced;  // over the other dims, at the first kept position
    int64_t count;      // how many elements that is
} sc_reduction;

typedef enum sc_reduce_order {
    SC_REDUCE_MEMORY,  // reduced dims in memory order: for results that do not depend on order
    SC_REDUCE_INDEX    // in index order: for results that name positions
} sc_reduce_order;

// Bit d is set for every reduced dim. The argument is a dim or a list of dims; absent or empty
// means all.
uint32_t sc_call_dim_mask(const sc_kernel_call *call, uint32_t argument, uint32_t rank);

// `out` has the kept dims, or all dims, with size 1 for the reduced ones.
sc_status sc_reduction_init(sc_ctx *ctx, sc_reduction *r, const sc_tensor *in, const sc_tensor *out,
                            uint32_t mask, sc_reduce_order order);
// For ops whose result has the input's sizes: the walk along one dim. `out` determines the strides
// of kept dims.
sc_status sc_reduction_init_along(sc_ctx *ctx, sc_reduction *r, const sc_tensor *in,
                                  const sc_tensor *out, uint32_t dim);

// Calls `visit` for each kept position with a fresh copy of the reduced stream and the element
// offset of the result. Several threads do, so it only reads `user`. An element costs so many
// nanoseconds.
typedef void (*sc_reduce_visit)(void *user, sc_stream *elements, int64_t out_offset);
void sc_reduction_share(const sc_reduction *r, double cost, sc_reduce_visit visit, void *user);
// The same on this thread, for kept positions [from, to): for visits that need memory of a thread.
void sc_reduction_part(const sc_reduction *r, int64_t from, int64_t to, sc_reduce_visit visit,
                       void *user);

// Visits `n` neighbours of the innermost kept dim together: at most `width`, from the one that the
// stream is at. Shared, too.
typedef void (*sc_reduce_visit_run)(void *user, sc_stream *elements, int64_t out_offset, int64_t n);
void sc_reduction_share_runs(const sc_reduction *r, int64_t width, double cost,
                             sc_reduce_visit_run visit, void *user);

#endif
