// From lowered methods with a memory plan to the bytes of a .pte, and of .ptd files beside it.
//
// Expects methods in executable form: functional core operators that have an out form, symbolic
// operators, control flow with bodies, and `copy_` nodes that write mutations back. Out arguments,
// lists and return slots of the format are derived from the operator table here; nothing of them
// exists in the graph.
#ifndef SC_EMIT_H
#define SC_EMIT_H

#include "base/cord.h"
#include "core/options.h"
#include "plan/storage.h"

// What was written for one method, in the order of the file.
typedef struct sc_emit_plan {
    const sc_name *name;
    bool is_constant;  // answers without running
    uint32_t value_count, operator_count, instruction_count;
    uint32_t *debug_handles;  // by instruction; 0 where a node has none
    const sc_node **nodes;    // by instruction; NULL for scaffolding
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

// `tables` holds one storage table per method, in the order of program->methods. Methods are
// written sorted by name, constant methods after them. The same input gives the same bytes.
// Reads weights only to compare those that may be equal.
sc_status sc_emit_program(sc_ctx *ctx, const sc_program *program, const sc_storage_table *tables,
                          const sc_options *options, sc_emit_result *out);

#endif
