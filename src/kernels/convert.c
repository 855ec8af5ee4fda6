// One small loop per (class, dtype) and direction, made from two tables. Every kernel for several
// dtypes uses these loops, so a dtype's arithmetic is decided in one place.
// In wasm: -Os
#include "kernels/convert.h"

#include <math.h>

// Branch-free forms of the half conversions in core/dtype.c, for loops the compiler can vectorise.

static inline float f32_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_from_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float get_f16(uint16_t half) {
    uint32_t magnitude = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t bits = bits_from_f32(f32_from_bits(magnitude << 13) * 0x1p112f);
    bits = magnitude >= 0x7c00u ? (magnitude << 13) | 0x7f800000u : bits;
    return f32_from_bits(bits | sign);
}

static inline uint16_t put_f16(float value) {
    uint32_t bits = bits_from_f32(value), sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t tiny = bits_from_f32(f32_from_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    uint32_t half = magnitude < 0x38800000u ? tiny : normal;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? 0x7e00u : half;
    return (uint16_t)(half | sign);
}

static inline float get_bf16(uint16_t half) { return f32_from_bits((uint32_t)half << 16); }

static inline uint16_t put_bf16(float value) {
    uint32_t bits = bits_from_f32(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

// dtype: type in memory, kind of its value, reading a value from memory
#define FOR_DTYPES(X, ...)                            \
    X(__VA_ARGS__, U8, uint8_t, INT, (x))             \
    X(__VA_ARGS__, I8, int8_t, INT, (x))              \
    X(__VA_ARGS__, I16, int16_t, INT, (x))            \
    X(__VA_ARGS__, I32, int32_t, INT, (x))            \
    X(__VA_ARGS__, I64, int64_t, INT, (x))            \
    X(__VA_ARGS__, U16, uint16_t, INT, (x))           \
    X(__VA_ARGS__, U32, uint32_t, INT, (x))           \
    X(__VA_ARGS__, U64, uint64_t, INT, (x))           \
    X(__VA_ARGS__, F16, uint16_t, REAL, get_f16(x))   \
    X(__VA_ARGS__, BF16, uint16_t, REAL, get_bf16(x)) \
    X(__VA_ARGS__, F32, float, REAL, (x))             \
    X(__VA_ARGS__, F64, double, REAL, (x))            \
    X(__VA_ARGS__, BOOL, uint8_t, INT, ((x) != 0))

// class: type in a block, kind
#define FOR_CLASSES(X)   \
    X(B8, uint8_t, INT)  \
    X(I32, int32_t, INT) \
    X(I64, int64_t, INT) \
    X(F32, float, REAL)  \
    X(F64, double, REAL)

// Converts a value of either kind to a class.
#define B8_FROM_INT(v)   ((v) != 0)
#define B8_FROM_REAL(v)  ((v) != 0)
#define I32_FROM_INT(v)  ((int32_t)(v))
#define I32_FROM_REAL(v) sc_f64_to_i32((double)(v))
#define I64_FROM_INT(v)  ((int64_t)(v))
#define I64_FROM_REAL(v) sc_f64_to_i64((double)(v))
#define F32_FROM_INT(v)  ((float)(v))
#define F32_FROM_REAL(v) ((float)(v))
#define F64_FROM_INT(v)  ((double)(v))
#define F64_FROM_REAL(v) ((double)(v))

// Converts a value of either kind to memory. Narrow integers wrap, as a C cast through int64 does.
#define PUT_U8_INT(v)    ((uint8_t)(v))
#define PUT_I8_INT(v)    ((int8_t)(v))
#define PUT_I16_INT(v)   ((int16_t)(v))
#define PUT_I32_INT(v)   ((int32_t)(v))
#define PUT_I64_INT(v)   ((int64_t)(v))
#define PUT_U16_INT(v)   ((uint16_t)(v))
#define PUT_U32_INT(v)   ((uint32_t)(v))
#define PUT_U64_INT(v)   ((uint64_t)(v))
#define PUT_F16_INT(v)   put_f16((float)(v))
#define PUT_BF16_INT(v)  put_bf16((float)(v))
#define PUT_F32_INT(v)   ((float)(v))
#define PUT_F64_INT(v)   ((double)(v))
#define PUT_BOOL_INT(v)  ((uint8_t)((v) != 0))
#define PUT_U8_REAL(v)   ((uint8_t)sc_f64_to_i64((double)(v)))
#define PUT_I8_REAL(v)   ((int8_t)sc_f64_to_i64((double)(v)))
#define PUT_I16_REAL(v)  ((int16_t)sc_f64_to_i64((double)(v)))
#define PUT_I32_REAL(v)  sc_f64_to_i32((double)(v))
#define PUT_I64_REAL(v)  sc_f64_to_i64((double)(v))
#define PUT_U16_REAL(v)  ((uint16_t)sc_f64_to_i64((double)(v)))
#define PUT_U32_REAL(v)  ((uint32_t)sc_f64_to_i64((double)(v)))
#define PUT_U64_REAL(v)  ((uint64_t)sc_f64_to_i64((double)(v)))
#define PUT_F16_REAL(v)  put_f16((float)(v))
#define PUT_BF16_REAL(v) put_bf16((float)(v))
#define PUT_F32_REAL(v)  ((float)(v))
#define PUT_F64_REAL(v)  ((double)(v))
#define PUT_BOOL_REAL(v) ((uint8_t)((v) != 0))

// Strided loops for every pair. They are kept small: vectorising 130 of them would be most of a
// small module's code, so the dense pairs that matter get their own loops below.
#if defined(__clang__)
#define KEEP_SMALL _Pragma("clang loop vectorize(disable) interleave(disable) unroll(disable)")
#else
#define KEEP_SMALL
#endif

#define LOAD(class_, class_type, unused, dtype, type, kind, get)                                   \
    static void load_##class_##_##dtype(void *block, const void *src, int64_t stride, int64_t n) { \
        class_type *to = block;                                                                    \
        const type *from = src;                                                                    \
        KEEP_SMALL for (int64_t i = 0; i < n; i++, from += stride) {                               \
            type x = *from;                                                                        \
            to[i] = class_##_FROM_##kind(get);                                                     \
        }                                                                                          \
    }
#define STORE(class_, class_type, class_kind, dtype, type, kind, get)                  \
    static void store_##class_##_##dtype(void *dst, int64_t stride, const void *block, \
                                         int64_t n) {                                  \
        const class_type *from = block;                                                \
        type *to = dst;                                                                \
        KEEP_SMALL for (int64_t i = 0; i < n; i++, to += stride) *to =                 \
            PUT_##dtype##_##class_kind(from[i]);                                       \
    }
#define CLASS_LOOPS(class_, class_type, class_kind)  \
    FOR_DTYPES(LOAD, class_, class_type, class_kind) \
    FOR_DTYPES(STORE, class_, class_type, class_kind)
FOR_CLASSES(CLASS_LOOPS)

// Dense pairs worth vectorising: half precision, pixels, masks.
#define FOR_DENSE_LOADS(X)                           \
    X(F32, float, F16, uint16_t, REAL, get_f16(x))   \
    X(F32, float, BF16, uint16_t, REAL, get_bf16(x)) \
    X(F32, float, U8, uint8_t, INT, (x))             \
    X(F32, float, I8, int8_t, INT, (x))              \
    X(F32, float, I32, int32_t, INT, (x))            \
    X(I32, int32_t, U8, uint8_t, INT, (x))           \
    X(I32, int32_t, I8, int8_t, INT, (x))
#define FOR_DENSE_STORES(X)             \
    X(F32, float, REAL, F16, uint16_t)  \
    X(F32, float, REAL, BF16, uint16_t) \
    X(I32, int32_t, INT, U8, uint8_t)   \
    X(I32, int32_t, INT, I8, int8_t)    \
    X(B8, uint8_t, INT, F32, float)

#define DENSE_LOAD(class_, class_type, dtype, type, kind, get)                              \
    static void dense_load_##class_##_##dtype(void *block, const void *src, int64_t stride, \
                                              int64_t n) {                                  \
        if (stride != 1) {                                                                  \
            load_##class_##_##dtype(block, src, stride, n);                                 \
            return;                                                                         \
        }                                                                                   \
        class_type *restrict to = block;                                                    \
        const type *restrict from = src;                                                    \
        for (int64_t i = 0; i < n; i++) {                                                   \
            type x = from[i];                                                               \
            to[i] = class_##_FROM_##kind(get);                                              \
        }                                                                                   \
    }
