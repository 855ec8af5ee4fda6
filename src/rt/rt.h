// The runtime: opens ExecuTorch programs (.pte, with their .ptd files), loads their methods and
// runs them. It believes no byte of a file before it has checked it, and a run allocates no memory.
// It knows operators, kernels and the file format, but no graphs.
//
// `ctx` is the same throughout the life of a program. Methods of one program share constants and
// planned memory, so outputs of one are valid until any of them runs again. Memory that contains
// state (a KV cache, a counter) survives runs, and is shared by all methods that declare it alike.
// Prefix: sc_rt_ is the runtime; the next word names the object, as in sc_rt_method_run.
#ifndef SC_RT_H
#define SC_RT_H

#include "base/cord.h"
#include "rt/backend.h"

typedef struct sc_rt_program sc_rt_program;
typedef struct sc_rt_method sc_rt_method;

// Rewriting that is not always faster.
typedef enum sc_rt_when {
    SC_RT_FASTER,  // if it is faster
    SC_RT_NEVER,
    SC_RT_ALWAYS  // wherever it is possible, for tests
} sc_rt_when;

typedef struct sc_rt_options {
    sc_source *const *data_files;  // .ptd, in any order
    uint32_t data_file_count;
    bool optimize;                    // rewrite instructions at load; results stay within rounding
    sc_rt_when channels_last;         // as a part of that: put the channels of images last
    uint64_t seed;                    // seed of random kernels: they start with it after load and
                                      // reset
    const sc_rt_backends *backends;   // backends that delegates may name; NULL: no backends
    const sc_rt_packed_file *packed;  // the packed file that the program is in, or NULL
} sc_rt_options;

void sc_rt_options_default(sc_rt_options *options);

// Opens a program: verifies the file's structure and keeps the source. Its bytes must not change
// while the program is open. `options` may be NULL. A failure leaves no memory behind.
sc_status sc_rt_program_open(sc_ctx *ctx, sc_source *source, const sc_rt_options *options,
                             sc_rt_program **out);
void sc_rt_program_close(sc_rt_program *program);

// --- Packed files --------------------------------------------------------------------------------

// A packed file is a program with its data files as this build has loaded them: weights are in the
// order of its kernels, and bytes that they replace are left out. Only the same version and flavour
// reads it.
struct sc_rt_packed_file {
    sc_source *source;
    sc_source **files;  // the .pte, then its data files, without the bytes that were left out
    uint32_t file_count;
    sc_rt_when channels_last;  // the option that it was saved with
    sc_rt_saved *saved;        // by key
    uint32_t saved_count;
};

// Opens a packed file: checks its directory, build and sizes. `*out` is NULL for any other kind of
// file. Everything is made on `arena`.
sc_status sc_rt_packed_file_open(sc_ctx *ctx, sc_arena *arena, sc_source *source,
                                 sc_rt_packed_file **out);
// Loads every method, and appends the program as a packed file to an empty cord. The cord borrows
// from the program, which must stay open.
sc_status sc_rt_program_save(sc_ctx *ctx, sc_rt_program *program, sc_cord *cord);

uint32_t sc_rt_program_method_count(const sc_rt_program *program);
sc_str sc_rt_program_method_name(const sc_rt_program *program, uint32_t index);
// Loads a method, if it is not loaded yet. SC_ERR_NOT_FOUND names the methods that exist.
sc_status sc_rt_method_load(sc_ctx *ctx, sc_rt_program *program, sc_str name, sc_rt_method **out);
// Sets every state of every method back to its content after loading.
sc_status sc_rt_program_reset(sc_ctx *ctx, sc_rt_program *program);

// --- Running -------------------------------------------------------------------------------------

uint32_t sc_rt_method_input_count(const sc_rt_method *method);
uint32_t sc_rt_method_output_count(const sc_rt_method *method);
// A value that a method declares: the tag, and for tensors dtype, rank and the largest sizes.
const sc_evalue *sc_rt_method_input(const sc_rt_method *method, uint32_t index);

// An input as the caller has it. Tensor data is row-major whatever the program's own layout.
typedef struct sc_rt_input {
    sc_evalue_tag tag;  // NONE, INT, DOUBLE, BOOL, STRING, TENSOR
    int64_t i;
    double d;
    bool b;
    sc_str str;
    uint8_t dtype;
    uint8_t rank;
    const int64_t *sizes;
    const void *data;
    uint64_t bytes;
} sc_rt_input;

// Copies a value into an input, where it stays until it is set again. It is checked against the
// declaration: numbers and strings that the program was specialised on must be equal. A tensor
// without dimensions may be given as a number that its dtype can represent.
sc_status sc_rt_method_set_input(sc_ctx *ctx, sc_rt_method *method, uint32_t index,
                                 const sc_rt_input *value);
// The same from a tensor in any layout.
sc_status sc_rt_method_set_tensor(sc_ctx *ctx, sc_rt_method *method, uint32_t index,
                                  const sc_tensor *tensor);
// A weight of a part. For messages, it names the method that calls the part and its backend.
typedef struct sc_rt_weight {
    const uint8_t *bytes;
    uint64_t size;
    sc_str method, backend;
} sc_rt_weight;

// The same from the bytes of a weight, at its largest sizes. A file stores it in the order that the
// input's strides state.
sc_status sc_rt_method_set_weight(sc_ctx *ctx, sc_rt_method *method, uint32_t index,
                                  const sc_rt_weight *weight);
sc_status sc_rt_method_run(sc_ctx *ctx, sc_rt_method *method);
// A view of the method's own value; tensors have the program's layout.
const sc_evalue *sc_rt_method_output(const sc_rt_method *method, uint32_t index);
// A tensor's bytes, row-major. `bytes` must be its size.
void sc_rt_tensor_read(const sc_tensor *tensor, void *out, size_t bytes);

// --- Parts, of methods that may not be loaded ----------------------------------------------------

// The number of parts of method `index` that went to backends.
uint32_t sc_rt_part_count(const sc_rt_program *program, uint32_t index);
// The backend's description of part `part` of method `index` as lines of text. No text is added if
// the backend is unknown or has no description.
sc_status sc_rt_part_print(sc_ctx *ctx, const sc_rt_program *program, uint32_t index, uint32_t part,
                           sc_sb *out);

#endif
