// The bytes that a program names: tensors of its data files (.ptd), and bytes that backends look
// up. Private to src/rt.
// Prefix: sc_rt_ (runtime) is a table of named bytes here.
#ifndef SC_RT_DATA_H
#define SC_RT_DATA_H

#include "base/map.h"
#include "base/source.h"
#include "format/flatbuf.h"

// A tensor of a data file.
typedef struct sc_rt_datum {
    sc_str key;
    bool has_layout;
    uint8_t dtype, rank;
    sc_fb_vec sizes, dim_order;
    sc_extent extent;
    uint32_t file;         // the number of the data file that contains it
    const uint8_t *bytes;  // NULL until a method needs them
    bool is_wanted;        // needed by the method that is being loaded
    bool is_blocked;       // in that method, something other than packing reads it
} sc_rt_datum;

// The tensors of all data files.
typedef struct sc_rt_data_map {
    sc_map by_key;  // to sc_rt_datum
    SC_VEC(sc_rt_datum *) data;
    SC_VEC(uint8_t *) owned;  // copies of metadata
} sc_rt_data_map;

// Bytes that delegates look up by name.
typedef struct sc_rt_blob {
    sc_extent extent;
    sc_rt_datum *datum;    // if a data file has them
    const uint8_t *bytes;  // while a delegate uses them
    uint8_t *owned;        // NULL if the source is in memory
    uint32_t users;
    uint64_t found, replaced;  // times that it was found, and found only to be packed
    bool is_packed;            // a delegate has all that it takes of it in packings
} sc_rt_blob;

#endif
