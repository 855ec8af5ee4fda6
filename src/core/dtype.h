// Element types: facts from dtype.def, PyTorch's promotion, and half-precision conversion.
// Prefixes: sc_dtype_ is one type, sc_promotion_ PyTorch's promotion, sc_f32_ a float conversion.
#ifndef SC_DTYPE_H
#define SC_DTYPE_H

#include "base/str.h"

typedef enum sc_dtype {
#define DTYPE(id, pte, ...) SC_DTYPE_##id = pte,
#include "core/dtype.def"
#undef DTYPE
    SC_DTYPE_NONE = 255
} sc_dtype;

// Order matters: promotion goes to the highest category present. UINT (u16, u32, u64) and FLOAT8
// do not promote with anything but themselves.
typedef enum sc_category {
    SC_CATEGORY_BOOL,
    SC_CATEGORY_INT,
    SC_CATEGORY_FLOAT,
    SC_CATEGORY_COMPLEX,
    SC_CATEGORY_UINT,
    SC_CATEGORY_FLOAT8
} sc_category;

bool sc_dtype_is_known(unsigned code);       // a code of .pte files
uint32_t sc_dtype_bytes(sc_dtype dtype);     // 0 when unknown
const char *sc_dtype_name(sc_dtype dtype);   // "float32"
const char *sc_dtype_short(sc_dtype dtype);  // "f32"
sc_category sc_dtype_category(sc_dtype dtype);
bool sc_dtype_is_float(sc_dtype dtype);  // f16 bf16 f32 f64
// Is the dtype of category COMPLEX? It is in the header because every traced call checks every
// operand.
static inline bool sc_dtype_is_complex(sc_dtype dtype) {
    return dtype == SC_DTYPE_C32 || dtype == SC_DTYPE_C64 || dtype == SC_DTYPE_C128;
}
bool sc_dtype_is_half(sc_dtype dtype);  // f16 bf16
bool sc_dtype_is_integral(sc_dtype dtype, bool with_bool);
sc_dtype sc_dtype_to_complex(sc_dtype dtype);  // c64 for dtypes without a complex type of their own
sc_dtype sc_dtype_to_real(sc_dtype dtype);     // of complex types; other types are their own
int64_t sc_dtype_low(sc_dtype dtype);          // of integers and bool
uint64_t sc_dtype_high(sc_dtype dtype);
// The nearest integer that the dtype can represent.
int64_t sc_dtype_nearest(sc_dtype dtype, int64_t number);
// The bound that clamp uses for integers of the dtype. Negative bounds of unsigned dtypes wrap, as
// in PyTorch, if their magnitude is in the dtype's range. Others out of range, which PyTorch
// refuses, become the nearest number in it.
int64_t sc_dtype_bound(sc_dtype dtype, int64_t number);
double sc_dtype_largest(sc_dtype dtype);     // finite; 0 for non-floats
sc_dtype sc_dtype_from_pt2(int64_t code);    // SC_DTYPE_NONE when unknown
uint8_t sc_dtype_to_pt2(sc_dtype dtype);     // 0 when unknown
sc_dtype sc_dtype_from_serde(int64_t code);  // exir.serde's numbers; SC_DTYPE_NONE when unknown
uint8_t sc_dtype_to_serde(sc_dtype dtype);   // 0 if serde has none for it
sc_dtype sc_dtype_from_short(sc_str name);   // "f32" or "float32"

// Promotion of two tensors of equal standing (torch.promote_types); SC_DTYPE_NONE if PyTorch has
// none.
sc_dtype sc_dtype_promote(sc_dtype a, sc_dtype b);

// The full rule of torch.result_type: within the highest category, tensors with dimensions outrank
// 0-dim tensors, which outrank Python numbers. Initialise with zeros, add operands, then read the
// result.
typedef struct sc_promotion {
    sc_dtype with_dims, zero_dim, number;
    bool has_with_dims, has_zero_dim, has_number;
    bool failed;
} sc_promotion;

void sc_promotion_add_tensor(sc_promotion *p, sc_dtype dtype, bool has_dims);
void sc_promotion_add_number(sc_promotion *p, sc_category category);
sc_dtype sc_promotion_result(const sc_promotion *p);  // SC_DTYPE_NONE if they do not promote

float sc_f16_to_f32(uint16_t bits);
uint16_t sc_f32_to_f16(float value);  // nearest even, overflow to infinity
float sc_bf16_to_f32(uint16_t bits);
uint16_t sc_f32_to_bf16(float value);          // nearest even, NaN to 0x7fc0
float sc_f32_as(float value, sc_dtype dtype);  // rounded to a half; unchanged for other dtypes

#endif
