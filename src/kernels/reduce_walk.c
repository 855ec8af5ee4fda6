// Splits a tensor's dims into kept and reduced ones and visits them, without arithmetic.
#include "kernels/reduce.h"

uint32_t sc_call_dim_mask(const sc_kernel_call *call, uint32_t argument, uint32_t rank) {
    int64_t dims[SC_RANK_MAX];
    uint32_t mask = 0, all = (1u << rank) - 1;
    uint32_t count = sc_call_ints(call, argument, dims, SC_RANK_MAX, 0);
    for (uint32_t i = 0; i < count; i++) mask |= 1u << sc_wrap_dim(dims[i], rank);
    return count == 0 ? all : mask & all;
}

static void keep_dim(sc_reduction *r, int64_t size, int64_t in_stride, int64_t out_stride) {
    uint32_t last = r->rank - 1;
    r->out_count *= size;
    if (size == 1) return;
    if (r->rank > 0 && r->in_strides[last] == in_stride * size &&
        r->out_strides[last] == out_stride * size) {
        r->sizes[last] *= size;
    } else {
        last = r->rank++;
        r->sizes[last] = size;
    }
    r->in_strides[last] = in_stride;
    r->out_strides[last] = out_stride;
}

sc_status sc_reduction_init(sc_ctx *ctx, sc_reduction *r, const sc_tensor *in, const sc_tensor *out,
                            uint32_t mask, sc_reduce_order order) {
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX], out_strides[SC_RANK_MAX] = {0};
    uint32_t reduced = 0, kept = 0;
    bool keeps_dims = out->rank == in->rank, fits = true;
    for (uint32_t d = 0; d < in->rank; d++) {
        bool is_kept = !(mask >> d & 1);
        uint32_t at = keeps_dims ? d : kept;
        if (is_kept || keeps_dims)
            fits = fits && at < out->rank && out->sizes[at] == (is_kept ? in->sizes[d] : 1);
        if (is_kept && fits) out_strides[d] = out->strides[at];
        kept += is_kept;
    }
    if (!fits || (!keeps_dims && kept != out->rank))
        return sc_pair_fail(ctx, in, "does not reduce to", out);
    r->in = in;
    r->rank = 0;
    r->out_count = r->count = 1;
    for (uint32_t k = 0; k < in->rank; k++) {
        uint32_t d = in->dim_order[k];
        if (!(mask >> d & 1)) keep_dim(r, in->sizes[d], in->strides[d], out_strides[d]);
        d = order == SC_REDUCE_INDEX ? k : d;
        if (!(mask >> d & 1)) continue;
        sizes[reduced] = in->sizes[d];
        strides[reduced++] = in->strides[d];
        r->count *= in->sizes[d];
    }
    sc_stream_init_dims(&r->reduced, in->data, sc_dtype_bytes((sc_dtype)in->dtype), reduced, sizes,
                        strides);
    return SC_OK;
}

sc_status sc_reduction_init_along(sc_ctx *ctx, sc_reduction *r, const sc_tensor *in,
                                  const sc_tensor *out, uint32_t dim) {
    int64_t size = 1, stride = 1;
    if (in->rank != out->rank) return sc_pair_fail(ctx, out, "does not have the rank of", in);
    r->in = in;
    r->rank = 0;
    r->out_count = 1;
    for (uint32_t k = 0; k < in->rank; k++) {
        uint32_t d = in->dim_order[k];
        if (d != dim && in->sizes[d] != out->sizes[d])
            return sc_pair_fail(ctx, out, "does not have the sizes of", in);
        if (d != dim) keep_dim(r, in->sizes[d], in->strides[d], out->strides[d]);
    }
    if (in->rank > 0) {
        size = in->sizes[dim];
        stride = in->strides[dim];
    }
    r->count = size;
    sc_stream_init_dims(&r->reduced, in->data, sc_dtype_bytes((sc_dtype)in->dtype), 1, &size,
                        &stride);
    return SC_OK;
}

void sc_reduction_each(const sc_reduction *r, sc_reduce_visit visit, void *user) {
    int64_t index[SC_RANK_MAX] = {0}, in_offset = 0, out_offset = 0;
    if (r->out_count == 0) return;
    for (;;) {
        sc_stream elements = r->reduced;
        elements.data += in_offset * elements.item_bytes;
        visit(user, &elements, out_offset);
        uint32_t d = r->rank;
        for (;; d--) {
            if (d == 0) return;
            in_offset += r->in_strides[d - 1];
            out_offset += r->out_strides[d - 1];
            if (++index[d - 1] < r->sizes[d - 1]) break;
            in_offset -= r->sizes[d - 1] * r->in_strides[d - 1];
            out_offset -= r->sizes[d - 1] * r->out_strides[d - 1];
            index[d - 1] = 0;
        }
    }
}
