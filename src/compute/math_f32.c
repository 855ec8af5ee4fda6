// Series in double, chosen so that their error (below 1e-12) disappears in the rounding to float.
// Argument reduction for sin, cos and tan is exact for every float: three-part pi/2 below 10^6,
// a window of the bits of 2/pi above (Payne and Hanek, 1983).
// In wasm: -O3
#include "compute/math_f32.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define HALF_PI  1.5707963267948966
#define PI       3.141592653589793
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW  0x1.a39ef35793c76p-33
#define LOG2_E   1.4426950408889634
#define LOG10_2  0.30102999566398120
#define LOG10_E  0.43429448190325182

static double double_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_from_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// coefficients[0] + x (coefficients[1] + x (...))
static double polynomial(double x, const double *coefficients, int count) {
    double sum = coefficients[count - 1];
    for (int i = count - 2; i >= 0; i--) sum = sum * x + coefficients[i];
    return sum;
}

static const double exp_terms[] = {
    1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,      1.0 / 720,
    1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};

// |x| < 700.
static double exp_series(double x) {
    double n = nearbyint(x * LOG2_E);
    double r = (x - n * LN2_HIGH) - n * LN2_LOW;
    double power = double_from_bits((uint64_t)((int64_t)n + 1023) << 52);
    return polynomial(r, exp_terms, 13) * power;
}

// log(1 + x) for small |x| relative to itself: 2 atanh(x / (2 + x)).
static double log1p_near(double x) {
    static const double terms[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                   1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};
    double s = x / (2.0 + x);
    return 2.0 * s * polynomial(s * s, terms, 10);
}

// x = 2^n m, m in [sqrt(1/2), sqrt(2)).
static double split(double x, double *mantissa) {
    uint64_t bits = bits_from_double(x);
    int64_t exponent = (int64_t)(bits - 0x3fe6a09e667f3bcdull) >> 52;
    *mantissa = double_from_bits(bits - ((uint64_t)exponent << 52));
    return (double)exponent;
}

double sc_log_series(double x) {
    double m, n = split(x, &m);
    return n * LN2_HIGH + (log1p_near(m - 1.0) + n * LN2_LOW);
}

// log(1 + x) for any x > -1.
static double log1p_series(double x) {
    return fabs(x) < 0.25 ? log1p_near(x) : sc_log_series(1.0 + x);
}

// log of zero, of negatives, of infinity and of NaN; true if `out` has the result.
static int log_special(float x, float *out) {
    if (x > 0 && x < INFINITY) return 0;
    *out = x == 0 ? -INFINITY : x > 0 ? x : NAN;
    return 1;
}

float sc_log2_f32(float x) {
    float special;
    if (log_special(x, &special)) return special;
    double m, n = split((double)x, &m);
    return (float)(n + log1p_near(m - 1.0) * LOG2_E);
}

float sc_log10_f32(float x) {
    float special;
    if (log_special(x, &special)) return special;
    double m, n = split((double)x, &m);
    return (float)(n * LOG10_2 + log1p_near(m - 1.0) * LOG10_E);
}

float sc_log1p_f32(float x) {
    if (x == 0) return x;
    if (!(x > -1.0f) || x == INFINITY) return x == -1.0f ? -INFINITY : x > 0 ? x : NAN;
    return (float)log1p_series((double)x);
}

float sc_exp2_f32(float x) {
    if (x != x) return x;
    double bounded = x > 200.0f ? 200.0 : x < -200.0f ? -200.0 : (double)x;
    double n = nearbyint(bounded);
    double power = double_from_bits((uint64_t)((int64_t)n + 1023) << 52);
    return (float)(polynomial((bounded - n) * 0.6931471805599453, exp_terms, 13) * power);
}

float sc_expm1_f32(float x) {
    if (x != x || x == 0) return x;
    double a = x > 100.0f ? 100.0 : x < -100.0f ? -100.0 : (double)x;
    if (fabs(a) < 0.25) return (float)(a * polynomial(a, exp_terms + 1, 12));
    return (float)(exp_series(a) - 1.0);
}

// --- Circular functions --------------------------------------------------------------------------

