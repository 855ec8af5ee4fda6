// The runtime: opens ExecuTorch programs (.pte, with their .ptd files), loads their methods
// and runs them. Owns the rule that nothing of a file is believed before it has been checked, and
// that running allocates nothing. Knows operators, kernels and the file format; no graphs.
//
// `ctx` is the same throughout the life of a program. Methods of one program share constants and
// planned memory, so the outputs of one are valid until any of them runs again; memory that holds
// state (a KV cache, a counter) survives runs and is one for all methods that declare it alike.
// Prefix: sc_rt_, the runtime.
#ifndef SC_RT_H
#define SC_RT_H

#include "base/source.h"
#include "rt/backend.h"

typedef struct sc_rt_program sc_rt_program;
typedef struct sc_rt_method sc_rt_method;

// Rewriting that is not always faster.
typedef enum sc_rt_when {
    SC_RT_FASTER,  // where it is
    SC_RT_NEVER,
    SC_RT_ALWAYS  // wherever it can be done, for tests
} sc_rt_when;

typedef struct sc_rt_options {
    sc_source *const *data_files;  // .ptd, in any order
    uint32_t data_file_count;
    bool optimize;                   // rewrite instructions at load; results stay within rounding
    sc_rt_when channels_last;        // among that: put the channels of images last
    uint64_t seed;                   // of random kernels: they begin with it after load and reset
    const sc_rt_backends *backends;  // that delegates may name; NULL: no such names
} sc_rt_options;

void sc_rt_options_default(sc_rt_options *options);

// Verifies the file's structure and keeps the source: its bytes must not change while the program
// is open. `options` may be NULL. On failure nothing is left behind.
sc_status sc_rt_program_open(sc_ctx *ctx, sc_source *source, const sc_rt_options *options,
                             sc_rt_program **out);
void sc_rt_program_close(sc_rt_program *program);

uint32_t sc_rt_program_method_count(const sc_rt_program *program);
sc_str sc_rt_program_method_name(const sc_rt_program *program, uint32_t index);
// Loads a method, or finds it loaded. SC_ERR_NOT_FOUND names the ones there are.
sc_status sc_rt_method_load(sc_ctx *ctx, sc_rt_program *program, sc_str name, sc_rt_method **out);
// Every state of every method back to what it was after loading.
sc_status sc_rt_program_reset(sc_ctx *ctx, sc_rt_program *program);

// --- Running -------------------------------------------------------------------------------------

uint32_t sc_rt_method_input_count(const sc_rt_method *method);
uint32_t sc_rt_method_output_count(const sc_rt_method *method);
// A value that a method declares: the tag, and for tensors dtype, rank and the largest sizes.
const sc_evalue *sc_rt_method_input(const sc_rt_method *method, uint32_t index);

// An input as the caller has it; tensor data is row-major whatever the program's own layout.
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

// Copies a value in, where it stays until it is set again. Checked against the declaration: numbers
// and strings that the program was specialised on have to be the same ones. A tensor without
// dimensions may be given as a number that its dtype has.
sc_status sc_rt_method_set_input(sc_ctx *ctx, sc_rt_method *method, uint32_t index,
                                 const sc_rt_input *value);
// The same from a tensor in any layout.
sc_status sc_rt_method_set_tensor(sc_ctx *ctx, sc_rt_method *method, uint32_t index,
                                  const sc_tensor *tensor);
// A weight of a part, and whose part it is, for messages: the method that calls it, its backend.
typedef struct sc_rt_weight {
    const uint8_t *bytes;
    uint64_t size;
    sc_str method, backend;
} sc_rt_weight;

// The same from the bytes of a weight, which a file has in the order that the input's strides say,
// at its largest sizes.
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
    sc_str name;          // fully qualified, where the file says so
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

