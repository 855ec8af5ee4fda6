// What rows for convolutions share.
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
    const int64_t room = c->in[2] - 1 - last_tap;  // for the first output's taps to move to
    if (x * c->stride[2] < c->pad[2] || room < x * c->stride[2]) return 1;
    return sc_min_i64(room / c->stride[2] + 1, c->out[2]) - x;
}

float sc_conv_shift(const sc_conv *c, int64_t channel) {
    const sc_finish *finish = &c->record.finish;
    const float shift = sc_finish_shift(finish, channel);
    const float *bias = c->bias;
    return bias ? shift + bias[channel] * sc_finish_scale(finish, channel) : shift;
}
