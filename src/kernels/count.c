// bincount: the number of occurrences of each number, or the sum of their weights.
#include "kernels/iter.h"

static void add_weight(const sc_tensor *out, int64_t place, double weight) {
    if (out->dtype == SC_DTYPE_F32)
        ((float *)out->data)[place] += (float)weight;
    else
        ((double *)out->data)[place] += weight;
}

// (self, weights, minlength, out): the shape rule has made room for the largest number.
static sc_status run_bincount(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *weights = sc_call_tensor(call, 1);
    const sc_tensor *out = sc_call_out(call);
    bool is_single = weights && weights->dtype == SC_DTYPE_F32;
    if (out->dtype != (!weights ? SC_DTYPE_I64 : is_single ? SC_DTYPE_F32 : SC_DTYPE_F64))
        return sc_call_no_kernel(call);
    if (!sc_dtype_is_integral((sc_dtype)self->dtype, false) ||
        (weights && sc_class_of(weights->dtype) == SC_CLASS_COUNT))
        return sc_call_no_kernel(call);
    if (self->rank != 1 || out->rank != 1 || (weights && weights->numel != self->numel))
        return sc_call_fail(call, SC_ERR_SHAPE, "needs one weight for each number");
    memset(out->data, 0, (size_t)out->numel * sc_dtype_bytes((sc_dtype)out->dtype));
    for (int64_t i = 0; i < self->numel; i++) {
        int64_t place = sc_tensor_integer(self, i * self->strides[0]);
        if (place < 0 || place >= out->numel)
            return sc_call_fail(call, SC_ERR_INDEX, "has a negative or too large number, %lld",
                                (long long)place);
        if (weights)
            add_weight(out, place, sc_tensor_real(weights, i * weights->strides[0]));
        else
            ((int64_t *)out->data)[place]++;
    }
    return SC_OK;
}

SC_KERNEL(bincount, .run = run_bincount);
