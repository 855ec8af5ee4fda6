// Tensors of the runtime: strides, sizes and layouts. Private to src/rt.
// Prefix: sc_rt_tensor_ changes the sizes, strides or bytes of a tensor that the runtime owns.
#ifndef SC_RT_RUN_TENSOR_H
#define SC_RT_RUN_TENSOR_H

#include "rt/rt.h"

// Strides and element count from sizes and dim order.
void sc_rt_tensor_set_strides(sc_tensor *tensor);
uint64_t sc_rt_tensor_bytes(const sc_tensor *tensor);
// SC_ERR_SHAPE if the sizes do not fit the tensor's memory, or must not change.
sc_status sc_rt_tensor_resize(sc_ctx *ctx, sc_tensor *tensor, const int64_t *sizes, uint32_t rank);
// Copies row-major bytes into the tensor's layout.
void sc_rt_tensor_write(sc_tensor *tensor, void *to, const void *row_major);
// The fault of a call that writes to a constant or over an operand; NULL if it has no such fault.
const char *sc_rt_call_write_fault(const sc_kernel_call *call);

#endif
