// Hash maps that remember insertion order; iteration walks `entries` and so never depends on
// hashes, which is what keeps our output reproducible.
// Prefix: sc_map_ (keys are text) and sc_imap_ (keys are integers).
#ifndef SC_MAP_H
#define SC_MAP_H

#include "base/str.h"

typedef struct sc_map_entry {
    sc_str key;  // not copied: must outlive the map
    uint64_t hash;
    void *value;
} sc_map_entry;

// Text to pointer. A zeroed struct plus `arena` is a valid empty map.
typedef struct sc_map {
    sc_arena *arena;
    sc_map_entry *entries;
    uint32_t *slots;  // entry index + 1, 0 is free
    uint32_t count, capacity, slot_count;
} sc_map;

void sc_map_init(sc_map *map, sc_arena *arena);
// Address of the value stored under `key`, or NULL.
void **sc_map_find(const sc_map *map, sc_str key);
void *sc_map_get(const sc_map *map, sc_str key);  // NULL when absent
// Stores and returns true, or leaves the old value and returns false when the key is there already.
bool sc_map_add(sc_map *map, sc_str key, void *value);
void sc_map_set(sc_map *map, sc_str key, void *value);

// Pointer (or any 64-bit number) to 64-bit number.
typedef struct sc_imap_entry {
    uint64_t key, value;
} sc_imap_entry;

typedef struct sc_imap {
    sc_arena *arena;
    sc_imap_entry *entries;
    uint32_t *slots;
    uint32_t count, capacity, slot_count;
} sc_imap;

void sc_imap_init(sc_imap *map, sc_arena *arena);
uint64_t *sc_imap_find(const sc_imap *map, uint64_t key);
bool sc_imap_add(sc_imap *map, uint64_t key, uint64_t value);
void sc_imap_set(sc_imap *map, uint64_t key, uint64_t value);
// The place of the value, 0 in it when the key is new. Valid until the next new key.
uint64_t *sc_imap_at(sc_imap *map, uint64_t key);
#define SC_PTR_KEY(pointer) ((uint64_t)(uintptr_t)(pointer))

#endif
