// From .pt2 files to programs: every container that torch.export has written since schema 5, data
// only. Weights are not read; they become extents of the source, or of views of it.
// Prefix: sc_import_ reads a .pt2, as a zip or as a directory.
#ifndef SC_IMPORT_H
#define SC_IMPORT_H

#include "format/zip.h"
#include "ir/ir.h"

typedef struct sc_import_options {
    sc_str method;  // name of the method, if one model is read; empty: the model's name
    sc_str model;   // the model to read; empty: all models of the file
} sc_import_options;

// Adds the file's models to `program`, a method each. By default a model named "model" becomes the
// method "forward" and every other model a method of its own name. If the methods of a program come
// from several files, call it once for each. `source` must live as long as the program. Unknown
// operators are kept as foreign nodes, so that a later check can list them all.
sc_status sc_import_pt2(sc_ctx *ctx, sc_source *source, const sc_import_options *options,
                        sc_program *program);

// The directory of an archive without entries that no import reads (sample inputs, extra files,
// compiled code), so that the host need not inflate them.
sc_status sc_import_directory(sc_ctx *ctx, sc_arena *arena, sc_source *archive, sc_zip *out);

#endif
