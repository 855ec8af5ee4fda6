// Pickles from values: the same tree that the reader gives (pickle.h), so that what was read can be
// written again, alone or as part of something larger. Protocol 2, in the opcodes and with the
// globals that torch.load(weights_only=True) accepts.
// Prefix: sc_pickle_make_ makes values, sc_pickle_write writes them.
#ifndef SC_PICKLE_WRITE_H
#define SC_PICKLE_WRITE_H

#include "format/pickle.h"

// --- Making values, on `arena` -------------------------------------------------------------------

sc_pickle_value *sc_pickle_make_none(sc_arena *arena);
sc_pickle_value *sc_pickle_make_bool(sc_arena *arena, bool value);
sc_pickle_value *sc_pickle_make_int(sc_arena *arena, int64_t value);
sc_pickle_value *sc_pickle_make_float(sc_arena *arena, double value);
sc_pickle_value *sc_pickle_make_str(sc_arena *arena, sc_str value);  // borrows
// An empty tuple, list, set or dict, and what goes into it, in order. Values may stand in several
// containers; none may hold itself.
sc_pickle_value *sc_pickle_make_container(sc_arena *arena, sc_pickle_kind kind);
void sc_pickle_add(sc_arena *arena, sc_pickle_value *container, const sc_pickle_value *item);
void sc_pickle_put(sc_arena *arena, sc_pickle_value *dict, sc_str key,
                   const sc_pickle_value *value);  // borrows the key

// Elements in memory or in a file; tensors that name the same storage share it.
sc_pickle_storage *sc_pickle_make_storage(sc_arena *arena, sc_extent bytes);

// The shape of a tensor; sizes and strides are copied. `code` is the serialized ScalarType of .pt2
// JSON (sc_dtype_to_pt2). Without strides the elements are row-major.
typedef struct sc_pickle_view {
    uint8_t code;
    uint32_t rank;  // <= 64
    const int64_t *sizes;
    const int64_t *strides;  // NULL: row-major
    int64_t storage_offset;
    bool is_parameter;   // a torch.nn.Parameter
    bool requires_grad;  // taken for floats only, as in PyTorch
} sc_pickle_view;

// The view must lie inside the storage (asserted), and the dtype must be one that pickles know.
sc_pickle_value *sc_pickle_make_tensor(sc_arena *arena, sc_pickle_storage *storage,
                                       const sc_pickle_view *view);

// --- Writing -------------------------------------------------------------------------------------

typedef SC_VEC(const sc_pickle_storage *) sc_pickle_storages;

// Appends the pickle. `storages`, on `arena`, gets every storage that is spoken of, each once, in
// order of first appearance; their keys are their indices. SC_ERR_UNSUPPORTED for what would not
// load: objects, functions, bytes, tensors without data. Bounded by ctx->limits, also where values
// stand in many places.
sc_status sc_pickle_write(sc_ctx *ctx, sc_arena *arena, const sc_pickle_value *root, sc_sb *out,
                          sc_pickle_storages *storages);

#endif
