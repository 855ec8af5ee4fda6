// Descriptions of a program, its methods and its planned memory, read from the file without loading
// a method.
// Prefix: sc_rt_ (runtime) describes programs here; the names end in _info_get.
#ifndef SC_RT_LOOK_H
#define SC_RT_LOOK_H

#include "rt/rt.h"

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
    // Bytes of segments by purpose; each is counted once.
    uint64_t constant_bytes, mutable_bytes, delegate_bytes, named_bytes, other_bytes;
    sc_rt_named_info *named;
    uint32_t named_count;
} sc_rt_program_info;

void sc_rt_program_info_get(const sc_rt_program *program, sc_arena *scratch,
                            sc_rt_program_info *out);
// Arrays are made on `arena`. The keys of damaged parts are left out.
sc_status sc_rt_method_info_get(sc_ctx *ctx, const sc_rt_program *program, uint32_t index,
                                sc_arena *arena, sc_rt_method_info *out);

// The use of planned memory by method `index`. Arrays are made on `arena`. SC_ERR_CORRUPT if two
// values overlap while both matter, or if one lies outside its memory. If a move makes a value show
// another value's bytes, the other one counts only until the move.
sc_status sc_rt_memory_info_get(sc_ctx *ctx, const sc_rt_program *program, uint32_t index,
                                sc_arena *arena, sc_rt_memory_info *out);

#endif
