// Turns the expressions of pointwise.def into loops, one per compute class. The f32 loop is four
// lanes wide, tail included, so an element's value never depends on its position.
// In wasm: -Os
#include <math.h>

#include "compute/math_f32.h"
#include "compute/simd/simd_math.h"
#include "kernels/pointwise.h"

#define INLINE static inline __attribute__((always_inline, unused))

// --- Functions on four floats --------------------------------------------------------------------

#define LANES1(name, function)                                                        \
    INLINE v4f v4f_##name(v4f x) {                                                    \
        return (v4f){function(x[0]), function(x[1]), function(x[2]), function(x[3])}; \
    }
#define LANES2(name, function)                                                         \
    INLINE v4f v4f_##name(v4f x, v4f y) {                                              \
        return (v4f){function(x[0], y[0]), function(x[1], y[1]), function(x[2], y[2]), \
                     function(x[3], y[3])};                                            \
    }
LANES1(exp2, sc_exp2_f32)
LANES1(expm1, sc_expm1_f32)
LANES1(log1p, sc_log1p_f32)
LANES1(log2, sc_log2_f32)
LANES1(log10, sc_log10_f32)
LANES1(sin, sc_sin_f32)
LANES1(cos, sc_cos_f32)
LANES1(tan, sc_tan_f32)
LANES1(asin, sc_asin_f32)
LANES1(acos, sc_acos_f32)
LANES1(atan, sc_atan_f32)
LANES1(sinh, sc_sinh_f32)
LANES1(cosh, sc_cosh_f32)
LANES1(asinh, sc_asinh_f32)
LANES1(acosh, sc_acosh_f32)
LANES1(atanh, sc_atanh_f32)
LANES2(atan2, sc_atan2_f32)
LANES2(pow, sc_pow_f32)
LANES2(fmod, fmodf)
#if defined(__wasm_simd128__)
INLINE v4f v4f_ceil(v4f x) { return (v4f)wasm_f32x4_ceil((v128_t)x); }
INLINE v4f v4f_floor(v4f x) { return (v4f)wasm_f32x4_floor((v128_t)x); }
INLINE v4f v4f_trunc(v4f x) { return (v4f)wasm_f32x4_trunc((v128_t)x); }
INLINE v4f v4f_nearest(v4f x) { return (v4f)wasm_f32x4_nearest((v128_t)x); }
#else
LANES1(ceil, ceilf)
LANES1(floor, floorf)
LANES1(trunc, truncf)
LANES1(nearest, nearbyintf)
#endif

// NaN in either operand wins.
INLINE v4f v4f_maximum(v4f a, v4f b) { return v4f_select(b != b, b, v4f_pmax(a, b)); }
INLINE v4f v4f_minimum(v4f a, v4f b) { return v4f_select(b != b, b, v4f_pmin(a, b)); }

INLINE v4f v4f_remainder(v4f a, v4f b) {
    v4f r = v4f_fmod(a, b);
    v4i fix = (r != 0.0f) & ((b < 0.0f) ^ (r < 0.0f));
    return v4f_select(fix, r + b, r);
}

// The quotient for the remainder above, with PyTorch's rounding.
static float floor_divide_f32(float a, float b) {
    if (b == 0) return a / b;
    float mod = fmodf(a, b), div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1.0f;
    if (div == 0) return copysignf(0.0f, a / b);
    float floored = floorf(div);
    return div - floored > 0.5f ? floored + 1.0f : floored;
}
LANES2(floor_divide, floor_divide_f32)

// x Phi(x): NaN at minus infinity, as in PyTorch.
INLINE v4f v4f_gelu(v4f x) { return x * 0.5f * (1.0f + v4f_erf(x * 0.70710678f)); }
INLINE v4f v4f_gelu_tanh(v4f x) {
    v4f inner = (x + x * x * x * 0.044715f) * 0.79788456f;
    return x * 0.5f * (1.0f + v4f_tanh(inner));
}
INLINE v4f v4f_logit(v4f x) { return v4f_log(x / (1.0f - x)); }

