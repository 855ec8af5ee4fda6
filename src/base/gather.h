// Items that lie scattered in an extent, collected in memory. Private to src/base.
#ifndef SC_GATHER_H
#define SC_GATHER_H

#include "base/source.h"

enum { SC_LANES_MAX = 64, SC_GATHER_ITEM_BYTES_MAX = 64 << 10 };

// A loop over items: how many, and the strides in bytes, in the base and in memory.
typedef struct sc_lane {
    uint64_t count, from, to;
} sc_lane;

// A nest of such loops, outermost first, and where it is: at its first item when zero.
typedef struct sc_walk {
    const sc_lane *lanes;
    uint32_t count;
    uint64_t from, to;
    uint64_t at[SC_LANES_MAX];
} sc_walk;

// To the next item; false behind the last one.
bool sc_walk_on(sc_walk *walk);
// By falling stride in the base.
void sc_lanes_sort(sc_lane *lanes, uint32_t count);
// The items of all lanes to `out`, the first of which is at byte `at` of the base. No two share a
// byte, and none is larger than SC_GATHER_ITEM_BYTES_MAX. Rearranges `lanes`.
sc_status sc_gather(sc_ctx *ctx, sc_extent base, uint64_t at, uint64_t item_bytes, sc_lane *lanes,
                    uint32_t count, uint8_t *out);

#endif
