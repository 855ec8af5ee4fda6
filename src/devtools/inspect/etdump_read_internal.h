// What the files that read dumps share. Private to src/devtools/inspect.
#ifndef SC_ETDUMP_READ_INTERNAL_H
#define SC_ETDUMP_READ_INTERNAL_H

#include "devtools/inspect/etdump_read.h"
#include "format/flatbuf.h"

typedef struct sc_dump_reader {
    sc_ctx *ctx;
    sc_dump *dump;
    sc_source *buffer;        // NULL: none
    uint64_t most;            // events, or values, that there may be
    uint64_t events, values;  // so far
} sc_dump_reader;

// Counts things in, before they are read: SC_ERR_CORRUPT for more than the file's size allows.
sc_status sc_dump_take(sc_dump_reader *r, uint64_t *taken, uint64_t count, const char *what);
// An absent table is a value of no kind.
sc_status sc_dump_read_value(sc_dump_reader *r, sc_fb_table table, const sc_dump_value **out);

#endif
