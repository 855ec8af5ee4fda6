// Bessel functions, incomplete gamma functions and related ones, computed in double. Integrals of
// smooth functions that decay, or that have a period, are sums at even steps. Their error is below
// that of a double as soon as the step is small enough.
#define _DEFAULT_SOURCE  // j0 and related functions
#include <float.h>
#include <math.h>

#include "compute/math_f32.h"
#include "core/series.h"

#define PI 3.141592653589793

// --- Modified Bessel functions -------------------------------------------------------------------

// exp(-x) I_n(x) for x >= 0 and n of 0 and 1. For large x it is the asymptotic series; otherwise
// the mean of exp(x (cos t - 1)) cos(n t) over half a circle.
static double scaled_i(int n, double x) {
    double sum = 0.0, m = 4.0 * n * n, term = 1.0;
    if (x > 30.0) {
        for (int k = 1; k < 40 && fabs(term) > DBL_EPSILON * fabs(sum); k++) {
            sum += term;
            term *= -(m - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k * x);
        }
        return sum / sqrt(2 * PI * x);
    }
    for (int k = 0; k <= 32; k++) {
        double t = PI * k / 32, part = exp(x * (cos(t) - 1.0)) * (n ? cos(t) : 1.0);
        sum += k == 0 || k == 32 ? part / 2 : part;
    }
    return sum / 32;
}

static double signed_i(int n, double x) {
    double y = x == 0 && n ? 0.0 : scaled_i(n, fabs(x));
    return n && x < 0 ? -y : y;
}

double sc_i0e_f64(double x) { return signed_i(0, x); }
double sc_i1e_f64(double x) { return signed_i(1, x); }
// NaN of infinity, as in PyTorch.
double sc_i0_f64(double x) { return exp(fabs(x) / 2) * signed_i(0, x) * exp(fabs(x) / 2); }
double sc_i1_f64(double x) { return exp(fabs(x) / 2) * signed_i(1, x) * exp(fabs(x) / 2); }

// exp(x) K_n(x): the integral of exp(-x (cosh t - 1)) cosh(n t).
static double scaled_k(int n, double x) {
    if (x < 0 || x != x) return NAN;
    if (x == 0) return INFINITY;
    if (isinf(x)) return 0.0;
    double step = 0.25 / sqrt(1.0 + x / 8), sum = 0.5;
    for (int i = 1; i < 4096; i++) {
        double t = step * i, half = sinh(t / 2), part = -2.0 * x * half * half;
        part = exp(part + (n ? t : 0.0)) * (n ? 0.5 * (1.0 + exp(-2.0 * t)) : 1.0);
        sum += part;
        if (part < DBL_EPSILON * 1e-2 * sum && 2.0 * x * half * half > 1.0) break;
    }
    return sum * step;
}

double sc_k0e_f64(double x) { return scaled_k(0, x); }
double sc_k1e_f64(double x) { return scaled_k(1, x); }
double sc_k0_f64(double x) { return x > 0 ? exp(-x) * scaled_k(0, x) : scaled_k(0, x); }
double sc_k1_f64(double x) { return x > 0 ? exp(-x) * scaled_k(1, x) : scaled_k(1, x); }

// --- Bessel functions ----------------------------------------------------------------------------

// NaN for infinity, as in PyTorch, which computes the sine of it.
double sc_j0_f64(double x) { return isinf(x) ? NAN : j0(x); }
double sc_j1_f64(double x) { return isinf(x) ? NAN : j1(x); }

static int has_y(double x) { return x > 0 && !isinf(x); }

double sc_y0_f64(double x) { return has_y(x) ? y0(x) : x == 0 ? -INFINITY : NAN; }
double sc_y1_f64(double x) { return has_y(x) ? y1(x) : x == 0 ? -INFINITY : NAN; }
double sc_spherical_j0_f64(double x) {
    if (isinf(x)) return 0.0;
    return fabs(x) < 1e-4 ? 1.0 - x * x / 6 : sin(x) / x;
}

// --- The normal distribution ---------------------------------------------------------------------

// exp(x^2) erfc(x)
double sc_erfcx_f64(double x) {
    if (x < 25.0) return x < -26.7 ? INFINITY : exp(x * x) * erfc(x);
    double z = 1.0 / (x * x);
    return (1.0 - z * (0.5 - z * (0.75 - z * 1.875))) / (x * sqrt(PI));
}

// The inverse of the distribution function: Newton's method from a rough start (Abramowitz and
// Stegun 26.2.23), on the side without cancellation.
double sc_ndtri_f64(double p) {
    if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    double q = p < 0.5 ? p : 1.0 - p, t = sqrt(-2.0 * log(q));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < 4; i++) {
        double error = 0.5 * erfc(x / sqrt(2.0)) - q;
        double step = error * sqrt(2 * PI) * exp(x * x / 2);
        x += step / (1.0 - x * step / 2);
    }
    return p < 0.5 ? -x : x;
}

// --- Zeta and gamma ------------------------------------------------------------------------------