LANES1(erfc, sc_erfc_f32)
LANES1(erfinv, sc_erfinv_f32)
LANES1(lgamma, sc_lgamma_f32)
LANES1(digamma, sc_digamma_f32)
LANES1(angle, sc_angle_f32)
LANES2(hypot, sc_hypot_f32)
LANES2(round_decimals, sc_round_decimals_f32)

LANES1(i0, sc_i0_f32)
LANES1(i0e, sc_i0e_f32)
LANES1(i1, sc_i1_f32)
LANES1(i1e, sc_i1e_f32)
LANES1(k0, sc_k0_f32)
LANES1(k0e, sc_k0e_f32)
LANES1(k1, sc_k1_f32)
LANES1(k1e, sc_k1e_f32)
LANES1(j0, sc_j0_f32)
LANES1(j1, sc_j1_f32)
LANES1(y0, sc_y0_f32)
LANES1(y1, sc_y1_f32)
LANES1(spherical_j0, sc_spherical_j0_f32)
LANES1(erfcx, sc_erfcx_f32)
LANES1(ndtri, sc_ndtri_f32)
LANES2(zeta, sc_zeta_f32)
LANES2(polygamma, sc_polygamma_f32)
LANES2(igamma, sc_igamma_f32)
LANES2(igammac, sc_igammac_f32)

// --- The same on doubles -------------------------------------------------------------------------

#define f64_exp            exp
#define f64_exp2           exp2
#define f64_expm1          expm1
#define f64_log            log
#define f64_log1p          log1p
#define f64_log2           log2
#define f64_log10          log10
#define f64_sin            sin
#define f64_cos            cos
#define f64_tan            tan
#define f64_asin           asin
#define f64_acos           acos
#define f64_atan           atan
#define f64_sinh           sinh
#define f64_cosh           cosh
#define f64_tanh           tanh
#define f64_asinh          asinh
#define f64_acosh          acosh
#define f64_atanh          atanh
#define f64_atan2          atan2
#define f64_pow            pow
#define f64_fmod           fmod
#define f64_ceil           ceil
#define f64_floor          floor
#define f64_trunc          trunc
#define f64_nearest        nearbyint
#define f64_sqrt           sqrt
#define f64_erf            erf
#define f64_abs            fabs
#define f64_erfc           erfc
#define f64_erfinv         sc_erfinv_f64
#define f64_lgamma         lgamma
#define f64_digamma        sc_digamma_f64
#define f64_copysign       copysign
#define f64_hypot          hypot
#define f64_round_decimals sc_round_decimals_f64
#define f64_i0             sc_i0_f64
#define f64_i0e            sc_i0e_f64
#define f64_i1             sc_i1_f64
#define f64_i1e            sc_i1e_f64
#define f64_k0             sc_k0_f64
#define f64_k0e            sc_k0e_f64
#define f64_k1             sc_k1_f64
#define f64_k1e            sc_k1e_f64
#define f64_j0             sc_j0_f64
#define f64_j1             sc_j1_f64
#define f64_y0             sc_y0_f64
#define f64_y1             sc_y1_f64
#define f64_spherical_j0   sc_spherical_j0_f64
#define f64_erfcx          sc_erfcx_f64
#define f64_ndtri          sc_ndtri_f64
#define f64_zeta           sc_zeta_f64
#define f64_polygamma      sc_polygamma_f64
#define f64_igamma         sc_igamma_f64
#define f64_igammac        sc_igammac_f64

INLINE double f64_pmax(double x, double bound) { return x < bound ? bound : x; }
INLINE double f64_pmin(double x, double bound) { return bound < x ? bound : x; }
INLINE double f64_maximum(double a, double b) { return b != b ? b : f64_pmax(a, b); }
INLINE double f64_minimum(double a, double b) { return b != b ? b : f64_pmin(a, b); }
INLINE double f64_remainder(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (b < 0) != (r < 0) ? r + b : r;
}
static double f64_floor_divide(double a, double b) {
    if (b == 0) return a / b;
    double mod = fmod(a, b), div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1.0;
    if (div == 0) return copysign(0.0, a / b);
    double floored = floor(div);
    return div - floored > 0.5 ? floored + 1.0 : floored;
}
INLINE double f64_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
INLINE double f64_angle(double x) { return x != x ? x : x < 0 ? 3.141592653589793 : 0.0; }
INLINE double f64_gelu(double x) { return x * 0.5 * (1.0 + erf(x * 0.7071067811865476)); }
INLINE double f64_gelu_tanh(double x) {
    double inner = 0.7978845608028654 * (x + 0.044715 * (x * x * x));
    return 0.5 * x * (1.0 + tanh(inner));
}
INLINE double f64_logit(double x) { return log(x / (1.0 - x)); }

