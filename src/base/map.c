// Maps that keep the order of insertion: a dense array of entries, and an open-addressed table of
// indices into it.
// In wasm: -Os
#include "base/map.h"

#include "base/hash.h"

enum { CAPACITY_MIN = 8 };

// There are twice as many slots as entries, which keeps probe sequences short.
static uint32_t *new_slots(sc_arena *arena, uint32_t capacity, uint32_t *slot_count) {
    SC_ASSERT(capacity <= (UINT32_C(1) << 30));
    *slot_count = capacity * 2;
    return sc_new_array(arena, uint32_t, *slot_count);
}

static void fill_slot(uint32_t *slots, uint32_t slot_count, uint64_t hash, uint32_t index) {
    uint32_t mask = slot_count - 1, i = (uint32_t)hash & mask;
    while (slots[i]) i = (i + 1) & mask;
    slots[i] = index + 1;
}

void sc_map_init(sc_map *map, sc_arena *arena) { *map = (sc_map){.arena = arena}; }

static sc_map_entry *find_entry(const sc_map *map, sc_str key, uint64_t hash) {
    if (map->slot_count == 0) return NULL;
    uint32_t mask = map->slot_count - 1;
    for (uint32_t i = (uint32_t)hash & mask; map->slots[i]; i = (i + 1) & mask) {
        sc_map_entry *entry = &map->entries[map->slots[i] - 1];
        if (entry->hash == hash && sc_str_equal(entry->key, key)) return entry;
    }
    return NULL;
}

void **sc_map_find(const sc_map *map, sc_str key) {
    sc_map_entry *entry = find_entry(map, key, sc_str_hash(key));
    return entry ? &entry->value : NULL;
}

void *sc_map_get(const sc_map *map, sc_str key) {
    void **value = sc_map_find(map, key);
    return value ? *value : NULL;
}

static void map_grow(sc_map *map) {
    uint32_t capacity = map->capacity ? map->capacity * 2 : CAPACITY_MIN;
    map->slots = new_slots(map->arena, capacity, &map->slot_count);
    map->entries = sc_arena_grow(map->arena, map->entries, map->capacity * sizeof(sc_map_entry),
                                 capacity * sizeof(sc_map_entry));
    map->capacity = capacity;
    for (uint32_t i = 0; i < map->count; i++)
        fill_slot(map->slots, map->slot_count, map->entries[i].hash, i);
}

static void map_append(sc_map *map, sc_str key, uint64_t hash, void *value) {
    if (map->count == map->capacity) map_grow(map);
    map->entries[map->count] = (sc_map_entry){key, hash, value};
    fill_slot(map->slots, map->slot_count, hash, map->count++);
}

bool sc_map_add(sc_map *map, sc_str key, void *value) {
    uint64_t hash = sc_str_hash(key);
    if (find_entry(map, key, hash)) return false;
    map_append(map, key, hash, value);
    return true;
}

void sc_map_set(sc_map *map, sc_str key, void *value) {
    uint64_t hash = sc_str_hash(key);
    sc_map_entry *entry = find_entry(map, key, hash);
    if (entry)
        entry->value = value;
    else
        map_append(map, key, hash, value);
}

void sc_imap_init(sc_imap *map, sc_arena *arena) { *map = (sc_imap){.arena = arena}; }

static uint64_t hash_key(uint64_t key) { return sc_hash64_mix(key, UINT64_C(0x9e3779b97f4a7c15)); }

uint64_t *sc_imap_find(const sc_imap *map, uint64_t key) {
    if (map->slot_count == 0) return NULL;
    uint32_t mask = map->slot_count - 1;
    for (uint32_t i = (uint32_t)hash_key(key) & mask; map->slots[i]; i = (i + 1) & mask)
        if (map->entries[map->slots[i] - 1].key == key)
            return &map->entries[map->slots[i] - 1].value;
    return NULL;
}

static void imap_grow(sc_imap *map) {
    uint32_t capacity = map->capacity ? map->capacity * 2 : CAPACITY_MIN;
    map->slots = new_slots(map->arena, capacity, &map->slot_count);
    map->entries = sc_arena_grow(map->arena, map->entries, map->capacity * sizeof(sc_imap_entry),
                                 capacity * sizeof(sc_imap_entry));
    map->capacity = capacity;
    for (uint32_t i = 0; i < map->count; i++)
        fill_slot(map->slots, map->slot_count, hash_key(map->entries[i].key), i);
}

static void imap_append(sc_imap *map, uint64_t key, uint64_t value) {
    if (map->count == map->capacity) imap_grow(map);
    map->entries[map->count] = (sc_imap_entry){key, value};
    fill_slot(map->slots, map->slot_count, hash_key(key), map->count++);
}

bool sc_imap_add(sc_imap *map, uint64_t key, uint64_t value) {
    if (sc_imap_find(map, key)) return false;
    imap_append(map, key, value);
    return true;
}

uint64_t *sc_imap_at(sc_imap *map, uint64_t key) {
    uint64_t *found = sc_imap_find(map, key);
    if (found) return found;
    imap_append(map, key, 0);
    return &map->entries[map->count - 1].value;
}

void sc_imap_set(sc_imap *map, uint64_t key, uint64_t value) { *sc_imap_at(map, key) = value; }
