// An ETDump is ExecuTorch's account of a run. A listener keeps the events in memory. A writer makes
// two files of them: the dump, and the debug buffer with the bytes of tensors.
//
// During a run, an event costs two readings of the clock and an entry of some 32 bytes. Names,
// places and tables are made with the files. A block is one load or one run. If a block does not
// fit the bound, or there is no memory, the whole block is dropped and reported. Earlier blocks
// stay.
//
// Loading may merge several instructions into one, which is measured as a whole. Each of the merged
// instructions is reported with an equal share of its time, one after the other. The sum is
// measured, the shares are not.
//
// The dump has more than the official one. Values of merged instructions are marked as missing. In
// an engine with threads, events tell how many of them had a share (devtools/dump_threads.h). The
// index of bundled inputs is stored. bfloat16 becomes float32. A value that the format cannot store
// becomes `Null` instead of an abort.
// Prefixes: sc_etdump_ records a dump and writes it; sc_dump_ (inspect/etdump_read.h) reads one.
#ifndef SC_ETDUMP_H
#define SC_ETDUMP_H

#include "base/cord.h"
#include "base/diag.h"
#include "rt/event.h"

typedef struct sc_etdump sc_etdump;

typedef enum sc_etdump_level {
    SC_ETDUMP_TIMES,
    SC_ETDUMP_OUTPUTS,       // in addition, the results of methods
    SC_ETDUMP_INTERMEDIATES  // in addition, the results of every kernel and delegate
} sc_etdump_level;

// Makes an empty dump on `arena`. Its own memory is freed by sc_etdump_clear. Its bound is 0 at
// first.
sc_etdump *sc_etdump_new(sc_arena *arena, sc_ctx *ctx);
// Bounds the memory of all that is kept until the dump is cleared.
void sc_etdump_set_bytes_max(sc_etdump *dump, uint64_t bytes_max);
// Forgets all blocks and frees their memory. The dump still listens.
void sc_etdump_clear(sc_etdump *dump);
// Gives the listener for the next load and run. The run is test case `bundled_input_index` of its
// method; -1 is no case.
sc_rt_sink *sc_etdump_listen(sc_etdump *dump, sc_etdump_level level, int32_t bundled_input_index);
// Sets that the host chooses among the values of delegates (sc_host.keeps_value).
void sc_etdump_set_filtered(sc_etdump *dump, bool is_filtered);
// Ends a load or run. SC_ERR_LIMIT or SC_ERR_MEMORY if its block was dropped.
sc_status sc_etdump_finish(sc_etdump *dump);

// Counts of a dump's contents.
typedef struct sc_etdump_counts {
    uint64_t blocks, events;
    uint64_t values;
    uint64_t unseen;      // results of kernels that loading has merged into others
    uint64_t omitted;     // values whose kind or dtype the format cannot store
    uint64_t widened;     // tensors that are written in a wider dtype
    uint64_t instants;    // instructions that ended before the clock moved
    uint64_t clock_step;  // the smallest step of the clock that was seen, in nanoseconds
} sc_etdump_counts;

// True if no block was kept since the beginning or the last sc_etdump_clear.
bool sc_etdump_is_empty(const sc_etdump *dump);
// Makes the dump as a FlatBuffer on `arena`, with a size prefix.
sc_status sc_etdump_write(sc_ctx *ctx, const sc_etdump *dump, sc_arena *arena, const uint8_t **data,
                          size_t *size, sc_etdump_counts *counts);
// Appends the debug buffer to `out`. The bytes belong to the dump until it is cleared.
void sc_etdump_put_debug_buffer(const sc_etdump *dump, sc_cord *out);

#endif
