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

#include "base/source.h"
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
    bool optimize;                   // rewrite instructions at load; results stay within rounding
    sc_rt_when channels_last;        // as a part of that: put the channels of images last
    uint64_t seed;                   // seed of random kernels: they start with it after load and
                                     // reset
    const sc_rt_backends *backends;  // backends that delegates may name; NULL: no backends
} sc_rt_options;

void sc_rt_options_default(sc_rt_options *options);

// Opens a program: verifies the file's structure and keeps the source. Its bytes must not change
// while the program is open. `options` may be NULL. A failure leaves no memory behind.
sc_status sc_rt_program_open(sc_ctx *ctx, sc_source *source, const sc_rt_options *options,
                             sc_rt_program **out);
void sc_rt_program_close(sc_rt_program *program);

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

// --- Looking at a program without loading it -----------------------------------------------------

typedef struct sc_rt_value_info {
    sc_evalue_tag tag;
    sc_str name;          // fully qualified, if the file says so
    uint8_t dtype, rank;  // tensors
    bool is_dynamic;
    bool is_planned;
    const int64_t *sizes;  // upper bounds
    const uint8_t *dim_order;
    uint64_t bytes;
    int32_t of_input;  // outputs: the input whose value after the call this is, or -1
    int64_t i;         // the number or truth value that the program was specialised on
    double d;
    sc_str str;
} sc_rt_value_info;

typedef struct sc_rt_op_info {
    sc_str name, overload;  // as the file spells them
    uint32_t calls;
    bool is_known;  // this build can run it
} sc_rt_op_info;

// Data that a method keeps outside the program: tensors, and the names that its parts look up, as
// far as their backends know them without a start.
typedef struct sc_rt_external_info {
    sc_str key;
    bool is_found;  // in the data files that the program was opened with
    uint32_t file;  // the file's number, if found
} sc_rt_external_info;

// A part that a method hands to a backend.
typedef struct sc_rt_part_info {
    sc_str backend;
    uint64_t bytes;  // bytes that the backend made of it
    bool is_known;   // the opened program's backends include this one
} sc_rt_part_info;

typedef struct sc_rt_method_info {
    sc_str name;
    sc_rt_value_info *inputs, *outputs;
    uint32_t input_count, output_count;
    uint64_t *planned_bytes;  // per memory id, from id 1 on
    uint32_t planned_count;
    uint32_t instruction_count, kernel_calls, delegate_calls, jumps, moves, value_count;
    sc_rt_op_info *ops;
    uint32_t op_count;
    sc_str *backends;  // each once
    uint32_t backend_count;
    sc_rt_part_info *parts;
    uint32_t part_count;
    sc_rt_external_info *externals;  // each key once
    uint32_t external_count;
    sc_str input_container, output_container;  // how Python wraps inputs and outputs
} sc_rt_method_info;

// The purpose of a planned value.
typedef enum sc_rt_planned_kind {
    SC_RT_PLANNED_VALUE,   // written by an instruction, or never written: no particular content
    SC_RT_PLANNED_INPUT,   // written by the caller
    SC_RT_PLANNED_STATE,   // read before it is written: survives from run to run
    SC_RT_PLANNED_VIEW,    // never written: shows another value's content
    SC_RT_PLANNED_UNUSED,  // not named by any instruction
    SC_RT_PLANNED_KINDS
} sc_rt_planned_kind;

#define SC_RT_NO_INSTRUCTION UINT32_MAX

// A tensor in planned memory. Instructions are numbered through all chains.
typedef struct sc_rt_planned {
    uint32_t value;  // of the file
    sc_rt_planned_kind kind;
    sc_rt_value_info info;
    uint32_t memory_id;
    uint64_t offset;
    bool is_output;
    uint32_t first, last;  // the instructions that name it, not counting its views; or
                           // SC_RT_NO_INSTRUCTION
    uint32_t from, until;  // its content matters from here to there; empty if unused
    uint32_t writer;       // the first to write it, or SC_RT_NO_INSTRUCTION
    uint32_t base;         // of a view: index in `values` of the value that it shows
} sc_rt_planned;

typedef struct sc_rt_memory_info {
    uint64_t *bytes;  // per memory id, from id 1 on
    uint32_t memory_count;
    sc_rt_planned *values;  // in the order of the file
    uint32_t value_count;
    sc_str *ops;     // by instruction, "aten::add.out"; for delegates the backend; else empty
    uint64_t *live;  // by instruction: bytes of all values whose content matters, views not counted
    uint32_t instruction_count;
    uint32_t peak;  // the first instruction with the most bytes, or SC_RT_NO_INSTRUCTION
} sc_rt_memory_info;

// Named data in the program itself, which backends look up.
typedef struct sc_rt_named_info {
    sc_str key;
    uint64_t bytes;
} sc_rt_named_info;

typedef struct sc_rt_program_info {
    uint64_t file_bytes, program_bytes;
    // Segments by purpose; each is counted once.
    uint64_t constant_bytes, mutable_bytes, delegate_bytes, named_bytes, other_bytes;
    uint32_t segment_count, constant_count;
    sc_rt_named_info *named;
    uint32_t named_count;
} sc_rt_program_info;

void sc_rt_program_info_get(const sc_rt_program *program, sc_arena *scratch,
                            sc_rt_program_info *out);
// The number of parts of method `index` that went to backends.
uint32_t sc_rt_part_count(const sc_rt_program *program, uint32_t index);
// The backend's description of part `part` of method `index` as lines of text. No text is added if
// the backend is unknown or has no description.
sc_status sc_rt_part_print(sc_ctx *ctx, const sc_rt_program *program, uint32_t index, uint32_t part,
                           sc_sb *out);
// Arrays are made on `arena`. The keys of damaged parts are left out.
sc_status sc_rt_method_info_get(sc_ctx *ctx, const sc_rt_program *program, uint32_t index,
                                sc_arena *arena, sc_rt_method_info *out);

// The use of planned memory by method `index`. Arrays are made on `arena`. SC_ERR_CORRUPT if two
// values overlap while both matter, or if one lies outside its memory. If a move makes a value show
// another value's bytes, the other one counts only until the move.
sc_status sc_rt_memory_info_get(sc_ctx *ctx, const sc_rt_program *program, uint32_t index,
                                sc_arena *arena, sc_rt_memory_info *out);

#endif
