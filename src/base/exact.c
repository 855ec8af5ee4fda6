// In wasm: -Os
#include "base/exact.h"

#include <math.h>

// A limb has nine digits. Powers of two are multiplied in by shifts of at most SHIFT_MAX bits, so
// that a limb and a carry fit into 64 bits.
enum { LIMB = 1000000000, LIMB_DIGITS = 9, SHIFT_MAX = 29, MANTISSA_BITS = 53, LOG2_LEAST = -1074 };
// A number of SC_EXACT_READ_MAX digits before a shift to the right by 1024 bits, and one limb more.
enum { LIMBS_MAX = (SC_EXACT_READ_MAX + 309 + 1024) / LIMB_DIGITS + 5 };

// The sum of limbs[i] * LIMB^(point - 1 - i). Neither the first limb nor the last one is 0.
typedef struct exact {
    uint32_t limbs[LIMBS_MAX];
    uint32_t count;
    int point;
} exact;

static void append(exact *x, uint32_t limb) {
    SC_ASSERT(x->count < LIMBS_MAX);
    x->limbs[x->count++] = limb;
}

static void insert_first(exact *x, uint32_t limb) {
    append(x, 0);
    memmove(x->limbs + 1, x->limbs, (x->count - 1) * sizeof *x->limbs);
    x->limbs[0] = limb;
    x->point++;
}

static void drop_zeros(exact *x) {
    uint32_t zeros = 0;
    while (x->count && !x->limbs[x->count - 1]) x->count--;
    while (zeros < x->count && !x->limbs[zeros]) zeros++;
    x->count -= zeros;
    x->point -= (int)zeros;
    memmove(x->limbs, x->limbs + zeros, x->count * sizeof *x->limbs);
}

static void shift_left(exact *x, int bits) {
    uint64_t carry = 0;
    for (uint32_t i = x->count; i-- > 0; carry /= LIMB) {
        carry += (uint64_t)x->limbs[i] << bits;
        x->limbs[i] = (uint32_t)(carry % LIMB);
    }
    if (carry) insert_first(x, (uint32_t)carry);
    drop_zeros(x);
}

static void shift_right(exact *x, int bits) {
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t rest = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        rest = rest * LIMB + x->limbs[i];
        x->limbs[i] = (uint32_t)(rest >> bits);
        rest &= mask;
    }
    for (; rest; rest &= mask) {
        rest *= LIMB;
        append(x, (uint32_t)(rest >> bits));
    }
    drop_zeros(x);
}

static int at_most(int bits) { return bits < SHIFT_MAX ? bits : SHIFT_MAX; }

// Multiplies by 2^log2.
static void scale(exact *x, int log2) {
    for (int left = log2; left > 0; left -= SHIFT_MAX) shift_left(x, at_most(left));
    for (int left = -log2; left > 0; left -= SHIFT_MAX) shift_right(x, at_most(left));
}

// --- Rounding to digits --------------------------------------------------------------------------

static exact expand(double value) {
    int log2;
    const uint64_t mantissa = (uint64_t)ldexp(frexp(value, &log2), MANTISSA_BITS);
    exact x = {.limbs = {(uint32_t)(mantissa / LIMB), mantissa % LIMB}, .count = 2, .point = 2};
    drop_zeros(&x);
    scale(&x, log2 - MANTISSA_BITS);
    return x;
}

// The digits of a limb, or fewer at its end. Returns how many.
static uint32_t put_limb(char *out, uint32_t limb, uint32_t room) {
    for (uint32_t i = 0, unit = LIMB / 10; i < LIMB_DIGITS; i++, unit /= 10)
        if (i < room) out[i] = (char)('0' + limb / unit % 10);
    return room < LIMB_DIGITS ? room : LIMB_DIGITS;
}

// All digits of numbers that have fewer than the array's, otherwise these and a last one that says
// on which side of a tie the rest is.
enum { ALL_MAX = SC_EXACT_DIGITS_MAX + 2 * LIMB_DIGITS };

static uint32_t put_all(char *out, const exact *x) {
    uint32_t count = 0, i = 0;
    for (; i < x->count && count + LIMB_DIGITS < ALL_MAX; i++)
        count += put_limb(out + count, x->limbs[i], LIMB_DIGITS);
    if (i < x->count && (out[count - 1] - '0') % 5 == 0) out[count - 1]++;
    return count;
}

static bool rounds_up(const char *digits, uint32_t count, uint32_t kept) {
    if (kept >= count || digits[kept] != '5') return kept < count && digits[kept] > '5';
    for (uint32_t i = kept + 1; i < count; i++)
        if (digits[i] != '0') return true;
    return kept && digits[kept - 1] % 2;
}

