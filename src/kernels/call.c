// How kernels read their arguments. The runtime has checked tags against the schema; what a schema
// leaves open (a Scalar may be an int, a bool or a double) is settled here.
#include "kernels/convert.h"
#include "kernels/kernel.h"

double sc_call_number(const sc_kernel_call *c, uint32_t i) {
    const sc_evalue *value = c->args[i];
    switch (value->tag) {
    case SC_EVALUE_INT: return (double)value->i;
    case SC_EVALUE_BOOL: return value->b ? 1.0 : 0.0;
    case SC_EVALUE_DOUBLE: return value->d;
    default: return 0.0;
    }
}

int64_t sc_call_integer(const sc_kernel_call *c, uint32_t i) {
    const sc_evalue *value = c->args[i];
    switch (value->tag) {
    case SC_EVALUE_INT: return value->i;
    case SC_EVALUE_BOOL: return value->b;
    case SC_EVALUE_DOUBLE: return sc_f64_to_i64(value->d);
    default: return 0;
    }
}

uint32_t sc_call_ints(const sc_kernel_call *c, uint32_t i, int64_t *out, uint32_t max,
                      uint32_t expand) {
    const sc_evalue *value = c->args[i];
    if (value->tag == SC_EVALUE_INT) {  // int[2] accepts a single int
        out[0] = value->i;
    } else if (value->tag != SC_EVALUE_INT_LIST) {
        return 0;
    }
    uint32_t count = value->tag == SC_EVALUE_INT ? 1 : value->count;
    count = count < max ? count : max;
    if (value->tag == SC_EVALUE_INT_LIST) {
        for (uint32_t k = 0; k < count; k++) out[k] = value->ints[k]->i;
    }
    if (count == 1 && expand > 1) {
        count = expand < max ? expand : max;
        for (uint32_t k = 1; k < count; k++) out[k] = out[0];
    }
    return count;
}

uint32_t sc_wrap_dim(int64_t dim, uint32_t rank) {
    if (rank == 0) return 0;
    int64_t wrapped = dim % (int64_t)rank;
    return (uint32_t)(wrapped < 0 ? wrapped + (int64_t)rank : wrapped);
}

uint32_t sc_call_dim(const sc_kernel_call *c, uint32_t i, uint32_t rank) {
    return sc_wrap_dim(sc_call_integer(c, i), rank);
}

sc_status sc_call_resize(const sc_kernel_call *c, sc_tensor *out, const int64_t *sizes) {
    uint64_t bytes = sc_dtype_bytes((sc_dtype)out->dtype), numel = 1;
    bool fits = true, same = true;
    for (uint32_t d = 0; d < out->rank; d++) {
        same = same && sizes[d] == out->sizes[d];
        fits = fits && sizes[d] >= 0 && sc_mul_u64(numel, (uint64_t)sizes[d], &numel) &&
               sc_mul_u64(bytes, (uint64_t)sizes[d], &bytes);
    }
    if (same) return SC_OK;
    if (!fits || !out->is_dynamic || bytes > out->capacity_bytes)
        return sc_fail(c->ctx, SC_ERR_SHAPE, "Export with a larger bound for this result.",
                       "%s finds more than its result may hold", c->op->name);
    out->numel = (int64_t)numel;
    int64_t stride = 1;
    for (uint32_t k = out->rank; k-- > 0;) {
        uint32_t d = out->dim_order[k];
        out->sizes[d] = sizes[d];
        out->strides[d] = stride;
        stride *= sizes[d] > 0 ? sizes[d] : 1;
    }
    return SC_OK;
}
