// State that the emitter's files share: the program being written and, inside it, one method at a
// time. Private to src/emit.
//
// A value of the format is an index into the method's list of EValues. Indices are given on first
// use, so unused values are never written. Equal constants share one index, because no instruction
// writes to them.
// Prefix: sc_emit_ gives the index of a value, or writes one instruction.
#ifndef SC_EMIT_STATE_H
#define SC_EMIT_STATE_H

#include "base/store.h"
#include "emit/emit.h"
#include "format/flatbuf.h"
#include "ir/part.h"

// --- The program ---------------------------------------------------------------------------------

// The place in the file where a delegate names its backend's bytes.
typedef struct sc_emit_processed {
    sc_fb_ref reference;  // the table whose index is filled in at the end
    bool is_inline;       // inside the FlatBuffer, not a segment
    uint32_t blob;        // in `segments`
} sc_emit_processed;

// A mutable buffer as one method starts with it.
typedef struct sc_emit_start {
    const sc_method *method;
    uint32_t blob;  // in `mutables`
} sc_emit_start;

typedef struct sc_emit_state {
    sc_ctx *ctx;
    sc_arena *arena;
    sc_options options;
    sc_fb_builder fb;
    sc_store constants, mutables;         // one segment each; blob 0 says "no data"
    sc_store segments;                    // a segment for each blob, here or in the .ptd of its tag
    SC_VEC(sc_emit_processed) processed;  // by delegate, over all methods
    uint32_t *segment_of;                 // of each blob of `segments`; 0: not in the .pte
    sc_imap starts;                       // offset of a mutable buffer -> sc_emit_start
    sc_map vectors;                       // content -> sc_fb_ref of an equal vector
    sc_map traces;                        // text of a stack trace -> sc_fb_ref of its frames
} sc_emit_state;

typedef enum sc_emit_kind {
    SC_EMIT_KERNEL,
    SC_EMIT_DELEGATE,
    SC_EMIT_MOVE,
    SC_EMIT_JUMP_FALSE
} sc_emit_kind;

typedef struct sc_emit_instruction {
    sc_emit_kind kind;
    int32_t a;  // KERNEL: operator; DELEGATE: delegate; MOVE: from; JUMP_FALSE: condition
    int32_t b;  // MOVE: to; JUMP_FALSE: destination
    uint32_t first_arg, arg_count;  // KERNEL, DELEGATE: in `args`
    const sc_node *node;            // NULL for scaffolding
    const sc_node *served;          // KERNEL, DELEGATE: the node's; for scaffolding that of the
                                    // loop
} sc_emit_instruction;

typedef struct sc_emit_method sc_emit_method;
struct sc_emit_method {
    sc_emit_state *state;
    const sc_storage_table *storage;  // NULL in constant methods
    SC_VEC(sc_fb_ref) values;         // EValues
    int32_t *ids;                     // EValue by sc_value.mark, -1 before its first use
    sc_map pool;                      // kind and content -> index + 1 of a constant EValue
    SC_VEC(sc_fb_ref) operators;
    sc_map operator_ids;  // out name -> index + 1
    SC_VEC(sc_fb_ref) delegates;
    SC_VEC(sc_emit_instruction) code;
    SC_VEC(int32_t) args;
    uint32_t depth;                                                    // of nested control flow
    sc_status (*emit_body)(sc_emit_method *m, const sc_graph *graph);  // sc_emit_graph
};

// --- Values (emit_values.c) ----------------------------------------------------------------------

// Constants, shared with equal ones.
int32_t sc_emit_null(sc_emit_method *m);
int32_t sc_emit_int(sc_emit_method *m, int64_t value);
int32_t sc_emit_bool(sc_emit_method *m, bool value);
int32_t sc_emit_list(sc_emit_method *m, uint8_t list_type, const int32_t *ids, uint32_t count);
// The empty tensor that stands for an absent required one.
int32_t sc_emit_missing(sc_emit_method *m);
// A number that instructions write to, which is never shared. It starts at `value`.
int32_t sc_emit_variable(sc_emit_method *m, int64_t value);
// An EValue of its own for a number, bool, string or None: inputs and results of constant methods.
sc_status sc_emit_unshared(sc_emit_method *m, const sc_arg *arg, int32_t *out);
// An EValue of its own for a tensor that a constant method returns.
sc_status sc_emit_constant(sc_emit_method *m, const sc_constant *constant, int32_t *out);

// The index of an IR value, made on first use.
sc_status sc_emit_value(sc_emit_method *m, const sc_value *value, int32_t *out);
// The index of an argument for `param`.
sc_status sc_emit_arg(sc_emit_method *m, const sc_param *param, const sc_arg *arg, int32_t *out);
// A number, bool, string, None or IR value without a schema to tell its type.
sc_status sc_emit_plain(sc_emit_method *m, const sc_arg *arg, int32_t *out);

// A tensor's table (emit_tensor.c).
sc_status sc_emit_tensor(sc_emit_method *m, const sc_value *value, sc_fb_ref *out);
// The table of a static, row-major tensor in the constant segment.
sc_status sc_emit_constant_tensor(sc_emit_state *state, const sc_constant *constant,
                                  sc_fb_ref *out);

// --- Nodes (emit_code.c, emit_control.c, emit_delegate.c) ----------------------------------------

sc_status sc_emit_graph(sc_emit_method *m, const sc_graph *graph);
sc_status sc_emit_control(sc_emit_method *m, const sc_node *node);
sc_status sc_emit_delegate(sc_emit_method *m, const sc_node *node);

// --- Instructions (emit_instructions.c) ----------------------------------------------------------

// Appends a call of the operator's .pte form. `args` in the format's order, return slot included.
sc_status sc_emit_call(sc_emit_method *m, const sc_op *op, const int32_t *args, uint32_t count,
                       const sc_node *node);
// The same for a call that serves `served` and does not write its results.
sc_status sc_emit_scaffold(sc_emit_method *m, const sc_op *op, const int32_t *args, uint32_t count,
                           const sc_node *served);
void sc_emit_delegate_call(sc_emit_method *m, int32_t delegate, const int32_t *args, uint32_t count,
                           const sc_node *node);
void sc_emit_move(sc_emit_method *m, int32_t from, int32_t to);
// Returns the instruction's index; its destination is set later with sc_emit_land.
uint32_t sc_emit_jump_false(sc_emit_method *m, int32_t condition);
void sc_emit_jump_back(sc_emit_method *m, int32_t condition, uint32_t destination);
// Makes the jump go to the instruction that comes next.
void sc_emit_land(sc_emit_method *m, uint32_t jump);

// --- Vectors and strings, shared with equal ones (emit_shared.c) ---------------------------------

sc_fb_ref sc_emit_vector(sc_emit_state *state, const void *items, uint32_t count,
                         uint32_t item_bytes);
sc_fb_ref sc_emit_string(sc_emit_state *state, sc_str text);

// --- Stack traces (emit_trace.c) -----------------------------------------------------------------

// Those of all instructions; 0 where the options do not ask for them.
sc_fb_ref sc_emit_traces(sc_emit_method *m);

// --- Files (emit_ptd.c) --------------------------------------------------------------------------

// The file of all data with that tag.
sc_status sc_emit_ptd(sc_emit_state *state, sc_str tag, sc_cord *out);

#endif
