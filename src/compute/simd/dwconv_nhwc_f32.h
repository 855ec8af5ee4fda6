// Depthwise convolution of pixels with adjacent channels: a run of neighbouring outputs that read
// the same taps. At an edge, where some taps are in the padding, runs have fewer taps. Sums run
// over the taps in order, so results do not depend on how outputs are cut into runs.
// Prefix: sc_dwconv_ (depthwise convolution).
#ifndef SC_DWCONV_NHWC_F32_H
#define SC_DWCONV_NHWC_F32_H

#include "compute/pack.h"

typedef struct sc_dwconv_tap {
    size_t offset;  // from `in` to the input of the first output of a run, in floats
    size_t index;   // in the kernel
} sc_dwconv_tap;

typedef struct sc_dwconv_nhwc_f32 {
    size_t channels;      // at least 4
    size_t kernel_taps;   // also those in the padding
    const float *packed;  // channels
    const float *in;
    float *out;                // of the first output
    size_t in_step, out_step;  // floats from one output to the next
    size_t count;              // outputs
    const sc_dwconv_tap *taps;
    size_t tap_count;
    float low, high;  // infinite if there is no bound; NaN passes through
} sc_dwconv_nhwc_f32;

void sc_dwconv_nhwc_run_f32(const sc_dwconv_nhwc_f32 *d);

// The same for a kernel of 3 x 3 that moves on by one or two pixels: a row of outputs, for which
// each column of inputs is read once. Sums run over columns, then rows.
typedef struct sc_dwconv_3x3_f32 {
    size_t channels;  // at least 4
    const float *packed;
    const float *rows[3];  // the first column inside the image, or NULL for a row in the padding
    size_t column;         // floats from one column of a row to the next
    float *out;
    size_t out_step, count;  // outputs, at least 1
    bool by_two;
    bool left, right;  // Is the first output's first column in the padding? Is the last output's
                       // last column?
    float low, high;
} sc_dwconv_3x3_f32;

void sc_dwconv_3x3_run_f32(const sc_dwconv_3x3_f32 *d);

#endif
