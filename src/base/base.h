// Status codes, assertions and small arithmetic functions, for all other files. This file knows no
// tensors and no graphs, and allocates no memory.
// Prefixes: sc_status_ describes a status code. sc_min_, sc_max_, sc_add_ and sc_mul_ compute on
// the type that ends the name.
#ifndef SC_BASE_H
#define SC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Marks the status type, so that compilers warn of every result that is ignored. Only clang accepts
// the attribute on an enum.
#if defined(__clang__)
#define SC_MUST_USE_TYPE __attribute__((warn_unused_result))
#else
#define SC_MUST_USE_TYPE
#endif
#define SC_PRINTF(format_index, first_index) \
    __attribute__((format(printf, format_index, first_index)))
#define SC_NORETURN        __attribute__((noreturn))
#define SC_UNUSED          __attribute__((unused))
#define SC_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// One code for each way in which a call can fail. The rows are in status.def. SC_OK is 0.
typedef enum sc_status {
#define STATUS(id, slug, hint) id,
#include "base/status.def"
#undef STATUS
    SC_STATUS_COUNT
} SC_MUST_USE_TYPE sc_status;

// Returns from the function with the status of `expr` unless that is SC_OK.
#define SC_TRY(expr)                                      \
    do {                                                  \
        sc_status sc_try_status = (expr);                 \
        if (sc_try_status != SC_OK) return sc_try_status; \
    } while (0)

// For errors of the programmer, never for input. It stays in every build.
#define SC_ASSERT(condition) ((condition) ? (void)0 : sc_panic(__FILE__, __LINE__, #condition))

// Reports the broken assumption to the host, and stops the engine for good.
SC_NORETURN void sc_panic(const char *file, int line, const char *message);

// The JSON slug of a status ("unsupported_op") and its default hint, as static strings.
const char *sc_status_slug(sc_status status);
const char *sc_status_hint(sc_status status);

static inline int64_t sc_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t sc_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline uint64_t sc_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint32_t sc_min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t sc_max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline uint64_t sc_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

// `align` is a power of two. The caller guarantees that the sum does not wrap.
static inline uint64_t sc_align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) & ~(align - 1);
}

// The same for a `step` that need not be a power of two, but is not 0.
static inline uint64_t sc_round_up(uint64_t value, uint64_t step) {
    uint64_t over = value % step;
    return over ? value + (step - over) : value;
}

// Checked arithmetic. False on overflow; `out` is then undefined.
static inline bool sc_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool sc_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool sc_add_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool sc_mul_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

// Converts a number from JavaScript, which is a double. False unless it is an integer from 0 to
// `max`. `max` is at most 2^53.
static inline bool sc_u64_from_f64(double value, uint64_t max, uint64_t *out) {
    if (!(value >= 0 && value <= (double)max)) return false;
    *out = (uint64_t)value;
    return (double)*out == value;
}

// Converts a file size to a memory size. File sizes have 64 bits, and memory sizes have 32 on wasm.
// All such conversions use this function.
static inline bool sc_size_from_u64(uint64_t value, size_t *out) {
    *out = (size_t)value;
    return (uint64_t)*out == value;
}

#endif
