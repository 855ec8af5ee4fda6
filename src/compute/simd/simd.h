// Four-lane vectors that gcc, clang and emcc all compile: GNU vector types for arithmetic, and the
// few operations that need more (unaligned loads, splats from memory, pmin/pmax, fused
// multiply-add) behind inline functions. Native and wasm builds run the same source and give the
// same bits; only the relaxed-SIMD build rounds v4f_fma once instead of twice.
// Prefix: v4f_ (vectors of 4 floats).
#ifndef SC_SIMD_H
#define SC_SIMD_H

#include "base/base.h"

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

typedef float v4f __attribute__((vector_size(16)));
typedef int32_t v4i __attribute__((vector_size(16)));
typedef uint32_t v4u __attribute__((vector_size(16)));

static inline v4f v4f_load(const float *p) {
    v4f v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void v4f_store(float *p, v4f v) { memcpy(p, &v, sizeof v); }
static inline v4f v4f_splat(float x) { return (v4f){x, x, x, x}; }
static inline v4f v4f_zero(void) { return (v4f){0, 0, 0, 0}; }

// Sets all lanes to one float in memory: a single instruction if the machine has one.
static inline v4f v4f_load_splat(const float *p) {
#if defined(__wasm_simd128__)
    return (v4f)wasm_v128_load32_splat(p);
#else
    return v4f_splat(*p);
#endif
}

// Reads the first `count` (0..3) floats; the other lanes are zero. Never reads beyond them.
static inline v4f v4f_load_part(const float *p, size_t count) {
    return (v4f){count > 0 ? p[0] : 0, count > 1 ? p[1] : 0, count > 2 ? p[2] : 0, 0};
}
static inline void v4f_store_part(float *p, v4f v, size_t count) {
    if (count > 0) p[0] = v[0];
    if (count > 1) p[1] = v[1];
    if (count > 2) p[2] = v[2];
}

// a * b + c, and whether that is one instruction.
#if defined(__wasm_relaxed_simd__)
enum { V4F_FUSES = true };
static inline v4f v4f_fma(v4f a, v4f b, v4f c) {
    return (v4f)wasm_f32x4_relaxed_madd((v128_t)a, (v128_t)b, (v128_t)c);
}
#elif defined(SC_EMULATE_FMA)  // to measure errors natively
enum { V4F_FUSES = true };
static inline v4f v4f_fma(v4f a, v4f b, v4f c) {
    for (int i = 0; i < 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
}
#else
enum { V4F_FUSES = false };
static inline v4f v4f_fma(v4f a, v4f b, v4f c) { return a * b + c; }
#endif

// Lanes of `a` where the mask is all ones, of `b` where it is zero.
static inline v4f v4f_select(v4i mask, v4f a, v4f b) {
#if defined(__wasm_relaxed_simd__)
    return (v4f)wasm_i32x4_relaxed_laneselect((v128_t)a, (v128_t)b, (v128_t)mask);
#elif defined(__wasm_simd128__)
    return (v4f)wasm_v128_bitselect((v128_t)a, (v128_t)b, (v128_t)mask);
#else
    return (v4f)((mask & (v4i)a) | (~mask & (v4i)b));
#endif
}

// The larger / smaller of `x` and a bound, one instruction each. A NaN in `x` stays, so relu and
// clamp keep PyTorch's meaning as long as the data is the first operand and the bound the second.
static inline v4f v4f_pmax(v4f x, v4f bound) {
#if defined(__wasm_simd128__)
    return (v4f)wasm_f32x4_pmax((v128_t)x, (v128_t)bound);
#else
    return v4f_select(x < bound, bound, x);
#endif
}
static inline v4f v4f_pmin(v4f x, v4f bound) {
#if defined(__wasm_simd128__)
    return (v4f)wasm_f32x4_pmin((v128_t)x, (v128_t)bound);
#else
    return v4f_select(bound < x, bound, x);
#endif
}

// Sum of the lanes, in a fixed order on every machine.
static inline float v4f_sum(v4f v) { return (v[0] + v[2]) + (v[1] + v[3]); }

// The four lane sums of four vectors as one vector, each in the order of v4f_sum.
static inline v4f v4f_sum4(v4f a, v4f b, v4f c, v4f d) {
    v4f ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    v4f ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    v4f cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    v4f cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    v4f ab = ab_low + ab_high;  // a0+a2 b0+b2 a1+a3 b1+b3
    v4f cd = cd_low + cd_high;
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
           __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

#endif
