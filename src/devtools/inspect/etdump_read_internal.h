// Declarations that the files reading dumps share. Private to src/devtools/inspect.
// Prefix: sc_dump_ reads or counts a part of a dump.
#ifndef SC_ETDUMP_READ_INTERNAL_H
#define SC_ETDUMP_READ_INTERNAL_H

#include "devtools/inspect/etdump_read.h"
#include "format/flatbuf.h"

typedef struct sc_dump_reader {
    sc_ctx *ctx;
    sc_dump *dump;
    sc_source *buffer;        // NULL: absent
    uint64_t most;            // events, or values, that there may be
    uint64_t events, values;  // so far
    uint64_t dims;            // of tensors, in fours
    uint64_t text_left;       // bytes of names that there may be
} sc_dump_reader;

// Counts things in, before they are read: SC_ERR_CORRUPT for more than the file's size allows.
sc_status sc_dump_take(sc_dump_reader *r, uint64_t *taken, uint64_t count, const char *what);
// Zeroed memory for things that a dump has: SC_ERR_MEMORY where there is none.
sc_status sc_dump_alloc(sc_dump_reader *r, uint64_t count, size_t item_bytes, const char *what,
                        void **out);
// An absent table is a value of no kind.
sc_status sc_dump_read_value(sc_dump_reader *r, sc_fb_table table, const sc_dump_value **out);

#endif
