// Depthwise convolution of 8-bit pixels with adjacent channels. A row of the output is cut into
// runs of pixels that read the same taps: at the edges of the image one pixel each, between them
// all pixels. No input is copied: values in the padding are read from a row of zero points.
#include "compute/conv.h"
#include "compute/simd/dot_i8.h"
#include "compute/simd/dwconv_nhwc_i8.h"

enum { TAP_MAX = SC_CONV_DEPTHWISE_TAPS };

static bool fits(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return sc_record_is_quantized(record) && !record->weights.scales &&
           (record->out == SC_DTYPE_I8 || record->out == SC_DTYPE_F32) &&
           (!c->bias || record->bias == SC_DTYPE_I32) && sc_conv_is_depthwise_nhwc(c) &&
           c->groups >= 8 && sc_conv_taps(c) > 0;
}

static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return sc_pack_channels_i8_bytes((uint64_t)c->groups, (uint64_t)sc_conv_taps(c));
}

static void pack(const sc_record *record, void *packed) {
    const sc_pack_source source = sc_conv_channel_weights(sc_conv_of(record));
    sc_pack_channels_i8(&source, packed);
}

// Scratch for the padding's values.
static uint64_t scratch_bytes(const sc_record *record) {
    return (uint64_t)sc_conv_of(record)->groups;
}

// Finds the taps that output `at` reads. The last one is repeated if their number is odd; its
// second weight is 0.
static size_t find_taps(const sc_conv *c, const int8_t *input, const int8_t *padding,
                        const int64_t at[3], sc_dwconv_i8_tap *to) {
    size_t count = 0;
    for (int64_t i = 0; i < c->kernel[0]; i++) {
        for (int64_t j = 0; j < c->kernel[1]; j++) {
            for (int64_t k = 0; k < c->kernel[2]; k++) {
                int64_t z, y, x;
                const bool inside = sc_conv_input_at(c, 0, at[0], i, &z) &&
                                    sc_conv_input_at(c, 1, at[1], j, &y) &&
                                    sc_conv_input_at(c, 2, at[2], k, &x);
                to[count++] = inside ? (sc_dwconv_i8_tap){input + z * c->in_step[2] +
                                                              y * c->in_step[3] + x * c->in_step[4],
                                                          (size_t)(c->stride[2] * c->in_step[4])}
                                     : (sc_dwconv_i8_tap){padding, 0};
            }
        }
    }
    if (count % 2) to[count] = to[count - 1];
    return (count + 1) / 2;
}

static void run_row(const sc_conv *c, sc_dwconv_nhwc_i8 *d, sc_dwconv_i8_tap *taps,
                    const int8_t *padding, int64_t tile, bool dots) {
    const int64_t n = tile / (c->out[0] * c->out[1]);
    const int8_t *input = (const int8_t *)c->input + n * c->in_step[0];
    int64_t at[3] = {tile / c->out[1] % c->out[0], tile % c->out[1], 0};
    while (at[2] < c->out[2]) {
        const int64_t to = n * c->out_step[0] + at[0] * c->out_step[2] + at[1] * c->out_step[3] +
                           at[2] * c->out_step[4];
        d->pairs = find_taps(c, input, padding, at, taps);
        d->count = (size_t)sc_conv_run_length(c, at[2]);
        d->out = (char *)c->output + to * (int64_t)(d->floats ? sizeof(float) : 1);
        (dots ? sc_dwconv_nhwc_run_dot : sc_dwconv_nhwc_run_i8)(d);
        at[2] += (int64_t)d->count;
    }
}

static void run_rows(const sc_record *record, const void *packed, int64_t from, int64_t to,
                     void *scratch, bool dots) {
    const sc_conv *c = sc_conv_of(record);
    const sc_input_quant *quant = &record->quant;
    const int64_t rows = c->out[0] * c->out[1];
    sc_dwconv_i8_tap taps[TAP_MAX + 1];
    sc_dwconv_nhwc_i8 d = {.channels = (size_t)c->groups,
                           .packed = packed,
                           .rows = (size_t)(c->kernel[0] * c->kernel[1]),
                           .overlaps = c->stride[2] == 1 && c->dilation[2] == 1,
                           .out_step = (size_t)c->out_step[4],
                           .taps = taps,
                           .floats = record->out == SC_DTYPE_F32,
                           .finish = &record->finish};
    for (int64_t tile = from; tile < to; tile++) {
        if (tile == from || tile % rows == 0) {
            const int64_t at = tile / rows * quant->step;
            d.in_zero = quant->zero ? quant->zero[at] : 0;
            d.in_scale = quant->scale ? quant->scale[at] : 1;
            memset(scratch, d.in_zero, (size_t)c->groups);
        }
        run_row(c, &d, taps, scratch, tile, dots);
    }
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    run_rows(record, packed, from, to, scratch, false);
}

SC_ALGORITHM(conv_depthwise_i8, .fits = fits, .pack_bytes = pack_bytes, .pack = pack,
             .scratch_bytes = scratch_bytes, .tiles = sc_conv_row_tiles, .run = run);

// --- Dot products --------------------------------------------------------------------------------

static bool fits_dot(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return sc_dot_is_exact() && fits(record) && record->out == SC_DTYPE_I8 && c->groups >= 16 &&
           c->kernel[2] == 3;
}

static uint64_t pack_bytes_dot(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return sc_pack_channels_dot_bytes((uint64_t)c->groups, (uint64_t)sc_conv_taps(c));
}

static void pack_dot(const sc_record *record, void *packed) {
    const sc_pack_source source = sc_conv_channel_weights(sc_conv_of(record));
    sc_pack_channels_dot(&source, packed);
}

static void run_dot(const sc_record *record, const void *packed, int64_t from, int64_t to,
                    void *scratch) {
    run_rows(record, packed, from, to, scratch, true);
}

SC_ALGORITHM(conv_depthwise_dot, .fits = fits_dot, .pack_bytes = pack_bytes_dot, .pack = pack_dot,
             .scratch_bytes = scratch_bytes, .tiles = sc_conv_row_tiles, .run = run_dot);
