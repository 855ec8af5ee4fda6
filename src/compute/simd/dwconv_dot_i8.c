// In wasm: -O3
#include "compute/simd/dot_i8.h"
#include "compute/simd/dwconv_nhwc_i8.h"

// Sixteen channels of the packing: starts of sums, scales, shifts and sums of weights, four bytes
// each; then the weights of three taps at a time and a 0, those of a channel adjacent.
enum { LANES = 16, HEAD = 16 * LANES, ROW = 4 * LANES };

enum { CHUNK = 32 };  // outputs whose sums are made before they are stored

typedef struct sums {
    v4u of[4];
} sums;

// --- Sums ----------------------------------------------------------------------------------------

// The numbers of four taps, those of a channel adjacent.
static inline void load_taps(const int8_t *const taps[4], v4u flip, v16b to[4]) {
    v16b t[4];
    for (int i = 0; i < 4; i++) t[i] = (v16b)(v4u_load(taps[i]) ^ flip);
    const v8h low = (v8h)v16b_zip_low(t[0], t[1]), high = (v8h)v16b_zip_high(t[0], t[1]);
    const v8h next = (v8h)v16b_zip_low(t[2], t[3]), last = (v8h)v16b_zip_high(t[2], t[3]);
    to[0] = (v16b)v8h_zip_low(low, next), to[1] = (v16b)v8h_zip_high(low, next);
    to[2] = (v16b)v8h_zip_low(high, last), to[3] = (v16b)v8h_zip_high(high, last);
}

// One output of sixteen channels, from channel c on.
static inline void sum_one(const sc_dwconv_nhwc_i8 *d, size_t x, size_t c, const uint8_t *weights,
                           v4u flip, sums *s) {
    const sc_dwconv_i8_tap *t = d->taps;
    for (const uint8_t *end = weights + ROW * d->rows; weights < end; weights += ROW, t += 3) {
        const int8_t *last = t[2].from + x * t[2].step + c;
        const int8_t *const taps[4] = {t[0].from + x * t[0].step + c, t[1].from + x * t[1].step + c,
                                       last, last};
        v16b inputs[4];
        load_taps(taps, flip, inputs);
        for (int i = 0; i < 4; i++)
            s->of[i] = v4u_dot_bytes((v16b)v4u_load(weights + 16 * i), inputs[i], s->of[i]);
    }
}

// Two outputs whose taps overlap: each row reads four inputs. The weights of the second output are
// one tap further.
static inline void sum_two(const sc_dwconv_nhwc_i8 *d, size_t x, size_t c, const uint8_t *weights,
                           v4u flip, sums *s, sums *next) {
    const sc_dwconv_i8_tap *t = d->taps;
    for (const uint8_t *end = weights + ROW * d->rows; weights < end; weights += ROW, t += 3) {
        const int8_t *last = t[2].from + x * t[2].step + c;
        const int8_t *const taps[4] = {t[0].from + x * t[0].step + c, t[1].from + x * t[1].step + c,
                                       last, last + t[2].step};
        v16b inputs[4];
        load_taps(taps, flip, inputs);
        for (int i = 0; i < 4; i++) {
            const v4u w = v4u_load(weights + 16 * i);
            s->of[i] = v4u_dot_bytes((v16b)w, inputs[i], s->of[i]);
            next->of[i] = v4u_dot_bytes((v16b)(w << 8), inputs[i], next->of[i]);
        }
    }
}

static __attribute__((noinline)) void sum_outputs(const sc_dwconv_nhwc_i8 *d, size_t x, size_t c,
                                                  const uint8_t *weights, const sums *begin,
                                                  size_t count, sums *to) {
    const uint32_t byte = sc_dot_flip() * 0x01010101u;
    const v4u flip = {byte, byte, byte, byte};
    size_t i = 0;
    for (; d->overlaps && i + 2 <= count; i += 2) {
        sums s = *begin, next = *begin;
        sum_two(d, x + i, c, weights, flip, &s, &next);
        to[i] = s, to[i + 1] = next;
    }
    for (; i < count; i++) {
        sums s = *begin;
        sum_one(d, x + i, c, weights, flip, &s);
        to[i] = s;
    }
}

// --- Results -------------------------------------------------------------------------------------

// Apart from the loop that makes the sums, so that each loop's vectors fit into the registers.
static __attribute__((noinline)) void store_outputs(const sc_dwconv_nhwc_i8 *d,
                                                    const v4_requantizing *r, const uint8_t *head,
                                                    const sums *s, size_t count, int8_t *out) {
    const uint8_t *scales = head + 4 * LANES;
    for (const sums *end = s + count; s < end; s++, out += d->out_step) {
        v4i results[4];
        for (int i = 0; i < 4; i++) {
            v4f v = v4f_of_sums(s->of[i]) * (v4f)v4u_load(scales + 16 * i);
            if (r->regrids) v = v4f_regrid(r, v);
            results[i] = v4i_round_open(&r->last, v);
        }
        v4i_store_bounded(out, out + 8, results, results + 2, r->last.most);
    }
}

// --- A run ---------------------------------------------------------------------------------------

static void begin_sums(const sc_dwconv_nhwc_i8 *d, const uint8_t *head, sums *begin) {
    const uint32_t zero = (uint32_t)(d->in_zero + sc_dot_flip());
    for (int i = 0; i < 4; i++)
        begin->of[i] = v4u_load(head + 16 * i) - zero * v4u_load(head + 12 * LANES + 16 * i);
}

void sc_dwconv_nhwc_run_dot(const sc_dwconv_nhwc_i8 *d) {
    const size_t group = HEAD + ROW * d->rows;
    const v4_requantizing r = v4_requantizing_of(d->finish, -128);
    for (size_t x = 0; x < d->count; x += CHUNK) {
        const size_t count = d->count - x < CHUNK ? d->count - x : CHUNK;
        const uint8_t *head = d->packed;
        for (size_t at = 0; at < d->channels; at += LANES, head += group) {
            const size_t c = at + LANES <= d->channels ? at : d->channels - LANES;
            sums begin, s[CHUNK];
            begin_sums(d, head, &begin);
            sum_outputs(d, x, c, head + HEAD, &begin, count, s);
            store_outputs(d, &r, head, s, count, (int8_t *)d->out + x * d->out_step + c);
        }
    }
}