#define DENSE_STORE(class_, class_type, class_kind, dtype, type)                             \
    static void dense_store_##class_##_##dtype(void *dst, int64_t stride, const void *block, \
                                               int64_t n) {                                  \
        if (stride != 1) {                                                                   \
            store_##class_##_##dtype(dst, stride, block, n);                                 \
            return;                                                                          \
        }                                                                                    \
        const class_type *restrict from = block;                                             \
        type *restrict to = dst;                                                             \
        for (int64_t i = 0; i < n; i++) to[i] = PUT_##dtype##_##class_kind(from[i]);         \
    }
FOR_DENSE_LOADS(DENSE_LOAD)

typedef uint8_t truths __attribute__((vector_size(16), aligned(1), may_alias));
static void dense_load_B8_BOOL(void *block, const void *src, int64_t stride, int64_t n) {
    const uint8_t *from = src;
    uint8_t *to = block;
    int64_t i = 0;
    if (stride == 1)
        for (; i + 16 <= n; i += 16)
            *(truths *)(to + i) = (truths)(*(const truths *)(from + i) != 0) & 1;
    load_B8_BOOL(to + i, from + i, stride, n - i);
}
FOR_DENSE_STORES(DENSE_STORE)

// Blocks with the same bytes as memory: a copy.
#define COPY_PAIR(class_, type)                                                                \
    static void copy_load_##class_(void *block, const void *src, int64_t stride, int64_t n) {  \
        type *to = block;                                                                      \
        if (stride == 0) {                                                                     \
            type value = *(const type *)src;                                                   \
            for (int64_t i = 0; i < n; i++) to[i] = value;                                     \
            return;                                                                            \
        }                                                                                      \
        if (stride == 1)                                                                       \
            memcpy(block, src, (size_t)n * sizeof(type));                                      \
        else                                                                                   \
            load_##class_##_##class_(block, src, stride, n);                                   \
    }                                                                                          \
    static void copy_store_##class_(void *dst, int64_t stride, const void *block, int64_t n) { \
        if (stride == 1)                                                                       \
            memcpy(dst, block, (size_t)n * sizeof(type));                                      \
        else                                                                                   \
            store_##class_##_##class_(dst, stride, block, n);                                  \
    }
