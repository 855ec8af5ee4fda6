// Walking tensors of any strides in one linear order. A stream is one operand as the output's
// element order sees it: broadcast dims have stride 0, neighbouring dims that step evenly are
// merged, so most streams end up with one dim. Streams of one kernel advance side by side.
// Prefix: sc_stream_ walks over tensors in step.
#ifndef SC_ITER_H
#define SC_ITER_H

#include "kernels/convert.h"
#include "kernels/kernel.h"

// Elements converted at a time: four operands of doubles stay within the first-level cache.
#define SC_BLOCK 256

typedef struct sc_stream {
    char *data;
    uint32_t item_bytes;
    uint32_t rank;                 // at least 1
    int64_t sizes[SC_RANK_MAX];    // outermost first, merged
    int64_t strides[SC_RANK_MAX];  // in elements
    int64_t index[SC_RANK_MAX];    // position; the innermost one moves first
    int64_t offset;                // of the position, in elements
} sc_stream;

// A stream over explicit dims, outermost first.
void sc_stream_init_dims(sc_stream *s, void *data, uint32_t item_bytes, uint32_t rank,
                         const int64_t *sizes, const int64_t *strides);
// `tensor` broadcast to the sizes of `shape`, in the memory order of `shape`; SC_ERR_SHAPE when it
// does not broadcast.
sc_status sc_stream_open(sc_ctx *ctx, sc_stream *s, const sc_tensor *tensor,
                         const sc_tensor *shape);
void sc_stream_seek(sc_stream *s, int64_t position);

// The next elements that lie one `stride` apart: at most `max`, at least one. Advances past them.
int64_t sc_stream_run(sc_stream *s, int64_t max, char **data, int64_t *stride);

static inline bool sc_stream_is_dense(const sc_stream *s) {
    return s->rank == 1 && s->strides[0] == 1;
}
static inline bool sc_stream_is_constant(const sc_stream *s) {
    return s->rank == 1 && s->strides[0] == 0;
}

// The next `n` elements into a block, or out of one.
void sc_stream_load(sc_stream *s, sc_load_fn load, void *block, uint32_t block_item_bytes,
                    int64_t n);
void sc_stream_store(sc_stream *s, sc_store_fn store, const void *block, uint32_t block_item_bytes,
                     int64_t n);

// Copies `count` elements of equal width, converting nothing.
void sc_stream_copy(sc_stream *dst, sc_stream *src, int64_t count);
// `count` elements of `width` bytes (1, 2, 4, 8 or any other) between strided rows.
void sc_copy_row(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t count,
                 uint32_t width);

bool sc_same_sizes(const sc_tensor *a, const sc_tensor *b);
// Sizes and physical order agree, so that element i of one is element i of the other in memory.
bool sc_same_layout(const sc_tensor *a, const sc_tensor *b);
// Elements are adjacent in memory, in whatever dim order.
bool sc_tensor_is_dense(const sc_tensor *t);

#endif
