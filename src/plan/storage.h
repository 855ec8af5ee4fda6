// The place of every value of a method when it runs. The planner decides it, and the emitter reads
// it.
//
// One table per method, indexed by sc_value.mark: sc_storage_build numbers all values, bodies of
// control flow included, and the marks must stay untouched until the method is emitted.
// sc_storage_build decides everything that follows from the signature and from control flow; the
// planner then gives every SC_STORAGE_PLANNED and SC_STORAGE_MUTABLE item its place and may turn
// results of view ops into SC_STORAGE_ALIAS.
// Prefix: sc_storage_, which builds that table and reads it.
#ifndef SC_STORAGE_H
#define SC_STORAGE_H

#include "ir/ir.h"

typedef enum sc_storage_kind {
    SC_STORAGE_NONE,       // not a tensor
    SC_STORAGE_PLANNED,    // at `offset` of buffer `memory_id`; 0: not placed yet
    SC_STORAGE_UNPLANNED,  // the caller supplies the memory: inputs and outputs, if the options say
                           // so
    SC_STORAGE_CONSTANT,   // a parameter, lifted constant or buffer that is never written
    SC_STORAGE_MUTABLE,    // a buffer that is written: placed like PLANNED, with bytes loaded at
                           // start
    SC_STORAGE_ALIAS,  // a view without instructions: inside `base`, `offset` bytes from its start
    SC_STORAGE_SAME    // the same tensor as `base`: result of an in-place op, operand seen from a
                       // body, branch output that is written straight into the cond's result
} sc_storage_kind;

typedef struct sc_storage {
    sc_storage_kind kind;
    uint32_t memory_id;     // 1-based
    uint64_t offset;        // bytes
    sc_value *base;         // ALIAS, SAME
    sc_value *value;        // the value whose storage this is
    sc_constant *constant;  // CONSTANT, MUTABLE
} sc_storage;

typedef struct sc_storage_table {
    sc_method *method;
    SC_VEC(sc_storage) items;       // by sc_value.mark
    SC_VEC(uint64_t) buffer_bytes;  // of memory ids 1, 2, ... (element 0 is memory id 1)
} sc_storage_table;

// How a list of operands of control flow reaches the bodies' inputs. The lists come in order. An
// operand is read directly, carried from iteration to iteration (and returned as the first
// results), or sliced along the first dimension, one slice for each iteration.
typedef enum sc_operand_role {
    SC_OPERAND_READ,
    SC_OPERAND_CARRY,
    SC_OPERAND_SLICE
} sc_operand_role;

// The role of the `list`-th list of operands of a higher-order op.
sc_operand_role sc_storage_operand_role(const sc_op *op, uint32_t list);

// Numbers the values of `method` and classifies them. All results of tensor type that are not
// otherwise decided come out as SC_STORAGE_PLANNED with memory_id 0. User inputs and outputs are
// PLANNED or UNPLANNED, as the arguments say.
sc_status sc_storage_build(sc_ctx *ctx, sc_method *method, bool plan_inputs, bool plan_outputs,
                           sc_storage_table *out);

static inline sc_storage *sc_storage_of(const sc_storage_table *table, const sc_value *value) {
    return &table->items.data[value->mark];
}

// The dim order that a tensor is written with. If sizes of 1 leave a choice, channels-last strides
// stay channels-last and all others become row-major. False when the strides fit no order.
bool sc_storage_dim_order(const sc_value *value, uint8_t *order);
bool sc_storage_spec_order(sc_exprs *exprs, const sc_spec *spec, uint8_t *order);

// The storage at the end of the chain of `base` links, and the offset in it at which `value`
// starts. Chains are short and acyclic by construction: a base is always defined before its alias.
sc_storage *sc_storage_root(const sc_storage_table *table, const sc_value *value, uint64_t *offset);

#endif
