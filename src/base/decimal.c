// In wasm: -O3
#include "base/decimal.h"

#include <float.h>

#include "base/exact.h"

// 15 digits suffice for every decimal of 15 digits, and 17 for every double. A subnormal number may
// need only one.
enum { FEWEST = 15, MOST = 17 };

static void put_digits(sc_decimal *out, const char *text, size_t size) {
    memcpy(out->digits, text, size);
    out->count = (uint32_t)size;
    while (out->count > 1 && out->digits[out->count - 1] == '0') out->count--;
}

// --- Any number ----------------------------------------------------------------------------------

static sc_decimal by_exact(double value) {
    sc_decimal out = {.count = 0};
    for (uint32_t most = value < DBL_MIN ? 1 : FEWEST; most <= MOST; most++) {
        const sc_exact_digits all = sc_exact_round(value, most, UINT32_MAX);
        const int power = all.exponent + 1 - (int)all.count;
        if (most < MOST && sc_exact_read(all.digits, all.count, power) != value) continue;
        out.exponent = all.exponent;
        put_digits(&out, all.digits, all.count);
        break;
    }
    return out;
}

// --- Numbers that are neither large nor small ----------------------------------------------------

// All of it uses integers of 128 bits.
__extension__ typedef unsigned __int128 wide;

enum { MANTISSA = 52, BIAS = 1023, LOG2_LEAST = -36, LOG2_MOST = 46 };
static const uint64_t one = UINT64_C(1) << MANTISSA;

// The first MOST digits of value * 10^power, in units of 2^-shift.
typedef struct scaled {
    uint64_t mantissa;
    wide units;
    wide half;  // half the distance to the next double
    uint32_t shift;
    int power;
} scaled;

static uint64_t power_of(uint64_t base, int exponent) {
    uint64_t product = 1;
    for (int i = 0; i < exponent; i++) product *= base;
    return product;
}

static scaled scale_by(uint64_t mantissa, int log2, int power) {
    const uint64_t five = power_of(5, power);  // not above 5^27
    return (scaled){.mantissa = mantissa,
                    .units = (wide)(2 * mantissa) * five,
                    .half = five,
                    .shift = (uint32_t)(MANTISSA + 1 - log2 - power),
                    .power = power};
}

// The power of ten below a power of two, or one less.
static int log10_of(int log2) {
    return log2 < 0 ? -((-log2 * 1233 + 4095) / 4096) : log2 * 1233 / 4096;
}

// Scales a number so that it has MOST digits before the point.
static scaled scale(uint64_t mantissa, int log2) {
    static const uint64_t too_large = UINT64_C(100000000000000000);
    const int power = MOST - 1 - log10_of(log2);
    const scaled s = scale_by(mantissa, log2, power);
    return s.units >> s.shift < too_large ? s : scale_by(mantissa, log2, power - 1);
}

// Rounds to a multiple of `step`, ties to even. True if the result reads back to the same double.
static bool round_to(const scaled *s, uint64_t step, uint64_t *steps) {
    const uint64_t whole = (uint64_t)(s->units >> s->shift);
    const wide size = (wide)step << s->shift;
    const wide rest = s->units - ((wide)(whole - whole % step) << s->shift);
    *steps = whole / step;
    const bool is_up = rest > size - rest || (rest == size - rest && *steps % 2);
    *steps += is_up;
    // Below a power of two doubles are twice as close. Midpoints have more digits than MOST.
    return (is_up ? size - rest : s->mantissa == one ? 2 * rest : rest) < s->half;
}

static void put_number(sc_decimal *out, uint64_t number, int power) {
    char text[20];
    size_t at = sizeof text;
    for (; number; number /= 10) text[--at] = (char)('0' + number % 10);
    out->exponent = (int)(sizeof text - at) - 1 + power;
    put_digits(out, text + at, sizeof text - at);
}

static bool by_integers(double value, sc_decimal *out) {
    uint64_t bits, steps;
    memcpy(&bits, &value, sizeof bits);
    const int log2 = (int)(bits >> MANTISSA) - BIAS;
    if (log2 < LOG2_LEAST || log2 > LOG2_MOST) return false;
    const scaled s = scale(one | (bits & (one - 1)), log2);
    int left_out = MOST - FEWEST;
    while (!round_to(&s, power_of(10, left_out), &steps) && left_out > 0) left_out--;
    put_number(out, steps, left_out - s.power);
    return true;
}

sc_decimal sc_decimal_shortest(double value) {
    sc_decimal out = {.count = 0};
    return by_integers(value, &out) ? out : by_exact(value);
}
