// Decimals against libc's, which are exact, too.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/exact.h"
#include "harness.h"

static uint64_t state = 1;

static uint64_t any(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state ^ state >> 29;
}

// Any positive finite double, subnormal ones among them.
static double any_double(void) {
    double value;
    const uint64_t bits = any() & INT64_MAX;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 1;
}

// --- Reading -------------------------------------------------------------------------------------

static void check_read(const char *digits, int power) {
    char text[SC_EXACT_READ_MAX + 20];
    snprintf(text, sizeof text, "%se%d", digits, power);
    const double expected = strtod(text, NULL);
    const double found = sc_exact_read(digits, (uint32_t)strlen(digits), power);
    if (memcmp(&found, &expected, sizeof found) != 0)
        FAIL("%s is %a, not %a", text, found, expected);
}

TEST(numbers_are_read_to_the_nearest_double) {
    static const char *const digits[] = {
        "0",
        "1",
        "000",
        "10",
        "123456789",
        "9007199254740993",
        "9007199254740992999999999999999",
        "17976931348623157",
        "17976931348623158",
        "17976931348623159",
        "4940656458412465",
        "2470328229206232",
        "2470328229206233",
        "22250738585072011",
        "22250738585072014",
        "999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"};
    for (size_t i = 0; i < SC_COUNT_OF(digits); i++)
        for (int power = -420; power < 330; power++) check_read(digits[i], power);
}

TEST(numbers_of_any_length_are_read) {
    char digits[SC_EXACT_READ_MAX + 1];
    for (int i = 0; i < 3000; i++) {
        const size_t count = 1 + any() % (i % 10 ? 25 : SC_EXACT_READ_MAX);
        for (size_t k = 0; k < count; k++) digits[k] = (char)('0' + any() % 10);
        digits[count] = '\0';
        check_read(digits, (int)(any() % 700) - 340 - (int)count);
        check_read(digits, (int)(any() % 50) - 25 - (int)count);
    }
}

TEST(ties_between_doubles_are_read_to_even) {
    char digits[SC_EXACT_READ_MAX + 1];
    for (int i = 0; i < 2000; i++) {
        // Odd multiples of half a unit, whole numbers and fractions.
        const uint64_t odd = (any() >> 10) | 1 | UINT64_C(1) << 53;
        const int log2 = (int)(any() % 60);
        const int count =
            snprintf(digits, sizeof digits, "%.0f", ldexp((double)(odd >> 1), log2 + 1));
        CHECK(count > 0);
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)odd);
        check_read(digits, 0);
        check_read(digits, -1);
        char *end = digits + strlen(digits);
        memset(end, '0', 400);
        end[400] = '1';
        end[401] = '\0';
        check_read(digits, -401);
    }
}

TEST(exponents_out_of_range_give_zero_and_infinity) {
    CHECK(sc_exact_read("1", 1, INT32_MAX) == (double)INFINITY);
    CHECK(sc_exact_read("1", 1, INT32_MIN) == 0);
    CHECK(sc_exact_read("0", 1, INT32_MAX) == 0);
    CHECK(sc_exact_read("", 0, 0) == 0);
}

// --- Rounding ------------------------------------------------------------------------------------

static void check_round(double value, int digits) {
    char expected[400], found[400];
    const sc_exact_digits d = sc_exact_round(value, (uint32_t)digits, UINT32_MAX);
    snprintf(expected, sizeof expected, "%.*e", digits - 1, value);
    char padded[SC_EXACT_DIGITS_MAX + 1] = {0};
    memset(padded, '0', (size_t)digits);
    memcpy(padded, d.digits, d.count);
    snprintf(found, sizeof found, "%c%s%se%c%02d", padded[0], digits > 1 ? "." : "", padded + 1,
             d.exponent < 0 ? '-' : '+', abs(d.exponent));
    if (strcmp(found, expected) != 0) FAIL("%a is %s, not %s", value, expected, found);
    CHECK(!d.count || d.digits[d.count - 1] != '0');
}

TEST(numbers_are_rounded_to_digits_as_libc_does) {
    static const double edges[] = {DBL_MIN,
                                   DBL_MAX,
                                   0x1p-1074,
                                   0x1.8p-1073,
                                   0x1.fffffp-1030,
                                   0.5,
                                   0.1,
                                   9.5,
                                   99.5,
                                   999.5,
                                   0.15,
                                   999999.5,
                                   1e22,
                                   1e23,
                                   0x1p63,
                                   1e300,
                                   123456789,
                                   1e-5,
                                   0x1p-1022 - 0x1p-1074};
    for (size_t i = 0; i < SC_COUNT_OF(edges); i++)
        for (int digits = 1; digits < SC_EXACT_DIGITS_MAX; digits++) check_round(edges[i], digits);
    for (int i = 0; i < 3000; i++) check_round(any_double(), 1 + (int)(any() % 30));
}

TEST(halves_are_rounded_to_even) {
    for (int i = 0; i < 4000; i++) {
        check_round(i + 0.5, i < 10 ? 1 : i < 100 ? 2 : i < 1000 ? 3 : 4);
        check_round((i + 0.5) / 1024, 3);
    }
}

TEST(digits_read_back_to_the_same_double) {
    for (int i = 0; i < 5000; i++) {
        const double value = any_double();
        const sc_exact_digits d = sc_exact_round(value, 17, UINT32_MAX);
        CHECK(sc_exact_read(d.digits, d.count, d.exponent + 1 - (int)d.count) == value);
    }
}
