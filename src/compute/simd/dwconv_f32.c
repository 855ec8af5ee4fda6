// In wasm: -O3
#include "compute/simd/dwconv_f32.h"

#include "compute/simd/simd.h"

// `vectors` sums at a time share each weight. Seven, their inputs and the weight are what fits into
// the 15 registers that V8 has.
#define BLOCK(name, vectors)                                                      \
    static void name(const sc_dwconv_f32 *d, size_t x) {                          \
        v4f sum[vectors];                                                         \
        const v4f low = v4f_splat(d->low), high = v4f_splat(d->high);             \
        for (size_t i = 0; i < vectors; i++) sum[i] = v4f_splat(d->shift);        \
        for (size_t t = 0; t < d->tap_count; t++) {                               \
            const float *in = d->in + d->offsets[t] + x;                          \
            const v4f weight = v4f_load_splat(d->weights + t);                    \
            for (size_t i = 0; i < vectors; i++)                                  \
                sum[i] = v4f_fma(v4f_load(in + 4 * i), weight, sum[i]);           \
        }                                                                         \
        for (size_t i = 0; i < vectors; i++)                                      \
            v4f_store(d->out + x + 4 * i, v4f_pmin(v4f_pmax(sum[i], low), high)); \
    }
BLOCK(block_28, 7)
BLOCK(block_12, 3)
BLOCK(block_4, 1)

// Computes the last outputs, fewer than four, without writing beyond them.
static void block_part(const sc_dwconv_f32 *d, size_t x) {
    float results[4];
    sc_dwconv_f32 last = *d;
    last.in += x;
    last.out = results;
    block_4(&last, 0);
    v4f_store_part(d->out + x, v4f_load(results), d->count - x);
}

void sc_dwconv_run_f32(const sc_dwconv_f32 *d) {
    const size_t room = d->count + d->spill;
    size_t x = 0;
    for (; x + 28 <= d->count; x += 28) block_28(d, x);
    for (; x + 4 < d->count && x + 12 <= room; x += 12) block_12(d, x);
    for (; x < d->count && x + 4 <= room; x += 4) block_4(d, x);
    if (x < d->count) block_part(d, x);
}
