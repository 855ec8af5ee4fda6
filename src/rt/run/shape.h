// Shapes of calls, by the operators' own rules. Private to src/rt.
// Prefix: sc_rt_call_ checks a call, or infers the shapes of its results.
#ifndef SC_RT_RUN_SHAPE_H
#define SC_RT_RUN_SHAPE_H

#include "rt/code.h"

// Checks the kinds of the arguments against the schema.
sc_status sc_rt_call_check(sc_ctx *ctx, const sc_kernel_call *call);
// Runs the operator's shape rule on a call and gives its results their sizes.
sc_status sc_rt_call_shape(sc_ctx *ctx, const sc_kernel_call *call, bool at_load);
// Computes only the rule's results, on the context's scratch.
sc_status sc_rt_call_infer(const sc_kernel_call *call, bool at_load, struct sc_infer *in);
// Are all results empty, whatever the operands are?
bool sc_rt_call_is_empty(const sc_kernel_call *call);

// The elements of the first operand that a copy of a view reads, by the operator's own shape rule.
typedef struct sc_rt_window {
    uint32_t rank;
    int64_t strides[SC_RANK_MAX];
    int64_t offset;
    bool is_contiguous;
} sc_rt_window;

// False for operators that copy no view, and for calls whose shapes are not known at load.
bool sc_rt_call_window(sc_ctx *ctx, const sc_rt_instruction *in, sc_rt_window *out);

#endif
