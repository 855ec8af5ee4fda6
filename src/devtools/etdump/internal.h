// How a dump is kept in memory. Private to src/devtools/etdump.
// Prefix: sc_etdump_ keeps entries and bytes in memory here.
#ifndef SC_ETDUMP_INTERNAL_H
#define SC_ETDUMP_INTERNAL_H

#include "base/map.h"
#include "devtools/etdump/etdump.h"

typedef enum sc_etdump_kind {
    SC_ETDUMP_LOAD,         // a block of its own
    SC_ETDUMP_RUN,          // a block: all until the next
    SC_ETDUMP_NODE,         // that a delegate runs, in the instruction that comes next; its values
    SC_ETDUMP_INSTRUCTION,  // of the run; what it wrote follows
    SC_ETDUMP_RETURN,       // the end of the run; what it returned follows
    SC_ETDUMP_LIST,         // of the next `count` values, all of them tensors
    SC_ETDUMP_VALUE
} sc_etdump_kind;

typedef struct sc_etdump_entry {
    uint8_t kind;   // sc_etdump_kind
    uint8_t what;   // RUN: sc_etdump_level; INSTRUCTION: sc_rt_kind; VALUE: sc_evalue_tag, no list
    uint8_t dtype;  // tensors: as it is written
    uint8_t rank;
    uint32_t count;  // INSTRUCTION: origins; LIST: values; tensors: where their sizes begin
    union {
        const sc_rt_origin *origins;
        int32_t bundled_input_index;  // RUN
        const sc_str *id;             // NODE: a text of the delegate's
    };
    union {
        uint64_t begin;  // nanoseconds
        int64_t integer;
        double number;
        int64_t offset;  // in the debug buffer, -1 for tensors without elements
    };
    uint64_t end;
} sc_etdump_entry;

// A piece of the debug buffer.
typedef struct sc_etdump_piece {
    uint8_t *data;
    uint64_t size, capacity;
} sc_etdump_piece;

// A growing block of memory.
typedef struct sc_etdump_block {
    void *data;
    uint64_t size, capacity;  // in bytes
} sc_etdump_block;

// How far everything had come when a block began.
typedef struct sc_etdump_mark {
    uint64_t entries, sizes, pieces, piece_size;  // in bytes
    uint64_t debug_bytes, held_bytes, written_bytes;
    uint32_t widened, omitted;
} sc_etdump_mark;

struct sc_etdump {
    sc_rt_sink sink;
    sc_ctx *ctx;  // whose host has the clock
    sc_etdump_level level;
    int32_t bundled_input_index;
    bool is_filtered;  // the host chooses among the values of delegates
    uint64_t bytes_max;
    uint64_t held_bytes;     // kept
    uint64_t written_bytes;  // at most, of the FlatBuffer
    uint64_t name_bytes;     // of both: names, which stay when their block is dropped
    uint64_t name_written_bytes;
    sc_status status;     // what became of the block under way
    sc_etdump_mark mark;  // where it begins
    uint64_t block;       // the number of its entry
    uint64_t begin;       // of the instruction under way
    uint64_t node_begin;  // of what its delegate does
    uint64_t last, step;  // reading of the clock, and smallest step that it was seen to make
    sc_etdump_block entries, sizes, pieces;
    sc_arena name_arena;  // what delegates call what they do, each once
    sc_map names;
    uint64_t debug_bytes;
    uint32_t widened;  // tensors that are written in a wider type, because readers lack theirs
    uint32_t omitted;  // values that the format has no place for
};

// An empty dump with nothing of its own yet.
void sc_etdump_init(sc_etdump *dump, sc_ctx *ctx, uint64_t bytes_max);

// --- Entries -------------------------------------------------------------------------------------

// Bytes of an event in the FlatBuffer, at most, and of all of them together: within the bound of
// the builder, so that a kept event can always be written.
#define SC_ETDUMP_WRITTEN     160u
#define SC_ETDUMP_WRITTEN_MAX (UINT64_C(768) << 20)

// Counts what is added against the bounds; false, and a status, when one is reached.
bool sc_etdump_charge(sc_etdump *dump, uint64_t bytes, uint64_t written);
void sc_etdump_drop_pieces(sc_etdump *dump, uint32_t kept);
// The same name as the one that was kept first; NULL when there is no room.
const sc_str *sc_etdump_keep_name(sc_etdump *dump, sc_str name);

// Room for one more; NULL, and a status, when the bound is reached or there is no memory.
sc_etdump_entry *sc_etdump_add(sc_etdump *dump, sc_etdump_kind kind);
// The same for `count` sizes of a tensor.
int64_t *sc_etdump_add_sizes(sc_etdump *dump, uint32_t count);
// The same for bytes in the debug buffer, at a multiple of 64 from its beginning, where
// `debug_bytes` was before.
void *sc_etdump_add_bytes(sc_etdump *dump, uint64_t bytes);
// A value, or a list of tensors, as entries.
void sc_etdump_add_value(sc_etdump *dump, const sc_evalue *value);

// Primitives run inside the runtime, which tells neither a scope of a kernel around them nor what
// they wrote.
static inline bool sc_etdump_is_kernel(sc_rt_kind work, const sc_rt_origin *origin) {
    return work != SC_RT_DELEGATE && origin->op_name.size &&
           !sc_str_starts_with(origin->op_name, "executorch_prim:");
}
// Does the dump have what the instruction wrote?
static inline bool sc_etdump_is_shown(sc_rt_kind work, const sc_rt_origin *origin) {
    return work == SC_RT_DELEGATE || sc_etdump_is_kernel(work, origin);
}

static inline uint64_t sc_etdump_count(const sc_etdump *dump) {
    return dump->entries.size / sizeof(sc_etdump_entry);
}
static inline sc_etdump_entry *sc_etdump_at(const sc_etdump *dump, uint64_t index) {
    return (sc_etdump_entry *)dump->entries.data + index;
}

// --- The debug buffer ----------------------------------------------------------------------------

static inline uint32_t sc_etdump_piece_count(const sc_etdump *dump) {
    return (uint32_t)(dump->pieces.size / sizeof(sc_etdump_piece));
}
static inline sc_etdump_piece *sc_etdump_piece_at(const sc_etdump *dump, uint32_t index) {
    return (sc_etdump_piece *)dump->pieces.data + index;
}

#endif
