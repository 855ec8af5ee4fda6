// The segments of a .pte: constants, the initial state of mutable buffers, what backends made of
// the parts that they took over, and what they look up by name. Private to src/emit.
// Prefix: sc_emit_.
#ifndef SC_EMIT_SEGMENTS_H
#define SC_EMIT_SEGMENTS_H

#include "emit/emit_state.h"

typedef struct sc_emit_segment {
    sc_cord data;
    uint64_t align;
    uint64_t offset;  // from the first segment's beginning
} sc_emit_segment;

typedef struct sc_emit_segments {
    SC_VEC(sc_emit_segment) list;
    sc_cord data;                                  // all of them
    uint64_t align;                                // of the place where `data` goes
    uint64_t *constant_offsets, *mutable_offsets;  // by blob, inside the segment
    uint32_t mutable_index;                        // 0 where nothing mutable starts with data
} sc_emit_segments;

// Lists and places the segments of a program whose methods are all emitted.
sc_status sc_emit_segments_make(sc_emit_state *state, sc_emit_segments *out);
// The vectors of the program's table that speak of segments; 0 where there is nothing to say.
sc_fb_ref sc_emit_directory(sc_emit_state *state, const sc_emit_segments *s);
sc_fb_ref sc_emit_named_data(sc_emit_state *state);
sc_status sc_emit_inline_data(sc_emit_state *state, sc_fb_ref *out);

#endif
