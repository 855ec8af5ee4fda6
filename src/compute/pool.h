// Pooling of images with adjacent channels, as plain numbers, by windows or over whole images. In
// the second case the window is as large as the image.
// Prefixes: sc_pooling_ computes tiles of a pooling record; sc_pool_ (pool_window.h) only finds
// windows.
#ifndef SC_POOL_H
#define SC_POOL_H

#include "base/parallel.h"
#include "compute/finish.h"
#include "core/dtype.h"

typedef struct sc_pooling {
    uint8_t dtype;            // for both sides: f32, i8 or u8
    int64_t batch, channels;  // number of channels, which are adjacent
    int64_t in[2], out[2], kernel[2], stride[2], pad[2], dilation[2];  // pad: above and to the left
    // Elements from one image, row and pixel to the next.
    int64_t in_step[3], out_step[3];
    const void *input;
    void *output;
    // Averages divide by the elements of a window outside the padding, or by this number if it is
    // not 0. The average of an empty window is 0.
    int64_t divisor;
    // Averages of floats are clamped, and those of 8 bits are requantized. `scale` is the input's
    // scale divided by the results', and `zero` in the finish is the results' zero point. Maxima
    // are clamped; with 8 bits, both sides must have the same scale and zero point.
    int32_t in_zero;
    float scale;
    sc_finish finish;
} sc_pooling;

// Each computes rows of the results, which do not depend on one another: ranges may run in any
// order.
int64_t sc_pooling_tiles(const sc_pooling *pool);
// A NaN in a window is its maximum. Windows of padding alone give the lowest number.
sc_parallel_fn sc_pooling_max;
sc_parallel_fn sc_pooling_average;

#endif
