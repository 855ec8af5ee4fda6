// The common way of convolutions and matrix products from a call to a row of compute: the row that
// runs, its packing, and f32 copies if halves are computed. Prefix: sc_product_.
#ifndef SC_PRODUCT_H
#define SC_PRODUCT_H

#include "compute/compute.h"
#include "kernels/kernel.h"

// A record whose operands are all of one type, or of f32 where the type is a half, with what
// loading folded into the call.
sc_record sc_product_record(const sc_kernel_call *call, sc_record_kind kind, uint8_t dtype);
// The row that runs with this much scratch; NULL when there is none for the types.
const sc_variant *sc_product_variant(const sc_kernel_call *call, const sc_record *record,
                                     uint64_t scratch_bytes);
void sc_product_run(const sc_kernel_call *call, const sc_variant *variant, const sc_record *record,
                    void *scratch);
// Would the row that suits the record best have the weights packed, which are operand `arg`, with
// the bias, which is operand `bias` or, where there is none, `arg` again?
bool sc_product_packs(const sc_record *record, uint32_t arg, uint32_t bias, sc_packing *packing);
void sc_product_pack(const sc_record *record, const sc_packing *packing);

// Bytes of a copy in f32, and the copy at *scratch, which moves behind it. A dense tensor keeps its
// layout, so steps stay valid.
uint64_t sc_product_float_bytes(const sc_tensor *t);
const float *sc_product_floats(const sc_tensor *t, uint8_t **scratch);

#endif
