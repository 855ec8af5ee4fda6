// The record of an open program. Private to src/rt.
// Prefix: sc_rt_ (runtime) is the open program and its parts here.
#ifndef SC_RT_PROGRAM_H
#define SC_RT_PROGRAM_H

#include "program_fbs.h"
#include "rt/data.h"
#include "rt/event.h"

// The data that all delegates of one backend share in a program.
typedef struct sc_rt_shared {
    const sc_rt_backend *backend;
    void *data;
} sc_rt_shared;

// The planned memory of one memory id.
typedef struct sc_rt_pool {
    uint8_t *data;
    uint64_t bytes;  // the most that any method needs
} sc_rt_pool;

// The bytes from its offset on; 0 if no method has needed it yet.
typedef struct sc_rt_constant {
    const uint8_t *data;
    uint64_t bytes;
} sc_rt_constant;

// Constants that were read together.
typedef struct sc_rt_block {
    uint8_t *memory;
    uint64_t bytes;
    uint64_t users;  // operands that show some of it, while weights are packed
    bool is_kept;    // of a data file, if others look its bytes up by name
    bool is_gone;
} sc_rt_block;

// A constant that is left in the file until it is packed (deferred.h).
typedef struct sc_rt_deferred sc_rt_deferred;

struct sc_rt_program {
    sc_ctx *ctx;
    sc_arena arena;
    sc_source *source;
    sc_rt_options options;
    const uint8_t *flat;  // the verified FlatBuffer
    uint8_t *flat_owned;  // NULL when it is a view of the source
    uint64_t flat_bytes, segment_base, segment_end;
    sc_fb_table root;
    sc_fb_vec plans, segments;
    sc_extent constant_extent, mutable_extent;
    sc_fb_vec constant_offsets, mutable_offsets;
    bool constants_inline;                 // old files keep them in the FlatBuffer
    const uint8_t *constant_view;          // their segment, if it is in memory already
    sc_rt_constant *constants;             // by index, if it is not
    SC_VEC(sc_rt_block) constant_blocks;   // all bytes that were read, of data files too
    sc_rt_deferred *deferred;              // all of them
    sc_imap deferred_by_mark;              // where tensors point
    sc_imap deferred_by_place;             // in the file
    uint64_t weights_done, weights_total;  // bytes read for the method that is being loaded
    sc_rt_data_map data_map;
    sc_map named;  // to sc_rt_blob, by key: of the program and of the data files
    SC_VEC(sc_rt_shared *) shared;
    sc_rt_pool *pools;  // by memory id, 0 unused
    uint32_t pool_count;
    sc_rt_method **methods;                    // by plan index, NULL until loaded
    sc_rt_sink *sink;                          // NULL: there is no listener
    uint64_t shared_calls[SC_RT_EVENT_KINDS];  // when the last event of a kind began
};

// The file's table of method `index`.
static inline sc_fb_table sc_rt_plan(const sc_rt_program *program, uint32_t index) {
    return sc_fb_vec_table(program->plans, index);
}

#endif
