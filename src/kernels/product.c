#include "kernels/product.h"

#include "kernels/convert.h"

sc_record sc_product_record(const sc_kernel_call *call, sc_record_kind kind, uint8_t dtype) {
    const uint8_t computed = sc_dtype_is_half((sc_dtype)dtype) ? SC_DTYPE_F32 : dtype;
    sc_record record = {.kind = (uint8_t)kind,
                        .in = computed,
                        .weight = computed,
                        .bias = computed,
                        .out = computed};
    if (call->finish) record.finish = *call->finish;
    return record;
}

const sc_variant *sc_product_variant(const sc_kernel_call *call, const sc_record *record,
                                     uint64_t scratch_bytes) {
    const sc_packing *packed = call->packed;
    const sc_variant *variant = sc_variant_pick(record, packed ? packed->how : NULL, scratch_bytes);
    return packed && packed->is_only && variant != packed->how ? NULL : variant;
}

void sc_product_run(const sc_kernel_call *call, const sc_variant *variant, const sc_record *record,
                    void *scratch) {
    const bool is_packed = call->packed && call->packed->how == variant;
    sc_variant_run(variant, record, is_packed ? call->packed->data : NULL, scratch);
}

bool sc_product_packs(const sc_record *record, uint32_t arg, uint32_t bias, sc_packing *packing) {
    const sc_variant *variant = sc_variant_best(record);
    if (!variant || !variant->algorithm->pack) return false;
    *packing = (sc_packing){.arg = arg,
                            .bias = bias,
                            .how = variant,
                            .name = variant->name,
                            .bytes = sc_variant_pack_bytes(variant, record)};
    return true;
}

void sc_product_pack(const sc_record *record, const sc_packing *packing) {
    const sc_variant *variant = packing->how;
    variant->algorithm->pack(record, packing->data);
}

uint64_t sc_product_float_bytes(const sc_tensor *t) {
    return t ? sc_align_up((uint64_t)t->numel * sizeof(float), 64) : 0;
}

const float *sc_product_floats(const sc_tensor *t, uint8_t **scratch) {
    float *copy = (float *)(void *)*scratch;
    sc_loader(SC_CLASS_F32, t->dtype)(copy, t->data, 1, t->numel);
    *scratch += sc_product_float_bytes(t);
    return copy;
}
