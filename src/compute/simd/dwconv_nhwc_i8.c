// In wasm: -O3
#include "compute/simd/dwconv_nhwc_i8.h"

#include "compute/simd/simd_i8.h"

// Eight channels of the packing: starts of sums, scales, shifts and sums of weights, four bytes
// each; then the weights of two taps at a time, those of a channel adjacent.
enum { HEAD = 4 * 32, PAIR = 16 };

enum { CHUNK = 32 };  // outputs whose sums are made before they are stored

// --- Results -------------------------------------------------------------------------------------

// Computes the results of eight channels of `count` outputs, the first of which is element `at`. It
// is apart from the loop that makes the sums, so that each loop's vectors fit into the registers.
// It is not inline, or values behind `r` would become constants that V8 makes again in every
// iteration.
static __attribute__((noinline)) void store_bytes(const sc_dwconv_nhwc_i8 *d,
                                                  const v4_requantizing *r, size_t at,
                                                  const uint8_t *head, const v4u *sums,
                                                  size_t count) {
    const v4f scale_a = (v4f)v4u_load(head + 32), scale_b = (v4f)v4u_load(head + 48);
    int8_t *out = (int8_t *)d->out + at;
    for (const v4u *end = sums + 2 * count; sums < end; sums += 2, out += d->out_step) {
        v4f a = v4f_of_sums(sums[0]) * scale_a, b = v4f_of_sums(sums[1]) * scale_b;
        if (r->regrids) a = v4f_regrid(r, a), b = v4f_regrid(r, b);
        v4i_store_bytes(out, v4i_round(&r->last, a), v4i_round(&r->last, b));
    }
}

static void store_floats(const sc_dwconv_nhwc_i8 *d, size_t at, const uint8_t *head,
                         const v4u *sums, size_t count) {
    const bool clamps = d->finish->clamps;
    const v4f least = v4f_splat(clamps ? d->finish->low : -__builtin_inff());
    const v4f most = v4f_splat(clamps ? d->finish->high : __builtin_inff());
    for (size_t i = 0; i < 2 * count; i++) {
        const uint8_t *channels = head + 32 + 16 * (i % 2);
        const v4f v = v4f_of_sums(sums[i]) * d->in_scale * (v4f)v4u_load(channels) +
                      (v4f)v4u_load(channels + 32);
        v4f_store((float *)d->out + at + i / 2 * d->out_step + 4 * (i % 2),
                  v4f_pmin(v4f_pmax(v, least), most));
    }
}

// --- Any taps ------------------------------------------------------------------------------------

// `PIXELS` outputs of eight channels, from channel c on, share each weight.
#define BLOCK(name, PIXELS)                                                                        \
    static void name(const sc_dwconv_nhwc_i8 *d, size_t x, size_t c, const int8_t *weights,        \
                     const v4u begin[2], v4u *sums) {                                              \
        v4u low[PIXELS], high[PIXELS];                                                             \
        for (size_t p = 0; p < PIXELS; p++) low[p] = begin[0], high[p] = begin[1];                 \
        for (const sc_dwconv_i8_tap *t = d->taps, *end = t + 2 * d->pairs; t < end; t += 2) {      \
            const int8_t *even = t[0].from + x * t[0].step + c;                                    \
            const int8_t *odd = t[1].from + x * t[1].step + c;                                     \
            const v8h w_low = v8h_widen(weights), w_high = v8h_widen(weights + 8);                 \
            weights += PAIR;                                                                       \
            for (size_t p = 0; p < PIXELS; p++) {                                                  \
                const v8h a = v8h_widen(even + p * t[0].step), b = v8h_widen(odd + p * t[1].step); \
                low[p] = v4u_dot(v8h_zip_low(a, b), w_low, low[p]);                                \
                high[p] = v4u_dot(v8h_zip_high(a, b), w_high, high[p]);                            \
            }                                                                                      \
        }                                                                                          \
        for (size_t p = 0; p < PIXELS; p++) sums[2 * p] = low[p], sums[2 * p + 1] = high[p];       \
    }
BLOCK(block_3, 3)
BLOCK(block_1, 1)

static void sum_taps(const sc_dwconv_nhwc_i8 *d, size_t x, size_t c, const int8_t *weights,
                     const v4u begin[2], size_t count, v4u *sums) {
    size_t i = 0;
    for (; i + 3 <= count; i += 3) block_3(d, x + i, c, weights, begin, sums + 2 * i);
    for (; i < count; i++) block_1(d, x + i, c, weights, begin, sums + 2 * i);
}

// --- A run ---------------------------------------------------------------------------------------

void sc_dwconv_nhwc_run_i8(const sc_dwconv_nhwc_i8 *d) {
    const size_t group = HEAD + PAIR * d->pairs;
    const uint32_t zero = (uint32_t)d->in_zero;
    const v4_requantizing r = v4_requantizing_of(d->finish, -128);
    for (size_t x = 0; x < d->count; x += CHUNK) {
        const size_t count = d->count - x < CHUNK ? d->count - x : CHUNK;
        const uint8_t *head = d->packed;
        for (size_t at = 0; at < d->channels; at += 8, head += group) {
            const size_t c = at + 8 <= d->channels ? at : d->channels - 8;
            const v4u begin[2] = {v4u_load(head) - zero * v4u_load(head + 96),
                                  v4u_load(head + 16) - zero * v4u_load(head + 112)};
            v4u sums[2 * CHUNK];
            sum_taps(d, x, c, (const int8_t *)head + HEAD, begin, count, sums);
            if (d->floats)
                store_floats(d, x * d->out_step + c, head, sums, count);
            else
                store_bytes(d, &r, x * d->out_step + c, head, sums, count);
        }
    }
}
