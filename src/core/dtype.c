// Element types by table, PyTorch's promotion lattice, and the half-precision formats bit by bit.
// All facts about dtypes outside dtype.def are here. It knows no tensors.
#include "core/dtype.h"

#include <float.h>
#include <string.h>

typedef struct dtype_row {
    uint8_t pt2;
    uint8_t serde;
    uint8_t bytes;
    uint8_t category;
    uint8_t pair;
    const char *name;
    const char *short_name;
    int64_t low;
    uint64_t high;
    double largest;
} dtype_row;

#define DTYPE_ROWS 30

static const dtype_row rows[DTYPE_ROWS] = {
#define DTYPE(id, pte, pt2, serde, name, short_name, bytes, category, class_, pair, low, high, \
              largest)                                                                         \
    [pte] = {pt2, serde, bytes,  SC_CATEGORY_##category, SC_DTYPE_##pair, name, short_name,    \
             low, high,  largest},
#include "core/dtype.def"
#undef DTYPE
};

static const dtype_row *row_of(sc_dtype dtype) {
    return sc_dtype_is_known((unsigned)dtype) ? &rows[dtype] : NULL;
}

bool sc_dtype_is_known(unsigned code) { return code < DTYPE_ROWS && rows[code].name; }

uint32_t sc_dtype_bytes(sc_dtype dtype) {
    const dtype_row *row = row_of(dtype);
    return row ? row->bytes : 0;
}

const char *sc_dtype_name(sc_dtype dtype) {
    const dtype_row *row = row_of(dtype);
    return row ? row->name : "unknown";
}

const char *sc_dtype_short(sc_dtype dtype) {
    const dtype_row *row = row_of(dtype);
    return row ? row->short_name : "?";
}

sc_category sc_dtype_category(sc_dtype dtype) {
    const dtype_row *row = row_of(dtype);
    return row ? (sc_category)row->category : SC_CATEGORY_FLOAT8;
}

bool sc_dtype_is_float(sc_dtype dtype) {
    return row_of(dtype) && sc_dtype_category(dtype) == SC_CATEGORY_FLOAT;
}

bool sc_dtype_is_half(sc_dtype dtype) {
    return sc_dtype_is_float(dtype) && sc_dtype_bytes(dtype) == 2;
}

sc_dtype sc_dtype_to_complex(sc_dtype dtype) {
    const dtype_row *row = row_of(dtype);
    if (!row || row->category == SC_CATEGORY_COMPLEX) return dtype;
    return row->pair == SC_DTYPE_NONE ? SC_DTYPE_C64 : (sc_dtype)row->pair;
}

sc_dtype sc_dtype_to_real(sc_dtype dtype) {
    const dtype_row *row = row_of(dtype);
    return row && row->category == SC_CATEGORY_COMPLEX ? (sc_dtype)row->pair : dtype;
}

int64_t sc_dtype_low(sc_dtype dtype) { return row_of(dtype) ? rows[dtype].low : 0; }
uint64_t sc_dtype_high(sc_dtype dtype) { return row_of(dtype) ? rows[dtype].high : 0; }

int64_t sc_dtype_nearest(sc_dtype dtype, int64_t number) {
    const int64_t low = sc_dtype_low(dtype);
    const uint64_t high = sc_dtype_high(dtype);
    if (number < low) return low;
    return number > 0 && (uint64_t)number > high ? (int64_t)high : number;
}

int64_t sc_dtype_bound(sc_dtype dtype, int64_t number) {
    const uint64_t size = 0 - (uint64_t)number, high = sc_dtype_high(dtype);
    const bool wraps = number < 0 && sc_dtype_low(dtype) == 0 && size <= high;
    return sc_dtype_nearest(dtype, wraps ? (int64_t)(high - size + 1) : number);
}

double sc_dtype_largest(sc_dtype dtype) { return row_of(dtype) ? rows[dtype].largest : 0; }

bool sc_dtype_is_integral(sc_dtype dtype, bool with_bool) {
    sc_category category = sc_dtype_category(dtype);
    return category == SC_CATEGORY_INT || category == SC_CATEGORY_UINT ||
           (with_bool && category == SC_CATEGORY_BOOL);
}

sc_dtype sc_dtype_from_pt2(int64_t code) {
    for (unsigned i = 0; i < DTYPE_ROWS; i++)
        if (rows[i].name && rows[i].pt2 == code) return (sc_dtype)i;
    return SC_DTYPE_NONE;
}

uint8_t sc_dtype_to_pt2(sc_dtype dtype) {
    const dtype_row *row = row_of(dtype);
    return row ? row->pt2 : 0;
}

sc_dtype sc_dtype_from_serde(int64_t code) {
    for (unsigned i = 0; i < DTYPE_ROWS && code != 0; i++)
        if (rows[i].name && rows[i].serde == code) return (sc_dtype)i;
    return SC_DTYPE_NONE;
}

uint8_t sc_dtype_to_serde(sc_dtype dtype) {
    const dtype_row *row = row_of(dtype);
    return row ? row->serde : 0;
}

sc_dtype sc_dtype_from_short(sc_str name) {
    for (unsigned i = 0; i < DTYPE_ROWS; i++) {
        if (rows[i].name && (sc_str_is(name, rows[i].short_name) || sc_str_is(name, rows[i].name)))
            return (sc_dtype)i;
    }
    return SC_DTYPE_NONE;
}

// --- Promotion -----------------------------------------------------------------------------------

static sc_dtype wider(sc_dtype a, sc_dtype b) {
    return sc_dtype_bytes(a) >= sc_dtype_bytes(b) ? a : b;
}

