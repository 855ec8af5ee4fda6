// Pooling of floats along one to three axes, in any layout, by PyTorch's rules: averages are summed
// in double, and a NaN in a window is its maximum.
// Prefix: sc_float_pooling_ computes tiles of such pooling.
#ifndef SC_POOL_FLOAT_H
#define SC_POOL_FLOAT_H

#include "compute/pool_window.h"

typedef struct sc_float_pooling {
    sc_pool_windows windows;
    int64_t images, channels;
    int64_t in_image, in_channel, out_image, out_channel;  // strides, in elements
    const float *input;
    float *output;
    int64_t *indices;  // positions of maxima, laid out as the output; NULL for averages
} sc_float_pooling;

// Computes channels, or blocks of adjacent channels, of all images. They do not depend on one
// another: ranges may run in any order.
int64_t sc_float_pooling_tiles(const sc_float_pooling *pooling);
void sc_float_pooling_run(const sc_float_pooling *pooling, int64_t from, int64_t to);

#endif
