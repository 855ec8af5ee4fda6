// Ops whose result depends on the set elements of a mask, in index order: nonzero, masked_select,
// masked_scatter.
#include "kernels/move.h"

// A tensor broadcast to `sizes`, walked in index order.
static sc_status index_stream(const sc_kernel_call *call, sc_stream *s, const sc_tensor *t,
                              uint32_t rank, const int64_t *sizes) {
    int64_t strides[SC_RANK_MAX];
    bool fits = t->rank <= rank;
    for (uint32_t d = 0; fits && d < rank; d++) {
        uint32_t missing = rank - t->rank;
        bool repeats = d < missing || t->sizes[d - missing] == 1;
        fits = repeats || t->sizes[d - missing] == sizes[d];
        strides[d] = repeats ? 0 : t->strides[d - missing];
    }
    if (!fits) return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not broadcast");
    sc_stream_init_dims(s, t->data, sc_dtype_bytes((sc_dtype)t->dtype), rank, sizes, strides);
    return SC_OK;
}

static sc_status need_bool(const sc_kernel_call *call, const sc_tensor *mask) {
    if (mask->dtype != SC_DTYPE_BOOL && mask->dtype != SC_DTYPE_U8) return sc_call_no_kernel(call);
    return SC_OK;
}

static int64_t count_set(sc_stream walk, unsigned dtype, int64_t numel) {
    uint8_t block[SC_BLOCK];
    int64_t count = 0;
    for (int64_t i = 0; i < numel; i += SC_BLOCK) {
        int64_t n = sc_min_i64(SC_BLOCK, numel - i);
        sc_stream_load(&walk, sc_loader(SC_CLASS_B8, dtype), block, 1, n);
        for (int64_t k = 0; k < n; k++) count += block[k];
    }
    return count;
}

// (self, out): one row of coordinates per element that is not zero.
static sc_status run_nonzero(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    sc_tensor *out = sc_call_out(call);
    int64_t sizes[2] = {0, self->rank}, at[SC_RANK_MAX] = {0}, row = 0;
    sc_load_fn load = sc_loader(SC_CLASS_B8, self->dtype);
    sc_stream walk;
    if (!load || out->dtype != SC_DTYPE_I64) return sc_call_no_kernel(call);
    if (out->rank != 2) return sc_call_fail(call, SC_ERR_SHAPE, "needs a matrix for its result");
    SC_TRY(index_stream(call, &walk, self, self->rank, self->sizes));
    sizes[0] = count_set(walk, self->dtype, self->numel);
    SC_TRY(sc_call_resize(call, out, sizes));
    for (int64_t i = 0; i < self->numel; i++) {
        uint8_t set;
        sc_stream_load(&walk, load, &set, 1, 1);
        for (uint32_t d = 0; set && d < self->rank; d++)
            ((int64_t *)out->data)[row * out->strides[0] + d * out->strides[1]] = at[d];
        row += set;
        for (uint32_t d = self->rank; d-- > 0;) {
            if (++at[d] < self->sizes[d]) break;
            at[d] = 0;
        }
    }
    return SC_OK;
}

static sc_status broadcast_pair(const sc_kernel_call *call, const sc_tensor *a, const sc_tensor *b,
                                uint32_t *rank, int64_t *sizes, int64_t *numel) {
    *rank = a->rank > b->rank ? a->rank : b->rank;
    *numel = 1;
    for (uint32_t k = 1; k <= *rank; k++) {
        int64_t x = k <= a->rank ? a->sizes[a->rank - k] : 1;
        int64_t y = k <= b->rank ? b->sizes[b->rank - k] : 1;
        if (x != y && x != 1 && y != 1)
            return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not broadcast");
        sizes[*rank - k] = x == 1 ? y : x;
        if (!sc_mul_i64(*numel, sizes[*rank - k], numel))
            return sc_call_fail(call, SC_ERR_SHAPE, "too many elements");
    }
    return SC_OK;
}

// (self, mask, out)
static sc_status run_masked_select(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *mask = sc_call_tensor(call, 1);
    sc_tensor *out = sc_call_out(call);
    sc_stream values, flags;
    int64_t sizes[SC_RANK_MAX], numel, count, written = 0;
    uint32_t rank, width = sc_dtype_bytes((sc_dtype)self->dtype);
    SC_TRY(need_bool(call, mask));
    SC_TRY(broadcast_pair(call, self, mask, &rank, sizes, &numel));
    SC_TRY(index_stream(call, &values, self, rank, sizes));
    SC_TRY(index_stream(call, &flags, mask, rank, sizes));
    count = count_set(flags, mask->dtype, numel);
    if (out->dtype != self->dtype) return sc_call_no_kernel(call);
    if (out->rank != 1) return sc_call_fail(call, SC_ERR_SHAPE, "needs a vector for its result");
    SC_TRY(sc_call_resize(call, out, &count));
    for (int64_t i = 0; i < numel; i++) {
        char *value, *flag;
        int64_t stride;
        sc_stream_run(&values, 1, &value, &stride);
        sc_stream_run(&flags, 1, &flag, &stride);
        if (*(const uint8_t *)flag) memcpy((char *)out->data + written++ * width, value, width);
    }
    return SC_OK;
}

// (self, mask, source, out): set elements take the source's values in order.
static sc_status run_masked_scatter(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *mask = sc_call_tensor(call, 1);
    const sc_tensor *source = sc_call_tensor(call, 2), *out = sc_call_out(call);
    uint32_t width = sc_dtype_bytes((sc_dtype)out->dtype);
    sc_stream values, flags, from, to;
    SC_TRY(need_bool(call, mask));
    SC_TRY(index_stream(call, &values, self, out->rank, out->sizes));
    SC_TRY(index_stream(call, &flags, mask, out->rank, out->sizes));
    SC_TRY(index_stream(call, &to, out, out->rank, out->sizes));
    SC_TRY(index_stream(call, &from, source, source->rank, source->sizes));
    if (self->dtype != out->dtype || source->dtype != out->dtype) return sc_call_no_kernel(call);
    if (count_set(flags, mask->dtype, out->numel) > source->numel)
        return sc_call_fail(call, SC_ERR_INDEX,
                            "has more elements set in its mask than its source has");
    for (int64_t i = 0; i < out->numel; i++) {
        char *value, *flag, *target;
        int64_t stride;
        sc_stream_run(&values, 1, &value, &stride);
        sc_stream_run(&flags, 1, &flag, &stride);
        sc_stream_run(&to, 1, &target, &stride);
        if (*(const uint8_t *)flag) sc_stream_run(&from, 1, &value, &stride);
        memmove(target, value, width);
    }
    return SC_OK;
}

SC_KERNEL(nonzero, .run = run_nonzero);
SC_KERNEL(masked_select, .run = run_masked_select);
SC_KERNEL(masked_scatter, .run = run_masked_scatter);
