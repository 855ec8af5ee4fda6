#include "compute/simd/dot_i8.h"

// --- In plain C ----------------------------------------------------------------------------------

// One lane.
static uint32_t sum_of(sc_dot_kind kind, const int8_t a[4], const int8_t b[4]) {
    int32_t sum = 0;
    for (int i = 0; i < 4; i++) sum += a[i] * (kind == SC_DOT_SIGNED ? b[i] : (uint8_t)b[i]);
    return (uint32_t)sum;
}

static v4u add_sums(sc_dot_kind kind, v16b a, v16b b, v4u c) {
    int8_t left[16], right[16];
    memcpy(left, &a, sizeof left);
    memcpy(right, &b, sizeof right);
    for (int i = 0; i < 4; i++) c[i] += sum_of(kind, left + 4 * i, right + 4 * i);
    return c;
}

// --- The trial -----------------------------------------------------------------------------------

#if defined(__wasm_relaxed_simd__)

// Bytes from memory that the compiler cannot know, or it might compute the product itself.
static v16b bytes_of(const volatile int8_t *table, unsigned count, unsigned step, unsigned first) {
    v16b v;
    for (unsigned i = 0; i < 16; i++) v[i] = table[(first + i * step) % count];
    return v;
}

// Does the instruction mean this for every pair of extremes, four times and mixed with others?
// Pairs of products leave 16 bits, and sums wrap.
static bool means(sc_dot_kind kind) {
    static const volatile int8_t extremes[] = {-128, 127, -1, 1, 0, -127, 64};
    const unsigned count = SC_COUNT_OF(extremes);
    const v4u begin = {0, INT32_MAX, 0x80000000u, 12345};
    for (unsigned i = 0; i < 2 * count * count; i++) {
        const unsigned pair = i / 2, step = i % 2;
        const v16b a = bytes_of(extremes, count, step, pair % count);
        const v16b b = bytes_of(extremes, count, 2 * step, pair / count);
        const v4u sums = v4u_dot_bytes(a, b, begin), expected = add_sums(kind, a, b, begin);
        if (memcmp(&sums, &expected, sizeof sums) != 0) return false;
    }
    return true;
}

static sc_dot_kind try_host(void) {
    return means(SC_DOT_UNSIGNED) ? SC_DOT_UNSIGNED
           : means(SC_DOT_SIGNED) ? SC_DOT_SIGNED
                                  : SC_DOT_INEXACT;
}

static bool host_has(sc_dot_kind kind) { return kind <= SC_DOT_INEXACT || kind == try_host(); }

#else

static sc_dot_kind try_host(void) { return SC_DOT_INEXACT; }

// Any meaning is emulated. Plain wasm has no rows that would need it.
static bool host_has(sc_dot_kind kind) { return kind <= SC_DOT_INEXACT || SC_DOT_EXISTS; }

#endif

// --- The host ------------------------------------------------------------------------------------

// One word, so that threads that try at the same time do no harm.
static sc_dot_kind host;

static sc_dot_kind host_kind(void) {
    if (host == SC_DOT_UNTRIED) host = try_host();
    return host;
}

bool sc_dot_is_exact(void) { return host_kind() != SC_DOT_INEXACT; }

uint8_t sc_dot_flip(void) { return host_kind() == SC_DOT_UNSIGNED ? 0x80 : 0; }

bool sc_dot_assume(sc_dot_kind kind) {
    if (!host_has(kind)) return false;
    host = kind;
    return true;
}

v4u sc_dot_emulate(v16b a, v16b b, v4u c) { return add_sums(host, a, b, c); }
