// Pooling along one to three axes, in any layout, by PyTorch's rules: of floats (pool_float.c), and
// of other dtypes (pool_wide.c), which the caller converts to doubles or to integers of 64 bits,
// and back. Averages of floats are summed in double, and a NaN in a window is its maximum.
// Prefixes: sc_float_pooling_ and sc_wide_pooling_ compute tiles of such pooling.
#ifndef SC_POOL_ND_H
#define SC_POOL_ND_H

#include "base/parallel.h"
#include "compute/pool_window.h"

typedef struct sc_nd_pooling {
    sc_pool_windows windows;
    int64_t images, channels;
    int64_t in_image, in_channel, out_image, out_channel;  // strides, in elements
    const void *input;
    void *output;
    int64_t *indices;  // positions of maxima, laid out as the output; NULL for averages
    // The members below are for dtypes other than f32.
    uint32_t element_size;  // in bytes, of the input and the output
    bool is_real;           // elements become doubles; else int64_t, whose sums wrap
    // Converts `n` elements that lie `stride` elements apart to a dense block of such numbers.
    void (*load)(void *block, const void *from, int64_t stride, int64_t n);
    void (*store)(void *to, int64_t stride, const void *block, int64_t n);
} sc_nd_pooling;

// Channels of one image: the first element in the input and in the output, and their number.
typedef struct sc_pool_tile {
    int64_t in, out, channels;
} sc_pool_tile;

// Tiles of `size` channels.
static inline int64_t sc_pool_tiles_of(const sc_nd_pooling *p, int64_t size) {
    return p->images * ((p->channels + size - 1) / size);
}

static inline sc_pool_tile sc_pool_tile_at(const sc_nd_pooling *p, int64_t size, int64_t tile) {
    const int64_t blocks = (p->channels + size - 1) / size;
    const int64_t image = tile / blocks, channel = tile % blocks * size;
    return (sc_pool_tile){image * p->in_image + channel * p->in_channel,
                          image * p->out_image + channel * p->out_channel,
                          sc_min_i64(size, p->channels - channel)};
}

// Each computes channels, or blocks of adjacent channels, of all images. They do not depend on one
// another: ranges may run in any order.
int64_t sc_float_pooling_tiles(const sc_nd_pooling *pooling);
int64_t sc_wide_pooling_tiles(const sc_nd_pooling *pooling);
sc_parallel_fn sc_float_pooling_run, sc_wide_pooling_run;

#endif
