// Questions to kernels about a call when a program is loaded. They look at the largest sizes, which
// may never come. So a kernel's objection to them is not reported at load, but when the call is
// made.
// Prefix: sc_rt_ask_ asks a kernel one question about a call.
#ifndef SC_RT_ASKS_H
#define SC_RT_ASKS_H

#include "base/diag.h"
#include "kernels/kernel.h"

// Bytes of scratch space; 0 where the kernel needs none.
static inline uint64_t sc_rt_ask_scratch(const sc_kernel *kernel, const sc_kernel_call *call) {
    const sc_diag_mark diags = sc_diags_mark(call->ctx);
    const uint64_t bytes = kernel->scratch ? kernel->scratch(call) : 0;
    sc_diags_rewind(call->ctx, diags);
    return bytes;
}

// Does the kernel have a packed form of its constants? `packing` gets its size.
static inline bool sc_rt_ask_packs(const sc_kernel *kernel, const sc_kernel_call *call,
                                   sc_packing *packing) {
    const sc_diag_mark diags = sc_diags_mark(call->ctx);
    const bool packs = kernel->packs && kernel->packs(call, packing);
    sc_diags_rewind(call->ctx, diags);
    return packs;
}

// The gain from channels last, in the unit of kernel.h; 0 if the kernel does not say.
static inline double sc_rt_ask_gain(const sc_kernel *kernel, const sc_kernel_call *call) {
    const sc_diag_mark diags = sc_diags_mark(call->ctx);
    const double gain = kernel->gain ? kernel->gain(call) : 0;
    sc_diags_rewind(call->ctx, diags);
    return gain;
}

#endif