// Hurwitz's zeta function by the Euler-Maclaurin formula.
double sc_zeta_f64(double s, double q) {
    if (s == 1) return INFINITY;
    if (s < 1 || q != q) return NAN;
    if (q <= 0 && q == floor(q)) return INFINITY;  // for every s
    if (s != s || (q <= 0 && s != floor(s))) return NAN;
    double sum = 0.0, w = q;
    for (int i = 0; i < 10 || (w <= 9.0 && i < 4096); i++, w += 1.0) {
        double part = pow(w, -s);
        sum += part;
        if (fabs(part) < DBL_EPSILON * fabs(sum) && w > 0) return sum;
    }
    if (w <= 9.0) return NAN;
    double power = pow(w, -s), factor = s;
    sum += power * w / (s - 1.0) + 0.5 * power;
    power /= w;
    for (int k = 0; k < SC_ZETA_TERMS; k++) {
        double part = factor * power / sc_zeta_terms[k];
        sum += part;
        if (fabs(part) < DBL_EPSILON * fabs(sum)) break;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2);
        power /= w * w;
    }
    return sum;
}

double sc_polygamma_f64(double x, double n) {
    if (n == 0) return sc_digamma_f64(x);
    if (n == 1 && isinf(x)) return x > 0 ? 0.0 : NAN;  // otherwise the result of zeta
    double sign = fmod(n, 2) == 0 ? -1.0 : 1.0;
    return sign * exp(lgamma(n + 1.0)) * sc_zeta_f64(n + 1.0, x);
}

// x^a exp(-x) / gamma(a + 1)
static double gamma_factor(double a, double x) { return exp(a * log(x) - x - lgamma(a + 1.0)); }

static double lower_series(double a, double x) {
    double sum = 1.0, term = 1.0;
    for (int n = 1; n < 5000 && term > DBL_EPSILON * sum; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum * gamma_factor(a, x);
}

// Lentz's method for the continued fraction.
static double upper_fraction(double a, double x) {
    double b = x + 1.0 - a, c = 1.0 / DBL_MIN, d = 1.0 / b, h = d;
    for (int n = 1; n < 5000; n++) {
        double an = -n * (n - a);
        b += 2.0;
        d = an * d + b;
        d = 1.0 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
        c = b + an / c;
        if (fabs(c) < DBL_MIN) c = DBL_MIN;
        h *= d * c;
        if (fabs(d * c - 1.0) < DBL_EPSILON) break;
    }
    return h * a * gamma_factor(a, x);
}

// For large a, for which the two methods above take long: the first terms of Temme's expansion.
static double upper_uniform(double a, double x) {
    double l = x / a, mu = l - 1.0;
    double half = fabs(mu) < 1e-3 ? mu * mu * (0.5 - mu / 3 + mu * mu / 4) : mu - log(l);
    double eta = copysign(sqrt(2.0 * half), mu);
    double c0 = fabs(eta) < 1e-3 ? -1.0 / 3 + eta / 12 : 1.0 / mu - 1.0 / eta;
    double tail = exp(-a * half) / sqrt(2 * PI * a);
    return 0.5 * erfc(eta * sqrt(a / 2)) + tail * c0;
}

static double gamma_part(double a, double x, int is_upper) {
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
    if (a == 0 || isinf(x)) return is_upper ? 0.0 : 1.0;
    if (x == 0 || isinf(a)) return is_upper ? 1.0 : 0.0;
    if (a > 1e5) {
        double q = upper_uniform(a, x);
        return is_upper ? q : 1.0 - q;
    }
    if (x < a + 1.0) return is_upper ? 1.0 - lower_series(a, x) : lower_series(a, x);
    return is_upper ? upper_fraction(a, x) : 1.0 - upper_fraction(a, x);
}

double sc_igamma_f64(double a, double x) { return gamma_part(a, x, 0); }
double sc_igammac_f64(double a, double x) { return gamma_part(a, x, 1); }

float sc_i0_f32(float x) { return (float)sc_i0_f64((double)x); }
float sc_i0e_f32(float x) { return (float)sc_i0e_f64((double)x); }
float sc_i1_f32(float x) { return (float)sc_i1_f64((double)x); }
float sc_i1e_f32(float x) { return (float)sc_i1e_f64((double)x); }
float sc_k0_f32(float x) { return (float)sc_k0_f64((double)x); }
float sc_k0e_f32(float x) { return (float)sc_k0e_f64((double)x); }
float sc_k1_f32(float x) { return (float)sc_k1_f64((double)x); }
float sc_k1e_f32(float x) { return (float)sc_k1e_f64((double)x); }
float sc_j0_f32(float x) { return (float)sc_j0_f64((double)x); }
float sc_j1_f32(float x) { return (float)sc_j1_f64((double)x); }
float sc_y0_f32(float x) { return (float)sc_y0_f64((double)x); }
float sc_y1_f32(float x) { return (float)sc_y1_f64((double)x); }
float sc_spherical_j0_f32(float x) { return (float)sc_spherical_j0_f64((double)x); }
float sc_erfcx_f32(float x) { return (float)sc_erfcx_f64((double)x); }
float sc_ndtri_f32(float x) { return (float)sc_ndtri_f64((double)x); }
float sc_zeta_f32(float s, float q) { return (float)sc_zeta_f64((double)s, (double)q); }
float sc_polygamma_f32(float x, float n) { return (float)sc_polygamma_f64((double)x, (double)n); }
float sc_igamma_f32(float a, float x) { return (float)sc_igamma_f64((double)a, (double)x); }
float sc_igammac_f32(float a, float x) { return (float)sc_igammac_f64((double)a, (double)x); }
