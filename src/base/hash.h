// Hash functions: a fast one for tables, CRC-32 for zip, SHA-256 to find equal constants.
// Prefixes: sc_hash64_, sc_crc32_ and sc_sha256_ are the three algorithms.
#ifndef SC_HASH_H
#define SC_HASH_H

#include "base/base.h"

uint64_t sc_hash64(const void *data, size_t bytes);
// The same kind of hash for large blocks: four of them side by side, of every fourth number.
uint64_t sc_hash64_wide(const void *data, size_t bytes);
uint64_t sc_hash64_mix(uint64_t a, uint64_t b);

// IEEE CRC-32. Start with 0; pass the result on for the next bytes.
uint32_t sc_crc32(uint32_t crc, const void *data, size_t bytes);
// The CRC of two runs of bytes one after the other. The second has `bytes` bytes.
uint32_t sc_crc32_join(uint32_t first, uint32_t second, uint64_t bytes);

typedef struct sc_sha256 {
    uint32_t state[8];
    uint64_t total_bytes;
    uint8_t block[64];
} sc_sha256;

void sc_sha256_init(sc_sha256 *sha);
void sc_sha256_update(sc_sha256 *sha, const void *data, size_t bytes);
void sc_sha256_final(sc_sha256 *sha, uint8_t digest[32]);

#endif
