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
        for (uint32_t k = 0; k < count; k++)
            out[k] = value->ints[k]->i;
    }
    if (count == 1 && expand > 1) {
        count = expand < max ? expand : max;
        for (uint32_t k = 1; k < count; k++)
            out[k] = out[0];
    }
    return count;
}

uint32_t sc_wrap_dim(int64_t dim, uint32_t rank) {
    if (rank == 0)
        return 0;
    int64_t wrapped = dim % (int64_t)rank;
    return (uint32_t)(wrapped < 0 ? wrapped + (int64_t)rank : wrapped);
}

uint32_t sc_call_dim(const sc_kernel_call *c, uint32_t i, uint32_t rank) {
    return sc_wrap_dim(sc_call_integer(c, i), rank);
}
