// A tensor without its data: dtype, sizes, strides. Used by every layer of the compiler.
// Prefix: sc_spec_ makes a tensor's description or asks about it.
#ifndef SC_SPEC_H
#define SC_SPEC_H

#include "core/dim.h"
#include "core/dtype.h"

#define SC_RANK_MAX 16

typedef struct sc_spec {
    uint8_t dtype;       // sc_dtype
    uint8_t rank;        // <= SC_RANK_MAX
    bool requires_grad;  // only meaningful on parameters: it steers matmul's decomposition
    sc_dim *sizes;       // shared and immutable once the spec is published
    sc_dim *strides;     // in elements, as PyTorch records them
    sc_dim offset;       // storage offset in elements
} sc_spec;

typedef enum sc_memory_format {
    SC_MEMORY_FORMAT_CONTIGUOUS,
    SC_MEMORY_FORMAT_PRESERVE,
    SC_MEMORY_FORMAT_CHANNELS_LAST,
    SC_MEMORY_FORMAT_CHANNELS_LAST_3D
} sc_memory_format;

// Zero offset and freshly allocated, uninitialised sizes and strides.
sc_spec sc_spec_new(sc_arena *arena, sc_dtype dtype, uint32_t rank);
// Replaces sizes and strides by the copy that equal specs share. A spec needs this before the arena
// that it was made on is rewound.
void sc_spec_share(sc_exprs *exprs, sc_spec *spec);
// Row-major strides for the sizes already in `spec`; size 0 counts as 1.
void sc_spec_set_contiguous(sc_exprs *exprs, sc_spec *spec);
// Sizes that are plain numbers, and row-major strides. `bytes`: of all elements. False when a size
// is negative, or the bytes, with sizes of 0 taken as 1, are more than 32 bits say.
bool sc_spec_set_static(sc_spec *spec, const int64_t *sizes, uint64_t *bytes);
// Dense strides with physical order `order` (outermost first).
void sc_spec_set_order(sc_exprs *exprs, sc_spec *spec, const uint8_t *order);

// Do products of the sizes stay expressions of their symbols? A product that is too large becomes a
// new symbol each time.
bool sc_spec_products_fit(sc_exprs *exprs, const sc_spec *spec);
sc_dim sc_spec_numel(sc_exprs *exprs, const sc_spec *spec);
bool sc_spec_is_static(const sc_spec *spec);
bool sc_spec_same_sizes(const sc_spec *a, const sc_spec *b);
// Is a size 0? Symbolic sizes count as nonzero.
bool sc_spec_is_empty(const sc_spec *spec);
// Same dtype, sizes, and strides? Strides of dims of size 1 and of empty tensors are ignored.
bool sc_spec_equal(const sc_spec *a, const sc_spec *b);

// PyTorch's predicates; size-1 dims never matter. Symbolic sizes count as > 1, equal expressions
// as equal.
bool sc_spec_is_contiguous(sc_exprs *exprs, const sc_spec *spec);
bool sc_spec_is_channels_last(sc_exprs *exprs, const sc_spec *spec);     // rank 4
bool sc_spec_is_channels_last_3d(sc_exprs *exprs, const sc_spec *spec);  // rank 5
bool sc_spec_is_dense(sc_exprs *exprs, const sc_spec *spec);  // non-overlapping and dense
sc_memory_format sc_spec_suggested_format(sc_exprs *exprs, const sc_spec *spec);

// Dims by stride, descending and stable (ExecuTorch's dim order). Symbolic strides are compared by
// divisibility, then by hint. False if undecidable, or if a stride is 0.
bool sc_spec_dim_order(sc_exprs *exprs, const sc_spec *spec, uint8_t *order);

// -1, 0, 1: which of two strides is smaller. The comparison is exact if possible, then by
// divisibility, then by hint; 0 also if undecidable.
int sc_stride_compare(sc_dim a, sc_dim b);

// A view (reshape.c): fills in the strides of `out`, whose sizes have the elements of `self`. False
// if that would take a copy. By the exporter's rule:
bool sc_spec_view(sc_exprs *exprs, const sc_spec *self, sc_spec *out);
// and by the eager engine's rule, which decides what reshape copies.
bool sc_spec_view_by_chunks(sc_exprs *exprs, const sc_spec *self, sc_spec *out);

// Upper bounds. False if a size has no finite bound; `out` in bytes.
bool sc_spec_bytes_max(const sc_spec *spec, uint64_t *out);
bool sc_spec_size_max(const sc_spec *spec, uint32_t dim, int64_t *out);

// "f32[4, s0]" and, with strides that are not row-major, "f32[4, s0]{1, 4}".
void sc_spec_print(sc_sb *sb, sc_exprs *exprs, const sc_spec *spec);

#endif
