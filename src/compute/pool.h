// Pooling of images whose channels lie side by side, as plain numbers: of windows, or of whole
// images by a window as large as they are.
#ifndef SC_POOL_H
#define SC_POOL_H

#include "compute/finish.h"
#include "core/dtype.h"

typedef struct sc_pooling {
    uint8_t dtype;            // of both sides: f32, i8 or u8
    int64_t batch, channels;  // channels lie side by side
    int64_t in[2], out[2], kernel[2], stride[2], pad[2], dilation[2];  // pad: above and to the left
    // Elements from one image, row and pixel to the next.
    int64_t in_step[3], out_step[3];
    const void *input;
    void *output;
    // Averages divide by the elements of a window that are not in the padding, or by this number if
    // it is not 0. The average of an empty window is 0.
    int64_t divisor;
    // Averages of floats are clamped, those of 8 bits are requantized: `scale` is the input's scale
    // by the results', `zero` in the finish the results' zero point. Maxima are clamped; of 8 bits,
    // both sides have the same scale and zero point.
    int32_t in_zero;
    float scale;
    sc_finish finish;
} sc_pooling;

// Rows of the results, which do not depend on one another: ranges may run in any order.
int64_t sc_pooling_tiles(const sc_pooling *pool);
// A NaN in a window is its maximum. Windows that are all padding give the lowest number.
void sc_pooling_max(const sc_pooling *pool, int64_t from, int64_t to);
void sc_pooling_average(const sc_pooling *pool, int64_t from, int64_t to);

#endif
