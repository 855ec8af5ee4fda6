// In wasm: -O3
#include "compute/simd/gemm_dot_row_i8.h"

#include "compute/simd/dot_i8.h"
#include "compute/simd/simd_math.h"

enum { UNIT = 4, BLOCK = 2 * SC_PANEL, NIBBLES = UNIT * SC_PANEL / 2, BYTES = UNIT * SC_PANEL };

typedef struct sums {
    v4u low, high;  // of columns 0 to 3, and of 4 to 7
} sums;

// Two units at a time, in four accumulators, or each product would wait for the one before.
static inline sums sum_bytes(const uint8_t *a, const uint8_t *b, size_t units) {
    v4u low = {0}, high = {0}, next_low = {0}, next_high = {0};
    for (; units >= 2; units -= 2, a += 2 * UNIT, b += 2 * BYTES) {
        const v16b first = v16b_load_splat_four(a), second = v16b_load_splat_four(a + UNIT);
        low = v4u_dot_bytes((v16b)v4u_load(b), first, low);
        high = v4u_dot_bytes((v16b)v4u_load(b + 16), first, high);
        next_low = v4u_dot_bytes((v16b)v4u_load(b + 32), second, next_low);
        next_high = v4u_dot_bytes((v16b)v4u_load(b + 48), second, next_high);
    }
    if (units) {
        const v16b first = v16b_load_splat_four(a);
        low = v4u_dot_bytes((v16b)v4u_load(b), first, low);
        high = v4u_dot_bytes((v16b)v4u_load(b + 16), first, high);
    }
    return (sums){low + next_low, high + next_high};
}

static inline sums sum_nibbles(const uint8_t *a, const uint8_t *b, size_t units, v4u mask) {
    v4u low = {0}, high = {0}, next_low = {0}, next_high = {0};
    for (; units >= 2; units -= 2, a += 2 * UNIT, b += 2 * NIBBLES) {
        const v16b first = v16b_load_splat_four(a), second = v16b_load_splat_four(a + UNIT);
        const v4u w = v4u_load(b), v = v4u_load(b + NIBBLES);
        low = v4u_dot_bytes(first, (v16b)(w & mask), low);
        high = v4u_dot_bytes(first, (v16b)(w >> 4 & mask), high);
        next_low = v4u_dot_bytes(second, (v16b)(v & mask), next_low);
        next_high = v4u_dot_bytes(second, (v16b)(v >> 4 & mask), next_high);
    }
    if (units) {
        const v16b first = v16b_load_splat_four(a);
        const v4u w = v4u_load(b);
        low = v4u_dot_bytes(first, (v16b)(w & mask), low);
        high = v4u_dot_bytes(first, (v16b)(w >> 4 & mask), high);
    }
    return (sums){low + next_low, high + next_high};
}

static inline v4u splat(uint32_t x) { return (v4u){x, x, x, x}; }

// Starts of sums, less the numbers that the zero point and the excess of weights of 4 bits add.
static void whole(const sc_gemm_i8 *g, const sc_gemm_panel *p, sums s, uint32_t excess,
                  sc_gemm_sums *to) {
    const v4u zero = splat((uint32_t)g->zeros[0]), less = splat(excess);
    to->of[0][0] = v4u_load(p->head) + s.low - zero * v4u_load(p->head + 96) - less;
    to->of[0][1] = v4u_load(p->head + 16) + s.high - zero * v4u_load(p->head + 112) - less;
}

static void row_of_bytes(const sc_gemm_i8 *g, const sc_gemm_panel *p, sc_gemm_sums *to) {
    const size_t units = sc_gemm_row_units(g->k, true);
    whole(g, p, sum_bytes(g->a, (const uint8_t *)p->weights, units), 0, to);
}

// From memory that the compiler cannot know, or V8 would make the constant anew in each step.
static inline v4u mask_of_nibbles(void) {
    static const uint32_t masks[4] = {0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f};
    return v4u_load(v4f_hidden((const float *)(const void *)masks));
}

static void row_of_nibbles(const sc_gemm_i8 *g, const sc_gemm_panel *p, sc_gemm_sums *to) {
    const size_t units = sc_gemm_row_units(g->k, true);
    const sums s = sum_nibbles(g->a, (const uint8_t *)p->weights, units, mask_of_nibbles());
    whole(g, p, s, (uint32_t)g->row_sums[0], to);
}

// The sums of each block become floats, times its bf16 scales.
static void row_of_blocks(const sc_gemm_i8 *g, const sc_gemm_panel *p, sc_gemm_sums *to) {
    const size_t units = g->block / UNIT;
    const uint8_t *a = g->a, *b = (const uint8_t *)p->weights, *const end = b;
    const int32_t *excess = g->row_sums;
    const v4f zero = v4f_splat((float)g->zeros[0]);
    const v4u mask = mask_of_nibbles();
    const v8h low_bits = {0};
    v4f low = v4f_zero(), high = v4f_zero();
    for (const uint8_t *facts = p->blocks; facts < end; facts += BLOCK) {
        const v8h bits = (v8h)v4u_load(facts);
        const v4u less = splat((uint32_t)*excess);
        const sums s = sum_nibbles(a, b, units, mask);
        low += v4f_of_sums(s.low - less) * (v4f)v8h_zip_low(low_bits, bits);
        high += v4f_of_sums(s.high - less) * (v4f)v8h_zip_high(low_bits, bits);
        a += units * UNIT;
        b += units * NIBBLES;
        excess += SC_GEMM_ROWS_I8;
    }
    to->of[0][0] = (v4u)(low - zero * sc_gemm_head_floats(p, 3, 0));
    to->of[0][1] = (v4u)(high - zero * sc_gemm_head_floats(p, 3, 1));
}

void sc_gemm_sum_row(const sc_gemm_i8 *g, const sc_gemm_panel *p, sc_gemm_sums *s) {
    // Called by a pointer, or the linker would make one large function of all loops, in which V8
    // has too few registers.
    static void (*volatile const rows[])(const sc_gemm_i8 *, const sc_gemm_panel *,
                                         sc_gemm_sums *) = {row_of_bytes, row_of_nibbles,
                                                            row_of_blocks};
    rows[g->block ? 2 : g->nibbles](g, p, s);
}
