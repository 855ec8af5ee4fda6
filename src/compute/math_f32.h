// The less frequent f32 functions, computed in double with our own series and rounded once. So the
// result is right to 0.51 ULP and the same on every machine. Only exact libm functions (such as
// sqrt, fmod and floor) are used below.
// Prefix: sc_NAME_f32 is the function NAME on one float.
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

// Rare functions, in math_rare.c; these use libm.
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

// Those of mathematical physics, in math_special.c.
float sc_i0_f32(float x);
double sc_i0_f64(double x);
float sc_i0e_f32(float x);
double sc_i0e_f64(double x);
float sc_i1_f32(float x);
double sc_i1_f64(double x);
float sc_i1e_f32(float x);
double sc_i1e_f64(double x);
float sc_k0_f32(float x);
double sc_k0_f64(double x);
float sc_k0e_f32(float x);
double sc_k0e_f64(double x);
float sc_k1_f32(float x);
double sc_k1_f64(double x);
float sc_k1e_f32(float x);
double sc_k1e_f64(double x);
float sc_j0_f32(float x);
double sc_j0_f64(double x);
float sc_j1_f32(float x);
double sc_j1_f64(double x);
float sc_y0_f32(float x);
double sc_y0_f64(double x);
float sc_y1_f32(float x);
double sc_y1_f64(double x);
float sc_spherical_j0_f32(float x);
double sc_spherical_j0_f64(double x);
float sc_erfcx_f32(float x);
double sc_erfcx_f64(double x);
float sc_ndtri_f32(float x);
double sc_ndtri_f64(double x);
float sc_zeta_f32(float s, float q);
double sc_zeta_f64(double s, double q);
float sc_polygamma_f32(float x, float n);
double sc_polygamma_f64(double x, double n);
float sc_igamma_f32(float a, float x);
double sc_igamma_f64(double a, double x);
float sc_igammac_f32(float a, float x);
double sc_igammac_f64(double a, double x);

#endif
