// The runtime's half of a backend. It turns bytes, which the backend's other half made of a part,
// into a delegate that runs. The runtime finds it by id in the table that it was opened with. It
// starts one delegate for each that a method lists, and calls it with checked operands.
//
// A delegate allocates its own memory and frees it in `destroy`. During a call it may use the
// context's scratch. The bytes that it starts with come from a file and may be hostile.
// Prefixes: sc_rt_delegate_ reports on the delegate that runs, sc_rt_output_ writes its outputs.
#ifndef SC_RT_BACKEND_H
#define SC_RT_BACKEND_H

#include "kernels/kernel.h"
#include "rt/saved.h"

typedef struct sc_rt_backend sc_rt_backend;

typedef struct sc_rt_spec {
    sc_str key, value;  // the value may be any bytes
} sc_rt_spec;

// Named bytes of the program and of its data files.
typedef struct sc_rt_named {
    // The bytes, 16-byte aligned, valid until the program closes. If the key is absent:
    // SC_ERR_NOT_FOUND, which names it.
    sc_status (*find)(void *user, sc_ctx *ctx, sc_str key, const uint8_t **bytes, uint64_t *size);
    // Releases data that the caller found and has stored in another order. Its memory is freed when
    // every caller that found it has released it.
    void (*release)(void *user, sc_str key);
    void *user;
    // All keys: the name of number `index`, and its size.
    uint32_t count;
    sc_str (*key)(void *user, uint32_t index, uint64_t *bytes);
    // Says that packings have all that the caller takes of the data, so that a packed file need not
    // have it: it was found `times` times, only to be packed. May be NULL.
    void (*replace)(void *user, sc_str key, uint32_t times);
} sc_rt_named;

// The arguments for starting a delegate. Operands have their kinds, dtypes, ranks and largest
// sizes. Tensors have no memory yet unless they are constants.
typedef struct sc_rt_start {
    const sc_rt_backend *backend;
    sc_str id;      // the backend that the file names
    sc_str method;  // the method that calls it
    const uint8_t *processed;
    uint64_t processed_bytes;  // valid during the call only
    const sc_rt_spec *specs;
    uint32_t spec_count;
    sc_rt_named named;
    sc_evalue *const *args;  // of the call: inputs, then outputs
    uint32_t arg_count;
    // The arguments up to the last one that exists before the call. The file does not say where the
    // inputs end, and the call makes all arguments behind them.
    uint32_t known_count;
    void **shared;  // NULL at first; one for all delegates of a program that name this backend
    const sc_rt_packed_file *packed;  // has weights of this delegate, or is NULL
    sc_rt_saved_key key;              // of the delegate, for its call 0
} sc_rt_start;

// A listener that wants reports of what delegates do.
typedef struct sc_rt_hearing sc_rt_hearing;

typedef struct sc_rt_delegate_call {
    sc_evalue *const *args;  // inputs, then outputs; tensors have memory
    uint32_t input_count, arg_count;
    const sc_rt_hearing *hearing;  // NULL: there is no listener
} sc_rt_delegate_call;

typedef SC_VEC(sc_str) sc_rt_keys;

// Packed weights of a delegate that packed files keep: the number of the call, in ascending order.
typedef struct sc_rt_packing {
    uint32_t call;
    const char *variant;
    const void *data;
    uint64_t bytes;
} sc_rt_packing;

struct sc_rt_backend {
    const char *id;    // in files; NULL where no table finds it by its id
    bool is_function;  // equal inputs give equal outputs, and a call has no other effect
    // Sets the number of arguments that are inputs, which the file does not say. A failure names
    // the fault in the bytes and leaves no memory behind.
    sc_status (*init)(sc_ctx *ctx, const sc_rt_start *start, void **state, uint32_t *input_count);
    // Writes every output. The backend sets dynamic sizes by sc_rt_output_resize. The arguments are
    // those of the start, or like them in kind, dtype and rank.
    sc_status (*execute)(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call);
    void (*destroy)(void *state);
    void (*release)(void *shared);  // when the program closes; NULL: nothing is shared
    // State that survives calls, back to its start; NULL: there is none.
    sc_status (*reset)(sc_ctx *ctx, void *state);
    // Describes the bytes for people: a line for each weight, input and node. Optional.
    sc_status (*print)(sc_ctx *ctx, const uint8_t *processed, uint64_t size, sc_sb *out);
    // Lists the named data that `init` will look up, as copies on `arena`. A key may come several
    // times. NULL if only `init` can know.
    sc_status (*keys)(sc_ctx *ctx, sc_arena *arena, const uint8_t *processed, uint64_t size,
                      sc_rt_keys *out);
    // Gives the weights that packed files keep, and `init` then reads from them: the first one with
    // at least this number. False at the end. NULL: it packs none.
    bool (*packing)(const void *state, uint32_t call, sc_rt_packing *out);
    void *user;
};

// The backends that a program may name. The caller that opens the program hands them down.
typedef struct sc_rt_backends {
    const sc_rt_backend *(*find)(void *user, sc_str id);  // NULL if the table has no such backend
    void *user;
} sc_rt_backends;

// --- Reports on itself ---------------------------------------------------------------------------

// Work of a delegate during a call, with the id that the backend's other half gave it in
// `sc_part_event`. Valid until the listener returns.
typedef struct sc_rt_delegate_event {
    sc_str id;  // no id may be part of another; without data if the backend counts: `number`
    int64_t number;
} sc_rt_delegate_event;

// Each event ends before the next one begins. After its end, if it ended well, its results are
// shown. Events exist only in calls with a `hearing`, so other calls pay no more than the test for
// it.
void sc_rt_delegate_begin(const sc_rt_hearing *hearing, const sc_rt_delegate_event *event);
void sc_rt_delegate_end(const sc_rt_hearing *hearing, const sc_rt_delegate_event *event,
                        sc_status status);
// Does the listener look at values? If not, the backend need not make values that only a listener
// would see.
bool sc_rt_delegate_is_watched(const sc_rt_hearing *hearing);
void sc_rt_delegate_output(const sc_rt_hearing *hearing, const sc_rt_delegate_event *event,
                           const sc_evalue *value);

// --- Giving --------------------------------------------------------------------------------------

// Sets the sizes of an output within its capacity. Only a dynamic output may change its sizes.
// SC_ERR_SHAPE otherwise.
sc_status sc_rt_output_resize(sc_ctx *ctx, sc_tensor *output, const int64_t *sizes, uint32_t rank);
// Copies row-major bytes into an output, whatever layout the program gave it.
void sc_rt_output_write(sc_tensor *output, const void *row_major);

#endif