// --- Integer functions ---------------------------------------------------------------------------

#define T        int32_t
#define U        uint32_t
#define FN(name) i32_##name
#include "kernels/pointwise_int.inc"
#undef T
#undef U
#undef FN
#define T        int64_t
#define U        uint64_t
#define FN(name) i64_##name
#include "kernels/pointwise_int.inc"
#undef T
#undef U
#undef FN

typedef uint8_t v4b __attribute__((vector_size(4)));

// --- Loops ---------------------------------------------------------------------------------------

typedef v4f (*v4f_body)(v4f a, v4f b, v4f c, const v4f *s);

// A row reads only the operands that its expression names, so the loads of the others (their
// pointers fall back to the first) are dropped by the compiler.
INLINE void drive_f32(v4f_body body, void *out, const void *const *in, const sc_pw_params *params,
                      int64_t n) {
    const float *pa = in[0], *pb = in[1] ? in[1] : pa, *pc = in[2] ? in[2] : pa;
    float *to = out;
    v4f s[3];
    for (int k = 0; k < 3; k++) s[k] = v4f_splat((float)params->real[k]);
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        v4f_store(to + i, body(v4f_load(pa + i), v4f_load(pb + i), v4f_load(pc + i), s));
    if (i < n) {
        size_t left = (size_t)(n - i);
        v4f y = body(v4f_load_part(pa + i, left), v4f_load_part(pb + i, left),
                     v4f_load_part(pc + i, left), s);
        v4f_store_part(to + i, y, left);
    }
}

#define BLOCK_LOOP(name, suffix, type, result, field)                                         \
    static void name##_##suffix(void *out, const void *const *in, const sc_pw_params *params, \
                                int64_t n) {                                                  \
        const type *pa = in[0], *pb = in[1] ? in[1] : in[0], *pc = in[2] ? in[2] : in[0];     \
        result *to = out;                                                                     \
        const type s[3] = {(type)params->field[0], (type)params->field[1],                    \
                           (type)params->field[2]};                                           \
        for (int64_t i = 0; i < n; i++)                                                       \
            to[i] = (result)name##_##suffix##_body(pa[i], pb[i], pc[i], s);                   \
    }

typedef v4i (*v4f_test)(v4f a, v4f b, v4f c, const v4f *s);

INLINE void drive_test(v4f_test body, uint8_t *to, const void *const *in, int64_t n) {
    const float *pa = in[0], *pb = in[1] ? in[1] : pa;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const v4f a = v4f_load(pa + i), b = v4f_load(pb + i);
        const v4b found = __builtin_convertvector(-body(a, b, a, NULL), v4b);
        memcpy(to + i, &found, sizeof found);
    }
    for (; i < n; i++) to[i] = body(v4f_splat(pa[i]), v4f_splat(pb[i]), v4f_zero(), NULL)[0] != 0;
}

#define ADD(x, y) ((T)((U)(x) + (U)(y)))
#define SUB(x, y) ((T)((U)(x) - (U)(y)))
#define MUL(x, y) ((T)((U)(x) * (U)(y)))
#define NEG(x)    ((T)(0 - (U)(x)))

// f32
#define K(x)            v4f_splat((float)(x))
#define SEL(test, x, y) v4f_select((v4i)(test), x, y)
#define V(name, ...)    v4f_##name(__VA_ARGS__)
#define BODY_F32(name, result, expression)                             \
    INLINE result name##_f32_body(v4f a, v4f b, v4f c, const v4f *s) { \
        (void)a, (void)b, (void)c, (void)s;                            \
        return (result)(expression);                                   \
    }
