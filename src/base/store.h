// Stores equal bytes once, by content and by name. Each distinct run of bytes is one blob, however
// many users add it. Keys name blobs. The code that walks over the store decides the layout: one
// segment of many blobs, a segment for each, or a file for each tag. Blobs and entries keep their
// order. No bytes are copied: a blob is an extent, or a cord that outlives the store.
// Prefix: sc_store_ adds bytes, names them, and writes them out.
#ifndef SC_STORE_H
#define SC_STORE_H

#include "base/cord.h"
#include "base/map.h"

typedef struct sc_store_blob {
    sc_extent data;
    const sc_cord *cord;          // the pieces of `data` if it was added as a cord, else NULL
    uint64_t align;               // the least common multiple of all requested alignments
    uint32_t next;                // the next blob with the same size and first bytes, 0 at the end
    bool has_sample, has_digest;  // samples and digests are of the bytes as they lie in the file
    uint64_t sample;
    uint8_t digest[32];
} sc_store_blob;

typedef struct sc_store_entry {
    sc_str key;
    sc_str tag;  // the file that contains the bytes; empty: the file that the store belongs to
    uint32_t blob;
    const void *about;  // facts from the key's owner, such as a tensor's layout
} sc_store_entry;

typedef struct sc_store {
    SC_VEC(sc_store_blob) blobs;  // from 1 on; 0 is no blob
    SC_VEC(sc_store_entry) entries;
    sc_imap by_fingerprint;  // size and first 32 bytes -> first blob of the chain
    sc_map by_key;           // key -> index of the entry + 1
} sc_store;

#define SC_STORE_ALIGN_MAX (UINT64_C(1) << 31)

void sc_store_init(sc_store *store, sc_arena *arena);
// Gives the blob with these bytes, and makes it if it does not exist. It reads no more than it
// must: size and first bytes distinguish most blobs. SC_ERR_LIMIT if no alignment up to
// SC_STORE_ALIGN_MAX suits all users.
sc_status sc_store_add(sc_ctx *ctx, sc_store *store, sc_extent data, uint64_t align,
                       uint32_t *blob);
sc_status sc_store_add_cord(sc_ctx *ctx, sc_store *store, const sc_cord *data, uint64_t align,
                            uint32_t *blob);
// Finds the blob of the store with the bytes of a blob of another one; 0 if there is none.
sc_status sc_store_find_equal(sc_ctx *ctx, sc_store *store, const sc_store_blob *blob,
                              uint32_t *found);
// Makes `*align` the least common multiple of both, with the same limit.
sc_status sc_store_align(sc_ctx *ctx, uint64_t *align, uint64_t wanted);
// Names a blob. An equal entry may be added again. SC_ERR_MISMATCH if the key exists with another
// blob or another tag.
sc_status sc_store_name(sc_ctx *ctx, sc_store *store, const sc_store_entry *entry);
// Moves the bytes of a key that is there to another file.
void sc_store_retag(sc_store *store, sc_str key, sc_str tag);
const sc_store_entry *sc_store_find(const sc_store *store, sc_str key);  // NULL when absent

void sc_store_append(const sc_store *store, uint32_t blob, sc_cord *cord);
// Appends all blobs in order to an empty cord, each at a multiple of its alignment. There is no
// padding after the last one. `offsets` has room for blobs.count.
void sc_store_write(const sc_store *store, sc_cord *cord, uint64_t *offsets);

#endif
