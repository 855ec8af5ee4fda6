// The runtime's half of a backend: what turns the bytes that its other half made of a part into
// something that runs. The runtime finds it by id in the table that it was opened with, starts one
// delegate for each that a method lists, and calls it with operands that have been checked.
//
// A delegate gets its memory itself and gives it back in `destroy`; it may use the context's
// scratch during a call. The bytes that it starts with are hostile: they came from a file.
// Prefix: sc_rt_, the runtime.
#ifndef SC_RT_BACKEND_H
#define SC_RT_BACKEND_H

#include "kernels/kernel.h"

typedef struct sc_rt_backend sc_rt_backend;

typedef struct sc_rt_spec {
    sc_str key, value;  // the value may be any bytes
} sc_rt_spec;

// Named bytes, of the program and of its data files.
typedef struct sc_rt_named {
    // The bytes, 16-byte aligned, valid until the program closes. SC_ERR_NOT_FOUND, which names the
    // key, when there are none.
    sc_status (*find)(void *user, sc_ctx *ctx, sc_str key, const uint8_t **bytes, uint64_t *size);
    // The data that was found is not needed any more, because it is kept in another order: once
    // everybody who found it has said so, its memory goes back.
    void (*release)(void *user, sc_str key);
    void *user;
    // All that there are: the name of number `index`, and its size.
    uint32_t count;
    sc_str (*key)(void *user, uint32_t index, uint64_t *bytes);
} sc_rt_named;

// The arguments to start a delegate with. Operands have their kinds, dtypes, ranks and largest
// sizes; tensors have no memory yet unless they are constants.
typedef struct sc_rt_start {
    const sc_rt_backend *backend;
    sc_str id;      // that the file asks for
    sc_str method;  // that calls it
    const uint8_t *processed;
    uint64_t processed_bytes;  // valid during the call only
    const sc_rt_spec *specs;
    uint32_t spec_count;
    sc_rt_named named;
    sc_evalue *const *args;  // of its call: inputs, then outputs
    uint32_t arg_count;
    // Up to the last argument that exists before the call. The file does not say where the inputs
    // end, and all arguments behind them are made by the call.
    uint32_t known_count;
    void **shared;  // NULL at first; one for all delegates of a program that name this backend
} sc_rt_start;

// Somebody who wants to hear what delegates do.
typedef struct sc_rt_hearing sc_rt_hearing;

typedef struct sc_rt_delegate_call {
    sc_evalue *const *args;  // inputs, then outputs; tensors have memory
    uint32_t input_count, arg_count;
    const sc_rt_hearing *hearing;  // NULL: nobody listens
} sc_rt_delegate_call;

typedef SC_VEC(sc_str) sc_rt_keys;

struct sc_rt_backend {
    // Says how many of the arguments are inputs, which the file does not. On failure, which names
    // what in the bytes is wrong, nothing is left behind.
    sc_status (*init)(sc_ctx *ctx, const sc_rt_start *start, void **state, uint32_t *input_count);
    // Writes every output; sizes of those that are dynamic are set by sc_rt_output_resize. The
    // arguments are those that it was started with, or like them in kind, dtype and rank.
    sc_status (*execute)(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call);
    void (*destroy)(void *state);
    void (*release)(void *shared);  // when the program closes; NULL: nothing is shared
    // State that survives calls, back to its start; NULL: there is none.
    sc_status (*reset)(sc_ctx *ctx, void *state);
    // A description of the bytes, for people: a line for each weight, input and node. Optional.
    sc_status (*print)(sc_ctx *ctx, const uint8_t *processed, uint64_t size, sc_sb *out);
    // Named data that the bytes refer to, each key as often as they like, as copies on `arena`:
    // what `init` will look up. NULL where only `init` can tell.
    sc_status (*keys)(sc_ctx *ctx, sc_arena *arena, const uint8_t *processed, uint64_t size,
                      sc_rt_keys *out);
    void *user;
};

// The backends that a program may name: what whoever opens it hands down.
typedef struct sc_rt_backends {
    const sc_rt_backend *(*find)(void *user, sc_str id);  // NULL when there is none
    void *user;
} sc_rt_backends;

// --- Reports on itself ---------------------------------------------------------------------------

// Something that a delegate does during a call, by the id that its other half gave it in
// `sc_part_event`. Valid until the listener returns.
typedef struct sc_rt_delegate_event {
    sc_str id;  // no id may be part of another; without data where the backend counts: `number`
    int64_t number;
} sc_rt_delegate_event;

// Each begins and ends before the next one begins, and what it has computed is shown after its end,
// if it ended well. Only for calls with a `hearing`: asking for it is all that others may cost.
void sc_rt_delegate_begin(const sc_rt_hearing *hearing, const sc_rt_delegate_event *event);
void sc_rt_delegate_end(const sc_rt_hearing *hearing, const sc_rt_delegate_event *event,
                        sc_status status);
// Does anybody look at values? Those that have to be made for it are left out otherwise.
bool sc_rt_delegate_is_watched(const sc_rt_hearing *hearing);
void sc_rt_delegate_output(const sc_rt_hearing *hearing, const sc_rt_delegate_event *event,
                           const sc_evalue *value);

// --- Giving --------------------------------------------------------------------------------------

// Sizes of an output within its capacity and, unless it is dynamic, as they are. SC_ERR_SHAPE
// otherwise.
sc_status sc_rt_output_resize(sc_ctx *ctx, sc_tensor *output, const int64_t *sizes, uint32_t rank);
// Row-major bytes into an output, whatever layout the program gave it.
void sc_rt_output_write(sc_tensor *output, const void *row_major);

#endif
