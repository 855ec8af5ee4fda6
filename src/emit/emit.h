// Writes lowered methods with a memory plan as the bytes of a .pte, and of its .ptd files.
//
// Methods must be in executable form: functional core operators that have an out form, symbolic
// operators, control flow with bodies, and `copy_` nodes that write mutations back. Out arguments,
// lists and return slots of the format are derived from the operator table here. The graph contains
// none of them.
// Prefix: sc_emit_ writes ("emits") a program as a file.
#ifndef SC_EMIT_H
#define SC_EMIT_H

#include "base/cord.h"
#include "core/options.h"
#include "ir/part.h"
#include "plan/storage.h"

// A call of a delegated part, with the facts that debuggers need.
typedef struct sc_emit_part_call {
    uint32_t instruction;
    const sc_part *part;  // its backend, and what the backend's events stand for
    // Handles of the part's nodes, one each, in the order in which they compute. A node of a body
    // stands before the node that holds the body. The nodes that make the call's results come last,
    // one for each result in order, because ExecuTorch's Inspector pairs results with handles from
    // the end.
    uint32_t *handles;
    uint32_t handle_count;
    uint32_t output_count;  // results of the call
} sc_emit_part_call;

// The instructions written for one method, in the order of the file.
typedef struct sc_emit_plan {
    const sc_name *name;
    bool is_constant;  // constants: no instructions to run
    uint32_t value_count, operator_count, instruction_count;
    // By instruction. `node`: the node whose results it writes, NULL for scaffolding (jumps, moves,
    // and the calls by which loops count and slice). `handle`: that of the node, or for calls of
    // scaffolding that of the loop; 0 for jumps and moves.
    const sc_node **nodes;
    uint32_t *debug_handles;
    SC_VEC(sc_emit_part_call) part_calls;  // in the order of instructions
} sc_emit_plan;

typedef struct sc_emit_file {
    sc_str tag;  // file name without ".ptd"
    sc_cord cord;
} sc_emit_file;

typedef struct sc_emit_result {
    sc_cord program;  // the .pte; weights are extents
    SC_VEC(sc_emit_file) files;
    SC_VEC(sc_emit_plan) plans;
    uint64_t program_bytes;                  // the FlatBuffer with its header
    uint64_t constant_bytes, mutable_bytes;  // segments
} sc_emit_result;

// Adds the constant methods of methods that compute gradients of parameters, before all others.
void sc_emit_training_methods(sc_program *program);

// `tables` has one storage table per method, in the order of program->methods. Methods are written
// in that order, constant methods after them. The same input gives the same bytes. Weights are read
// only to compare those that may be equal.
sc_status sc_emit_program(sc_ctx *ctx, const sc_program *program, const sc_storage_table *tables,
                          const sc_options *options, sc_emit_result *out);

#endif
