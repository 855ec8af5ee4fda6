// In wasm: -O3
#include "compute/simd/dwconv_nhwc_i8.h"

#include "compute/simd/simd_i8.h"

// Eight channels of the packing: what sums begin with, scales, shifts and sums of weights, four
// bytes each; then the weights of two taps at a time, those of a channel side by side.
enum { HEAD = 4 * 32, PAIR = 16 };

static inline void store(const sc_dwconv_nhwc_i8 *d, const v4_requantizing *r, size_t at,
                         const uint8_t *head, v4u low, v4u high) {
    v4f a = v4f_of_sums(low), b = v4f_of_sums(high);
    const v4f scale_a = (v4f)v4u_load(head + 32), scale_b = (v4f)v4u_load(head + 48);
    if (!d->floats) {
        a *= scale_a, b *= scale_b;
        if (r->regrids) a = v4f_regrid(r, a), b = v4f_regrid(r, b);
        v4i_store_bytes((int8_t *)d->out + at, v4i_round(&r->last, a), v4i_round(&r->last, b));
        return;
    }
    const bool clamps = d->finish->clamps;
    const v4f least = v4f_splat(clamps ? d->finish->low : -__builtin_inff());
    const v4f most = v4f_splat(clamps ? d->finish->high : __builtin_inff());
    float *out = (float *)d->out + at;
    a = a * d->in_scale * scale_a + (v4f)v4u_load(head + 64);
    b = b * d->in_scale * scale_b + (v4f)v4u_load(head + 80);
    v4f_store(out, v4f_pmin(v4f_pmax(a, least), most));
    v4f_store(out + 4, v4f_pmin(v4f_pmax(b, least), most));
}

// `PIXELS` outputs of eight channels, from channel c on, share each weight.
#define BLOCK(name, PIXELS)                                                                        \
    static void name(const sc_dwconv_nhwc_i8 *d, const v4_requantizing *r, size_t x, size_t c,     \
                     const uint8_t *head) {                                                        \
        const v4u zero = (v4u)(v4i){d->in_zero, d->in_zero, d->in_zero, d->in_zero};               \
        const int8_t *weights = (const int8_t *)head + HEAD;                                       \
        v4u low[PIXELS], high[PIXELS];                                                             \
        low[0] = v4u_load(head) - zero * v4u_load(head + 96);                                      \
        high[0] = v4u_load(head + 16) - zero * v4u_load(head + 112);                               \
        for (size_t p = 1; p < PIXELS; p++) low[p] = low[0], high[p] = high[0];                    \
        for (const sc_dwconv_i8_tap *t = d->taps, *end = t + 2 * d->pairs; t < end; t += 2) {      \
            const int8_t *even = t[0].from + c;                                                    \
            const int8_t *odd = t[1].from + c;                                                     \
            const v8h w_low = v8h_widen(weights), w_high = v8h_widen(weights + 8);                 \
            weights += PAIR;                                                                       \
            for (size_t p = 0; p < PIXELS; p++) {                                                  \
                const v8h a = v8h_widen(even + p * t[0].step), b = v8h_widen(odd + p * t[1].step); \
                low[p] = v4u_dot(v8h_zip_low(a, b), w_low, low[p]);                                \
                high[p] = v4u_dot(v8h_zip_high(a, b), w_high, high[p]);                            \
            }                                                                                      \
        }                                                                                          \
        for (size_t p = 0; p < PIXELS; p++)                                                        \
            store(d, r, (x + p) * d->out_step + c, head, low[p], high[p]);                         \
    }
BLOCK(block_3, 3)
BLOCK(block_1, 1)

void sc_dwconv_nhwc_run_i8(const sc_dwconv_nhwc_i8 *d) {
    const size_t group = HEAD + PAIR * d->pairs;
    const v4_requantizing r = v4_requantizing_of(d->finish, -128);
    for (size_t x = 0, pixels; x < d->count; x += pixels) {
        const uint8_t *head = d->packed;
        pixels = x + 3 <= d->count ? 3 : 1;
        for (size_t c = 0; c < d->channels; c += 8, head += group)
            (pixels == 3 ? block_3 : block_1)(d, &r, x, c + 8 <= d->channels ? c : d->channels - 8,
                                              head);
        for (size_t t = 0; t < 2 * d->pairs; t++) d->taps[t].from += pixels * d->taps[t].step;
    }
}