COPY_PAIR(I32, int32_t)
COPY_PAIR(I64, int64_t)
COPY_PAIR(F32, float)
COPY_PAIR(F64, double)

static void copy_store_B8_BOOL(void *dst, int64_t stride, const void *block, int64_t n) {
    if (stride == 1)
        memcpy(dst, block, (size_t)n);
    else
        store_B8_BOOL(dst, stride, block, n);
}

#define DTYPE_CODES 30

#define LOAD_ROW(class_, class_type, class_kind, dtype, ...) \
    [SC_DTYPE_##dtype] = load_##class_##_##dtype,
#define STORE_ROW(class_, class_type, class_kind, dtype, ...) \
    [SC_DTYPE_##dtype] = store_##class_##_##dtype,
#define LOAD_ROWS(class_, class_type, class_kind) \
    [SC_CLASS_##class_] = {FOR_DTYPES(LOAD_ROW, class_, class_type, class_kind)},
#define STORE_ROWS(class_, class_type, class_kind) \
    [SC_CLASS_##class_] = {FOR_DTYPES(STORE_ROW, class_, class_type, class_kind)},

static const sc_load_fn loaders[SC_CLASS_COUNT][DTYPE_CODES] = {FOR_CLASSES(LOAD_ROWS)};
static const sc_store_fn storers[SC_CLASS_COUNT][DTYPE_CODES] = {FOR_CLASSES(STORE_ROWS)};

// Preferred over the tables above where set.
#define DENSE_LOAD_CELL(class_, class_type, dtype, ...) \
    [SC_CLASS_##class_][SC_DTYPE_##dtype] = dense_load_##class_##_##dtype,
#define DENSE_STORE_CELL(class_, class_type, class_kind, dtype, ...) \
    [SC_CLASS_##class_][SC_DTYPE_##dtype] = dense_store_##class_##_##dtype,
#define COPY_LOAD_CELL(class_)  [SC_CLASS_##class_][SC_DTYPE_##class_] = copy_load_##class_,
#define COPY_STORE_CELL(class_) [SC_CLASS_##class_][SC_DTYPE_##class_] = copy_store_##class_,
static const sc_load_fn fast_loaders[SC_CLASS_COUNT][DTYPE_CODES] = {
    FOR_DENSE_LOADS(DENSE_LOAD_CELL) COPY_LOAD_CELL(I32) COPY_LOAD_CELL(I64) COPY_LOAD_CELL(F32)
        COPY_LOAD_CELL(F64)[SC_CLASS_B8][SC_DTYPE_BOOL] = dense_load_B8_BOOL};
static const sc_store_fn fast_storers[SC_CLASS_COUNT][DTYPE_CODES] = {
    FOR_DENSE_STORES(DENSE_STORE_CELL) COPY_STORE_CELL(I32) COPY_STORE_CELL(I64)
        COPY_STORE_CELL(F32) COPY_STORE_CELL(F64)[SC_CLASS_B8][SC_DTYPE_BOOL] = copy_store_B8_BOOL};

// Class + 1; 0 is no dtype.
enum { SC_CLASS_NONE = SC_CLASS_COUNT };
static const uint8_t classes[DTYPE_CODES] = {
#define DTYPE(id, pte, pt2, serde, name, short_name, bytes, category, class_, ...) \
    [pte] = SC_CLASS_##class_ + 1,
#include "core/dtype.def"
#undef DTYPE
};

sc_class sc_class_of(unsigned dtype) {
    if (dtype >= DTYPE_CODES || classes[dtype] == 0) return SC_CLASS_COUNT;
    return (sc_class)(classes[dtype] - 1);
}

uint32_t sc_class_bytes(sc_class class_) {
    static const uint8_t bytes[SC_CLASS_COUNT] = {1, 4, 8, 4, 8};
    return bytes[class_];
}

sc_load_fn sc_loader(sc_class class_, unsigned dtype) {
    if (dtype >= DTYPE_CODES || class_ >= SC_CLASS_COUNT) return NULL;
    return fast_loaders[class_][dtype] ? fast_loaders[class_][dtype] : loaders[class_][dtype];
}

sc_store_fn sc_storer(sc_class class_, unsigned dtype) {
    if (dtype >= DTYPE_CODES || class_ >= SC_CLASS_COUNT) return NULL;
    return fast_storers[class_][dtype] ? fast_storers[class_][dtype] : storers[class_][dtype];
}

bool sc_class_is_native(sc_class class_, unsigned dtype) {
    switch (class_) {
    case SC_CLASS_I32: return dtype == SC_DTYPE_I32;
    case SC_CLASS_I64: return dtype == SC_DTYPE_I64;
    case SC_CLASS_F32: return dtype == SC_DTYPE_F32;
    case SC_CLASS_F64: return dtype == SC_DTYPE_F64;
    default: return false;
    }
}

// --- Single numbers ------------------------------------------------------------------------------

// Float8 formats, by code from float8_e5m2 on: digits of the mantissa, bias of the exponent, code
// of the largest number, code that larger ones become, and code of NaN.
static const struct {
    uint8_t digits, bias, largest, beyond, nan;
} float8[] = {{2, 15, 0x7b, 0x7c, 0x7f},
              {3, 7, 0x7e, 0x7e, 0x7f},
              {2, 16, 0x7f, 0x80, 0x80},
              {3, 8, 0x7f, 0x80, 0x80}};

static uint8_t put_f8(unsigned dtype, float value) {
    const uint32_t format = dtype - SC_DTYPE_F8E5M2;
    const int digits = float8[format].digits, least = 1 - float8[format].bias;
    const float magnitude = fabsf(value);
    uint8_t code = value != value ? float8[format].nan : float8[format].beyond;
    if (magnitude < 0x1p20f) {
        int exponent;
        frexpf(magnitude, &exponent);
        exponent = magnitude < ldexpf(1.0f, least) ? least : exponent - 1;
        int steps = (int)nearbyintf(ldexpf(magnitude, digits - exponent));
        steps += (exponent - least) << digits;
        if (steps <= float8[format].largest) code = (uint8_t)steps;
    }
    const bool has_sign = float8[format].nan != 0x80 || (code & 0x7f);
    return has_sign && signbit(value) ? code | 0x80 : code;
}

float sc_get_f8(unsigned dtype, uint8_t code) {
    const uint32_t format = dtype - SC_DTYPE_F8E5M2;
    const int digits = float8[format].digits, least = 1 - float8[format].bias;
    const uint8_t magnitude = code & 0x7f, nan = float8[format].nan;
    if (nan == 0x80 ? code == nan : magnitude > float8[format].largest)
        return format == 0 && magnitude == 0x7c ? (code & 0x80 ? -INFINITY : INFINITY) : NAN;
    const int exponent = magnitude >> digits, part = magnitude & ((1 << digits) - 1);
    const int steps = exponent ? part + (1 << digits) : part;
    const float value = ldexpf((float)steps, (exponent ? exponent - 1 : 0) + least - digits);
    return code & 0x80 ? -value : value;
}

void sc_put_number(void *dst, unsigned dtype, double real, int64_t integer, bool is_real) {
    sc_class class_ = is_real ? SC_CLASS_F64 : SC_CLASS_I64;
    sc_store_fn store = sc_storer(class_, sc_dtype_to_real((sc_dtype)dtype));
    if (!store) {
        *(uint8_t *)dst = put_f8(dtype, is_real ? (float)real : (float)integer);
        return;
    }
    store(dst, 1, is_real ? (const void *)&real : (const void *)&integer, 1);
}
