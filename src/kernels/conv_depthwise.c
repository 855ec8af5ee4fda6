// Depthwise convolution on planes. Each channel is copied once into padded rows, split by phase
// when the stride is above 1, after which edges and strides need no further thought: a tap is an
// offset. The copy costs about one pass over the input; the taps dominate.
#include <math.h>

#include "kernels/conv.h"
#include "kernels/simd/dwconv_f32.h"

enum { KERNEL_MAX = 16 };  // rows or columns; larger kernels take the general way

enum { PLANE_MAX = 1 << 26 };  // floats of the padded copy

// The padded copy of one channel: `rows` rows of `stride[2]` phases of `phase` floats.
typedef struct padded {
    size_t rows, phase, pitch;
} padded;

// False when the copy would be out of all proportion (a huge stride or dilation).
static bool padded_of(const sc_conv *c, padded *p) {
    const int64_t stride = c->stride[2];
    // Columns that the taps of all outputs reach, outputs rounded up to whole vectors.
    int64_t width = (c->out[2] + 3) / 4 * 4;
    int64_t reach = (width - 1) * stride + (c->kernel[2] - 1) * c->dilation[2] + 1;
    int64_t rows = (c->out[1] - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1;
    int64_t phase = (reach + stride - 1) / stride;
    if (rows > PLANE_MAX || phase * stride > PLANE_MAX || rows * phase * stride > PLANE_MAX)
        return false;
    *p = (padded){(size_t)rows, (size_t)phase, (size_t)(phase * stride)};
    return c->pad[2] <= phase * stride;
}

static bool fits(const sc_conv *c) {
    padded p;
    return !c->transposed && c->in_channels == 1 && c->in[0] == 1 && c->kernel[0] == 1 &&
           c->out[0] == 1 && c->pad[0] == 0 && c->kernel[1] <= KERNEL_MAX &&
           c->kernel[2] <= KERNEL_MAX && c->stride[2] <= 4 &&
           sc_conv_planes(c->in_step, c->in) && sc_conv_planes(c->out_step, c->out) &&
           sc_conv_planes(c->weight_step, c->kernel) && padded_of(c, &p);
}

static uint64_t scratch_bytes(const sc_conv *c) {
    padded p;
    return padded_of(c, &p) ? (uint64_t)p.rows * p.pitch * sizeof(float) : 0;
}

// Writes the same places for every channel, so the edges stay zero from one to the next.
static void copy_channel(const sc_conv *c, const padded *p, const float *in, float *to) {
    const size_t stride = (size_t)c->stride[2];
    const int64_t left = c->pad[2];
    for (size_t y = 0; y < p->rows; y++, to += p->pitch) {
        int64_t in_y = (int64_t)y - c->pad[1];
        if (in_y < 0 || in_y >= c->in[1])
            continue;
        const float *row = in + in_y * c->in[2];
        size_t width = (size_t)sc_min_i64(c->in[2], (int64_t)p->pitch - left);
        if (stride == 1) {
            memcpy(to + left, row, width * sizeof(float));
            continue;
        }
        for (size_t phase = 0; phase < stride; phase++) {
            // Padded column x holds input column x - left; this phase has x = phase, phase + stride...
            size_t skip = (size_t)left > phase ? ((size_t)left - phase + stride - 1) / stride : 0;
            float *out = to + phase * p->phase + skip;
            for (size_t x = phase + skip * stride - (size_t)left; x < width; x += stride)
                *out++ = row[x];
        }
    }
}

static void run_channel(const sc_conv *c, const padded *p, const float *plane,
                        const float *weight, int64_t channel, float *out, const float *end) {
    const float *rows[KERNEL_MAX];
    size_t offsets[KERNEL_MAX];
    for (int64_t kx = 0; kx < c->kernel[2]; kx++) {
        int64_t x = kx * c->dilation[2];
        offsets[kx] = (size_t)(x % c->stride[2]) * p->phase + (size_t)(x / c->stride[2]);
    }
    const sc_epilogue *e = c->epilogue;
    sc_dwconv_row row = {
        .weight = weight,
        .rows = rows, .offsets = offsets,
        .row_count = (size_t)c->kernel[1], .column_count = (size_t)c->kernel[2],
        .width = (size_t)c->out[2],
        .scale = sc_conv_scale(c, channel), .shift = sc_conv_shift(c, channel),
        .low = e && e->clamps ? e->low : -INFINITY,
        .high = e && e->clamps ? e->high : INFINITY,
    };
    for (int64_t y = 0; y < c->out[1]; y++) {
        for (int64_t ky = 0; ky < c->kernel[1]; ky++)
            rows[ky] = plane + (size_t)(y * c->stride[1] + ky * c->dilation[1]) * p->pitch;
        row.out = out + y * c->out[2];
        row.may_overrun = row.out + (c->out[2] + 3) / 4 * 4 <= end;
        sc_dwconv_row_f32(&row);
    }
}

static void run(const sc_conv *c, void *scratch) {
    padded p;
    float *plane = scratch;
    if (!padded_of(c, &p))
        return;  // does not happen: fits() asked
    // Rows, channels and batch items follow one another, so a row may spill into the next.
    const bool dense = c->out_step[1] == sc_conv_out_area(c) &&
                       c->out_step[0] == c->groups * c->out_channels * c->out_step[1];
    const float *end = dense ? c->output + c->batch * c->out_step[0] : c->output;
    memset(plane, 0, p.rows * p.pitch * sizeof(float));
    for (int64_t n = 0; n < c->batch; n++) {
        for (int64_t g = 0; g < c->groups; g++) {
            copy_channel(c, &p, c->input + n * c->in_step[0] + g * c->in_step[1], plane);
            for (int64_t o = 0; o < c->out_channels; o++) {
                int64_t channel = g * c->out_channels + o;
                run_channel(c, &p, plane, c->weight + g * c->weight_group + o * c->weight_step[0],
                            channel, c->output + n * c->out_step[0] + channel * c->out_step[1],
                            end);
            }
        }
    }
}

const sc_conv_variant sc_conv_depthwise = {"depthwise", fits, scratch_bytes, run};
