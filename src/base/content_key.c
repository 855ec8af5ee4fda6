// Computes a name of 128 bits, quickly. An adversary could make two runs of bytes with one name, so
// code that stores by name also compares contents (store.h). The loop is that of XXH3 (Collet). It
// has eight sums of 64 bits. Each adds products of the halves of keyed words, and adds each word to
// its neighbour. The key of a word depends on its place.
// In wasm: -O3
#include "base/content_key.h"

#include "base/hash.h"

enum {
    LANES = 8,
    STRIPE = 64,
    STRIPES_PER_SCRAMBLE = 16,
    BLOCK_BYTES = 256 << 10,
    SLOW_BLOCK_BYTES = 4 << 20
};

#define KEY_STEP UINT64_C(0x9e3779b97f4a7c15)

static const uint64_t KEYS[LANES] = {UINT64_C(0xbe4ba423396cfeb8), UINT64_C(0x1cad21f72c81017c),
                                     UINT64_C(0xdb979083e96dd4de), UINT64_C(0x1f67b3b7a4a44072),
                                     UINT64_C(0x78e5c0cc4ee679cb), UINT64_C(0x2172ffcc7dd05a82),
                                     UINT64_C(0x8e2443f7744608b8), UINT64_C(0x4c263a81e69035e0)};

static void add_stripes(sc_content_key *k, const uint8_t *at, size_t count) {
    uint64_t acc[LANES];
    memcpy(acc, k->acc, sizeof acc);
    for (; count > 0; count--, at += STRIPE) {
        const uint64_t place = k->stripes++ * KEY_STEP;
        uint64_t words[LANES];
        memcpy(words, at, STRIPE);
        for (int i = 0; i < LANES; i++) {
            const uint64_t keyed = words[i] ^ (KEYS[i] + place);
            acc[i] += words[i ^ 1] + (keyed & UINT32_MAX) * (keyed >> 32);
        }
        if (k->stripes % STRIPES_PER_SCRAMBLE) continue;
        for (int i = 0; i < LANES; i++)
            acc[i] = (acc[i] ^ (acc[i] >> 47) ^ KEYS[i]) * UINT64_C(0x9fb21c651e98df25);
    }
    memcpy(k->acc, acc, sizeof acc);
}

void sc_content_key_init(sc_content_key *k) {
    *k = (sc_content_key){0};
    memcpy(k->acc, KEYS, sizeof k->acc);
}

void sc_content_key_update(sc_content_key *k, const void *data, size_t bytes) {
    const uint8_t *at = data;
    size_t held = (size_t)(k->total_bytes % STRIPE);
    k->total_bytes += bytes;
    if (held) {
        const size_t part = bytes < STRIPE - held ? bytes : STRIPE - held;
        memcpy(k->rest + held, at, part);
        at += part;
        bytes -= part;
        if (held + part < STRIPE) return;
        add_stripes(k, k->rest, 1);
    }
    add_stripes(k, at, bytes / STRIPE);
    if (bytes % STRIPE) memcpy(k->rest, at + bytes / STRIPE * STRIPE, bytes % STRIPE);
}

static void put_hex(uint64_t value, char *out) {
    for (int i = 0; i < 16; i++) out[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
}

void sc_content_key_final(sc_content_key *k, char key[SC_CONTENT_KEY_CHARS]) {
    const size_t held = (size_t)(k->total_bytes % STRIPE);
    uint64_t a = k->total_bytes, b = ~k->total_bytes;
    if (held) {
        memset(k->rest + held, 0, STRIPE - held);
        add_stripes(k, k->rest, 1);
    }
    for (int i = 0; i < LANES; i++) {
        a = sc_hash64_mix(a, k->acc[i] ^ KEYS[LANES - 1 - i]);
        b = sc_hash64_mix(b, k->acc[LANES - 1 - i] + KEYS[i]);
    }
    put_hex(a, key);
    put_hex(b, key + 16);
}

sc_status sc_extent_content_key(sc_ctx *ctx, sc_extent extent, char key[SC_CONTENT_KEY_CHARS]) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const bool is_slow = extent.source && extent.source->is_slow;
    const uint64_t block = sc_min_u64(extent.size, is_slow ? SLOW_BLOCK_BYTES : BLOCK_BYTES);
    uint8_t *buffer = sc_arena_alloc(ctx->scratch, (size_t)block + 1);
    sc_content_key k;
    sc_status status = SC_OK;
    sc_content_key_init(&k);
    for (uint64_t at = 0; at < extent.size && status == SC_OK; at += block) {
        const size_t part = (size_t)sc_min_u64(block, extent.size - at);
        status = sc_extent_read(ctx, extent, at, buffer, part);
        if (status == SC_OK) sc_content_key_update(&k, buffer, part);
    }
    sc_content_key_final(&k, key);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