#define LOOP_F32(name, expression)                                                       \
    BODY_F32(name, v4f, expression)                                                      \
    static void name##_f32(void *out, const void *const *in, const sc_pw_params *params, \
                           int64_t n) {                                                  \
        drive_f32(name##_f32_body, out, in, params, n);                                  \
    }
#define PW_SAME(name, real, integer)    LOOP_F32(name, real)
#define PW_CHECKED(name, real, integer) LOOP_F32(name, real)
#define PW_FLOAT(name, real)            LOOP_F32(name, real)
#include "kernels/pointwise.def"

#define BODY(name, suffix, type, result, expression)                              \
    INLINE result name##_##suffix##_body(type a, type b, type c, const type *s) { \
        (void)a, (void)b, (void)c, (void)s;                                       \
        return (result)(expression);                                              \
    }

// Tests of four floats give bytes.
#define K(x)            v4f_splat((float)(x))
#define SEL(test, x, y) v4f_select((v4i)(test), x, y)
#define V(name, ...)    v4f_##name(__VA_ARGS__)
#define PW_TEST(name, test, integer)                                                     \
    BODY_F32(name, v4i, test)                                                            \
    static void name##_f32(void *out, const void *const *in, const sc_pw_params *params, \
                           int64_t n) {                                                  \
        drive_test(name##_f32_body, out, in, n);                                         \
        (void)params;                                                                    \
    }
#include "kernels/pointwise.def"

// f64
#define K(x)            ((double)(x))
#define SEL(test, x, y) ((test) ? (x) : (y))
#define V(name, ...)    f64_##name(__VA_ARGS__)
#define LOOP_F64(name, result, expression)      \
    BODY(name, f64, double, result, expression) \
    BLOCK_LOOP(name, f64, double, result, real)
#define PW_SAME(name, real, integer)    LOOP_F64(name, double, real)
#define PW_CHECKED(name, real, integer) LOOP_F64(name, double, real)
#define PW_FLOAT(name, real)            LOOP_F64(name, double, real)
#define PW_TEST(name, real, integer)    LOOP_F64(name, uint8_t, real)
#include "kernels/pointwise.def"

// Integers of both widths.
#define LOOP_INT(name, suffix, type, result, expression) \
    BODY(name, suffix, type, result, expression)         \
    BLOCK_LOOP(name, suffix, type, result, integer)
#define T                               int32_t
#define U                               uint32_t
#define N(name)                         i32_##name
#define PW_SAME(name, real, integer)    LOOP_INT(name, i32, int32_t, int32_t, integer)
#define PW_CHECKED(name, real, integer) LOOP_INT(name, i32, int32_t, int32_t, integer)
#define PW_TEST(name, real, integer)    LOOP_INT(name, i32, int32_t, uint8_t, integer)
#define PW_INTEGER(name, expression)    LOOP_INT(name, i32, int32_t, int32_t, expression)
#include "kernels/pointwise.def"
#define T                               int64_t
#define U                               uint64_t
#define N(name)                         i64_##name
#define PW_SAME(name, real, integer)    LOOP_INT(name, i64, int64_t, int64_t, integer)
#define PW_CHECKED(name, real, integer) LOOP_INT(name, i64, int64_t, int64_t, integer)
#define PW_TEST(name, real, integer)    LOOP_INT(name, i64, int64_t, uint8_t, integer)
#define PW_INTEGER(name, expression)    LOOP_INT(name, i64, int64_t, int64_t, expression)
#include "kernels/pointwise.def"

// Bytes of truth values, 16 at a time.
typedef uint8_t truths __attribute__((vector_size(16), aligned(1), may_alias));
#define PW_LOGIC(name, expression)                                                      \
    INLINE truths name##_truths(truths a, truths b) {                                   \
        (void)b;                                                                        \
        return expression;                                                              \
    }                                                                                   \
    static void name##_b8(void *out, const void *const *in, const sc_pw_params *params, \
                          int64_t n) {                                                  \
        const uint8_t *pa = in[0], *pb = in[1] ? in[1] : pa;                            \
        uint8_t *to = out;                                                              \
        (void)params;                                                                   \
        int64_t i = 0;                                                                  \
        for (; i + 16 <= n; i += 16)                                                    \
            *(truths *)(to + i) =                                                       \
                name##_truths(*(const truths *)(pa + i), *(const truths *)(pb + i));    \
        for (; i < n; i++) to[i] = name##_truths((truths){pa[i]}, (truths){pb[i]})[0];  \
    }
