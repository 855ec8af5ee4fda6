// Radix sort from the lowest byte up. Bytes in which no two keys differ are skipped, so small
// numbers in 64-bit keys take one or two rounds.
#include "plan/order.h"

uint32_t *sc_order_new(sc_arena *arena, uint32_t count) {
    uint32_t *order = sc_new_array(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    return order;
}

static void sort_byte(const uint32_t *from, uint32_t *to, uint32_t count, const uint64_t *keys,
                      uint32_t shift) {
    uint32_t place[256] = {0}, sum = 0;
    for (uint32_t i = 0; i < count; i++) place[keys[i] >> shift & 0xff]++;
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t here = place[b];
        place[b] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++) to[place[keys[from[i]] >> shift & 0xff]++] = from[i];
}

void sc_order_by(sc_arena *scratch, uint32_t *order, uint32_t count, const uint64_t *keys) {
    sc_mark mark = sc_arena_mark(scratch);
    uint32_t *from = order, *to = sc_new_array(scratch, uint32_t, (size_t)count + 1);
    uint64_t differ = 0;
    for (uint32_t i = 1; i < count; i++) differ |= keys[i] ^ keys[0];
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        if (!(differ >> shift & 0xff)) continue;
        sort_byte(from, to, count, keys, shift);
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, count * sizeof(*order));
    sc_arena_rewind(scratch, mark);
}
