// Orthogonal polynomials, with a degree for each element.
// In wasm: -Os
#include "core/polynomial.h"

#include <math.h>

#include "compute/math_f32.h"
#include "kernels/pointwise.h"

#define f32_acos  sc_acos_f32
#define f32_cos   sc_cos_f32
#define f32_sin   sc_sin_f32
#define f32_abs   fabsf
#define f32_fmod  fmodf
#define f32_trunc truncf
#define f64_acos  acos
#define f64_cos   cos
#define f64_sin   sin
#define f64_abs   fabs
#define f64_fmod  fmod
#define f64_trunc trunc

static const char beyond[] = "a recurrence to a degree above 16384";
_Static_assert(SC_DEGREE_MAX == 16384, "as said above");

#define T        float
#define FN(name) f32_##name
#include "kernels/polynomial.inc"
#undef T
#undef FN
#define T        double
#define FN(name) f64_##name
#include "kernels/polynomial.inc"
#undef T
#undef FN

#define LOOP(id, class)                                                                    \
    static void id##_##class(void *out, const void *const *in, const sc_pw_params *params, \
                             int64_t n) {                                                  \
        class##_polynomials(&sc_polynomial_##id, out, in, params, n);                      \
    }
#define ORTHOGONAL(id, ...)                                     \
    LOOP(id, f32)                                               \
    LOOP(id, f64)                                               \
    static const sc_pw_row id##_row = {                         \
        SC_PW_LIMITED,                                          \
        {[SC_CLASS_F32] = id##_f32, [SC_CLASS_F64] = id##_f64}, \
    };                                                          \
    static sc_status run_##id(const sc_kernel_call *call) {     \
        return sc_pointwise_run(call, &id##_row, "tt");         \
    }                                                           \
    SC_KERNEL(id, .run = run_##id);
#include "core/polynomial.def"
