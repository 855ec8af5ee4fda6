// Reads pickles as data. The interpreter knows the opcodes and a short table of globals: tensors,
// storages, dtypes, containers. Any other global becomes an opaque object with its name, arguments
// and state. It is neither imported nor called.
//
// Values that the pickle shares are shared in the result. So the result is a graph without cycles,
// at most limits.pickle_depth_max deep. Code that walks over it must bound its work.
// Prefix: sc_pickle_ reads a pickle, and looks at values of it.
#ifndef SC_PICKLE_H
#define SC_PICKLE_H

#include "base/source.h"

typedef enum sc_pickle_kind {
    SC_PICKLE_NONE,
    SC_PICKLE_BOOL,
    SC_PICKLE_INT,
    SC_PICKLE_FLOAT,
    SC_PICKLE_COMPLEX,
    SC_PICKLE_STR,
    SC_PICKLE_BYTES,  // also integers that do not fit int64, in the pickle's own bytes
    SC_PICKLE_TUPLE,  // also torch.Size
    SC_PICKLE_LIST,
    SC_PICKLE_SET,     // also frozenset
    SC_PICKLE_DICT,    // also OrderedDict, defaultdict
    SC_PICKLE_DTYPE,   // torch.float32
    SC_PICKLE_GLOBAL,  // a class or function that was not called
    SC_PICKLE_STORAGE,
    SC_PICKLE_TENSOR,  // plain tensors and parameters
    SC_PICKLE_OBJECT   // any other result of a call
} sc_pickle_kind;

typedef struct sc_pickle_value sc_pickle_value;

// A block of elements outside the pickle.
typedef struct sc_pickle_storage {
    sc_str key;
    sc_str location;     // "cpu", "cuda:0", "meta"
    uint64_t bytes;      // as the pickle claims
    uint8_t swap_bytes;  // the unit whose bytes a big-endian file reverses
    sc_extent extent;  // set by the reader of the surrounding file; before that its source is NULL
    bool missing;      // the file has no data for it
} sc_pickle_storage;

typedef struct sc_pickle_tensor {
    sc_pickle_storage *storage;  // NULL if the tensor has no data (meta)
    uint8_t dtype;               // code of serialized ScalarType, as in .pt2 JSON
    uint8_t item_bytes;
    uint8_t rank;  // <= 64
    bool requires_grad;
    bool is_parameter;
    int64_t *sizes;    // >= 0
    int64_t *strides;  // >= 0, in elements
    int64_t storage_offset;
    uint64_t numel;
} sc_pickle_tensor;

typedef struct sc_pickle_object {
    sc_str module, name;           // the function that was called; empty for a persistent id
    const sc_pickle_value *args;   // a tuple, or the value in its place
    const sc_pickle_value *state;  // the state from BUILD, or NULL
    const sc_pickle_value *items;  // the list or dict that was appended to it, or NULL
} sc_pickle_object;

struct sc_pickle_value {
    uint8_t kind;    // sc_pickle_kind
    uint8_t dtype;   // DTYPE, STORAGE: serialized ScalarType, 0 for an untyped storage
    uint32_t count;  // elements, or members of a dict
    union {
        bool boolean;
        int64_t integer;
        double real;
        const double *complex;  // real, imaginary
        struct {
            const char *data;
            size_t size;
        } text;                   // STR, BYTES
        sc_pickle_value **items;  // containers; a dict alternates key, value
        sc_pickle_storage *storage;
        sc_pickle_tensor *tensor;
        sc_pickle_object *object;  // OBJECT, GLOBAL
    };
};

typedef struct sc_pickle {
    const sc_pickle_value *root;
    SC_VEC(sc_pickle_storage *) storages;  // one per key, in order of appearance
    uint64_t end;                          // number of bytes read, STOP included
} sc_pickle;

// Reads a pickle. ctx->limits bounds it. The result has views of `bytes`, which must outlive it.
sc_status sc_pickle_load(sc_ctx *ctx, sc_arena *arena, const uint8_t *bytes, size_t size,
                         sc_pickle *out);

static inline sc_str sc_pickle_str(const sc_pickle_value *value) {
    return (sc_str){value->text.data, value->text.size};
}
static inline bool sc_pickle_is_sequence(const sc_pickle_value *value) {
    return value->kind == SC_PICKLE_TUPLE || value->kind == SC_PICKLE_LIST;
}
// The value under a string key of a dict, or NULL.
const sc_pickle_value *sc_pickle_get(const sc_pickle_value *dict, const char *key);
// True if `value` is the global `module.name`, or an object that it made.
bool sc_pickle_is(const sc_pickle_value *value, const char *module, const char *name);
// Gives the number of bytes from the start of the storage to the tensor's end. False on overflow.
bool sc_pickle_tensor_bytes(const sc_pickle_tensor *tensor, uint64_t *out);

#endif
