// Opening a program that may be in a bundle. Private to src/api.
// Prefix: sc_open_bundle_ opens and closes one bundle.
#ifndef SC_API_OPEN_BUNDLE_H
#define SC_API_OPEN_BUNDLE_H

#include "devtools/bundled/bundled.h"
#include "sconce.h"

typedef struct sc_open_bundle {
    sc_bundled calls;  // none for a program outside a bundle
    void *file;        // its bytes
    void *program;     // the program's bytes, if they were not aligned; else NULL
} sc_open_bundle;

// The program in a file: the file itself, unless it is a bundle. Closing the bundle frees it.
sc_status sc_open_bundle_read(sc_ctx *ctx, sc_open_bundle *bundle, sc_source *file,
                              sc_source **program);
void sc_open_bundle_close(const sc_open_bundle *bundle);

#endif
