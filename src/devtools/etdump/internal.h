// The form of a dump in memory. Private to src/devtools/etdump.
// Prefix: sc_etdump_ keeps entries and bytes in memory here.
#ifndef SC_ETDUMP_INTERNAL_H
#define SC_ETDUMP_INTERNAL_H

#include "base/map.h"
#include "devtools/etdump/etdump.h"

typedef enum sc_etdump_kind {
    SC_ETDUMP_LOAD,         // a block with one entry
    SC_ETDUMP_RUN,          // begins a block, which ends at the next one
    SC_ETDUMP_NODE,         // work of a delegate, whose instruction follows; its values come next
    SC_ETDUMP_INSTRUCTION,  // an instruction of the run; the values that it wrote come next
    SC_ETDUMP_RETURN,       // the end of the run; its results come next
    SC_ETDUMP_LIST,         // a list of the next `count` values, which are tensors
    SC_ETDUMP_VALUE
} sc_etdump_kind;

typedef struct sc_etdump_entry {
    uint8_t kind;   // sc_etdump_kind
    uint8_t what;   // RUN: sc_etdump_level; INSTRUCTION: sc_rt_kind; VALUE: sc_evalue_tag other
                    // than a list
    uint8_t dtype;  // tensors: the dtype in the file
    union {
        uint8_t rank;
        uint8_t threads;  // LOAD, RUN, NODE, INSTRUCTION: how many worked; 0: there was only one
    };
    uint32_t count;  // INSTRUCTION: origins; LIST: values; tensors: start of their sizes
    union {
        const sc_rt_origin *origins;
        int32_t bundled_input_index;  // RUN
        const sc_str *id;             // NODE: a text of the delegate
    };
    union {
        uint64_t begin;  // nanoseconds
        int64_t integer;
        double number;
        int64_t offset;  // in the debug buffer; -1 for a tensor without elements
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

// The sizes of all lists when a block began.
typedef struct sc_etdump_mark {
    uint64_t entries, sizes, pieces, piece_size;  // in bytes
    uint64_t debug_bytes, held_bytes, written_bytes;
    uint32_t widened, omitted;
} sc_etdump_mark;

struct sc_etdump {
    sc_rt_sink sink;
    sc_ctx *ctx;  // the host of this context has the clock
    sc_etdump_level level;
    int32_t bundled_input_index;
    bool is_filtered;  // the host chooses among the values of delegates
    uint64_t bytes_max;
    uint64_t held_bytes;     // bytes in memory
    uint64_t written_bytes;  // upper bound of bytes in the FlatBuffer
    uint64_t name_bytes;     // of both the part for names, which stay when their block is dropped
    uint64_t name_written_bytes;
    sc_status status;     // the state of the current block
    sc_etdump_mark mark;  // the beginning of the current block
    uint64_t block;       // index of its entry
    uint64_t begin;       // of the current instruction
    uint64_t node_begin;  // of the current work of its delegate
    uint64_t last, step;  // last reading of the clock, and its smallest step so far
    sc_etdump_block entries, sizes, pieces;
    sc_arena name_arena;  // texts of delegates, each stored once
    sc_map names;
    uint64_t debug_bytes;
    uint32_t widened;  // tensors in a wider dtype, because readers do not know theirs
    uint32_t omitted;  // values that the format cannot store
};

// Initialises an empty dump, which holds no memory.
void sc_etdump_init(sc_etdump *dump, sc_ctx *ctx, uint64_t bytes_max);

// --- Entries -------------------------------------------------------------------------------------

// The most bytes that an event takes in the FlatBuffer, and the bound on all events. The builder
// has room for that, so an event that was kept can be written.
#define SC_ETDUMP_WRITTEN     160u
#define SC_ETDUMP_WRITTEN_MAX (UINT64_C(768) << 20)

// Counts bytes against the bounds. False with a status if a bound is reached.
bool sc_etdump_charge(sc_etdump *dump, uint64_t bytes, uint64_t written);
void sc_etdump_drop_pieces(sc_etdump *dump, uint32_t kept);
// Gives the kept copy of an equal name. NULL if there is no room.
const sc_str *sc_etdump_keep_name(sc_etdump *dump, sc_str name);

// Adds an entry. NULL with a status if the bound is reached or there is no memory.
sc_etdump_entry *sc_etdump_add(sc_etdump *dump, sc_etdump_kind kind);
// The same for the `count` sizes of a tensor.
int64_t *sc_etdump_add_sizes(sc_etdump *dump, uint32_t count);
// The same for bytes in the debug buffer. They begin at a multiple of 64, which `debug_bytes` was
// before the call.
void *sc_etdump_add_bytes(sc_etdump *dump, uint64_t bytes);
// Adds a value, or a list of tensors, as entries.
void sc_etdump_add_value(sc_etdump *dump, const sc_evalue *value);

// True if the instruction runs a kernel. Primitives run inside the runtime. It reports no scope
// around them and no results.
static inline bool sc_etdump_is_kernel(sc_rt_kind work, const sc_rt_origin *origin) {
    return work != SC_RT_DELEGATE && origin->op_name.size &&
           !sc_str_starts_with(origin->op_name, "executorch_prim:");
}
// Does the dump contain the results of the instruction?
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
