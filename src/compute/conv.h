// A convolution as plain numbers: every spatial rank is written as three dimensions (leading ones
// of size 1), every layout as element strides.
// Prefix: sc_conv_ reads the record of a convolution.
#ifndef SC_CONV_H
#define SC_CONV_H

#include "compute/pack.h"

typedef struct sc_conv {
    sc_record record;
    int64_t batch, groups;
    int64_t in_channels, out_channels;  // per group
    int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
    bool transposed;  // then the stride spreads the input out instead of thinning it
    // Element strides: batch, channel, three spatial; weight: out channel, in channel, three taps
    // (whatever order they are stored in).
    int64_t in_step[5], out_step[5], weight_step[5];
    int64_t weight_group;  // elements from one group's weights to the next
    const void *input, *weight;
    const void *bias;  // [groups * out_channels] or NULL
    void *output;
} sc_conv;

static inline const sc_conv *sc_conv_of(const sc_record *record) {
    return (const sc_conv *)(const void *)record;
}

static inline int64_t sc_conv_taps(const sc_conv *c) {
    return c->kernel[0] * c->kernel[1] * c->kernel[2];
}
static inline int64_t sc_conv_in_area(const sc_conv *c) { return c->in[0] * c->in[1] * c->in[2]; }
static inline int64_t sc_conv_out_area(const sc_conv *c) {
    return c->out[0] * c->out[1] * c->out[2];
}
static inline int64_t sc_conv_channels(const sc_conv *c) { return c->groups * c->out_channels; }

// Is the layout row-major within a channel plane, with planes one after the other? The variants on
// planes require it.
bool sc_conv_planes(const int64_t step[5], const int64_t sizes[3]);
// The elements from one pixel to the next, if the channels of a pixel are adjacent in every group
// and all pixels of an image follow one another; else 0. The variants on pixels require it.
int64_t sc_conv_pixel_step(const int64_t step[5], const int64_t sizes[3], int64_t channels);
// The input coordinate that output `o` reads through tap `k` of dimension `d`; false in the padding
// or between spread-out inputs.
static inline bool sc_conv_input_at(const sc_conv *c, int d, int64_t o, int64_t k, int64_t *in) {
    int64_t at;
    if (c->transposed) {
        at = o + c->pad[d] - k * c->dilation[d];
        if (at < 0 || at % c->stride[d] != 0) return false;
        at /= c->stride[d];
    } else {
        at = o * c->stride[d] - c->pad[d] + k * c->dilation[d];
    }
    *in = at;
    return at >= 0 && at < c->in[d];
}
// The number of outputs from x on that read the same columns of taps: more than one only if all of
// these are inside. Not for transposed convolutions.
int64_t sc_conv_run_length(const sc_conv *c, int64_t x);

// A convolution with what runs it.
typedef struct sc_conv_call {
    const sc_variant *variant;
    const sc_record *record;
    const void *packed;
} sc_conv_call;
// Does it pay to run a convolution of floats and a depthwise one, which reads its results, as a
// pair? The results of the second must not overwrite the inputs of the first.
bool sc_conv_is_pair(const sc_conv_call *first, const sc_conv_call *second);
// Runs a pair. The scratch is enough for each of them.
void sc_conv_run_pair(const sc_conv_call *first, const sc_conv_call *second, void *scratch);

// --- Shared by rows ------------------------------------------------------------------------------

// Is it depthwise: one channel per group, adjacent channels of a pixel, and at most that many taps?
enum { SC_CONV_DEPTHWISE_TAPS = 256 };
bool sc_conv_is_depthwise_nhwc(const sc_conv *c);
// Does it read planes of few channels and write pixels of adjacent channels, as a first layer may?
bool sc_conv_is_stem(const sc_conv *c);
// Weights of a depthwise one for sc_pack_channels_f32 and _i8.
sc_pack_source sc_conv_channel_weights(const sc_conv *c);
// Tiles: the rows of the output.
int64_t sc_conv_row_tiles(const sc_record *record);

// The convolution as a product with packed weights: a row is an output pixel, a column an output
// channel of the group, a step a channel of a tap. A tile has that many pixels and columns: the
// 7 x 7 pixels of a network's last layers pass over their weights, its largest, once.
enum { SC_CONV_PIXELS = 64, SC_CONV_COLUMNS = 8 * SC_PANEL };
// The weights of a group for sc_pack_columns_f32 and _i8.
sc_pack_source sc_conv_column_weights(const sc_conv *c, int64_t group);
// Tiles: batch items, groups and blocks of pixels one after the other, columns fastest.
int64_t sc_conv_block_tiles(const sc_record *record);

// Bias and finish of a channel of an f32 convolution, combined: sum * scale + shift.
float sc_conv_shift(const sc_conv *c, int64_t channel);

#endif
