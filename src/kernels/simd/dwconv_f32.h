// One channel of a depthwise convolution, on rows that have been padded and, for strides above 1,
// split by phase, so that every tap reads consecutive floats.
#ifndef SC_DWCONV_F32_H
#define SC_DWCONV_F32_H

#include "base/base.h"

typedef struct sc_dwconv_row {
    const float *weight;    // [rows][columns]
    const float *const *rows;  // kernel rows: where output column 0 meets tap column 0's row
    const size_t *offsets;  // per tap column: floats from the start of its row
    size_t row_count, column_count;
    float *out;
    size_t width;           // outputs; inputs can be read up to the next multiple of 4
    bool may_overrun;       // so can outputs be written: what comes after them is written later
    float scale, shift, low, high;
} sc_dwconv_row;

void sc_dwconv_row_f32(const sc_dwconv_row *row);

#endif
