// Reads and writes elements of quantized records, one at a time, for the definitions.
// Prefixes: sc_input_ and sc_weight_ read one number of an operand; sc_lowest_ is the least number
// of a type.
#ifndef SC_ELEMENTS_H
#define SC_ELEMENTS_H

#include "compute/compute.h"

// One number of an 8-bit input, without subtraction of the zero point.
static inline int32_t sc_input_int(const sc_record *r, const void *data, int64_t at) {
    return r->in == SC_DTYPE_U8 ? ((const uint8_t *)data)[at] : ((const int8_t *)data)[at];
}

static inline int32_t sc_nibble(const void *data, int64_t at, bool high_first) {
    const unsigned shift = ((at & 1) != 0) == high_first ? 0 : 4;
    return (((const uint8_t *)data)[at >> 1] >> shift & 15) - 8;
}

// One integer weight, without its zero point.
static inline int32_t sc_weight_int(const sc_record *r, const void *data, int64_t at) {
    switch (r->weight) {
    case SC_DTYPE_I4: return sc_nibble(data, at, r->weights.high_first);
    case SC_DTYPE_U8:
        return (int32_t)((uint32_t)((const uint8_t *)data)[at] - (uint32_t)r->weights.zero);
    default: return ((const int8_t *)data)[at];
    }
}

// One weight as a float, for products whose inputs are f32.
static inline float sc_weight_float(const sc_record *r, const void *data, int64_t at) {
    switch (r->weight) {
    case SC_DTYPE_F32: return ((const float *)data)[at];
    case SC_DTYPE_F16: return sc_f16_to_f32(((const uint16_t *)data)[at]);
    case SC_DTYPE_BF16: return sc_bf16_to_f32(((const uint16_t *)data)[at]);
    default: return (float)sc_weight_int(r, data, at);
    }
}

// Are the types those of a quantized record that has a definition?
static inline bool sc_types_are_quantized(const sc_record *r) {
    const bool is_u8 = r->in == SC_DTYPE_U8;
    return sc_record_is_quantized(r) && (r->out == r->in || r->out == SC_DTYPE_F32) &&
           (is_u8 ? r->weight == SC_DTYPE_U8
                  : r->weight == SC_DTYPE_I8 || r->weight == SC_DTYPE_I4);
}

static inline int sc_lowest_of(uint8_t dtype) { return dtype == SC_DTYPE_U8 ? 0 : -128; }

// Finishes a sum of 32 bits; `scale` is that of its input.
static inline void sc_store_quantized(const sc_record *r, void *out, int64_t at, uint32_t sum,
                                      float scale, int64_t channel) {
    if (r->out == SC_DTYPE_F32)
        ((float *)out)[at] = sc_finish_float(&r->finish, (float)(int32_t)sum * scale, channel);
    else
        ((uint8_t *)out)[at] =
            (uint8_t)sc_finish_round(&r->finish, sc_lowest_of(r->out), (int32_t)sum, channel);
}

#endif
