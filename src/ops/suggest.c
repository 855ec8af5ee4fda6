#include "ops/suggest.h"

enum { LISTED_MAX = 6, NAME_MAX = 64, EDITS_MAX = 2 };

static sc_str base_of(sc_str name) {
    const ptrdiff_t dot = sc_str_find(name, '.');
    return dot < 0 ? name : sc_str_slice(name, 0, (size_t)dot);
}

// Letters to add, leave out or change to get from one word to the other; more than EDITS_MAX for
// words of very different lengths.
static uint32_t edits_between(sc_str a, sc_str b) {
    uint32_t row[NAME_MAX + 1];
    if (a.size > NAME_MAX || b.size > NAME_MAX) return EDITS_MAX + 1;
    if (sc_max_u64(a.size, b.size) - sc_min_u64(a.size, b.size) > EDITS_MAX) return EDITS_MAX + 1;
    for (uint32_t i = 0; i <= b.size; i++) row[i] = i;
    for (size_t j = 0; j < a.size; j++) {
        uint32_t corner = row[0];
        row[0] = (uint32_t)j + 1;
        for (size_t i = 0; i < b.size; i++) {
            const uint32_t changed = corner + (a.data[j] != b.data[i]);
            corner = row[i + 1];
            row[i + 1] = sc_min_u32(changed, sc_min_u32(row[i], corner) + 1);
        }
    }
    return row[b.size];
}

static const char *overloads_of(sc_arena *arena, sc_str base) {
    sc_sb text;
    uint32_t count = 0;
    sc_sb_init(&text, arena);
    sc_sb_add_text(&text, "Write it with its overload:");
    for (int i = 0; i < SC_OP_COUNT && count < LISTED_MAX; i++) {
        const char *name = sc_op_get((sc_op_id)i)->name;
        if (!sc_str_equal(base_of(sc_str_from(name)), base)) continue;
        sc_sb_addf(&text, "%s %s", count++ ? "," : "", name);
    }
    sc_sb_add_text(&text, ".");
    return count ? sc_sb_terminate(&text) : NULL;
}

const char *sc_op_suggest(sc_arena *arena, sc_str name) {
    const sc_str base = base_of(name);
    const char *overloads = overloads_of(arena, base), *nearest = NULL;
    if (overloads) return overloads;
    uint32_t least = EDITS_MAX + 1;
    for (int i = 0; i < SC_OP_COUNT; i++) {
        const char *known = sc_op_get((sc_op_id)i)->name;
        const uint32_t edits = edits_between(base, base_of(sc_str_from(known)));
        if (edits >= least) continue;
        least = edits;
        nearest = known;
    }
    if (!nearest) return "`sconce operators` lists all operators.";
    return sc_str_format(arena, "Did you mean %s? `sconce operators` lists all operators.", nearest)
        .data;
}
