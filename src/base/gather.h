// Copies items that are scattered over an extent into memory. Private to src/base.
// Prefixes: sc_lanes_ and sc_walk_ are loops over items, sc_gather copies them.
#ifndef SC_GATHER_H
#define SC_GATHER_H

#include "base/source.h"

enum { SC_LANES_MAX = 64, SC_GATHER_ITEM_BYTES_MAX = 64 << 10 };

// A loop over items: their number, and the strides in bytes, in the base and in memory.
typedef struct sc_lane {
    uint64_t count, from, to;
} sc_lane;

// A nest of such loops, outermost first, and its current place. Zeros are the first item.
typedef struct sc_walk {
    const sc_lane *lanes;
    uint32_t count;
    uint64_t from, to;
    uint64_t at[SC_LANES_MAX];
} sc_walk;

// Goes to the next item. False after the last one.
bool sc_walk_on(sc_walk *walk);
// Sorts by stride in the base, largest first.
void sc_lanes_sort(sc_lane *lanes, uint32_t count);
// Items of an extent. No byte belongs to two items, and none is larger than
// SC_GATHER_ITEM_BYTES_MAX.
typedef struct sc_scattered {
    sc_extent base;
    uint64_t at;  // place of the first item in the base
    uint64_t item_bytes;
    sc_lane *lanes;
    uint32_t count;
    uint64_t done, total;  // bytes gathered already, and bytes in all, for progress
} sc_scattered;

// Copies all items to `out`. Changes the order of the lanes.
sc_status sc_gather(sc_ctx *ctx, const sc_scattered *items, uint8_t *out);

#endif
