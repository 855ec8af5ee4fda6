// Numbers in as few digits as tell them from all others.
// Prefix: sc_decimal_ makes the digits of a number.
#ifndef SC_DECIMAL_H
#define SC_DECIMAL_H

#include "base/base.h"

// d.ddd * 10^exponent, without a zero at the end; "0" has none of its own.
typedef struct sc_decimal {
    char digits[20];
    uint32_t count;
    int exponent;
} sc_decimal;

// As few digits as read back to `value` (> 0, finite), rounded to nearest; zeros at the end left
// out.
sc_decimal sc_decimal_shortest(double value);

#endif