sc_exact_digits sc_exact_round(double value, uint32_t significant, uint32_t decimals) {
    sc_exact_digits out = {.count = 0};
    char all[ALL_MAX];
    if (value == 0) return out;
    const exact x = expand(value);
    const uint32_t count = put_all(all, &x);
    uint32_t first = 0;
    while (all[first] == '0') first++;
    out.exponent = x.point * LIMB_DIGITS - 1 - (int)first;
    const int64_t behind = (int64_t)out.exponent + 1 + decimals;
    if (behind < 0) return out;
    uint32_t kept = behind < significant ? (uint32_t)behind : significant;
    if (kept > SC_EXACT_DIGITS_MAX) kept = SC_EXACT_DIGITS_MAX;
    const bool is_up = rounds_up(all + first, count - first, kept);
    out.count = kept < count - first ? kept : count - first;
    memcpy(out.digits, all + first, out.count);
    if (is_up) {
        while (out.count && out.digits[out.count - 1] == '9') out.count--;
        if (out.count) {
            out.digits[out.count - 1]++;
        } else {
            out.digits[out.count++] = '1';
            out.exponent++;
        }
    }
    while (out.count && out.digits[out.count - 1] == '0') out.count--;
    return out;
}

// --- Reading -------------------------------------------------------------------------------------

// Powers of ten that are doubles. Products and quotients of two doubles are rounded once.
static bool read_fast(const char *digits, uint32_t count, int64_t power, double *out) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { MOST = SC_COUNT_OF(tens) - 1, DIGITS = 15 };
    double value = 0;
    if (count > DIGITS || power > MOST || power < -MOST) return false;
    for (uint32_t i = 0; i < count; i++) value = value * 10 + (digits[i] - '0');
    *out = power < 0 ? value / tens[-power] : value * tens[power];
    return true;
}

static exact collect(const char *digits, uint32_t count, int power) {
    exact x = {.count = 0};
    // The last limb ends at a multiple of nine decimals.
    const int end = (int)count + power;  // digits before the point
    const int before = (end % LIMB_DIGITS + LIMB_DIGITS) % LIMB_DIGITS;
    x.point = (end - before) / LIMB_DIGITS + (before > 0);
    uint32_t limb = 0, left = before ? (uint32_t)before : LIMB_DIGITS;
    for (uint32_t i = 0; i < count; i++) {
        limb = limb * 10 + (uint32_t)(digits[i] - '0');
        if (--left) continue;
        append(&x, limb);
        limb = 0;
        left = LIMB_DIGITS;
    }
    if (left < LIMB_DIGITS) {
        for (; left; left--) limb *= 10;
        append(&x, limb);
    }
    drop_zeros(&x);
    return x;
}

// The integer part, of two limbs at most.
static uint64_t whole(const exact *x) {
    uint64_t value = 0;
    for (int i = 0; i < x->point; i++)
        value = value * LIMB + ((uint32_t)i < x->count ? x->limbs[i] : 0);
    return value;
}

static int bits_of(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

// Scales until the integer part has one bit more than a double, or some more. Returns the number of
// bits that it was scaled by.
static int bring_to_bits(exact *x) {
    int scaled = 0;
    while (x->point > 2) {
        shift_right(x, SHIFT_MAX);
        scaled -= SHIFT_MAX;
    }
    for (;;) {
        const int lacks = MANTISSA_BITS + 1 - bits_of(whole(x));
        if (lacks <= 0) return scaled;
        shift_left(x, at_most(lacks));
        scaled += at_most(lacks);
    }
}

double sc_exact_read(const char *digits, uint32_t count, int64_t power) {
    double value;
    for (; count && *digits == '0'; count--) digits++;
    if (!count) return 0;
    SC_ASSERT(count <= SC_EXACT_READ_MAX);
    if (read_fast(digits, count, power, &value)) return value;
    if (power + count > 310) return (double)INFINITY;
    if (power + count < -330) return 0;
    exact x = collect(digits, count, (int)power);
    const int scaled = bring_to_bits(&x);
    const uint64_t bits = whole(&x);
    const bool is_more = x.point < 0 || x.count > (uint32_t)x.point;
    int dropped = bits_of(bits) - MANTISSA_BITS;
    if (dropped < LOG2_LEAST + scaled) dropped = LOG2_LEAST + scaled;
    if (dropped > 62) return 0;
    const uint64_t half = UINT64_C(1) << (dropped - 1), rest = bits & (2 * half - 1);
    uint64_t kept = bits >> dropped;
    kept += rest > half || (rest == half && (is_more || kept % 2));
    return ldexp((double)kept, dropped - scaled);
}
