// What rows for convolutions share.
#include "compute/conv.h"

bool sc_conv_planes(const int64_t step[5], const int64_t sizes[3]) {
    return (step[4] == 1 || sizes[2] == 1) && (step[3] == sizes[2] || sizes[1] == 1) &&
           (step[2] == sizes[1] * sizes[2] || sizes[0] == 1);
}

float sc_conv_shift(const sc_conv *c, int64_t channel) {
    const sc_finish *finish = &c->record.finish;
    const float shift = sc_finish_shift(finish, channel);
    const float *bias = c->bias;
    return bias ? shift + bias[channel] * sc_finish_scale(finish, channel) : shift;
}
