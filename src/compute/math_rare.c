// Functions that few models use: computed in double, partly by libm, and rounded once.
#include <math.h>

#include "compute/math_f32.h"

double sc_digamma_f64(double x) {
    const double pi = 3.141592653589793;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0 && x == floor(x)) return NAN;
    double sum = 0.0;
    if (x < 0) {  // reflection
        sum = -pi / tan(pi * (x - trunc(x)));
        x = 1.0 - x;
    }
    for (; x < 10.0; x += 1.0) sum -= 1.0 / x;
    double z = 1.0 / (x * x);
    double tail = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z / 132))));
    return x == INFINITY ? x : sum + log(x) - 0.5 / x - tail;
}

// Takes a starting point for erfinv (Winitzki 2008), then three Newton steps.
double sc_erfinv_f64(double y) {
    if (!(fabs(y) < 1.0)) return fabs(y) == 1.0 ? copysign(INFINITY, y) : NAN;
    double w = log((1.0 - y) * (1.0 + y)), a = 0.147;
    double t = 2.0 / (3.141592653589793 * a) + w / 2.0;
    double x = copysign(sqrt(sqrt(t * t - w / a) - t), y);
    for (int i = 0; i < 3; i++) x -= (erf(x) - y) / (1.1283791670955126 * exp(-x * x));
    return x;
}

double sc_round_decimals_f64(double x, double decimals) {
    double ten = pow(10.0, fabs(decimals));
    return decimals < 0 ? nearbyint(x / ten) * ten : nearbyint(x * ten) / ten;
}

float sc_erfc_f32(float x) { return (float)erfc((double)x); }
float sc_erfinv_f32(float x) { return (float)sc_erfinv_f64((double)x); }
float sc_lgamma_f32(float x) { return (float)lgamma((double)x); }
float sc_digamma_f32(float x) { return (float)sc_digamma_f64((double)x); }
float sc_angle_f32(float x) { return x != x ? x : x < 0 ? 3.14159274f : 0.0f; }
float sc_hypot_f32(float x, float y) {
    if (isinf(x) || isinf(y)) return INFINITY;
    return (float)sqrt((double)x * (double)x + (double)y * (double)y);
}
// The power of ten is rounded to the operand's type first, and overflows to infinity, as in
// PyTorch.
float sc_round_decimals_f32(float x, float decimals) {
    float ten = (float)pow(10.0, fabs((double)decimals));
    return decimals < 0 ? nearbyintf(x / ten) * ten : nearbyintf(x * ten) / ten;
}
