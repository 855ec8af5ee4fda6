// Compute classes: the few types that arithmetic is written for, and the conversions between them
// and the dtypes in memory. f16 and bf16 compute as f32, small integers as i32.
// Prefix: sc_class_ is the type that computes for a dtype, sc_get_ and sc_put_ are one number.
#ifndef SC_CONVERT_H
#define SC_CONVERT_H

#include "core/dtype.h"

typedef enum sc_class {
    SC_CLASS_B8,   // truth values 0 and 1, as uint8_t
    SC_CLASS_I32,  // u8 i8 i16 i32 u16, and bool if it counts as a number
    SC_CLASS_I64,  // i64 u32 u64
    SC_CLASS_F32,  // f16 bf16 f32
    SC_CLASS_F64,
    SC_CLASS_COUNT
} sc_class;

// SC_CLASS_COUNT for dtypes without arithmetic (complex, float8).
sc_class sc_class_of(unsigned dtype);
uint32_t sc_class_bytes(sc_class class_);

// Reads `n` elements that lie `stride` elements apart into a dense block of the class.
typedef void (*sc_load_fn)(void *block, const void *src, int64_t stride, int64_t n);
typedef void (*sc_store_fn)(void *dst, int64_t stride, const void *block, int64_t n);

// NULL if the dtype has no arithmetic.
sc_load_fn sc_loader(sc_class class_, unsigned dtype);
sc_store_fn sc_storer(sc_class class_, unsigned dtype);
// Is dense memory of this dtype a block of the class without conversion?
bool sc_class_is_native(sc_class class_, unsigned dtype);
// Writes one number as an element of the dtype, or as the real part of a complex one.
void sc_put_number(void *dst, unsigned dtype, double real, int64_t integer, bool is_real);

// The number of a code of one of the float8 formats.
float sc_get_f8(unsigned dtype, uint8_t code);

// Conversions that C leaves undefined: NaN gives 0, other values saturate.
static inline int64_t sc_f64_to_i64(double x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return INT64_MAX;
    return x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}
static inline int32_t sc_f64_to_i32(double x) {
    if (x != x) return 0;
    if (x >= 2147483647.0) return INT32_MAX;
    return x <= -2147483648.0 ? INT32_MIN : (int32_t)x;
}

#endif
