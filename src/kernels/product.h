// The steps that convolutions and matrix products share, from a call to a row of compute: the row
// that runs, its packing, and f32 copies for halves.
// Prefix: sc_product_ carries out one step of a convolution or matrix product.
#ifndef SC_PRODUCT_H
#define SC_PRODUCT_H

#include "compute/compute.h"
#include "kernels/kernel.h"

// A record whose operands all have one type, or f32 if the type is a half, with the operations that
// loading folded into the call.
sc_record sc_product_record(const sc_kernel_call *call, sc_record_kind kind, uint8_t dtype);
// The row that runs with this much scratch; NULL if there is none for the types.
const sc_variant *sc_product_variant(const sc_kernel_call *call, const sc_record *record,
                                     uint64_t scratch_bytes);
void sc_product_run(const sc_kernel_call *call, const sc_variant *variant, const sc_record *record,
                    void *scratch);
// Would the best row for the record pack the weights, operand `arg`? `bias` is the operand of the
// bias that it packs with them, or `arg` again.
bool sc_product_packs(const sc_record *record, uint32_t arg, uint32_t bias, sc_packing *packing);
void sc_product_pack(const sc_record *record, const sc_packing *packing);

// Bytes of a copy in f32, and the copy at *scratch, which advances past it. A dense tensor keeps
// its layout, so steps stay valid.
uint64_t sc_product_float_bytes(const sc_tensor *t);
const float *sc_product_floats(const sc_tensor *t, uint8_t **scratch);

#endif
