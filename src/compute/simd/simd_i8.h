// Lanes of 8- and 16-bit integers for quantized products. Sums wrap: accumulators have 32 bits and
// agree with XNNPACK's at any depth.
// Prefix: v4i_ (vectors of 4 integers), v4_ (pairs of both).
#ifndef SC_SIMD_I8_H
#define SC_SIMD_I8_H

#include "compute/finish.h"
#include "compute/simd/simd.h"

typedef int16_t v8h __attribute__((vector_size(16)));
typedef int8_t v16b __attribute__((vector_size(16)));
typedef int8_t v8b __attribute__((vector_size(8)));

// Eight bytes, widened.
static inline v8h v8h_widen(const int8_t *p) {
#if defined(__wasm_simd128__)
    return (v8h)wasm_i16x8_load8x8(p);
#else
    v8b bytes;
    memcpy(&bytes, p, sizeof bytes);
    return __builtin_convertvector(bytes, v8h);
#endif
}

// The lower and the upper eight bytes of 16, widened.
static inline v8h v8h_widen_low(v16b v) {
#if defined(__wasm_simd128__)
    return (v8h)wasm_i16x8_extend_low_i8x16((v128_t)v);
#else
    return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7), v8h);
#endif
}
static inline v8h v8h_widen_high(v16b v) {
#if defined(__wasm_simd128__)
    return (v8h)wasm_i16x8_extend_high_i8x16((v128_t)v);
#else
    return __builtin_convertvector(__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15),
                                   v8h);
#endif
}

// Repeats two neighbours four times.
static inline v8h v8h_load_splat_pair(const int16_t *p) {
#if defined(__wasm_simd128__)
    return (v8h)wasm_v128_load32_splat(p);
#else
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return (v8h)(v4i){pair, pair, pair, pair};
#endif
}

