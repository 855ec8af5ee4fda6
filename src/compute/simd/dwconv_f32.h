// Depthwise convolution of one channel on a plane that has been padded and split by phase. So every
// tap reads consecutive floats at a fixed distance from the output's own position.
// Prefix: sc_dwconv_ (depthwise convolution).
#ifndef SC_DWCONV_F32_H
#define SC_DWCONV_F32_H

#include "base/base.h"

enum { SC_DWCONV_OVERREAD = 32 };  // floats beyond the last one a tap needs that may be read

typedef struct sc_dwconv_f32 {
    const float *in;        // the input of the first output for a tap with offset 0
    const size_t *offsets;  // per tap
    const float *weights;   // per tap
    size_t tap_count;
    float *out;
    size_t count;            // outputs, one after the other
    size_t spill;            // floats beyond the last output that may be written: they are computed
                             // later
    float shift, low, high;  // added to each sum; then the bounds
} sc_dwconv_f32;

void sc_dwconv_run_f32(const sc_dwconv_f32 *d);

#endif
