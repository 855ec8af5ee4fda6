// The segments of a .pte: constants, the initial state of mutable buffers, the bytes that backends
// made of their parts, and the named data that these look up. Private to src/emit.
// Prefix: sc_emit_ makes or lists the segments of a .pte here.
#ifndef SC_EMIT_SEGMENTS_H
#define SC_EMIT_SEGMENTS_H

#include "emit/emit_state.h"

// A segment may show bytes of the first one, which has the constants: a table that a kernel reads
// and a backend packs is stored once.
typedef struct sc_emit_segment {
    sc_cord data;  // empty if it shows those of a constant
    uint64_t align;
    uint64_t offset;  // from the first segment's beginning
    uint64_t size;
    uint32_t constant;  // the blob whose bytes it shows; 0: it has bytes of its own
} sc_emit_segment;

typedef struct sc_emit_segments {
    SC_VEC(sc_emit_segment) list;
    sc_cord data;                                  // of all segments
    uint64_t align;                                // offset of the place where `data` goes
    uint64_t *constant_offsets, *mutable_offsets;  // by blob, inside the segment
    uint32_t *constant_of;     // by blob of named data: the constant with its bytes, or 0
    uint64_t constants_align;  // of the first segment
    uint32_t mutable_index;    // 0 if no mutable buffer starts with data
} sc_emit_segments;

// Lists and places the segments of a program whose methods are all emitted.
sc_status sc_emit_segments_make(sc_emit_state *state, sc_emit_segments *out);
// The vectors of the program's table that describe segments; 0 for an empty one.
sc_fb_ref sc_emit_directory(sc_emit_state *state, const sc_emit_segments *s);
sc_fb_ref sc_emit_named_data(sc_emit_state *state);
sc_status sc_emit_inline_data(sc_emit_state *state, sc_fb_ref *out);

#endif