// Interleaves the lanes of both: those of the lower and those of the upper halves.
static inline v16b v16b_zip_low(v16b a, v16b b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
static inline v16b v16b_zip_high(v16b a, v16b b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
}
static inline v8h v8h_zip_low(v8h a, v8h b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
static inline v8h v8h_zip_high(v8h a, v8h b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

#if defined(__wasm_simd128__)
static inline v4i v4i_widen_low(v8h v) { return (v4i)wasm_i32x4_extend_low_i16x8((v128_t)v); }
static inline v4i v4i_widen_high(v8h v) { return (v4i)wasm_i32x4_extend_high_i16x8((v128_t)v); }
#else
static inline v4i v4i_widen_low(v8h v) { return (v4i)v8h_zip_low(v, v) >> 16; }
static inline v4i v4i_widen_high(v8h v) { return (v4i)v8h_zip_high(v, v) >> 16; }
#endif

static inline v4i v4i_max(v4i a, v4i b) {
    const v4i mask = a > b;
    return (a & mask) | (b & ~mask);
}
static inline v4i v4i_min(v4i a, v4i b) {
    const v4i mask = a < b;
    return (a & mask) | (b & ~mask);
}

// c plus the sums of neighbouring products: a[0] * b[0] + a[1] * b[1] and so on. A lone pair fits
// as long as not all four factors are the smallest number of 16 bits.
static inline v4u v4u_dot(v8h a, v8h b, v4u c) {
#if defined(__wasm_simd128__)
    return c + (v4u)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
#elif defined(__SSE2__)
    return c + (v4u)__builtin_ia32_pmaddwd128(a, b);
#else
    v4i a_high = (v4i)a >> 16, b_high = (v4i)b >> 16;
    v4i a_low = (v4i)((v4u)a << 16) >> 16, b_low = (v4i)((v4u)b << 16) >> 16;
    return c + (v4u)(a_low * b_low) + (v4u)(a_high * b_high);
#endif
}

static inline v4f v4f_of_sums(v4u sums) { return __builtin_convertvector((v4i)sums, v4f); }

// Rounds four sums as sc_finish_round rounds one. Adding 1.5 * 2^23 leaves the nearest integer in
// the low bits, ties to even. `back` is the excess in them. It comes from memory, like the other
// constants: V8 makes a constant again wherever it is used, in four instructions.
typedef struct v4_rounding {
    v4f low, high, magic;
    v4i back;
    v16b most;  // `high`, rounded
} v4_rounding;

static inline v4_rounding v4_rounding_of(float low, float high, int32_t zero) {
    const v4f magic = v4f_splat(12582912.0f);
    const float bounded = high > -1024 ? (high < 1024 ? high : 1024) : -1024;
    const int8_t most = (int8_t)((int32_t)__builtin_rintf(bounded) + zero);
    return (v4_rounding){v4f_splat(low), v4f_splat(high), magic, (v4i)magic - zero,
                         (v16b){0} + most};
}

static inline v4i v4i_round(const v4_rounding *r, v4f value) {
    const v4f v = v4f_pmin(r->high, v4f_pmax(r->low, value));
    return (v4i)(v + r->magic) - r->back;
}

// The same without the higher bound, above which numbers stay large.
static inline v4i v4i_round_open(const v4_rounding *r, v4f value) {
    return (v4i)(v4f_pmax(r->low, value) + r->magic) - r->back;
}

// The output stage of results of 8 bits: one rounding, or two with a change of scale between them.
typedef struct v4_requantizing {
    bool regrids;
    v4f low, high, scale, inverse, zero;  // zero point of the first rounding, and the number added
                                          // to it
    v4_rounding last;
} v4_requantizing;

// Does the second rounding only move and bound integers, as when a clamp keeps its input's scale?
// Its factor may be off by so little that no integer of 8 bits leaves its neighbourhood. Then
// `low` and `high` become the bounds of both.
static inline bool v4_only_bounds(const sc_regrid *next, float *low, float *high) {
    const float factor = next->scale * next->inverse, zero = (float)next->zero;
    const float least = next->low - zero, most = next->high - zero;
    const bool same =
        factor > 0.9995f && factor < 1.0005f && next->scale < 0x1p100f && next->inverse < 0x1p100f;
    const bool whole = least == __builtin_rintf(least) && most == __builtin_rintf(most);
    if (!same || !whole || least > *high || most < *low || least > most) return false;
    *low = least > *low ? least : *low;
    *high = most < *high ? most : *high;
    return true;
}

// Results are at least `lowest`: -128 or 0.
static inline v4_requantizing v4_requantizing_of(const sc_finish *s, int lowest) {
    float low, high;
    sc_finish_range(s, lowest, &low, &high);
    const sc_regrid *next = &s->regrid;
    const bool bounds = s->regrids && v4_only_bounds(next, &low, &high);
    if (!s->regrids || bounds)
        return (v4_requantizing){.last = v4_rounding_of(low, high, bounds ? next->zero : s->zero)};
    return (v4_requantizing){.regrids = true,
                             .low = v4f_splat(low),
                             .high = v4f_splat(high),
                             .scale = v4f_splat(next->scale),
                             .inverse = v4f_splat(next->inverse),
                             .zero = v4f_splat((float)next->zero),
                             .last = v4_rounding_of(next->low, next->high, 0)};
}

// The last value before rounding.
static inline v4f v4f_regrid(const v4_requantizing *r, v4f value) {
    const v4f v = v4f_pmin(r->high, v4f_pmax(r->low, value));
    return ((v + r->last.magic) - r->last.magic) * r->scale * r->inverse + r->zero;
}

static inline v4u v4u_load(const void *p) {
    v4u v;
    memcpy(&v, p, sizeof v);
    return v;
}

// Stores eight numbers, each in [-128, 127], as bytes.
static inline void v4i_store_bytes(int8_t *p, v4i low, v4i high) {
#if defined(__wasm_simd128__)
    const v128_t narrow = wasm_i16x8_narrow_i32x4((v128_t)low, (v128_t)high);
    wasm_v128_store64_lane(p, wasm_i8x16_narrow_i16x8(narrow, narrow), 0);
#else
    const v8b bytes = __builtin_shufflevector((v16b)low, (v16b)high, 0, 4, 8, 12, 16, 20, 24, 28);
    memcpy(p, &bytes, sizeof bytes);
#endif
}

// Stores the first `count` (1..7) of them.
static inline void v4i_store_bytes_part(int8_t *p, v4i low, v4i high, size_t count) {
    int8_t bytes[8];
    v4i_store_bytes(bytes, low, high);
    for (size_t i = 0; i < count; i++) p[i] = bytes[i];
}

// Stores eight numbers of at least -128 each to both places, or `most` where they are larger.
static inline void v4i_store_bounded(int8_t *p, int8_t *q, const v4i first[2], const v4i second[2],
                                     v16b most) {
#if defined(__wasm_simd128__)
    const v128_t low = wasm_i16x8_narrow_i32x4((v128_t)first[0], (v128_t)first[1]);
    const v128_t high = wasm_i16x8_narrow_i32x4((v128_t)second[0], (v128_t)second[1]);
    const v128_t bytes = wasm_i8x16_min(wasm_i8x16_narrow_i16x8(low, high), (v128_t)most);
    wasm_v128_store64_lane(p, bytes, 0);
    wasm_v128_store64_lane(q, bytes, 1);
#else
    const int32_t bound = most[0];
    const v4i bounds = {bound, bound, bound, bound};
    v4i_store_bytes(p, v4i_min(first[0], bounds), v4i_min(first[1], bounds));
    v4i_store_bytes(q, v4i_min(second[0], bounds), v4i_min(second[1], bounds));
#endif
}

#endif
