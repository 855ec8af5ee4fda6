// Measures our f32 functions against libm in double over a sweep of all floats, in ULP. Run by hand
// when a series changes: math_sweep [step], step 1 being every float.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/math_f32.h"
#include "compute/simd/simd_math.h"

typedef struct sweep {
    const char *name;
    float (*ours)(float);
    double (*exact)(double);
    double ulp_max;  // what we promise
} sweep;

#define LANE(name) \
    static float lane_##name(float x) { return v4f_##name(v4f_splat(x))[0]; }
LANE(exp)
LANE(log)
LANE(tanh)
LANE(sigmoid)
LANE(erf)

static double sigmoid_exact(double x) { return 1.0 / (1.0 + exp(-x)); }
static float pow_third(float x) { return sc_pow_f32(x, 1.0f / 3.0f); }
static double pow_third_exact(double x) { return pow(x, (double)(1.0f / 3.0f)); }
static float pow_big(float x) { return sc_pow_f32(1.5f, x); }
static double pow_big_exact(double x) { return pow(1.5, x); }
static float pow_minus(float x) { return sc_pow_f32(x, -3.0f); }
static double pow_minus_exact(double x) { return pow(x, -3.0); }
static float atan2_up(float x) { return sc_atan2_f32(x, -0.7f); }
static double atan2_up_exact(double x) { return atan2(x, (double)-0.7f); }

static const sweep sweeps[] = {
    {"exp", lane_exp, exp, 2},
    {"log", lane_log, log, 2},
    {"tanh", lane_tanh, tanh, 3},
    {"sigmoid", lane_sigmoid, sigmoid_exact, 3},
    {"erf", lane_erf, erf, 3},
    {"exp2", sc_exp2_f32, exp2, 0.51},
    {"expm1", sc_expm1_f32, expm1, 0.51},
    {"log2", sc_log2_f32, log2, 0.51},
    {"log10", sc_log10_f32, log10, 0.51},
    {"log1p", sc_log1p_f32, log1p, 0.51},
    {"sin", sc_sin_f32, sin, 0.51},
    {"cos", sc_cos_f32, cos, 0.51},
    {"tan", sc_tan_f32, tan, 0.51},
    {"asin", sc_asin_f32, asin, 0.51},
    {"acos", sc_acos_f32, acos, 0.51},
    {"atan", sc_atan_f32, atan, 0.51},
    {"sinh", sc_sinh_f32, sinh, 0.51},
    {"cosh", sc_cosh_f32, cosh, 0.51},
    {"asinh", sc_asinh_f32, asinh, 0.51},
    {"acosh", sc_acosh_f32, acosh, 0.51},
    {"atanh", sc_atanh_f32, atanh, 0.51},
    {"pow(x,1/3)", pow_third, pow_third_exact, 0.51},
    {"pow(1.5,x)", pow_big, pow_big_exact, 0.51},
    {"pow(x,-3)", pow_minus, pow_minus_exact, 0.51},
    {"atan2(x,-.7)", atan2_up, atan2_up_exact, 0.51},
};

static double ulps(float got, double want) {
    if (want != want || got != got) return (want != want) == (got != got) ? 0 : INFINITY;
    float rounded = (float)want;
    if (isinf(rounded) || isinf(got)) return rounded == got ? 0 : INFINITY;
    float next = nextafterf(fabsf(rounded), INFINITY);
    double unit = isinf(next) ? 0x1p104 : (double)next - (double)fabsf(rounded);
    if (want == 0 && signbit(got) != signbit(rounded)) return INFINITY;
    return fabs((double)got - want) / unit;
}

int main(int argc, char **argv) {
    uint64_t step = argc > 1 ? strtoull(argv[1], NULL, 10) : 4099;
    int bad = 0;
    for (size_t k = 0; k < sizeof sweeps / sizeof *sweeps; k++) {
        double worst = 0;
        float where = 0;
        for (uint64_t bits = 0; bits < 1ull << 32; bits += step) {
            uint32_t b = (uint32_t)bits;
            float x;
            memcpy(&x, &b, sizeof x);
            double error = ulps(sweeps[k].ours(x), sweeps[k].exact((double)x));
            if (error > worst) {
                worst = error;
                where = x;
            }
        }
        bad += worst > sweeps[k].ulp_max;
        printf("%-14s %8.3f ULP at %a%s\n", sweeps[k].name, worst, (double)where,
               worst > sweeps[k].ulp_max ? "  TOO MUCH" : "");
    }
    return bad != 0;
}
