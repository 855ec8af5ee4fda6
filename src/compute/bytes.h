// Tensors of 8 bits that represent numbers, (value - zero) * scale: conversion from and to floats,
// and element-wise arithmetic. Results are those of XNNPACK's scalar variants, bit for bit; its
// variants for some processors differ from them by a unit at most.
// Prefix: sc_bytes_ makes quantized bytes; the name says of which numbers.
#ifndef SC_BYTES_H
#define SC_BYTES_H

#include "base/base.h"

typedef struct sc_grid {
    float scale;  // finite and above 0
    int32_t zero;
    bool is_unsigned;  // values are u8, not i8
} sc_grid;

// Rounds x / scale to the nearest number, ties to even, adds the zero point, and saturates; NaN
// gives the lowest value. `q` may not overlap `x`, here and below, unless both are of 8 bits: then
// they may be the same.
void sc_bytes_of_floats(const sc_grid *grid, const float *x, size_t count, void *q);
void sc_floats_of_bytes(const sc_grid *grid, const void *q, size_t count, float *x);
// Converts from one grid to another; both have the same sign.
void sc_bytes_of_bytes(const sc_grid *from, const sc_grid *to, const void *x, size_t count,
                       void *q);
void sc_bytes_clamp(bool is_unsigned, int low, int high, const void *x, size_t count, void *q);

// Gives a row a grid of its own, from its smallest to its largest number and containing 0, as i8
// (dynamic quantization, XNNPACK's qd8).
void sc_bytes_of_row(const float *x, size_t count, int8_t *q, int32_t *zero, float *scale);

// --- Two operands --------------------------------------------------------------------------------

typedef enum sc_bytes_op { SC_BYTES_ADD, SC_BYTES_SUBTRACT, SC_BYTES_MULTIPLY } sc_bytes_op;

typedef struct sc_bytes_binary {
    sc_bytes_op op;
    sc_grid a, b, out;  // all signed or all unsigned
    int low, high;      // of results, in [-128, 127] or [0, 255]
} sc_bytes_binary;

// Computes `count` results. Steps are 1, or 0 for an operand with one value for all of them.
void sc_bytes_run_binary(const sc_bytes_binary *binary, const void *a, size_t a_step, const void *b,
                         size_t b_step, size_t count, void *q);

#endif
