// exp, log, tanh, sigmoid and erf on four floats, within 1.5 ULP (measured over all floats by
// tools/native/math_sweep.c). They use plain multiplies and adds in a fixed order, so native and
// wasm give the same bits, which libm would not. NaN gives NaN; infinities and subnormals are
// exact.
// Prefix: v4f_ (vectors of 4 floats).
#ifndef SC_SIMD_MATH_H
#define SC_SIMD_MATH_H

#include "compute/simd/simd.h"

static inline v4f v4f_abs(v4f x) { return (v4f)((v4i)x & 0x7fffffff); }

// Magnitude of `x`, sign of `sign`.
static inline v4f v4f_copysign(v4f x, v4f sign) {
    v4i bits = (v4i)sign & INT32_MIN;
    return (v4f)(((v4i)x & 0x7fffffff) | bits);
}

// 2^n for n in [-126, 127].
static inline v4f v4f_exp2_int(v4i n) { return (v4f)((n + 127) << 23); }

// The nearest integer, ties to even; right for |x| < 2^22.
static inline v4f v4f_nearest_small(v4f x) {
    const float magic = 12582912.0f;  // 1.5 * 2^23
    return (x + magic) - magic;
}

static inline v4i v4i_from_v4f(v4f x) {  // |x| < 2^31
    return __builtin_convertvector(x, v4i);
}

static inline v4f v4f_sqrt(v4f x) {
#if defined(__wasm_simd128__)
    return (v4f)wasm_f32x4_sqrt((v128_t)x);
#else
    for (int i = 0; i < 4; i++) x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

// x = n ln2 + r with |r| <= ln2 / 2; e^r by a polynomial, then scaled by 2^n in two steps so that
// subnormal results round once. Results that round to zero, such as those of masked scores, are
// zero without it: a product that underflows takes x86 a hundred cycles.
static inline v4f v4f_exp(v4f x) {
    const v4i counts = x >= v4f_splat(-103.98f);  // neither zero nor NaN
    const v4f bounded = v4f_pmin((v4f)((v4i)x & counts), v4f_splat(89.0f));
    const float magic =
        12582912.0f;  // 1.5 * 2^23: the sum holds the rounded integer in its low bits
    v4f shifted = bounded * 1.44269504f + magic;
    v4f n = shifted - magic;
    v4f r = bounded - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    v4f p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    v4f y = p * (r * r) + r + 1.0f;
    v4i exponent = (v4i)shifted - (v4i)v4f_splat(magic);
    v4i half = exponent >> 1;
    y = y * v4f_exp2_int(half) * v4f_exp2_int(exponent - half);
    return v4f_select(x == x, (v4f)((v4i)y & counts), x);
}

// x = 2^n m with m in [sqrt(1/2), sqrt(2)), log(m) by a polynomial in m - 1.
static inline v4f v4f_log(v4f x) {
    v4i tiny = x < 1.17549435e-38f;
    v4f scaled = v4f_select(tiny, x * 8388608.0f, x);
    v4u bits = (v4u)scaled;
    v4i exponent = (v4i)(bits - 0x3f3504f3u) >> 23;
    v4f m = (v4f)(bits - ((v4u)exponent << 23)) - 1.0f;
    v4f n = __builtin_convertvector(exponent - (tiny & 23), v4f);
    v4f p = m * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    v4f square = m * m;
    v4f y = p * m * square;
    y = y + n * -2.12194440e-4f;
    y = y - square * 0.5f;
    v4f result = (m + y) + n * 0.693359375f;
    v4f infinity = v4f_splat(__builtin_inff());
    result = v4f_select(x == infinity, x, result);
    result = v4f_select(x == 0.0f, -infinity, result);
    return v4f_select(x >= 0.0f, result, x - x + v4f_splat(__builtin_nanf("")));
}

// Odd polynomial near zero, 1 - 2 / (e^2|x| + 1) beyond.
static inline v4f v4f_tanh(v4f x) {
    v4f a = v4f_abs(x), z = x * x;
    v4f p = z * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    v4f small = p * z * x + x;
    v4f large = 1.0f - 2.0f / (v4f_exp(a + a) + 1.0f);
    v4f y = v4f_copysign(v4f_select(a < 0.625f, small, large), x);  // also for zeros
    return v4f_select(x == x, y, x);
}

static inline v4f v4f_sigmoid(v4f x) {
    v4f e = v4f_exp(-v4f_abs(x));  // never overflows
    return v4f_select(x < 0.0f, e, v4f_splat(1.0f)) / (1.0f + e);
}

// Odd polynomial below 0.93; 1 - e^q(|x|) beyond, with q fitted to log(erfc).
static inline v4f v4f_erf(v4f x) {
    v4f a = v4f_abs(x), s = x * x;
    v4f p = s * -5.96761703e-4f + 4.99119423e-3f;
    p = p * s - 2.67681349e-2f;
    p = p * s + 1.12819925e-1f;
    p = p * s - 3.76125336e-1f;
    p = p * s + 1.28379166e-1f;
    v4f small = p * x + x;
    v4f q = a * -1.72853470e-5f + 3.83197126e-4f;
    v4f u = a * -3.88396438e-3f + 2.42546219e-2f;
    q = q * s + u;
    q = q * a - 1.06777877e-1f;
    q = q * a - 6.34846687e-1f;
    q = q * a - 1.28717512e-1f;
    q = q * a - a;
    v4f large = v4f_copysign(1.0f - v4f_exp(q), x);
    large = v4f_select(a > 4.0f, v4f_copysign(v4f_splat(1.0f), x), large);
    v4f y = v4f_select(a > 0.927734375f, large, small);
    return v4f_select(x == x, y, x);
}

#endif
