// Decimal text of a double, in as few digits as possible. Reading the text gives the same double.
// Prefix: sc_decimal_ makes the digits of a number.
#ifndef SC_DECIMAL_H
#define SC_DECIMAL_H

#include "base/base.h"

// The number d.ddd * 10^exponent. The last digit is not 0.
typedef struct sc_decimal {
    char digits[20];
    uint32_t count;
    int exponent;
} sc_decimal;

// The fewest digits that read back to `value`, rounded to nearest. `value` is finite and above 0.
sc_decimal sc_decimal_shortest(double value);

#endif
