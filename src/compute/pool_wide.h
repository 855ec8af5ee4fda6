// Pooling of other dtypes than f32 along one to three axes, in any layout, by PyTorch's rules. The
// caller converts elements to doubles or to integers of 64 bits, and back.
// Prefix: sc_wide_pooling_ computes tiles of such pooling.
#ifndef SC_POOL_WIDE_H
#define SC_POOL_WIDE_H

#include "compute/pool_window.h"

typedef struct sc_wide_pooling {
    sc_pool_windows windows;
    int64_t images, channels;
    int64_t in_image, in_channel, out_image, out_channel;  // strides, in elements
    const void *input;
    void *output;
    int64_t *indices;       // positions of maxima, laid out as the output; NULL for averages
    uint32_t element_size;  // in bytes, of the input and the output
    bool is_real;           // elements become doubles; else int64_t, whose sums wrap
    // Converts `n` elements that lie `stride` elements apart to a dense block of such numbers.
    void (*load)(void *block, const void *from, int64_t stride, int64_t n);
    void (*store)(void *to, int64_t stride, const void *block, int64_t n);
} sc_wide_pooling;

// Computes channels, or blocks of adjacent channels, of all images. They do not depend on one
// another: ranges may run in any order.
int64_t sc_wide_pooling_tiles(const sc_wide_pooling *pooling);
void sc_wide_pooling_run(const sc_wide_pooling *pooling, int64_t from, int64_t to);

#endif
