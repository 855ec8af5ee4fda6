#include "kernels/index_walk.h"

sc_status sc_index_check_dtype(const sc_kernel_call *call, const sc_tensor *index) {
    if (index->dtype != SC_DTYPE_I64 && index->dtype != SC_DTYPE_I32)
        return sc_call_no_kernel(call);
    return SC_OK;
}

static sc_status out_of_range(const sc_kernel_call *call, int64_t index, int64_t size) {
    return sc_call_fail(call, SC_ERR_INDEX, "index %lld is out of range for a dim of size %lld",
                        (long long)index, (long long)size);
}

sc_status sc_index_check(const sc_kernel_call *call, const sc_tensor *index, int64_t size) {
    const sc_load_fn load = sc_loader(SC_CLASS_I64, index->dtype);
    sc_stream walk;
    sc_stream_init_dims(&walk, index->data, sc_dtype_bytes((sc_dtype)index->dtype), index->rank,
                        index->sizes, index->strides);
    for (int64_t left = index->numel; left > 0; left -= SC_BLOCK) {
        int64_t block[SC_BLOCK], n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(&walk, load, block, sizeof *block, n);
        for (int64_t i = 0; i < n; i++)
            if (block[i] < 0 || block[i] >= size) return out_of_range(call, block[i], size);
    }
    return SC_OK;
}

void sc_index_walk_init(sc_index_walk *w, const sc_tensor *index) {
    memset(w, 0, sizeof *w);
    w->rank = index->rank;
    for (uint32_t d = 0; d < index->rank; d++) {
        w->sizes[d] = index->sizes[d];
        w->strides[SC_INDEX][d] = index->strides[d];
    }
}

bool sc_index_walk_add(sc_index_walk *w, uint32_t slot, const sc_tensor *t, uint32_t dim,
                       bool along) {
    if (t->rank != w->rank) return false;
    for (uint32_t d = 0; d < w->rank; d++) {
        if (d == dim && !along) continue;
        if (w->sizes[d] > t->sizes[d]) return false;
        w->strides[slot][d] = t->strides[d];
    }
    return true;
}

void sc_index_walk_next(sc_index_walk *w) {
    for (uint32_t d = w->rank; d-- > 0;) {
        for (int k = 0; k < 3; k++) w->offsets[k] += w->strides[k][d];
        if (++w->at[d] < w->sizes[d]) return;
        for (int k = 0; k < 3; k++) w->offsets[k] -= w->sizes[d] * w->strides[k][d];
        w->at[d] = 0;
    }
}

sc_tensor sc_index_as_vector(const sc_tensor *t, int64_t *one) {
    sc_tensor v = *t;
    if (t->rank == 0) {
        v.rank = 1;
        v.sizes = v.strides = one;
    }
    return v;
}

void sc_index_walk_seek(sc_index_walk *w, int64_t at) {
    memset(w->offsets, 0, sizeof w->offsets);
    for (uint32_t d = w->rank; d-- > 0; at /= w->sizes[d]) {
        w->at[d] = at % w->sizes[d];
        for (int k = 0; k < 3; k++) w->offsets[k] += w->at[d] * w->strides[k][d];
    }
}
