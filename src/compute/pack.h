// Weights in the order in which the tiles of src/compute/simd read them, packed once when a program
// is loaded. Sums start from the bias. The factors and addends of the output stage of float sums
// are folded in.
//
// Columns come in panels of SC_PANEL, one after the other.
//
// Columns, f32 (igemm_f32.h): a panel is a row of starts of its sums, then a row of weights for
// each step of the sums. If weights are not f32, rows of scales come second, one for each block of
// steps, and the weights are not multiplied by them. If they have 4 bits, eight steps share a row
// of words, one for each column, the first step in the lowest bits.
//
// Columns, i8 (gemm_i8.h): a panel begins with a row of starts of its sums (i32), a row of scales
// and a row of shifts (f32). If there are blocks of steps, a row of bf16 scales follows for each.
// Then a row follows for every two steps of the sums, in which the two weights of a column are
// adjacent. Weights of 4 bits are signed. A row of 16-bit lanes is for four steps: lane 2 j + i
// has, from its low bits on, step i of columns j and j + 4, then step 2 + i of both.
//
// Columns, dot products (gemm_dot_i8.h): a panel begins with a row of starts of its sums (i32),
// rows of scales and of shifts (f32), and a row of sums of its weights (i32). If there are blocks
// of steps, the sums are of scaled weights (f32), and a row of bf16 scales follows for each. Then a
// row follows for every four steps, in which the four weights of a column are adjacent. Weights of
// 4 bits are stored as their value + 8: column j in the low halves, column j + 4 in the high ones.
//
// Channels, f32 (dwconv_nhwc_f32.h): for four channels at a time the starts of their sums, then
// four weights for each tap. If there is a remainder, the last four overlap those before them.
//
// Channels, i8 (dwconv_nhwc_i8.h): for eight channels at a time the starts of their sums (i32),
// their scales and shifts (f32) and the sums of their weights (i32), then eight pairs of weights
// for every two taps. If there is a remainder, the last eight overlap those before them.
//
// Channels, dot products (dwconv_nhwc_i8.h): the same for sixteen channels at a time, with four
// weights of each for every three taps.
//
// Columns and steps that do not exist are zero.
// Prefixes: sc_pack_ copies weights into their order, or counts the bytes; sc_panel_ measures one
// panel.
#ifndef SC_PACK_H
#define SC_PACK_H

#include "compute/compute.h"

enum { SC_PANEL = 8 };

// Element (column, step) is weight[column * column_step + offset(step)]. Steps count through
// `sizes`, the last fastest.
typedef struct sc_pack_source {
    const void *weight;
    size_t columns;
    int64_t column_step;
    int64_t sizes[4], steps[4];
    const void *bias;  // of the channels: f32 or i32, or NULL for 0
    const sc_finish *finish;
    int64_t channel;            // the channel, of bias and output stage, of the first column
    uint8_t type;               // sc_dtype of the weights
    const uint16_t *scales;     // [columns][steps / block], or NULL
    const float *float_scales;  // the same next to f32 inputs
    size_t block;               // 0 if there are no scales
    bool high_first;            // I4: the even one of two is in the high half
} sc_pack_source;

// Rows before the weights: the starts of sums, and scales.
static inline uint64_t sc_panel_f32_head(uint64_t depth, uint8_t weight, uint64_t block) {
    return weight == SC_DTYPE_F32 ? 1 : 1 + (block ? depth / block : 1);
}
// `block` is 0 if a column has one scale.
static inline uint64_t sc_panel_f32_bytes(uint64_t depth, uint8_t weight, uint64_t block) {
    const uint64_t head = sc_panel_f32_head(depth, weight, block) * SC_PANEL * sizeof(float);
    switch (weight) {
    case SC_DTYPE_F32: return head + depth * SC_PANEL * sizeof(float);
    case SC_DTYPE_I4: return head + sc_align_up(depth, 8) / 2 * SC_PANEL;
    case SC_DTYPE_I8: return head + depth * SC_PANEL;
    default: return head + depth * SC_PANEL * sizeof(uint16_t);
    }
}
uint64_t sc_pack_columns_f32_bytes(uint64_t columns, uint64_t depth, uint8_t weight,
                                   uint64_t block);
void sc_pack_columns_f32(const sc_pack_source *s, void *packed);
// Bytes of a panel's block scales and weights.
static inline uint64_t sc_panel_scale_bytes(uint64_t depth, uint64_t block) {
    return block ? depth / block * SC_PANEL * sizeof(uint16_t) : 0;
}
static inline uint64_t sc_panel_weight_bytes(uint64_t depth, bool nibbles) {
    return nibbles ? sc_align_up(depth, 4) / 2 * SC_PANEL : sc_align_up(depth, 2) * SC_PANEL;
}
static inline uint64_t sc_panel_i8_bytes(uint64_t depth, bool nibbles, uint64_t block) {
    return 12 * SC_PANEL + sc_panel_scale_bytes(depth, block) +
           sc_panel_weight_bytes(depth, nibbles);
}
uint64_t sc_pack_columns_i8_bytes(const sc_pack_source *s);
void sc_pack_columns_i8(const sc_pack_source *s, void *packed);
// The same for dot products.
static inline uint64_t sc_panel_dot_bytes(uint64_t depth, bool nibbles, uint64_t block) {
    return 16 * SC_PANEL + sc_panel_scale_bytes(depth, block) +
           sc_align_up(depth, 4) * SC_PANEL / (nibbles ? 2 : 1);
}
uint64_t sc_pack_columns_dot_bytes(const sc_pack_source *s);
void sc_pack_columns_dot(const sc_pack_source *s, void *packed);
// For four channels at least.
uint64_t sc_pack_channels_f32_bytes(uint64_t channels, uint64_t taps);
void sc_pack_channels_f32(const sc_pack_source *s, float *packed);
// For eight channels at least.
uint64_t sc_pack_channels_i8_bytes(uint64_t channels, uint64_t taps);
void sc_pack_channels_i8(const sc_pack_source *s, uint8_t *packed);
// For sixteen channels at least, and rows of three taps.
uint64_t sc_pack_channels_dot_bytes(uint64_t channels, uint64_t taps);
void sc_pack_channels_dot(const sc_pack_source *s, uint8_t *packed);

#endif
