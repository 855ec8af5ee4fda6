// Formatted text against libc's.
#include "base/print.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness.h"

#define CHECK_PRINT(...)                                                         \
    do {                                                                         \
        char expected[400], found[400];                                          \
        const int size = snprintf(expected, sizeof expected, __VA_ARGS__);       \
        CHECK_EQ_UINT(sc_print(found, sizeof found, __VA_ARGS__), (size_t)size); \
        CHECK_EQ_STR(found, expected);                                           \
    } while (0)

TEST(integers_are_printed_as_by_libc) {
    CHECK_PRINT("%d %d %d %d", 0, -1, INT32_MAX, INT32_MIN);
    CHECK_PRINT("%u %u", 0u, UINT32_MAX);
    CHECK_PRINT("%lld %lld %lld", 0ll, (long long)INT64_MAX, (long long)INT64_MIN);
    CHECK_PRINT("%llu %zu %lu %ld", (unsigned long long)UINT64_MAX, SIZE_MAX, 7ul, -7l);
    CHECK_PRINT("%" PRId64 " %" PRIu64, INT64_MIN, UINT64_MAX);
    CHECK_PRINT("%x %02x %04x %llx", 0xbeefu, 7u, 0x10ffffu, (unsigned long long)UINT64_MAX);
    CHECK_PRINT("%02d %03d %5d %0*u", 3, -3, 42, 6, 12u);
}

TEST(text_is_printed_as_by_libc) {
    CHECK_PRINT("%s", "");
    CHECK_PRINT("plain");
    CHECK_PRINT("100 %% of %s: '%c'%s", "it", 'x', ".");
    CHECK_PRINT("%.*s|%.4s|%.0s|%8s", 3, "abcdef", "ab", "ab", "right");
    // Without a terminator within the precision.
    const char bytes[3] = {'a', 'b', 'c'};
    CHECK_PRINT("%.*s", 3, bytes);
    // An empty text may have no bytes at all.
    const char *volatile absent = NULL;
    char quotes[8];
    CHECK_EQ_UINT(sc_print(quotes, sizeof quotes, "'%.*s'", 0, absent), 2);
    CHECK_EQ_STR(quotes, "''");
}

TEST(floating_point_is_printed_as_by_libc) {
    static const double values[] = {
        0,       1,           -1,    0.5,     100,      1e5,      123456,    1e6,   1e-4,
        1e-5,    0.1,         -0.0,  1.0 / 3, 999999.5, 2.5,      1e21,      1e100, DBL_MAX,
        DBL_MIN, DBL_MIN / 8, 12.34, 123400,  -1234567, 99999.95, 0.00012345};
    for (size_t i = 0; i < SC_COUNT_OF(values); i++) {
        const double v = values[i];
        CHECK_PRINT("%g %.3g %.0g %.17g", v, v, v, v);
        CHECK_PRINT("%.0f %.1f %.2f %f", v, v, v, v);
    }
    CHECK_PRINT("%g %g %.2f", (double)INFINITY, -(double)INFINITY, (double)INFINITY);
    CHECK_PRINT("%g", (double)NAN);
    for (int i = -2000; i < 2000; i++) CHECK_PRINT("%g %.2f %.0f", i / 16.0, i / 8.0, i / 2.0);
}

TEST(text_without_room_is_cut_and_counted) {
    char text[6];
    CHECK_EQ_UINT(sc_print(text, sizeof text, "%s", "0123456789"), 10);
    CHECK_EQ_STR(text, "01234");
    CHECK_EQ_UINT(sc_print(text, sizeof text, "%d", 12345), 5);
    CHECK_EQ_STR(text, "12345");
    CHECK_EQ_UINT(sc_print(NULL, 0, "%u and more", 7u), 10);
}
