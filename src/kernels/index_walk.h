// Index tensors along one dim: their checks, and a walk over their positions. Every index is
// checked before it is used, whatever its sign or width. Prefix: sc_index_ is about a tensor of
// indices along one dim.
#ifndef SC_INDEX_WALK_H
#define SC_INDEX_WALK_H

#include "kernels/move.h"

sc_status sc_index_check_dtype(const sc_kernel_call *call, const sc_tensor *index);
// Fails for the first index of the tensor, in its order, that is not below `size`.
sc_status sc_index_check(const sc_kernel_call *call, const sc_tensor *index, int64_t size);

static inline int64_t sc_index_at(const sc_tensor *index, int64_t offset) {
    return index->dtype == SC_DTYPE_I64 ? ((const int64_t *)index->data)[offset]
                                        : ((const int32_t *)index->data)[offset];
}

// Views a 0-dim tensor as a vector of one element, as PyTorch does. `one` is its size and stride.
sc_tensor sc_index_as_vector(const sc_tensor *t, int64_t *one);

// Walks the positions of an index tensor, with the offsets of three tensors there: of the index
// itself and of two others. A tensor that the index addresses gets no step along `dim`.
typedef struct sc_index_walk {
    uint32_t rank;
    int64_t sizes[SC_RANK_MAX], at[SC_RANK_MAX];
    int64_t strides[3][SC_RANK_MAX], offsets[3];
} sc_index_walk;
enum { SC_INDEX, SC_INDEX_TARGET, SC_INDEX_SOURCE };

void sc_index_walk_init(sc_index_walk *w, const sc_tensor *index);
// False if the index tensor is larger than the tensor in a dim that is walked (`dim` itself is only
// walked if `along` is set).
bool sc_index_walk_add(sc_index_walk *w, uint32_t slot, const sc_tensor *t, uint32_t dim,
                       bool along);
void sc_index_walk_seek(sc_index_walk *w, int64_t at);
void sc_index_walk_next(sc_index_walk *w);

#endif
