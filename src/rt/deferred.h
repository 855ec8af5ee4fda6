// Constants that are left in the file until they are packed. Private to src/rt.
// Prefix: sc_rt_deferred_ leaves constants in the file, and reads them when they are needed.
#ifndef SC_RT_DEFERRED_H
#define SC_RT_DEFERRED_H

#include "rt/method.h"

// A constant whose only readers are calls that may pack it. It is read for each packing, and its
// own bytes are kept only if some call cannot run on a packing.
struct sc_rt_deferred {
    _Alignas(16) uint8_t mark[16];  // where tensors point until the bytes are in memory
    sc_extent extent;
    const uint8_t *memory;  // all bytes, if a call needs them; else NULL
    uint8_t *owned;         // NULL: the source is in memory
    sc_rt_deferred *next;
};

// The constant that a tensor shows; NULL if it is in memory, or not a constant.
sc_rt_deferred *sc_rt_deferred_of(const sc_rt_program *program, const sc_tensor *tensor);
// Reads a constant for as long as the program is open.
sc_status sc_rt_deferred_need(sc_ctx *ctx, sc_rt_program *program, sc_rt_deferred *constant);
// Reads the constants that an instruction takes, and points its operands at them.
sc_status sc_rt_deferred_need_all(sc_ctx *ctx, sc_rt_method *method, const sc_rt_instruction *in);
// The bytes of a constant for a moment. `*owned` has to be freed if it is not NULL.
sc_status sc_rt_deferred_borrow(sc_ctx *ctx, sc_rt_program *program, const sc_rt_deferred *constant,
                                const uint8_t **bytes, uint8_t **owned);
// Points a tensor at bytes in memory.
void sc_rt_deferred_show(sc_tensor *tensor, const uint8_t *memory);
// Reports progress before `bytes` of the weights of the method that is being loaded are read.
sc_status sc_rt_weights_progress(sc_ctx *ctx, sc_rt_program *program, uint64_t bytes);
void sc_rt_deferred_free(sc_rt_program *program);

#endif
