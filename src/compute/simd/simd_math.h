// exp, log, tanh, sigmoid and erf on four floats, within 1.5 ULP and sigmoid within 2.3 (measured
// over all floats by tools/native/math_sweep.c), with fused multiply-adds and without. Their order
// is fixed, so native and wasm give the same bits, which libm would not. NaN gives NaN; infinities
// and subnormals are exact. Prefix: v4f_ (vectors of 4 floats).
#ifndef SC_SIMD_MATH_H
#define SC_SIMD_MATH_H

#include "compute/simd/simd.h"

// Hides from the compiler that it knows the numbers behind `p`. A known vector takes V8 three
// instructions on the busiest port to build, but one in memory takes a load.
static inline const float *v4f_hidden(const float *p) {
    __asm__("" : "+r"(p));
    return p;
}

// The polynomial in x with the coefficients c, of the highest power first.
static inline v4f v4f_polynomial(v4f x, const float *c, const int count) {
    v4f p = v4f_load_splat(c);
    for (int i = 1; i < count; i++) p = v4f_fma(p, x, v4f_load_splat(c + i));
    return p;
}

static inline v4f v4f_abs(v4f x) { return (v4f)((v4i)x & 0x7fffffff); }

// Magnitude of `x`, sign of `sign`.
static inline v4f v4f_copysign(v4f x, v4f sign) {
    v4i bits = (v4i)sign & INT32_MIN;
    return (v4f)(((v4i)x & 0x7fffffff) | bits);
}

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

// e^x by x = n ln2 + r with |r| <= ln2 / 2 and a polynomial, as e^r and a sum whose low bits are n.
typedef struct v4f_exp_parts {
    v4f e_r;
    v4i sum;
} v4f_exp_parts;

enum { V4F_EXP_MAGIC = 0x4b400000 };  // 1.5 * 2^23, the sum if n is 0

static inline v4f_exp_parts v4f_exp_split(v4f x) {
    enum { LOG2_E, MAGIC, LN2_HIGH, LN2_LOW, ONE, SERIES };
    static const float constants[] = {
        1.44269504f,      12582912.0f,      -0.693359375f,    2.12194440e-4f,   1.0f,
        1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
        5.0000001201e-1f};
    const float *k = v4f_hidden(constants);
    const v4f magic = v4f_load_splat(k + MAGIC);
    const v4f sum = v4f_fma(x, v4f_load_splat(k + LOG2_E), magic), n = sum - magic;
    v4f r = v4f_fma(n, v4f_load_splat(k + LN2_HIGH), x);
    r = v4f_fma(n, v4f_load_splat(k + LN2_LOW), r);
    const v4f p = v4f_polynomial(r, k + SERIES, 6);
    return (v4f_exp_parts){v4f_fma(p, r * r, r) + v4f_load_splat(k + ONE), (v4i)sum};
}

// x * 2^n, where n is the low bits and the result is normal; else any number.
static inline v4f v4f_scale(v4f x, v4i n) { return (v4f)((v4u)x + ((v4u)n << 23)); }

// e^x if -87 <= x <= 88, else any number.
static inline v4f v4f_exp_normal(v4f x) {
    const v4f_exp_parts parts = v4f_exp_split(x);
    return v4f_scale(parts.e_r, parts.sum);
}

// Scales in two steps so that subnormal results round once. Results that round to zero, such as
// those of masked scores, are zero without it: a product that underflows takes x86 a hundred
// cycles.
static inline v4f v4f_exp(v4f x) {
    enum { LEAST, MOST, ONE };
    static const float constants[] = {-103.98f, 89.0f, 1.0f};
    const float *k = v4f_hidden(constants);
    const v4i counts = x >= v4f_load_splat(k + LEAST);  // neither zero nor NaN
    const v4f bounded = v4f_pmin((v4f)((v4i)x & counts), v4f_load_splat(k + MOST));
    const v4f_exp_parts parts = v4f_exp_split(bounded);
    const v4i n = parts.sum - V4F_EXP_MAGIC, half = n >> 1;
    const v4f scaled = v4f_scale(parts.e_r, half) * v4f_scale(v4f_load_splat(k + ONE), n - half);
    return v4f_select(x == x, (v4f)((v4i)scaled & counts), x);
}

