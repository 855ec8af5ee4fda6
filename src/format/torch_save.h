// Files of torch.save: a zip with one pickle and the storages it speaks of. The result is the value
// tree with an extent for every storage; no storage is read.
// Prefix: sc_torch_save_ opens and writes such files.
#ifndef SC_TORCH_SAVE_H
#define SC_TORCH_SAVE_H

#include "format/pickle_write.h"
#include "format/zip.h"

typedef struct sc_torch_save {
    sc_zip zip;
    sc_pickle pickle;
    const sc_pickle_value *root;  // NULL when the file is empty, which stands for None
    bool big_endian;              // storages are presented swapped, so nobody else has to care
} sc_torch_save;

// Every tensor is checked to lie within its storage. A storage without data (meta, fake) is marked
// missing and reads as zeros.
sc_status sc_torch_save_open(sc_ctx *ctx, sc_arena *arena, sc_extent file, sc_torch_save *out);

// Appends the file that torch.load(weights_only=True) reads as `root`; the rules are those of
// sc_pickle_write. Storages are appended as the extents that they are, whole, and read once for
// their checksums.
sc_status sc_torch_save_write(sc_ctx *ctx, const sc_pickle_value *root, sc_cord *out);

#endif
