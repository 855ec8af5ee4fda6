// As few digits as name a double: against libc's exact digits, read back.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "harness.h"

// libc's, without the point and the zeros at the end, as "ddde-5".
static void expect_digits(char *out, size_t bytes, double value) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value) break;
    }
    const char *end = strchr(text, 'e');
    const int exponent = atoi(end + 1);
    while (end[-1] == '0' && end > text + 2) end--;
    snprintf(out, bytes, "%c%.*se%d", text[0], (int)(end - text - 2), text + 2, exponent);
}

static void check_digits(double value) {
    char expected[48], found[48];
    const sc_decimal d = sc_decimal_shortest(value);
    snprintf(found, sizeof found, "%.*se%d", (int)d.count, d.digits, d.exponent);
    expect_digits(expected, sizeof expected, value);
    if (strcmp(expected, found) != 0) FAIL("%a is %s, not %s", value, expected, found);
}

static uint64_t state = 1;

static uint64_t any(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 11;
}

static double mantissa(uint64_t bits) { return 1 + ldexp((double)bits, -53); }

TEST(digits_are_the_fewest_that_libc_reads_back) {
    for (int log2 = -45; log2 <= 60; log2++)
        for (int i = 0; i < 200; i++) {
            check_digits(ldexp(mantissa(any() & ((UINT64_C(1) << 53) - 2)), log2));
            check_digits((double)(float)ldexp(mantissa(any()), log2));
        }
}

TEST(digits_are_right_next_to_powers_of_two_and_of_ten) {
    for (int log2 = -60; log2 <= 60; log2++)
        for (double side = -3; side <= 3; side++)
            check_digits(ldexp(1, log2) * (1 + side * 0x1p-52));
    for (int log10 = -14; log10 <= 17; log10++) {
        const double power = pow(10, log10);
        for (int i = 0; i < 100; i++) check_digits(power * (1 + (i - 50) * 0x1p-52));
        for (int i = 1; i < 2000; i++) check_digits(power * i / 1000);
    }
}

TEST(halves_of_the_last_digit_are_rounded_to_even) {
    for (int i = 1; i < 5000; i++) {
        check_digits(0x1p49 + i * 0.0625);
        check_digits((double)(UINT64_C(1) << 46) + i * 0.015625);
        check_digits(i * 0x1p-36 + 0x1p-30);
    }
}
