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
    uint64_t most;            // the most events, or the most values, that the file can have
    uint64_t events, values;  // counted so far
    uint64_t dims;            // dimensions of tensors, in groups of four
    uint64_t text_left;       // bytes of names that may still be read
} sc_dump_reader;

// Counts things before they are read. SC_ERR_CORRUPT if the file is too small to have so many.
sc_status sc_dump_take(sc_dump_reader *r, uint64_t *taken, uint64_t count, const char *what);
// Allocates zeroed memory for things of a dump. SC_ERR_MEMORY if there is none.
sc_status sc_dump_alloc(sc_dump_reader *r, uint64_t count, size_t item_bytes, const char *what,
                        void **out);
// Reads a value. An absent table is a value of kind NULL.
sc_status sc_dump_read_value(sc_dump_reader *r, sc_fb_table table, const sc_dump_value **out);

#endif
