// Depthwise convolution of pixels with adjacent channels. A row of the output is cut into runs of
// pixels that read the same taps: at the edges of the image one pixel each, between them all
// pixels. No input is copied, and taps in the padding are left out.
#include <math.h>

#include "compute/conv.h"
#include "compute/simd/dwconv_nhwc_f32.h"
#include "compute/simd/simd.h"

enum { TAP_MAX = SC_CONV_DEPTHWISE_TAPS };

static bool fits(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return sc_conv_is_depthwise_nhwc(c) && c->groups >= 4;
}

static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return sc_pack_channels_f32_bytes((uint64_t)c->groups, (uint64_t)sc_conv_taps(c));
}

static void pack(const sc_record *record, void *packed) {
    const sc_pack_source source = sc_conv_channel_weights(sc_conv_of(record));
    sc_pack_channels_f32(&source, packed);
}

// The taps that output (z, y, x) reads.
static size_t find_taps(const sc_conv *c, const int64_t at[3], sc_dwconv_tap taps[TAP_MAX]) {
    size_t count = 0, index = 0;
    for (int64_t i = 0; i < c->kernel[0]; i++) {
        for (int64_t j = 0; j < c->kernel[1]; j++) {
            for (int64_t k = 0; k < c->kernel[2]; k++, index++) {
                int64_t z, y, x;
                if (!sc_conv_input_at(c, 0, at[0], i, &z) ||
                    !sc_conv_input_at(c, 1, at[1], j, &y) || !sc_conv_input_at(c, 2, at[2], k, &x))
                    continue;
                taps[count++] = (sc_dwconv_tap){
                    (size_t)(z * c->in_step[2] + y * c->in_step[3] + x * c->in_step[4]), index};
            }
        }
    }
    return count;
}

static void run_row(const sc_conv *c, sc_dwconv_nhwc_f32 *d, sc_dwconv_tap taps[TAP_MAX],
                    int64_t tile) {
    const int64_t n = tile / (c->out[0] * c->out[1]);
    int64_t at[3] = {tile / c->out[1] % c->out[0], tile % c->out[1], 0};
    d->in = (const float *)c->input + n * c->in_step[0];
    while (at[2] < c->out[2]) {
        d->tap_count = find_taps(c, at, taps);
        d->count = (size_t)sc_conv_run_length(c, at[2]);
        d->out = (float *)c->output + n * c->out_step[0] + at[0] * c->out_step[2] +
                 at[1] * c->out_step[3] + at[2] * c->out_step[4];
        sc_dwconv_nhwc_run_f32(d);
        at[2] += (int64_t)d->count;
    }
}

// Is it a kernel of 3 x 3 pixels in neighbouring columns, of which at most one is outside the
// image? Short rows are excluded, because starting a row costs more than it saves: less if
// operations are fused.
static bool is_3x3(const sc_conv *c) {
    const int64_t least = V4F_FUSES && c->stride[2] == 1 ? 7 : 12;
    const int64_t stride = c->stride[2], last = (c->out[2] - 1) * stride - c->pad[2] + 2;
    return c->kernel[0] == 1 && c->kernel[1] == 3 && c->kernel[2] == 3 && c->dilation[2] == 1 &&
           (stride == 1 || stride == 2) && c->pad[2] <= 1 && last <= c->in[2] && c->out[2] >= least;
}

static void run_row_3x3(const sc_conv *c, const float *packed, int64_t tile) {
    const int64_t n = tile / (c->out[0] * c->out[1]), *in = c->in, *step = c->in_step;
    const int64_t out_z = tile / c->out[1] % c->out[0], out_y = tile % c->out[1];
    const sc_finish *finish = &c->record.finish;
    sc_dwconv_3x3_f32 d = {.channels = (size_t)c->groups,
                           .packed = packed,
                           .column = (size_t)step[4],
                           .out = (float *)c->output + n * c->out_step[0] + out_z * c->out_step[2] +
                                  out_y * c->out_step[3],
                           .out_step = (size_t)c->out_step[4],
                           .count = (size_t)c->out[2],
                           .by_two = c->stride[2] == 2,
                           .left = c->pad[2] > 0,
                           .right = (c->out[2] - 1) * c->stride[2] - c->pad[2] + 2 == in[2],
                           .low = finish->clamps ? finish->low : -INFINITY,
                           .high = finish->clamps ? finish->high : INFINITY};
    int64_t z, y;
    for (int64_t i = 0; i < 3; i++) {
        if (sc_conv_input_at(c, 0, out_z, 0, &z) && sc_conv_input_at(c, 1, out_y, i, &y))
            d.rows[i] = (const float *)c->input + n * step[0] + z * step[2] + y * step[3];
    }
    sc_dwconv_3x3_run_f32(&d);
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const sc_finish *finish = &record->finish;
    sc_dwconv_tap taps[TAP_MAX];
    (void)scratch;
    sc_dwconv_nhwc_f32 d = {.channels = (size_t)c->groups,
                            .kernel_taps = (size_t)sc_conv_taps(c),
                            .packed = packed,
                            .taps = taps,
                            .in_step = (size_t)(c->stride[2] * c->in_step[4]),
                            .out_step = (size_t)c->out_step[4],
                            .low = finish->clamps ? finish->low : -INFINITY,
                            .high = finish->clamps ? finish->high : INFINITY};
    for (int64_t tile = from; tile < to; tile++) {
        if (is_3x3(c))
            run_row_3x3(c, packed, tile);
        else
            run_row(c, &d, taps, tile);
    }
}

SC_ALGORITHM(conv_depthwise_nhwc, .fits = fits, .pack_bytes = pack_bytes, .pack = pack,
             .tiles = sc_conv_row_tiles, .run = run);
