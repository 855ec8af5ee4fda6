// Moves elements without reading their values. Every op that only rearranges elements is a copy
// between two views: the op computes offsets and strides, and sc_move decides how to walk them.
// Prefixes: sc_strided_ is memory with strides, sc_move_ copies it; sc_check_index checks one index
// of a call.
#ifndef SC_MOVE_H
#define SC_MOVE_H

#include "kernels/iter.h"

// repeat splits every dim in two.
#define SC_VIEW_RANK_MAX (2 * SC_RANK_MAX)

typedef struct sc_strided {
    char *data;
    uint8_t dtype;
    uint32_t rank;
    int64_t sizes[SC_VIEW_RANK_MAX];
    int64_t strides[SC_VIEW_RANK_MAX];  // in elements; 0 repeats, negative walks backwards
} sc_strided;

void sc_strided_of(sc_strided *view, const sc_tensor *tensor);
// `tensor` as if it had the sizes of `shape`.
sc_status sc_strided_broadcast(sc_ctx *ctx, sc_strided *view, const sc_tensor *tensor,
                               const sc_tensor *shape);
// Keeps `count` positions of a dim from `start`, `step` apart.
void sc_strided_narrow(sc_strided *view, uint32_t dim, int64_t start, int64_t count, int64_t step);
void sc_strided_drop(sc_strided *view, uint32_t dim, int64_t index);  // selects a position and
                                                                      // removes the dim
void sc_strided_insert(sc_strided *view, uint32_t dim);               // adds a dim of size 1
void sc_strided_permute(sc_strided *view, const uint32_t *dims);

// Copies `src` to `dst`, and converts if dtypes differ. SC_ERR_SHAPE if sizes differ. The two must
// not overlap unless they are the same.
sc_status sc_move(const sc_kernel_call *call, const sc_strided *dst, const sc_strided *src);
// Copies all elements in index order, whatever the two shapes, like view_copy.
sc_status sc_move_linear(const sc_kernel_call *call, const sc_tensor *dst, const sc_tensor *src);
// Copies bytes, which may overlap.
void sc_move_bytes(void *to, const void *from, uint64_t bytes);
// Sets every element to the one at `element` (in the view's dtype).
void sc_fill(const sc_strided *dst, const void *element);

// Reads the three arguments start, end, step from index `first`, for a dim of `size`, clamped as in
// Python.
typedef struct sc_slice {
    int64_t start, count, step;
} sc_slice;
sc_slice sc_call_slice(const sc_kernel_call *call, uint32_t first, int64_t size);
// Wraps a negative index; SC_ERR_INDEX if it is out of range.
sc_status sc_check_index(const sc_kernel_call *call, int64_t *index, int64_t size);

#endif
