// Hash maps that keep the order of insertion. Loops walk over `entries`, so that results never
// depend on hashes, and output is reproducible.
// Prefixes: sc_map_ has keys of text, sc_imap_ keys of integers.
#ifndef SC_MAP_H
#define SC_MAP_H

#include "base/str.h"

typedef struct sc_map_entry {
    sc_str key;  // not copied, so it must outlive the map
    uint64_t hash;
    void *value;
} sc_map_entry;

// Maps text to pointers. A zeroed struct with an `arena` is a valid empty map.
typedef struct sc_map {
    sc_arena *arena;
    sc_map_entry *entries;
    uint32_t *slots;  // index of the entry + 1; 0 is free
    uint32_t count, capacity, slot_count;
} sc_map;

void sc_map_init(sc_map *map, sc_arena *arena);
// The address of the value under `key`, or NULL.
void **sc_map_find(const sc_map *map, sc_str key);
void *sc_map_get(const sc_map *map, sc_str key);  // NULL when absent
// Stores the value and gives true. If the key exists, the old value stays and the result is false.
bool sc_map_add(sc_map *map, sc_str key, void *value);
void sc_map_set(sc_map *map, sc_str key, void *value);

// Maps a pointer, or any 64-bit number, to a 64-bit number.
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
// The address of the value. The value is 0 if the key is new. The address is valid until the next
// new key.
uint64_t *sc_imap_at(sc_imap *map, uint64_t key);
#define SC_PTR_KEY(pointer) ((uint64_t)(uintptr_t)(pointer))

#endif