// One word for the integer part, the others for the fraction.
static const uint32_t two_over_pi[] = {0,           0xa2f9836eu, 0x4e441529u,
                                       0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                                       0x3c439041u, 0xfe5163abu, 0xdebbc561u};

// 32 bits of 2/pi, from bit `first` of the table.
static uint32_t window(uint32_t first) {
    uint32_t word = first / 32, shift = first % 32;
    uint64_t pair = (uint64_t)two_over_pi[word] << 32 | two_over_pi[word + 1];
    return (uint32_t)(pair >> (32 - shift));
}

// x modulo pi/2 in [-pi/4, pi/4]; the quadrant (0..3) in `quadrant`. |x| is finite.
static double reduce(double x, int *quadrant) {
    if (fabs(x) < 1.0e6) {
        double n = nearbyint(x * (1.0 / HALF_PI));
        *quadrant = (int)((int64_t)n & 3);
        double r = x - n * 0x1.921fb54400000p+0;
        r -= n * 0x1.0b4611a600000p-34;
        return r - n * 0x1.3198a2e037073p-69;
    }
    // |x| = m 2^e; bits of 2/pi that only add multiples of 4 quadrants are skipped.
    uint64_t bits = bits_from_double(fabs(x));
    uint64_t m = (bits >> 29 & 0x7fffff) | 0x800000;
    uint32_t skip = (uint32_t)(bits >> 52) - 1023 - 23 - 2 + 32;
    uint64_t high = (uint64_t)window(skip) << 32 | window(skip + 32);
    uint64_t turns = m * high + (m * window(skip + 64) >> 32);  // quarter turns * 2^62, modulo 4
    uint64_t quarter = (turns >> 62) + (turns >> 61 & 1);
    double fraction = (double)(int64_t)(turns - (quarter << 62)) * 0x1p-62;
    *quadrant = (int)(quarter & 3);
    double r = fraction * HALF_PI;
    if (x < 0) {
        *quadrant = (4 - *quadrant) & 3;
        return -r;
    }
    return r;
}

static double sin_near(double r) {
    static const double terms[] = {1.0,          -1.0 / 6,        1.0 / 120,         -1.0 / 5040,
                                   1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0};
    return r * polynomial(r * r, terms, 7);
}

static double cos_near(double r) {
    static const double terms[] = {
        1.0,         -1.0 / 2,       1.0 / 24,        -1.0 / 720,
        1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0};
    return polynomial(r * r, terms, 8);
}

// sin(x + turns * pi/2)
static float circular(float x, int turns) {
    if (x - x != 0)  // infinite or NaN
        return NAN;
    int quadrant;
    double r = reduce((double)x, &quadrant);
    quadrant = (quadrant + turns) & 3;
    double y = quadrant & 1 ? cos_near(r) : sin_near(r);
    return (float)(quadrant & 2 ? -y : y);
}

float sc_sin_f32(float x) { return x == 0 ? x : circular(x, 0); }

float sc_cos_f32(float x) { return circular(x, 1); }

float sc_tan_f32(float x) {
    if (x == 0) return x;
    if (x - x != 0) return NAN;
    int quadrant;
    double r = reduce((double)x, &quadrant);
    double s = sin_near(r), c = cos_near(r);
    return (float)(quadrant & 1 ? -c / s : s / c);
}

// x >= 0, infinity included.
static double atan_series(double x) {
    static const double terms[] = {1.0,       -1.0 / 3,  1.0 / 5,   -1.0 / 7,  1.0 / 9,
                                   -1.0 / 11, 1.0 / 13,  -1.0 / 15, 1.0 / 17,  -1.0 / 19,
                                   1.0 / 21,  -1.0 / 23, 1.0 / 25,  -1.0 / 27, 1.0 / 29};
    double base = 0.0, sign = 1.0;
    if (x > 1.0) {
        x = 1.0 / x;
        base = HALF_PI;
        sign = -1.0;
    }
    if (x > 0.41421356237309503) {  // tan(pi/8)
        base += sign * (HALF_PI / 2);
        x = (x - 1.0) / (x + 1.0);
    }
    return base + sign * (x * polynomial(x * x, terms, 15));
}

