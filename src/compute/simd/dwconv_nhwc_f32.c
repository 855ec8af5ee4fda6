// In wasm: -O3
#include "compute/simd/dwconv_nhwc_f32.h"

#include "compute/simd/simd.h"

// `pixels` outputs by `vectors` of four channels, from channel c on, share each weight. The sums, a
// weight for each vector and what is loaded must stay within 15 registers, or V8 spills.
#define BLOCK(name, pixels, vectors)                                                               \
    static void name(const sc_dwconv_nhwc_f32 *d, size_t x, size_t c, const float *packed) {       \
        const size_t group = 4 * (d->kernel_taps + 1);                                             \
        const float *in = d->in + x * d->in_step + c;                                              \
        const v4f low = v4f_splat(d->low), high = v4f_splat(d->high);                              \
        float *out = d->out + x * d->out_step + c;                                                 \
        v4f sum[pixels][vectors];                                                                  \
        for (size_t p = 0; p < pixels; p++)                                                        \
            for (size_t j = 0; j < vectors; j++) sum[p][j] = v4f_load(packed + j * group);         \
        for (size_t t = 0; t < d->tap_count; t++) {                                                \
            const float *from = in + d->taps[t].offset;                                            \
            const float *weights = packed + 4 + 4 * d->taps[t].index;                              \
            v4f w[vectors];                                                                        \
            for (size_t j = 0; j < vectors; j++) w[j] = v4f_load(weights + j * group);             \
            for (size_t p = 0; p < pixels; p++)                                                    \
                for (size_t j = 0; j < vectors; j++)                                               \
                    sum[p][j] = v4f_fma(v4f_load(from + p * d->in_step + 4 * j), w[j], sum[p][j]); \
        }                                                                                          \
        for (size_t p = 0; p < pixels; p++)                                                        \
            for (size_t j = 0; j < vectors; j++)                                                   \
                v4f_store(out + p * d->out_step + 4 * j,                                           \
                          v4f_pmin(v4f_pmax(sum[p][j], low), high));                               \
    }
BLOCK(block_3x2, 3, 2)
BLOCK(block_3x1, 3, 1)
BLOCK(block_1x4, 1, 4)
BLOCK(block_1x1, 1, 1)

typedef void (*block_fn)(const sc_dwconv_nhwc_f32 *d, size_t x, size_t c, const float *packed);

// All channels of a few outputs: `wide` takes as many vectors at a time as it says, `narrow` one.
static void run_channels(const sc_dwconv_nhwc_f32 *d, size_t x, block_fn wide, size_t vectors,
                         block_fn narrow) {
    const size_t group = 4 * (d->kernel_taps + 1);
    const float *packed = d->packed;
    size_t c = 0;
    for (; c + 4 * vectors <= d->channels; c += 4 * vectors, packed += vectors * group)
        wide(d, x, c, packed);
    for (; c + 4 <= d->channels; c += 4, packed += group) narrow(d, x, c, packed);
    if (c < d->channels) narrow(d, x, d->channels - 4, packed);
}

void sc_dwconv_nhwc_run_f32(const sc_dwconv_nhwc_f32 *d) {
    size_t x = 0;
    for (; x + 3 <= d->count; x += 3) run_channels(d, x, block_3x2, 2, block_3x1);
    for (; x < d->count; x++) run_channels(d, x, block_1x4, 4, block_1x1);
}
