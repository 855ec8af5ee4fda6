// The hash of tables, CRC-32 and SHA-256. Hosts are little-endian, as in all code that maps files.
// In wasm: -Os
#include "base/hash.h"

uint64_t sc_hash64_mix(uint64_t a, uint64_t b) {
    // The finaliser of MurmurHash3 over a rotated sum. Every input bit affects every output bit.
    uint64_t h = a ^ ((b << 31 | b >> 33) * UINT64_C(0x9fb21c651e98df25));
    h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ (h >> 33);
}

// The loop of MurmurHash64A. It needs only 64-bit products, because wasm has no 128-bit product.
uint64_t sc_hash64(const void *data, size_t bytes) {
    const uint64_t m = UINT64_C(0xc6a4a7935bd1e995);
    const uint8_t *at = data;
    uint64_t h = (uint64_t)bytes * m;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t k;
        memcpy(&k, at, 8);
        k *= m;
        k ^= k >> 47;
        h = (h ^ k * m) * m;
    }
    if (bytes) {
        uint64_t k = 0;
        memcpy(&k, at, bytes);
        h = (h ^ k) * m;
    }
    h = (h ^ (h >> 47)) * m;
    return h ^ (h >> 47);
}

uint64_t sc_hash64_wide(const void *data, size_t bytes) {
    const uint64_t m = UINT64_C(0xc6a4a7935bd1e995);
    const uint8_t *at = data;
    uint64_t h[4] = {1, 2, 3, 4};
    for (size_t left = bytes / 32; left > 0; left--, at += 32) {
        uint64_t k[4];
        memcpy(k, at, sizeof k);
        for (int i = 0; i < 4; i++) {
            h[i] = (h[i] ^ k[i]) * m;
            h[i] ^= h[i] >> 47;
        }
    }
    const uint64_t sum = sc_hash64_mix(sc_hash64_mix(h[0], h[1]), sc_hash64_mix(h[2], h[3]));
    return sc_hash64_mix(sum, sc_hash64(at, bytes % 32) ^ bytes);
}

#define CRC_POLYNOMIAL 0xedb88320u

// Table t holds the CRC of a byte followed by t zero bytes ("slicing by 8", Kounavis and Berry).
// The tables are made by the first call, because the module would be 8 kB larger with them: they do
// not compress. Only the engine's thread computes sums.
static uint32_t crc_tables[8][256];

static uint32_t crc_of_byte(uint32_t byte) {
    for (int bit = 0; bit < 8; bit++) byte = byte & 1 ? byte >> 1 ^ CRC_POLYNOMIAL : byte >> 1;
    return byte;
}

static void make_crc_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = crc_of_byte(byte);
        for (size_t t = 0; t < SC_COUNT_OF(crc_tables); t++) {
            crc_tables[t][byte] = crc;
            crc = crc_of_byte(crc & 255) ^ crc >> 8;
        }
    }
}

uint32_t sc_crc32(uint32_t crc, const void *data, size_t bytes) {
    const uint8_t *at = data;
    if (!crc_tables[0][1]) make_crc_tables();
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        low ^= crc;
        crc = crc_tables[7][low & 255] ^ crc_tables[6][low >> 8 & 255] ^
              crc_tables[5][low >> 16 & 255] ^ crc_tables[4][low >> 24] ^
              crc_tables[3][high & 255] ^ crc_tables[2][high >> 8 & 255] ^
              crc_tables[1][high >> 16 & 255] ^ crc_tables[0][high >> 24];
    }
    for (; bytes; bytes--) crc = crc_tables[0][(crc ^ *at++) & 255] ^ (crc >> 8);
    return ~crc;
}

// CRCs are polynomials over GF(2) modulo that of IEEE, lowest power in the highest bit.
static uint32_t crc_times(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (; a; a <<= 1) {
        if (a & 0x80000000u) product ^= b;
        b = b & 1 ? b >> 1 ^ CRC_POLYNOMIAL : b >> 1;
    }
    return product;
}

// x^8, squared again and again. After the last one comes the first, because x^(2^32) is x.
static const uint32_t crc_powers[32] = {
    0x00800000, 0x00008000, 0xedb88320, 0xb1e6b092, 0xa06a2517, 0xed627dae, 0x88d14467, 0xd7bbfe6a,
    0xec447f11, 0x8e7ea170, 0x6427800e, 0x4d47bae0, 0x09fe548f, 0x83852d0f, 0x30362f1a, 0x7b5a9cc3,
    0x31fec169, 0x9fec022a, 0x6c8dedc4, 0x15d6874d, 0x5fde7a4e, 0xbad90e37, 0x2e4e5eef, 0x4eaba214,
    0xa8a472c0, 0x429a969e, 0x148d302a, 0xc40ba6d0, 0xc4e22c3c, 0x40000000, 0x20000000, 0x08000000,
};

// Multiplies the first CRC by x^8 for each byte of the second run.
uint32_t sc_crc32_join(uint32_t first, uint32_t second, uint64_t bytes) {
    for (uint32_t i = 0; bytes; bytes >>= 1, i++)
        if (bytes & 1) first = crc_times(first, crc_powers[i % 32]);
    return first ^ second;
}

// FIPS 180-4.
static const uint32_t sha_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void sha_schedule(uint32_t w[64], const uint8_t *block) {
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

// One of 64 rounds. Instead of moving the words of the state, each round renames them: the first
// becomes the second, and so on. After eight rounds every word has its first name again.
static inline void sha_round(uint32_t s[8], int turn, uint32_t more) {
    uint32_t *h = &s[(7 - turn) & 7], a = s[-turn & 7], b = s[(1 - turn) & 7];
    const uint32_t c = s[(2 - turn) & 7], e = s[(4 - turn) & 7], f = s[(5 - turn) & 7];
    const uint32_t sum = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const uint32_t t1 = *h + sum + ((e & f) ^ (~e & s[(6 - turn) & 7])) + more;
    s[(3 - turn) & 7] += t1;
    *h = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

static void sha_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64], s[8];
    sha_schedule(w, block);
    memcpy(s, state, sizeof(s));
    for (int i = 0; i < 64; i += 8)
        for (int turn = 0; turn < 8; turn++)
            sha_round(s, turn, sha_constants[i + turn] + w[i + turn]);
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

void sc_sha256_init(sc_sha256 *sha) {
    *sha = (sc_sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                  0x1f83d9ab, 0x5be0cd19},
    };
}

void sc_sha256_update(sc_sha256 *sha, const void *data, size_t bytes) {
    const uint8_t *at = data;
    size_t filled = (size_t)(sha->total_bytes % 64);
    sha->total_bytes += bytes;
    while (bytes) {
        if (filled == 0 && bytes >= 64) {
            sha_block(sha->state, at);
            at += 64;
            bytes -= 64;
            continue;
        }
        size_t part = 64 - filled < bytes ? 64 - filled : bytes;
        memcpy(sha->block + filled, at, part);
        at += part;
        bytes -= part;
        filled += part;
        if (filled == 64) {
            sha_block(sha->state, sha->block);
            filled = 0;
        }
    }
}

void sc_sha256_final(sc_sha256 *sha, uint8_t digest[32]) {
    uint64_t bits = sha->total_bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
    static const uint8_t padding[64] = {0x80};
    size_t filled = (size_t)(sha->total_bytes % 64);
    sc_sha256_update(sha, padding, filled < 56 ? 56 - filled : 120 - filled);
    sc_sha256_update(sha, length, 8);
    for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}
