// The less frequent f32 functions, computed in double with our own series and rounded once, so that
// the result is right to 0.51 ULP and the same on every machine. Only exact libm functions (sqrt,
// fmod, floor and their kin) are used below.
#ifndef SC_MATH_F32_H
#define SC_MATH_F32_H

float sc_exp2_f32(float x);
float sc_expm1_f32(float x);
float sc_log2_f32(float x);
float sc_log10_f32(float x);
float sc_log1p_f32(float x);
float sc_sin_f32(float x);
float sc_cos_f32(float x);
float sc_tan_f32(float x);
float sc_asin_f32(float x);
float sc_acos_f32(float x);
float sc_atan_f32(float x);
float sc_atan2_f32(float y, float x);
float sc_sinh_f32(float x);
float sc_cosh_f32(float x);
float sc_asinh_f32(float x);
float sc_acosh_f32(float x);
float sc_atanh_f32(float x);
float sc_pow_f32(float x, float y);

// The same series for callers that hold doubles; good to about 1e-13, finite arguments.
double sc_log_series(double x);  // x > 0, normal

// Rare ones, in math_rare.c; these lean on libm.
float sc_erfc_f32(float x);
float sc_erfinv_f32(float x);
float sc_lgamma_f32(float x);
float sc_digamma_f32(float x);
float sc_angle_f32(float x);
float sc_hypot_f32(float x, float y);
float sc_round_decimals_f32(float x, float decimals);
double sc_erfinv_f64(double y);
double sc_digamma_f64(double x);
double sc_round_decimals_f64(double x, double decimals);

#endif
