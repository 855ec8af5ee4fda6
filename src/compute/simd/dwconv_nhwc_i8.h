// Depthwise convolution of 8-bit pixels with adjacent channels: a run of neighbouring outputs that
// read the same taps. Zero points stay in the sums until the end, so taps in the padding must read
// zero points. Sums wrap.
// Prefix: sc_dwconv_ (depthwise convolution).
#ifndef SC_DWCONV_NHWC_I8_H
#define SC_DWCONV_NHWC_I8_H

#include "compute/pack.h"

typedef struct sc_dwconv_i8_tap {
    const int8_t *from;  // the inputs of the first output of a run
    size_t step;         // from one output to the next
} sc_dwconv_i8_tap;

typedef struct sc_dwconv_nhwc_i8 {
    size_t channels;        // at least 8
    size_t pairs;           // of taps
    size_t rows;            // of three taps
    bool overlaps;          // the last two taps of a row are the first ones of the next output
    const uint8_t *packed;  // channels
    void *out;              // of the first output: floats or bytes
    size_t out_step;        // elements from one output to the next
    size_t count;           // outputs
    const sc_dwconv_i8_tap *taps;  // two for each pair
    int32_t in_zero;
    // Floats: (sum * in_scale) * scale + shift. Otherwise results are those of sc_finish_round.
    bool floats;
    float in_scale;
    const sc_finish *finish;  // bounds and grids; scale and shift are packed
} sc_dwconv_nhwc_i8;

void sc_dwconv_nhwc_run_i8(const sc_dwconv_nhwc_i8 *d);
// The same by the dot product of dot_i8.h, to bytes: at least 16 channels, and taps in rows of
// three in place of pairs.
void sc_dwconv_nhwc_run_dot(const sc_dwconv_nhwc_i8 *d);

#endif
