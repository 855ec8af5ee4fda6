// The header in front of an XNNPACK graph's FlatBuffer, and slots that several tables share.
// Private to src/backends/xnnpack.
//
//   0   four zeros, "XH00"      8   u16 header bytes (30)
//   10  u32 FlatBuffer offset   14  u32 its size
//   18  u32 constants' offset   22  u64 their size     30  two zeros
//
// Fields from 10 on are not aligned. The FlatBuffer follows at 32, then bytes of constants.
// Prefix: SC_XNN_ (XNNPACK's own graph, for both halves).
#ifndef SC_XNNPACK_PAYLOAD_H
#define SC_XNNPACK_PAYLOAD_H

#include "backends/xnnpack/graph.h"
#include "format/flatbuf.h"

#include "xnnpack_fbs.h"

enum {
    SC_XNN_MAGIC_AT = 4,
    SC_XNN_LENGTH_AT = 8,
    SC_XNN_GRAPH_AT = 10,
    SC_XNN_GRAPH_SIZE_AT = 14,
    SC_XNN_DATA_AT = 18,
    SC_XNN_DATA_SIZE_AT = 22,
    SC_XNN_HEADER_BYTES = 30,
    SC_XNN_HEADER_PADDED = 32,
    SC_XNN_PART_ALIGN = 16,  // of the FlatBuffer and of the constants
};
#define SC_XNN_MAGIC "XH00"

// The vector of a list of nodes is at most this long.
enum { SC_XNN_LIST_MAX = SC_XNN_RANK_MAX };

#endif
