// Bytes stored once, by content and by name: every distinct run of bytes is one blob, whoever adds
// it, and keys name blobs. The walker of the store decides on the layout (one segment of many
// blobs, a segment for each, a file for each tag); blobs and entries keep the order in which they
// came. No bytes are copied: a blob is an extent, or a cord that outlives the store.
// Prefix: sc_store_ adds bytes, names them, and writes them out.
#ifndef SC_STORE_H
#define SC_STORE_H

#include "base/cord.h"
#include "base/map.h"

typedef struct sc_store_blob {
    sc_extent data;
    const sc_cord *cord;          // the pieces of `data` when it was added as a cord, else NULL
    uint64_t align;               // the least common multiple of all that was asked for
    uint32_t next;                // blob with the same size and first bytes, 0 at the end
    bool has_sample, has_digest;  // of the bytes as they lie in the file
    uint64_t sample;
    uint8_t digest[32];
} sc_store_blob;

typedef struct sc_store_entry {
    sc_str key;
    sc_str tag;  // the file that the bytes go to; empty for the one that the store belongs to
    uint32_t blob;
    const void *about;  // what the owner of the key says of the bytes, such as a tensor's layout
} sc_store_entry;

typedef struct sc_store {
    SC_VEC(sc_store_blob) blobs;  // from 1 on: 0 stands for no blob
    SC_VEC(sc_store_entry) entries;
    sc_imap by_fingerprint;  // size and first 32 bytes -> first blob of the chain
    sc_map by_key;           // -> index of the entry + 1
} sc_store;

#define SC_STORE_ALIGN_MAX (UINT64_C(1) << 31)

void sc_store_init(sc_store *store, sc_arena *arena);
// The blob with these bytes, made if there is none. Reads only what it must: size and first bytes
// tell most blobs apart. SC_ERR_LIMIT when no alignment up to SC_STORE_ALIGN_MAX meets all wishes.
sc_status sc_store_add(sc_ctx *ctx, sc_store *store, sc_extent data, uint64_t align,
                       uint32_t *blob);
sc_status sc_store_add_cord(sc_ctx *ctx, sc_store *store, const sc_cord *data, uint64_t align,
                            uint32_t *blob);
// Makes `*align` the least common multiple of both, with the same limit.
sc_status sc_store_align(sc_ctx *ctx, uint64_t *align, uint64_t wish);
// Names a blob. The same again changes nothing; another blob or another tag under a key that is
// there is SC_ERR_MISMATCH.
sc_status sc_store_name(sc_ctx *ctx, sc_store *store, const sc_store_entry *entry);
const sc_store_entry *sc_store_find(const sc_store *store, sc_str key);  // NULL when absent

void sc_store_append(const sc_store *store, uint32_t blob, sc_cord *cord);
// All blobs in order to an empty cord, each where its alignment wants it; nothing is padded behind
// the last one. `offsets` has room for blobs.count.
void sc_store_write(const sc_store *store, sc_cord *cord, uint64_t *offsets);

#endif
