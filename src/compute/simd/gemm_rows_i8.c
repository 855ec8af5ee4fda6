// In wasm: -O3
#include "compute/simd/gemm_rows_i8.h"

#include "compute/simd/simd_i8.h"

enum { ROWS = SC_GEMM_ROWS_I8, UNIT = 4 };

static size_t row_bytes(const sc_gemm_rows_i8 *r) {
    return UNIT * sc_gemm_row_units(r->k, r->dots);
}

uint64_t sc_gemm_rows_bytes(uint64_t m, uint64_t k, bool dots) {
    const uint64_t bytes = dots ? sc_align_up(k, UNIT) : 2 * sc_align_up(k, 2);
    return (m > 1 ? sc_align_up(m, ROWS) + ROWS : 1) * bytes;
}

// The place after all others, where four rows are written.
static uint8_t *place_of(const sc_gemm_rows_i8 *r, size_t i) {
    return r->m > 1 ? r->a + ((size_t)sc_align_up(r->m, ROWS) + i % ROWS) * row_bytes(r) : r->a;
}

// The last unit may have steps that do not exist.
uint8_t *sc_gemm_row_begin(const sc_gemm_rows_i8 *r, size_t i) {
    uint8_t *row = place_of(r, i);
    if (r->k) memset(row + row_bytes(r) - UNIT, 0, UNIT);
    return row;
}

// --- Values --------------------------------------------------------------------------------------

void sc_gemm_widen(const int8_t *from, int32_t zero, size_t count, int16_t *to) {
    const int16_t off = (int16_t)zero;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const v8h v = v8h_widen(from + i) - off;
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < count; i++) to[i] = (int16_t)(from[i] - off);
}

static inline void flip_eight(const int8_t *from, uint64_t flip, uint8_t *to) {
    uint64_t v;
    memcpy(&v, from, sizeof v);
    v ^= flip;
    memcpy(to, &v, sizeof v);
}

static inline void flip_four(const int8_t *from, uint32_t flip, uint8_t *to) {
    uint32_t v;
    memcpy(&v, from, sizeof v);
    v ^= flip;
    memcpy(to, &v, sizeof v);
}

// The last bytes overlap those before them.
static void flip_bytes(const int8_t *from, uint8_t flip, size_t count, uint8_t *to) {
    const uint64_t all = flip * 0x0101010101010101u;
    const v4u mask = {(uint32_t)all, (uint32_t)all, (uint32_t)all, (uint32_t)all};
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const v4u v = v4u_load(from + i) ^ mask;
        memcpy(to + i, &v, sizeof v);
    }
    if (i + 8 <= count) flip_eight(from + i, all, to + i), i += 8;
    if (i == count) return;
    if (count >= 8) {
        flip_eight(from + count - 8, all, to + count - 8);
    } else if (count >= 4) {
        flip_four(from, (uint32_t)all, to);
        flip_four(from + count - 4, (uint32_t)all, to + count - 4);
    } else {
        for (; i < count; i++) to[i] = (uint8_t)from[i] ^ flip;
    }
}

uint8_t *sc_gemm_row_put(const sc_gemm_rows_i8 *r, const int8_t *from, int32_t zero, size_t count,
                         uint8_t *to) {
    if (r->dots)
        flip_bytes(from, r->flip, count, to);
    else
        sc_gemm_widen(from, zero, count, (int16_t *)(void *)to);
    return to + (r->dots ? count : 2 * count);
}

uint8_t *sc_gemm_row_pad(const sc_gemm_rows_i8 *r, int32_t zero, size_t count, uint8_t *to) {
    const size_t bytes = r->dots ? count : 2 * count;
    memset(to, r->dots ? (uint8_t)zero ^ r->flip : 0, bytes);
    return to + bytes;
}

// --- Interleaving --------------------------------------------------------------------------------

static inline v4u pair(v4u a, v4u b, bool high) {
    return high ? __builtin_shufflevector(a, b, 2, 6, 3, 7)
                : __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

static void interleave(const uint8_t *from, size_t bytes, uint8_t *to) {
    size_t at = 0;
    for (; at + 16 <= bytes; at += 16, to += 64) {
        const v4u v0 = v4u_load(from + at), v1 = v4u_load(from + bytes + at);
        const v4u v2 = v4u_load(from + 2 * bytes + at), v3 = v4u_load(from + 3 * bytes + at);
        const v4u low = pair(v0, v2, false), high = pair(v0, v2, true);
        const v4u low_odd = pair(v1, v3, false), high_odd = pair(v1, v3, true);
        const v4u all[4] = {pair(low, low_odd, false), pair(low, low_odd, true),
                            pair(high, high_odd, false), pair(high, high_odd, true)};
        memcpy(to, all, sizeof all);
    }
    for (; at < bytes; at += UNIT)
        for (size_t row = 0; row < ROWS; row++, to += UNIT)
            memcpy(to, from + row * bytes + at, UNIT);
}

// Missing rows are zeros.
void sc_gemm_row_end(const sc_gemm_rows_i8 *r, size_t i) {
    const size_t bytes = row_bytes(r);
    if (r->m == 1 || (i + 1 < r->m && (i + 1) % ROWS)) return;
    for (size_t row = i % ROWS + 1; row < ROWS; row++) memset(place_of(r, row), 0, bytes);
    interleave(place_of(r, 0), bytes, r->a + i / ROWS * ROWS * bytes);
}
