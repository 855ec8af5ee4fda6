// Reads and writes files of torch.save: a zip with one pickle and its storages. The result is the
// tree of values with an extent for every storage. No storage is read.
// Prefix: sc_torch_save_ opens and writes such files.
#ifndef SC_TORCH_SAVE_H
#define SC_TORCH_SAVE_H

#include "format/pickle_write.h"
#include "format/zip.h"

typedef struct sc_torch_save {
    sc_zip zip;
    sc_pickle pickle;
    const sc_pickle_value *root;  // NULL if the file is empty, which means None
    bool big_endian;  // storages are swapped when they are read, so other code need not know
} sc_torch_save;

// Opens a file. Every tensor is checked to be inside its storage. A storage without data (meta,
// fake) is marked as missing, and reads as zeros.
sc_status sc_torch_save_open(sc_ctx *ctx, sc_arena *arena, sc_extent file, sc_torch_save *out);

// Appends the file that torch.load(weights_only=True) reads as `root`. The rules of sc_pickle_write
// apply. Storages are appended as whole extents, and read once for their checksums.
sc_status sc_torch_save_write(sc_ctx *ctx, const sc_pickle_value *root, sc_cord *out);

#endif
