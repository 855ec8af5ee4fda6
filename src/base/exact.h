// Doubles as exact decimals, for text that libc would read and write by way of long doubles.
// WebAssembly has no long doubles, so libc computes them in software, which is slow and large.
// Prefix: sc_exact_ reads and rounds decimals without an error.
#ifndef SC_EXACT_H
#define SC_EXACT_H

#include "base/base.h"

// A double has at most 309 digits before the point. Numbers are written with at most 17 after it.
enum { SC_EXACT_DIGITS_MAX = 330 };

// A rounded number: d.ddd * 10^exponent, without zeros at the end. Zero has no digits.
typedef struct sc_exact_digits {
    char digits[SC_EXACT_DIGITS_MAX];
    uint32_t count;
    int exponent;
} sc_exact_digits;

// Rounds to the nearest, ties to even: to `significant` digits, and to `decimals` behind the point.
// The first limit that is reached counts. `value` is finite and at least 0.
sc_exact_digits sc_exact_round(double value, uint32_t significant, uint32_t decimals);

// The double nearest to digits * 10^power, ties to even. `digits` holds at most
// SC_EXACT_READ_MAX digits and nothing else.
enum { SC_EXACT_READ_MAX = 1000 };
double sc_exact_read(const char *digits, uint32_t count, int64_t power);

#endif
