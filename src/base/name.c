// The table of names: open addressing over records that never move. Names come in series (add_1,
// add_2, ...). A series lies in the table in order, so making one walks through memory instead of
// jumping. The step between probes is long, so that two series pass each other where they meet.
#include "base/name.h"

// The hash is stored with the pointer, so that a probe does not touch the records.
typedef struct name_slot {
    uint32_t hash;
    const sc_name *name;  // NULL: free
} name_slot;

struct sc_names {
    sc_arena *arena;
    name_slot *slots;
    uint32_t count, slot_count;
};

enum { SLOT_COUNT_MIN = 64, DIGITS_MAX = 9 };

// An odd step reaches every slot.
#define PROBE_STEP 0x9e3779b1u

static uint32_t hash_name(sc_str s) {
    uint32_t number = 0, digits = 0, scale = 1;
    for (; digits < DIGITS_MAX && digits < s.size; digits++, scale *= 10) {
        char c = s.data[s.size - 1 - digits];
        if (c < '0' || c > '9') break;
        number += (uint32_t)(c - '0') * scale;
    }
    return (uint32_t)sc_str_hash(sc_str_slice(s, 0, s.size - digits)) + number;
}

sc_names *sc_names_new(sc_arena *arena) {
    sc_names *names = sc_new(arena, sc_names);
    names->arena = arena;
    names->slot_count = SLOT_COUNT_MIN;
    names->slots = sc_new_array(arena, name_slot, SLOT_COUNT_MIN);
    return names;
}

static void put(sc_names *names, name_slot slot) {
    uint32_t mask = names->slot_count - 1, i = slot.hash & mask;
    while (names->slots[i].name) i = (i + PROBE_STEP) & mask;
    names->slots[i] = slot;
}

static void grow(sc_names *names) {
    name_slot *old = names->slots;
    uint32_t old_count = names->slot_count;
    names->slot_count *= 2;
    names->slots = sc_new_array(names->arena, name_slot, names->slot_count);
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i].name) put(names, old[i]);
}

const sc_name *sc_name_intern(sc_names *names, sc_str s) {
    SC_ASSERT(s.size < UINT32_MAX);
    uint32_t hash = hash_name(s);
    uint32_t mask = names->slot_count - 1;
    for (uint32_t i = hash & mask; names->slots[i].name; i = (i + PROBE_STEP) & mask)
        if (names->slots[i].hash == hash && sc_str_equal(sc_name_str(names->slots[i].name), s))
            return names->slots[i].name;
    if (names->count >= names->slot_count / 2) grow(names);
    sc_name *name = sc_arena_alloc(names->arena, sizeof(sc_name) + s.size + 1);
    name->size = (uint32_t)s.size;
    if (s.size) memcpy(name->text, s.data, s.size);
    put(names, (name_slot){hash, name});
    names->count++;
    return name;
}
