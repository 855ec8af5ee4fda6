// The instructions of a method as a run executes them. Private to src/rt.
// Prefix: sc_rt_ (runtime) is an instruction and its parts here.
#ifndef SC_RT_CODE_H
#define SC_RT_CODE_H

#include "rt/event.h"

// A primitive of the runtime: arithmetic on sizes, and views that a run makes.
typedef sc_status (*sc_prim_fn)(const sc_kernel_call *call);

// The kind of a delegate's argument, which calls may not change.
typedef struct sc_rt_declared {
    uint8_t tag, dtype, rank;
    uint8_t dim_order[SC_RANK_MAX];
} sc_rt_declared;

// A part that a backend runs, made from the bytes of the backend's other half.
typedef struct sc_rt_delegate {
    const sc_rt_backend *backend;
    sc_str id;
    bool is_started;  // set by the first instruction that calls it
    void *state;
    uint32_t input_count, arg_count;
    sc_evalue *const *args;    // of the first call; other calls have arguments like them
    sc_rt_declared *declared;  // the kinds that the arguments had at the start
} sc_rt_delegate;

typedef struct sc_rt_instruction {
    uint8_t kind;         // sc_rt_kind
    bool is_dynamic;      // shapes and arguments are checked again on every run
    bool is_remembered;   // runs leave it out while the method's remembered input is the same
    uint32_t next;        // the next instruction if there is no listener: it skips skipped ones
    sc_rt_origin origin;  // in the file
    union {
        sc_prim_fn prim;
        uint32_t target;  // JUMP_FALSE: the index of the destination in this array
    };
    sc_kernel_call call;  // KERNEL, PRIM; a DELEGATE has no operator here
    const struct sc_rt_deferred
        *packed_from;   // the weight of call.packed, if it was left in the file
    uint32_t from, to;  // MOVE, COPY; JUMP_FALSE and FREE use `from`
    uint32_t inputs;    // DELEGATE: how many leading arguments it takes
    sc_rt_delegate *delegate;
    // The instructions that are reported when this one runs; 0 when another one stands for it.
    // `shown` is the one whose results this one leaves in their place; NULL: it leaves no results.
    uint32_t origin_count;
    const sc_rt_origin *origins;
    const struct sc_rt_instruction *shown;
} sc_rt_instruction;

#endif
