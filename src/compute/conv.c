// Functions that all rows for convolutions share.
#include "compute/conv.h"

bool sc_conv_planes(const int64_t step[5], const int64_t sizes[3]) {
    return (step[4] == 1 || sizes[2] == 1) && (step[3] == sizes[2] || sizes[1] == 1) &&
           (step[2] == sizes[1] * sizes[2] || sizes[0] == 1);
}

int64_t sc_conv_pixel_step(const int64_t step[5], const int64_t sizes[3], int64_t channels) {
    int64_t pixel = 0, expected = 0;
    if (step[1] != 1 && channels != 1) return 0;
    for (int d = 2; d >= 0; d--) {
        if (sizes[d] == 1) continue;
        if (!pixel) pixel = expected = step[2 + d];
        if (step[2 + d] != expected) return 0;
        expected *= sizes[d];
    }
    return pixel ? pixel : 1;
}

int64_t sc_conv_run_length(const sc_conv *c, int64_t x) {
    const int64_t last_tap = (c->kernel[2] - 1) * c->dilation[2] - c->pad[2];
    const int64_t room = c->in[2] - 1 - last_tap;  // so that the first output's taps can move there
    if (x * c->stride[2] < c->pad[2] || room < x * c->stride[2]) return 1;
    return sc_min_i64(room / c->stride[2] + 1, c->out[2]) - x;
}

bool sc_conv_is_depthwise_nhwc(const sc_conv *c) {
    const int64_t most = SC_CONV_DEPTHWISE_TAPS;
    return !c->transposed && c->in_channels == 1 && c->out_channels == 1 && c->in_step[1] == 1 &&
           c->out_step[1] == 1 && c->kernel[0] <= most && c->kernel[1] <= most &&
           c->kernel[2] <= most && sc_conv_taps(c) <= most;
}

// The weights of a column begin at `weight`; each tap has `channels` steps.
static sc_pack_source source_of(const sc_conv *c, int64_t columns, int64_t column_step,
                                int64_t channels) {
    return (sc_pack_source){
        .weight = c->weight,
        .columns = (size_t)columns,
        .column_step = column_step,
        .sizes = {c->kernel[0], c->kernel[1], c->kernel[2], channels},
        .steps = {c->weight_step[2], c->weight_step[3], c->weight_step[4], c->weight_step[1]},
        .bias = c->bias,
        .finish = &c->record.finish,
        .type = c->record.weight};
}

sc_pack_source sc_conv_channel_weights(const sc_conv *c) {
    return source_of(c, c->groups, c->weight_group, 1);
}

int64_t sc_conv_row_tiles(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->batch * c->out[0] * c->out[1];
}

sc_pack_source sc_conv_column_weights(const sc_conv *c, int64_t group) {
    const int64_t bytes = sc_dtype_bytes((sc_dtype)c->record.weight);
    sc_pack_source source = source_of(c, c->out_channels, c->weight_step[0], c->in_channels);
    if (group) source.weight = (const char *)c->weight + group * c->weight_group * bytes;
    source.channel = group * c->out_channels;
    return source;
}

int64_t sc_conv_block_tiles(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->batch * c->groups * sc_blocks_of(sc_conv_out_area(c), SC_CONV_PIXELS) *
           sc_blocks_of(c->out_channels, SC_CONV_COLUMNS);
}

float sc_conv_shift(const sc_conv *c, int64_t channel) {
    const sc_finish *finish = &c->record.finish;
    const float shift = sc_finish_shift(finish, channel);
    const float *bias = c->bias;
    return bias ? shift + bias[channel] * sc_finish_scale(finish, channel) : shift;
}