static sc_dtype promote_ints(sc_dtype a, sc_dtype b) {
    bool a_unsigned = a == SC_DTYPE_U8, b_unsigned = b == SC_DTYPE_U8;
    if (a_unsigned != b_unsigned && (a == SC_DTYPE_I8 || b == SC_DTYPE_I8)) return SC_DTYPE_I16;
    return wider(a, b);
}

// The unsigned types beyond u8 meet only floats, which win, and bools, which lose.
static sc_dtype promote_uint(sc_dtype uint, sc_dtype other) {
    sc_category category = sc_dtype_category(other);
    if (category == SC_CATEGORY_FLOAT || category == SC_CATEGORY_COMPLEX) return other;
    return category == SC_CATEGORY_BOOL ? uint : SC_DTYPE_NONE;
}

sc_dtype sc_dtype_promote(sc_dtype a, sc_dtype b) {
    if (!row_of(a) || !row_of(b)) return SC_DTYPE_NONE;
    if (a == b) return a;
    sc_category ca = sc_dtype_category(a), cb = sc_dtype_category(b);
    if (ca == SC_CATEGORY_FLOAT8 || cb == SC_CATEGORY_FLOAT8) return SC_DTYPE_NONE;
    if (ca == SC_CATEGORY_UINT) return promote_uint(a, b);
    if (cb == SC_CATEGORY_UINT) return promote_uint(b, a);
    if (ca == SC_CATEGORY_COMPLEX && cb == SC_CATEGORY_FLOAT)
        return wider(a, sc_dtype_to_complex(b));
    if (cb == SC_CATEGORY_COMPLEX && ca == SC_CATEGORY_FLOAT)
        return wider(sc_dtype_to_complex(a), b);
    if (ca != cb) return ca > cb ? a : b;
    if (ca == SC_CATEGORY_INT) return promote_ints(a, b);
    if (ca == SC_CATEGORY_FLOAT && sc_dtype_bytes(a) == sc_dtype_bytes(b))
        return SC_DTYPE_F32;  // f16 with bf16
    return wider(a, b);
}

static void merge(sc_promotion *p, sc_dtype *slot, bool *has, sc_dtype dtype) {
    sc_dtype merged = *has ? sc_dtype_promote(*slot, dtype) : dtype;
    p->failed = p->failed || merged == SC_DTYPE_NONE;
    *slot = merged;
    *has = true;
}

void sc_promotion_add_tensor(sc_promotion *p, sc_dtype dtype, bool has_dims) {
    if (has_dims)
        merge(p, &p->with_dims, &p->has_with_dims, dtype);
    else
        merge(p, &p->zero_dim, &p->has_zero_dim, dtype);
}

void sc_promotion_add_number(sc_promotion *p, sc_category category) {
    static const sc_dtype defaults[] = {[SC_CATEGORY_BOOL] = SC_DTYPE_BOOL,
                                        [SC_CATEGORY_INT] = SC_DTYPE_I64,
                                        [SC_CATEGORY_FLOAT] = SC_DTYPE_F32,
                                        [SC_CATEGORY_COMPLEX] = SC_DTYPE_C64};
    merge(p, &p->number, &p->has_number, defaults[category]);
}

// `lower` matters only if its category is above that of `higher`.
static sc_dtype combine(sc_dtype higher, sc_dtype lower) {
    sc_category ch = sc_dtype_category(higher), cl = sc_dtype_category(lower);
    if (ch == SC_CATEGORY_COMPLEX) return higher;
    if (ch == SC_CATEGORY_FLOAT)
        return cl == SC_CATEGORY_COMPLEX ? sc_dtype_to_complex(higher) : higher;
    if (ch == SC_CATEGORY_BOOL || cl == SC_CATEGORY_FLOAT || cl == SC_CATEGORY_COMPLEX)
        return sc_dtype_promote(higher, lower);
    return higher;
}

sc_dtype sc_promotion_result(const sc_promotion *p) {
    if (p->failed) return SC_DTYPE_NONE;
    sc_dtype result = p->number;
    bool has = p->has_number;
    if (p->has_zero_dim) result = has ? combine(p->zero_dim, result) : p->zero_dim;
    has = has || p->has_zero_dim;
    if (p->has_with_dims) result = has ? combine(p->with_dims, result) : p->with_dims;
    return has || p->has_with_dims ? result : SC_DTYPE_NONE;
}

// --- Half precision ------------------------------------------------------------------------------

static float float_from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_from_float(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

float sc_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
    if (exponent == 0x1f) return float_from_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent) return float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    float magnitude = (float)mantissa * 0x1p-24f;
    return float_from_bits(sign | bits_from_float(magnitude));
}

uint16_t sc_f32_to_f16(float value) {
    uint32_t bits = bits_from_float(value);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u)  // rounds to 2^16 or more
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {
        // Adding 0.5 puts the rounding position of subnormals at the last mantissa bit.
        float shifted = float_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_from_float(shifted) - 0x3f000000u));
    }
    uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | ((magnitude + 0xfffu + odd - 0x38000000u) >> 13));
}

float sc_bf16_to_f32(uint16_t bits) { return float_from_bits((uint32_t)bits << 16); }

uint16_t sc_f32_to_bf16(float value) {
    uint32_t bits = bits_from_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float sc_f32_as(float value, sc_dtype dtype) {
    if (dtype == SC_DTYPE_F16) return sc_f16_to_f32(sc_f32_to_f16(value));
    return dtype == SC_DTYPE_BF16 ? sc_bf16_to_f32(sc_f32_to_bf16(value)) : value;
}