// The angle of (x, y) for y >= 0, neither NaN.
static double angle(double y, double x) {
    if (y == INFINITY && fabs(x) == INFINITY) return x > 0 ? HALF_PI / 2 : PI - HALF_PI / 2;
    if (x > 0) return atan_series(y / x);
    if (x < 0) return PI - atan_series(y / -x);
    return y > 0 ? HALF_PI : signbit(x) ? PI : 0.0;
}

float sc_atan2_f32(float y, float x) {
    if (x != x || y != y) return NAN;
    return copysignf((float)angle(fabs((double)y), (double)x), y);
}

float sc_atan_f32(float x) {
    if (x != x) return x;
    return copysignf((float)atan_series(fabs((double)x)), x);
}

float sc_asin_f32(float x) {
    if (!(fabsf(x) <= 1.0f)) return NAN;
    double a = fabs((double)x);
    return copysignf((float)angle(a, sqrt((1.0 - a) * (1.0 + a))), x);
}

float sc_acos_f32(float x) {
    if (!(fabsf(x) <= 1.0f)) return NAN;
    double a = (double)x;
    return (float)angle(sqrt((1.0 - a) * (1.0 + a)), a);
}

// --- Hyperbolic functions ------------------------------------------------------------------------

float sc_sinh_f32(float x) {
    if (x - x != 0) return x;
    double a = fabs((double)x);
    a = a < 100.0 ? a : 100.0;
    if (a < 0.5) {
        static const double terms[] = {1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880};
        return copysignf((float)(a * polynomial(a * a, terms, 5)), x);
    }
    double e = exp_series(a);
    return copysignf((float)(0.5 * (e - 1.0 / e)), x);
}

float sc_cosh_f32(float x) {
    if (x != x) return x;
    double a = fabs((double)x);
    double e = exp_series(a < 100.0 ? a : 100.0);
    return (float)(0.5 * (e + 1.0 / e));
}

float sc_asinh_f32(float x) {
    if (x - x != 0) return x;
    double a = fabs((double)x);
    return copysignf((float)log1p_series(a + a * a / (1.0 + sqrt(a * a + 1.0))), x);
}

float sc_acosh_f32(float x) {
    if (!(x >= 1.0f) || x == INFINITY) return x >= 1.0f ? x : NAN;
    double t = (double)x - 1.0;
    return (float)log1p_series(t + sqrt(t * (t + 2.0)));
}

float sc_atanh_f32(float x) {
    if (!(fabsf(x) < 1.0f)) return fabsf(x) == 1.0f ? copysignf(INFINITY, x) : NAN;
    double a = fabs((double)x);
    return copysignf((float)(0.5 * log1p_series(2.0 * a / (1.0 - a))), x);
}

// --- Powers --------------------------------------------------------------------------------------

static int is_integer(float x) { return x == floorf(x); }

static int is_odd(float x) { return is_integer(x) && fabsf(x) < 16777216.0f && ((int64_t)x & 1); }

// x is 0, infinite, or the exponent is: the cases of C's pow, Annex F.
static float pow_edge(float x, float y) {
    float a = fabsf(x);
    int odd = is_odd(y);
    if (fabsf(y) == INFINITY) {
        if (a == 1.0f) return 1.0f;
        return (a > 1.0f) == (y > 0) ? INFINITY : 0.0f;
    }
    float magnitude = (a == 0) == (y > 0) ? 0.0f : INFINITY;
    return odd ? copysignf(magnitude, x) : magnitude;
}

float sc_pow_f32(float x, float y) {
    if (y == 0 || x == 1.0f) return 1.0f;
    if (x != x || y != y) return NAN;
    if (x == 0 || fabsf(x) == INFINITY || fabsf(y) == INFINITY) return pow_edge(x, y);
    if (x < 0 && !is_integer(y)) return NAN;
    double exponent = (double)y * sc_log_series(fabs((double)x));
    exponent = exponent > 200.0 ? 200.0 : exponent < -200.0 ? -200.0 : exponent;
    float magnitude = (float)exp_series(exponent);
    return x < 0 && is_odd(y) ? -magnitude : magnitude;
}