// Data that a method keeps outside the file: tensors, and what its parts look up, as far as their
// backends can tell without starting them.
typedef struct sc_rt_external_info {
    sc_str key;
    bool is_found;  // in the data files that the program was opened with
    uint32_t file;  // which of them, when found
} sc_rt_external_info;

// A part that a method hands to a backend.
typedef struct sc_rt_part_info {
    sc_str backend;
    uint64_t bytes;  // that the backend made of it
    bool is_known;   // the backends that the program was opened with have this one
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
    SC_RT_PLANNED_VALUE,   // some instruction writes it, or nobody: it holds nothing in particular
    SC_RT_PLANNED_INPUT,   // the caller does
    SC_RT_PLANNED_STATE,   // read before anything writes it: survives from run to run
    SC_RT_PLANNED_VIEW,    // nothing writes it: it shows what another value holds
    SC_RT_PLANNED_UNUSED,  // no instruction names it
    SC_RT_PLANNED_KINDS
} sc_rt_planned_kind;

#define SC_RT_NO_INSTRUCTION UINT32_MAX

// A tensor in planned memory. Instructions are counted through all chains.
typedef struct sc_rt_planned {
    uint32_t value;  // of the file
    sc_rt_planned_kind kind;
    sc_rt_value_info info;
    uint32_t memory_id;
    uint64_t offset;
    bool is_output;
    uint32_t first, last;  // that name it, views of it not among them; or SC_RT_NO_INSTRUCTION
    uint32_t from, until;  // what it holds matters: nobody else may be there; none when unused
    uint32_t writer;       // the first to write it, or SC_RT_NO_INSTRUCTION
    uint32_t base;         // of a view: place in `values` of what it shows
} sc_rt_planned;

typedef struct sc_rt_memory_info {
    uint64_t *bytes;  // per memory id, from id 1 on
    uint32_t memory_count;
    sc_rt_planned *values;  // in the order of the file
    uint32_t value_count;
    sc_str *ops;  // by instruction, "aten::add.out"; of delegates the backend; else empty
    uint64_t
        *live;  // by instruction: bytes of all values whose bytes matter, views counting nothing
    uint32_t instruction_count;
    uint32_t peak;  // the first instruction with the most, or SC_RT_NO_INSTRUCTION
} sc_rt_memory_info;

// Named data in the program itself, which backends look up.
typedef struct sc_rt_named_info {
    sc_str key;
    uint64_t bytes;
} sc_rt_named_info;

typedef struct sc_rt_program_info {
    uint64_t file_bytes, program_bytes;
    // Segments by what names them; each is counted once.
    uint64_t constant_bytes, mutable_bytes, delegate_bytes, named_bytes, other_bytes;
    uint32_t segment_count, constant_count;
    sc_rt_named_info *named;
    uint32_t named_count;
} sc_rt_program_info;

void sc_rt_program_info_get(const sc_rt_program *program, sc_arena *scratch,
                            sc_rt_program_info *out);
// How many parts of method `index` went to backends.
uint32_t sc_rt_part_count(const sc_rt_program *program, uint32_t index);
// The backend's description of part `part` of method `index` as lines of text. No text is added if
// the backend is unknown or has no description.
sc_status sc_rt_part_print(sc_ctx *ctx, const sc_rt_program *program, uint32_t index, uint32_t part,
                           sc_sb *out);
// Arrays are made on `arena`. The keys of damaged parts are left out.
sc_status sc_rt_method_info_get(sc_ctx *ctx, const sc_rt_program *program, uint32_t index,
                                sc_arena *arena, sc_rt_method_info *out);

// How method `index` uses its planned memory. Arrays are made on `arena`. SC_ERR_CORRUPT when two
// values overlap while both matter, or one lies outside of its memory. If a move has made a value
// show another one's bytes, the other one counts until the move only.
sc_status sc_rt_memory_info_get(sc_ctx *ctx, const sc_rt_program *program, uint32_t index,
                                sc_arena *arena, sc_rt_memory_info *out);

#endif
