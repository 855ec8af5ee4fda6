// ETDump, ExecuTorch's own account of what a program did: a listener that keeps it in memory, and
// the writer that makes the files of it, the dump and the debug buffer with the bytes of tensors.
//
// While a program runs, an event costs two looks at the clock and an entry of some 32 bytes; names,
// places and tables are made when the files are. A block is one load or one run. A block that does
// not fit the bound, or for which there is no memory, is dropped whole and reported; those before
// it stay.
//
// Instructions that loading has merged into one are measured together: each is reported with the
// same share of that time, laid end to end. Totals are as measured, and how they divide among the
// merged ones is not known.
//
// It goes further than the official tracer: values of instructions that loading has merged are
// marked as missing, the index of bundled inputs is stored, bfloat16 becomes float32, and values
// that have no place in the format become `Null` instead of an abort.
// Prefixes: sc_etdump_ records a dump and writes it; sc_dump_ (inspect/etdump_read.h) reads one.
#ifndef SC_ETDUMP_H
#define SC_ETDUMP_H

#include "base/cord.h"
#include "base/diag.h"
#include "rt/event.h"

typedef struct sc_etdump sc_etdump;

typedef enum sc_etdump_level {
    SC_ETDUMP_TIMES,
    SC_ETDUMP_OUTPUTS,       // and what methods return
    SC_ETDUMP_INTERMEDIATES  // and what every kernel and delegate has written
} sc_etdump_level;

// An empty dump on `arena`, whose own memory goes with sc_etdump_clear. Nothing fits it before it
// has a bound.
sc_etdump *sc_etdump_new(sc_arena *arena, sc_ctx *ctx);
// Bounds the memory of everything that is kept until the dump is cleared.
void sc_etdump_set_bytes_max(sc_etdump *dump, uint64_t bytes_max);
// Forgets what was kept, and gives its memory back. It goes on listening.
void sc_etdump_clear(sc_etdump *dump);
// The listener for the next load and run, which is test case `bundled_input_index` of its method,
// or none (-1).
sc_rt_sink *sc_etdump_listen(sc_etdump *dump, sc_etdump_level level, int32_t bundled_input_index);
// Whether the host chooses among the values of delegates (sc_host.keeps_value).
void sc_etdump_set_filtered(sc_etdump *dump, bool is_filtered);
// After a load or run: SC_ERR_LIMIT or SC_ERR_MEMORY when it could not be kept.
sc_status sc_etdump_finish(sc_etdump *dump);

// Counts of a dump's contents.
typedef struct sc_etdump_counts {
    uint64_t blocks, events;
    uint64_t values;
    uint64_t unseen;      // results of kernels that loading has merged into others
    uint64_t omitted;     // values of a kind or dtype that the format has no place for
    uint64_t widened;     // tensors that are written in a wider dtype
    uint64_t instants;    // instructions that ended before the clock moved
    uint64_t clock_step;  // nanoseconds: the smallest step that the clock was seen to make
} sc_etdump_counts;

// Whether nothing has been kept since the beginning, or since it was cleared.
bool sc_etdump_is_empty(const sc_etdump *dump);
// The dump as a FlatBuffer on `arena`, size-prefixed.
sc_status sc_etdump_write(sc_ctx *ctx, const sc_etdump *dump, sc_arena *arena, const uint8_t **data,
                          size_t *size, sc_etdump_counts *counts);
// Appends the debug buffer to `out`: bytes that are the dump's own until it is cleared.
void sc_etdump_put_debug_buffer(const sc_etdump *dump, sc_cord *out);

#endif
