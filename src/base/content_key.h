// Computes a name from bytes. Several parts of a program may look up equal data by name, and it is
// stored once. The same bytes have the same name in every file and on every machine.
// Prefix: sc_content_key_ computes such a name piece by piece.
#ifndef SC_CONTENT_KEY_H
#define SC_CONTENT_KEY_H

#include "base/source.h"

enum { SC_CONTENT_KEY_CHARS = 32 };  // 128 bits in hexadecimal, without a NUL at the end

typedef struct sc_content_key {
    uint64_t acc[8];
    uint64_t total_bytes, stripes;
    uint8_t rest[64];
} sc_content_key;

void sc_content_key_init(sc_content_key *k);
void sc_content_key_update(sc_content_key *k, const void *data, size_t bytes);
void sc_content_key_final(sc_content_key *k, char key[SC_CONTENT_KEY_CHARS]);
// The key of all bytes of an extent, which is read in pieces.
sc_status sc_extent_content_key(sc_ctx *ctx, sc_extent extent, char key[SC_CONTENT_KEY_CHARS]);

#endif
