// Weights in the order in which the tiles of src/compute/simd read them, made once when a program
// is loaded. The bias is where sums begin; what the output stage multiplies and adds to sums of
// floats is folded in.
//
// Columns, f32 (igemm_f32.h): panels of SC_PANEL_F32 columns one after the other. A panel is a row
// of what its sums begin with, then a row of weights for each step of the sums.
//
// Columns, i8 (gemm_i8.h): panels of SC_PANEL columns, the last one half as wide if that is enough.
// A panel is a row of what its sums begin with (i32), a
// row of scales and a row of shifts (f32), then a row for every two steps of the sums, in which
// the two weights of a column lie side by side.
//
// Channels, f32 (dwconv_nhwc_f32.h): for four channels at a time what their sums begin with, then
// four weights for each tap. The last four overlap those before them if there is a remainder.
//
// Channels, i8 (dwconv_nhwc_i8.h): for eight channels at a time what their sums begin with (i32),
// their scales and shifts (f32) and the sums of their weights (i32), then eight pairs of weights
// for every two taps. The last eight overlap those before them if there is a remainder.
//
// Columns and a second step that do not exist are zero.
#ifndef SC_PACK_H
#define SC_PACK_H

#include "compute/finish.h"

enum { SC_PANEL = 16, SC_PANEL_F32 = 8 };

// Columns that the panel has place for which holds the first of the `left` columns.
static inline size_t sc_panel_pitch(size_t left) {
    return left > SC_PANEL / 2 ? SC_PANEL : SC_PANEL / 2;
}

// Element (column, step) is weight[column * column_step + offset(step)], where steps count through
// `sizes`, the last fastest.
typedef struct sc_pack_source {
    const void *weight;
    size_t columns;
    int64_t column_step;
    int64_t sizes[4], steps[4];
    const void *bias;  // of the channels: f32 or i32, or NULL for 0
    const sc_finish *finish;
    int64_t channel;  // of bias and output stage, that belongs to the first column
} sc_pack_source;

uint64_t sc_pack_columns_f32_bytes(uint64_t columns, uint64_t depth);
void sc_pack_columns_f32(const sc_pack_source *s, float *packed);
uint64_t sc_pack_columns_i8_bytes(uint64_t columns, uint64_t depth);
void sc_pack_columns_i8(const sc_pack_source *s, void *packed);
// At least four channels.
uint64_t sc_pack_channels_f32_bytes(uint64_t channels, uint64_t taps);
void sc_pack_channels_f32(const sc_pack_source *s, float *packed);
// At least eight channels.
uint64_t sc_pack_channels_i8_bytes(uint64_t channels, uint64_t taps);
void sc_pack_channels_i8(const sc_pack_source *s, uint8_t *packed);

#endif
