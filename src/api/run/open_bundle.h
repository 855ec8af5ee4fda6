// Opening a program that may be in a bundle. Private to src/api.
// Prefix: sc_job_ opens and closes the bundle of one job.
#ifndef SC_API_OPEN_BUNDLE_H
#define SC_API_OPEN_BUNDLE_H

#include "devtools/bundled/bundled.h"
#include "sconce.h"

typedef struct sc_open_bundle {
    sc_bundled suites;  // none for a program outside a bundle
    void *file;         // its bytes
    void *program;      // the program's bytes, if they were not aligned; else NULL
} sc_open_bundle;

// The program in a file: the file itself, unless it is a bundle. Closing the program frees it.
sc_status sc_job_open_bundle(sc_job *job, sc_source *file, sc_source **program);
void sc_job_close_bundle(sc_job *job);

#endif
