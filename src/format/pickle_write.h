// Writes values as a pickle. The values are those of the reader (pickle.h), so a pickle that was
// read can be written again, alone or inside another one. The pickle has protocol 2, with the
// opcodes and globals that torch.load(weights_only=True) accepts.
// Prefix: sc_pickle_make_ makes values, sc_pickle_write writes them.
#ifndef SC_PICKLE_WRITE_H
#define SC_PICKLE_WRITE_H

#include "format/pickle.h"

// --- Making values, on `arena` -------------------------------------------------------------------

sc_pickle_value *sc_pickle_make_none(sc_arena *arena);
sc_pickle_value *sc_pickle_make_bool(sc_arena *arena, bool value);
sc_pickle_value *sc_pickle_make_int(sc_arena *arena, int64_t value);
sc_pickle_value *sc_pickle_make_float(sc_arena *arena, double value);
sc_pickle_value *sc_pickle_make_str(sc_arena *arena, sc_str value);  // borrows `value`
// Makes an empty tuple, list, set or dict. The functions below add items in order. A value may be
// in several containers, but no container may contain itself.
sc_pickle_value *sc_pickle_make_container(sc_arena *arena, sc_pickle_kind kind);
void sc_pickle_add(sc_arena *arena, sc_pickle_value *container, const sc_pickle_value *item);
void sc_pickle_put(sc_arena *arena, sc_pickle_value *dict, sc_str key,
                   const sc_pickle_value *value);  // borrows the key

// Makes a storage of elements in memory or in a file. Tensors with the same storage share it.
sc_pickle_storage *sc_pickle_make_storage(sc_arena *arena, sc_extent bytes);

// The shape of a tensor. Sizes and strides are copied. `code` is the serialized ScalarType of .pt2
// JSON (sc_dtype_to_pt2).
typedef struct sc_pickle_view {
    uint8_t code;
    uint32_t rank;  // <= 64
    const int64_t *sizes;
    const int64_t *strides;  // NULL: row-major
    int64_t storage_offset;
    bool is_parameter;   // a torch.nn.Parameter
    bool requires_grad;  // only floats can have it, as in PyTorch
} sc_pickle_view;

// Makes a tensor. The view must be inside the storage (asserted). Pickles must know the dtype.
sc_pickle_value *sc_pickle_make_tensor(sc_arena *arena, sc_pickle_storage *storage,
                                       const sc_pickle_view *view);

// --- Writing -------------------------------------------------------------------------------------

typedef SC_VEC(const sc_pickle_storage *) sc_pickle_storages;

// Appends the pickle. `storages`, on `arena`, gets every storage once, in order of first use. Keys
// are indices in that list. SC_ERR_UNSUPPORTED for values that would not load: objects, functions,
// bytes, tensors without data. ctx->limits bounds the work, even if values are in many places.
sc_status sc_pickle_write(sc_ctx *ctx, sc_arena *arena, const sc_pickle_value *root, sc_sb *out,
                          sc_pickle_storages *storages);

#endif
