// The official runtime's rules for results that are close enough, and the measures of a difference.
#include "devtools/bundled/bundled.h"

#include <math.h>

static bool has_tolerance(sc_dtype dtype) {
    return dtype == SC_DTYPE_F16 || dtype == SC_DTYPE_F32 || dtype == SC_DTYPE_F64;
}

// An element as a double, rounded if need be; for complex numbers the real part.
static double number_at(sc_dtype dtype, const uint8_t *at) {
    union {
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32;
        double f64;
        uint8_t bytes[16];
    } e = {0};
    memcpy(e.bytes, at, sc_dtype_bytes(dtype));
    switch (dtype) {
    case SC_DTYPE_F16: return (double)sc_f16_to_f32(e.u16);
    case SC_DTYPE_BF16: return (double)sc_bf16_to_f32(e.u16);
    case SC_DTYPE_C64:
    case SC_DTYPE_F32: return (double)e.f32;
    case SC_DTYPE_C128:
    case SC_DTYPE_F64: return e.f64;
    case SC_DTYPE_I8: return (int8_t)e.bytes[0];
    case SC_DTYPE_I16: return e.i16;
    case SC_DTYPE_I32: return e.i32;
    case SC_DTYPE_I64: return (double)e.i64;
    case SC_DTYPE_U16: return e.u16;
    case SC_DTYPE_U32: return e.u32;
    case SC_DTYPE_U64: return (double)e.u64;
    default: return e.bytes[0];
    }
}

static double difference(double a, double b) {
    if (isnan(a) && isnan(b)) return 0;
    if (isfinite(a) && isfinite(b)) return fabs(a - b);
    return a == b ? 0 : INFINITY;
}

static bool is_close(double a, double b, double rtol, double atol) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return a == b;
    if (rtol == 0 && atol == 0) return a == b;
    return fabs(a - b) <= atol + fabs(rtol * b);
}

void sc_bundled_compare(sc_dtype dtype, const void *actual, const void *expected, uint64_t elements,
                        double rtol, double atol, sc_bundled_verdict *verdict) {
    const uint32_t item = sc_dtype_bytes(dtype);
    double sum = 0;
    *verdict = (sc_bundled_verdict){.elements = elements};
    for (uint64_t i = 0; i < elements; i++) {
        const uint8_t *x = (const uint8_t *)actual + i * item;
        const uint8_t *y = (const uint8_t *)expected + i * item;
        const double a = number_at(dtype, x), b = number_at(dtype, y), off = difference(a, b);
        const bool is_same = memcmp(x, y, item) == 0;
        const double relative = off > 0 ? off / fmax(fabs(b), 1e-8) : 0;
        if (!(has_tolerance(dtype) ? is_close(a, b, rtol, atol) : is_same)) verdict->mismatches++;
        if (off > verdict->max_absolute) {
            verdict->max_absolute = off;
            verdict->worst = i;
        }
        verdict->max_relative = fmax(verdict->max_relative, isnan(relative) ? off : relative);
        sum += off;
    }
    verdict->mean_absolute = elements ? sum / (double)elements : 0;
    verdict->is_close = verdict->mismatches == 0;
}
