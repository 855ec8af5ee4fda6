// Items that lie scattered in an extent, collected in memory. Private to src/base.
// Prefix: sc_lanes_ and sc_walk_ are loops over items, sc_gather copies them.
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
// Items of an extent that no two lanes give a byte of, none larger than SC_GATHER_ITEM_BYTES_MAX.
typedef struct sc_scattered {
    sc_extent base;
    uint64_t at;  // of the first one, in the base
    uint64_t item_bytes;
    sc_lane *lanes;
    uint32_t count;
    uint64_t done, total;  // bytes that are gathered already, and in all: what progress says
} sc_scattered;

// The items of all lanes to `out`. Rearranges the lanes.
sc_status sc_gather(sc_ctx *ctx, const sc_scattered *items, uint8_t *out);

#endif