// x = 2^n m with m in [sqrt(1/2), sqrt(2)), log(m) by a polynomial in m - 1.
static inline v4f v4f_log(v4f x) {
    static const float series[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                   -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                   2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    const v4f ln2_high = v4f_splat(0.693359375f), ln2_low = v4f_splat(-2.12194440e-4f);
    v4i tiny = x < 1.17549435e-38f;
    v4f scaled = v4f_select(tiny, x * 8388608.0f, x);
    v4u bits = (v4u)scaled;
    v4i exponent = (v4i)(bits - 0x3f3504f3u) >> 23;
    v4f m = (v4f)(bits - ((v4u)exponent << 23)) - 1.0f;
    v4f n = __builtin_convertvector(exponent - (tiny & 23), v4f);
    v4f p = v4f_polynomial(m, v4f_hidden(series), 9);
    v4f square = m * m;
    v4f y = v4f_fma(n, ln2_low, p * m * square);
    y = v4f_fma(square, v4f_splat(-0.5f), y);
    v4f result = v4f_fma(n, ln2_high, m + y);
    v4f infinity = v4f_splat(__builtin_inff());
    result = v4f_select(x == infinity, x, result);
    result = v4f_select(x == 0.0f, -infinity, result);
    return v4f_select(x >= 0.0f, result, x - x + v4f_splat(__builtin_nanf("")));
}

// Odd polynomial near zero, 1 - 2 / (e^2|x| + 1) beyond.
static inline v4f v4f_tanh(v4f x) {
    static const float series[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                                   1.33314422036e-1f, -3.33332819422e-1f};
    v4f a = v4f_abs(x), z = x * x;
    v4f p = v4f_polynomial(z, v4f_hidden(series), 5);
    v4f small = v4f_fma(p * z, x, x);
    v4f large = 1.0f - 2.0f / (v4f_exp_normal(v4f_pmin(a + a, v4f_splat(88.0f))) + 1.0f);
    v4f y = v4f_copysign(v4f_select(a < 0.625f, small, large), x);  // also for zeros
    return v4f_select(x == x, y, x);
}

static inline v4f v4f_sigmoid(v4f x) {
    v4f e = v4f_exp(-v4f_abs(x));  // never overflows
    return v4f_select(x < 0.0f, e, v4f_splat(1.0f)) / (1.0f + e);
}

// Odd polynomial below 0.93; 1 - e^q(|x|) beyond, with q fitted to log(erfc). That is 1 above 4.
static inline v4f v4f_erf(v4f x) {
    enum { NEAR, EVEN = 6, ODD = 8, FAR = 10, LEAST = 13, MIDDLE, ONE };
    static const float constants[] = {
        -5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f,
        -3.76125336e-1f, 1.28379166e-1f, -1.72853470e-5f, 3.83197126e-4f,
        -3.88396438e-3f, 2.42546219e-2f, -1.06777877e-1f, -6.34846687e-1f,
        -1.28717512e-1f, -87.0f,         0.927734375f,    1.0f};
    const float *k = v4f_hidden(constants);
    v4f a = v4f_abs(x), s = x * x;
    v4f small = v4f_fma(v4f_polynomial(s, k + NEAR, 6), x, x);
    v4f q = v4f_fma(v4f_polynomial(a, k + EVEN, 2), s, v4f_polynomial(a, k + ODD, 2));
    for (int i = 0; i < 3; i++) q = v4f_fma(q, a, v4f_load_splat(k + FAR + i));
    q = v4f_pmax(v4f_fma(q, a, -a), v4f_load_splat(k + LEAST));
    v4f large = v4f_copysign(v4f_load_splat(k + ONE) - v4f_exp_normal(q), x);
    v4f y = v4f_select(a > v4f_load_splat(k + MIDDLE), large, small);
    return v4f_select(x == x, y, x);
}

#endif