#include "kernels/pointwise.def"

// Choices move bits, so two widths serve all classes. in[0] is the mask.
INLINE v4i choice_mask(const uint8_t *mask) {
    v4b four;
    memcpy(&four, mask, sizeof four);
    return -__builtin_convertvector(four, v4i);
}
#define CHOICE_LOOP(name, set, unset)                                                             \
    static void name##_w32(void *out, const void *const *in, const sc_pw_params *params,          \
                           int64_t n) {                                                           \
        const uint8_t *mask = in[0];                                                              \
        const float *pa = in[1], *pb = in[2];                                                     \
        uint32_t *to = out;                                                                       \
        int64_t i = 0;                                                                            \
        (void)params;                                                                             \
        for (; i + 4 <= n; i += 4)                                                                \
            v4f_store((float *)out + i,                                                           \
                      v4f_select(choice_mask(mask + i), v4f_load(set + i), v4f_load(unset + i))); \
        for (; i < n; i++) memcpy(to + i, (mask[i] ? set : unset) + i, sizeof *to);               \
    }                                                                                             \
    static void name##_w64(void *out, const void *const *in, const sc_pw_params *params,          \
                           int64_t n) {                                                           \
        const uint8_t *mask = in[0];                                                              \
        const uint64_t *pa = in[1], *pb = in[2];                                                  \
        uint64_t *to = out;                                                                       \
        (void)params;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                           \
            to[i] = unset[i] ^ ((set[i] ^ unset[i]) & (0 - (uint64_t)mask[i]));                   \
    }
CHOICE_LOOP(where, pa, pb)
// masked_fill(self, mask, value) is read in this order, too: the driver puts the mask first.
CHOICE_LOOP(masked_fill, pb, pa)

// --- Rows ----------------------------------------------------------------------------------------

#define ALL_CLASSES(name)                                                                  \
    [SC_CLASS_F32] = name##_f32, [SC_CLASS_F64] = name##_f64, [SC_CLASS_I32] = name##_i32, \
    [SC_CLASS_I64] = name##_i64
#define PW_SAME(name, real, integer) \
    const sc_pw_row sc_pw_##name = {SC_PW_SAME, {ALL_CLASSES(name)}};
#define PW_CHECKED(name, real, integer) \
    const sc_pw_row sc_pw_##name = {SC_PW_CHECKED, {ALL_CLASSES(name)}};
#define PW_TEST(name, real, integer) \
    const sc_pw_row sc_pw_##name = {SC_PW_TEST, {ALL_CLASSES(name)}};
#define PW_FLOAT(name, real)                     \
    const sc_pw_row sc_pw_##name = {SC_PW_FLOAT, \
                                    {[SC_CLASS_F32] = name##_f32, [SC_CLASS_F64] = name##_f64}};
#define PW_INTEGER(name, expression)               \
    const sc_pw_row sc_pw_##name = {SC_PW_INTEGER, \
                                    {[SC_CLASS_I32] = name##_i32, [SC_CLASS_I64] = name##_i64}};
#define PW_LOGIC(name, expression) \
    const sc_pw_row sc_pw_##name = {SC_PW_LOGIC, {[SC_CLASS_B8] = name##_b8}};
#include "kernels/pointwise.def"

const sc_pw_row sc_pw_where = {SC_PW_CHOICE,
                               {[SC_CLASS_F32] = where_w32,
                                [SC_CLASS_I32] = where_w32,
                                [SC_CLASS_F64] = where_w64,
                                [SC_CLASS_I64] = where_w64}};
const sc_pw_row sc_pw_masked_fill = {SC_PW_CHOICE,
                                     {[SC_CLASS_F32] = masked_fill_w32,
                                      [SC_CLASS_I32] = masked_fill_w32,
                                      [SC_CLASS_F64] = masked_fill_w64,
                                      [SC_CLASS_I64] = masked_fill_w64}};
