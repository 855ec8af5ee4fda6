// The record of a loaded method. Private to src/rt.
// Prefix: sc_rt_ (runtime) is the loaded method and its values here.
#ifndef SC_RT_METHOD_H
#define SC_RT_METHOD_H

#include "rt/code.h"
#include "rt/program.h"

// The memory of a value of the file, and how instructions use it.
typedef struct sc_rt_place {
    uint32_t memory_id;  // tensors; 0: not planned
    uint64_t offset, bytes;
    uint32_t buffer_index;     // initial bytes; 0: it has no buffer
    sc_rt_datum *datum;        // initial bytes from a data file
    sc_rt_deferred *deferred;  // a constant that is read when it is packed
    bool is_constant;
    bool is_input;
    bool is_written;  // written by an instruction
    bool is_state;    // read before anything writes it: survives from run to run
    bool is_loose;    // its record changes during a run: moved, freed, re-pointed
} sc_rt_place;

// A tensor input as it was set, in the method's layout.
typedef struct sc_rt_staged {
    uint8_t *bytes;
    uint64_t size;
    bool is_set;
} sc_rt_staged;

// Memory of constants computed at load.
typedef struct sc_rt_folded {
    struct sc_rt_folded *next;
    uint8_t *memory;
} sc_rt_folded;

// A constant operand in the order that a kernel reads.
typedef struct sc_rt_packed {
    struct sc_rt_packed *next;
    const void *constant;
    uint64_t place;  // in the packed file that it was read from; 0: it was packed here
    sc_packing packing;
} sc_rt_packed;

// A loose value as it is at the start of a run.
typedef struct sc_rt_loose {
    uint32_t value;
    sc_evalue initial;
    sc_tensor tensor;  // without the members that a resize changes
} sc_rt_loose;

// The input whose bytes decide if a run leaves out the remembered instructions (remember.c).
typedef struct sc_rt_remembered {
    uint32_t input;    // its index + 1; 0: there are no such instructions
    bool is_valid;     // state has the results of the last run that executed them
    bool has_changed;  // the input has been set to other bytes since then
} sc_rt_remembered;

struct sc_rt_method {
    sc_rt_program *program;
    sc_fb_table plan;
    sc_str name;
    uint32_t plan_index;
    sc_evalue *values;
    sc_rt_place *places;
    uint32_t value_count;
    uint32_t *inputs, *outputs;
    uint32_t input_count, output_count;
    sc_rt_staged *staged;
    sc_rt_remembered remembered;
    sc_rt_instruction *code;
    uint32_t code_count;
    sc_rt_delegate *delegates;
    uint32_t delegate_count;
    sc_rt_pool *memory;  // by memory id: a pool of the program, or memory of its own
    uint32_t memory_count;
    bool owns_activations;  // memory id 1 is the method's own, because its state lies there
    uint8_t *loose_memory;  // tensors without planned memory
    uint8_t *stage_memory;
    uint8_t *scratch;
    sc_rt_folded *folded;
    sc_rt_packed *packed;
    sc_rt_loose *loose;
    uint32_t loose_count;
};

// The index of a value in the method's array.
static inline uint32_t sc_rt_value_index(const sc_rt_method *method, const sc_evalue *value) {
    return (uint32_t)(value - method->values);
}

// A constant whose bytes were freed after packing. No instruction reads it, and listeners do not
// see it.
void sc_rt_constant_set_gone(sc_tensor *tensor);
bool sc_rt_constant_is_gone(const sc_evalue *value);

#endif
