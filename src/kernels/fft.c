// Fourier transforms of tensors: lines along one dim after another (compute/fft.h).
#include "compute/fft.h"

#include <math.h>

#include "base/parallel.h"
#include "kernels/move.h"
#include "kernels/reduce.h"

static bool is_complex(const sc_tensor *t) {
    return t->dtype == SC_DTYPE_C64 || t->dtype == SC_DTYPE_C128;
}

static bool is_real(const sc_tensor *t) {
    return t->dtype == SC_DTYPE_F32 || t->dtype == SC_DTYPE_F64;
}

// --- One dim -------------------------------------------------------------------------------------

typedef struct lines {
    sc_fft plan;
    const sc_reduction *walk;
    sc_fft_line pending[SC_FFT_LANES];
    uint32_t count;
    const sc_tensor *out;
} lines;

static void flush(lines *l) {
    sc_fft_run(&l->plan, l->pending, l->count);
    l->count = 0;
}

static void add_line(void *user, sc_stream *elements, int64_t out_offset) {
    lines *l = user;
    char *out = (char *)l->out->data + out_offset * sc_dtype_bytes((sc_dtype)l->out->dtype);
    l->pending[l->count++] = (sc_fft_line){elements->data, out};
    if (l->count == SC_FFT_LANES) flush(l);
}

// Groups of as many lines as go at a time.
static void transform_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const lines *all = work;
    lines l = {.plan = all->plan, .out = all->out};
    if (thread) l.plan = sc_fft_with_lines(&l.plan, sc_parallel_scratch(thread));
    const int64_t end = sc_min_i64(to * SC_FFT_LANES, all->walk->out_count);
    sc_reduction_part(all->walk, from * SC_FFT_LANES, end, add_line, &l);
    flush(&l);
}

static void share_lines(lines *l) {
    const int64_t groups = (l->walk->out_count + SC_FFT_LANES - 1) / SC_FFT_LANES;
    double cost = SC_COST_CONVERT * SC_FFT_LANES * (double)l->plan.length;
    for (int64_t n = 1; n < l->plan.length; n *= 4) cost += SC_COST_SUM * (double)l->plan.length;
    const int64_t step = sc_parallel_step(groups, cost);
    if (step < groups && sc_parallel_reserve(sc_fft_line_bytes(&l->plan)))
        sc_parallel(groups, step, transform_part, l);
    else
        transform_part(l, 0, groups, 0);
}

static int64_t length_of(sc_fft_kind kind, const sc_tensor *in, const sc_tensor *out,
                         uint32_t dim) {
    return kind == SC_FFT_TO_REAL ? out->sizes[dim] : in->sizes[dim];
}

static sc_fft plan_of(sc_fft_kind kind, const sc_tensor *in, const sc_tensor *out, uint32_t dim) {
    const int64_t length = length_of(kind, in, out, dim);
    const sc_tensor *shape = kind == SC_FFT_TO_REAL ? out : in;
    return (sc_fft){.kind = kind,
                    .is_f64 = sc_dtype_to_real((sc_dtype)in->dtype) == SC_DTYPE_F64,
                    .length = length,
                    .lines = length > 0 ? shape->numel / length : 0,
                    .scale = 1.0,
                    .in_step = in->strides[dim] * (is_complex(in) ? 2 : 1),
                    .out_step = out->strides[dim] * (is_complex(out) ? 2 : 1),
                    .in_count = in->sizes[dim],
                    .out_count = out->sizes[dim]};
}

static double scale_of(int64_t normalization, int64_t length) {
    return normalization == 1   ? 1.0 / sqrt((double)length)
           : normalization == 2 ? 1.0 / (double)length
                                : 1.0;
}

static sc_status fail_empty(const sc_kernel_call *call) {
    return sc_call_fail(call, SC_ERR_SHAPE, "the transform has no elements");
}

typedef struct how {
    const sc_kernel_call *call;
    int64_t normalization;
    bool inverse;
    char *scratch;  // the remaining factor
    uint64_t bytes;
} how;

static sc_status transform_dim(const how *h, sc_fft_kind kind, const sc_tensor *in,
                               const sc_tensor *out, uint32_t dim) {
    lines l = {.plan = plan_of(kind, in, out, dim), .out = out};
    sc_reduction walk;
    if (l.plan.length <= 0) return fail_empty(h->call);
    l.plan.scale = scale_of(h->normalization, l.plan.length);
    l.plan.inverse = h->inverse;
    if (sc_fft_plan(&l.plan) > h->bytes) return sc_call_starved(h->call);
    SC_TRY(sc_reduction_init_along(h->call->ctx, &walk, in, out, dim));
    sc_fft_start(&l.plan, h->scratch);
    l.walk = &walk;
    share_lines(&l);
    return SC_OK;
}

// --- Pairs ---------------------------------------------------------------------------------------

typedef struct complex_view {
    sc_tensor as;
    int64_t strides[SC_RANK_MAX];
} complex_view;

// Views real numbers, in pairs in the last dim, as complex ones. Expansions leave them like that
// (rt/rewrite/recognise/fft.c).
static bool read_pairs(const sc_tensor *pairs, complex_view *v) {
    const uint32_t rank = pairs->rank;
    if (rank < 2 || pairs->sizes[rank - 1] != 2 || !is_real(pairs) ||
        !sc_tensor_is_contiguous(pairs))
        return false;
    for (uint32_t d = 0; d + 1 < rank; d++) v->strides[d] = pairs->strides[d] / 2;
    v->as = *pairs;
    v->as.dtype = (uint8_t)sc_dtype_to_complex((sc_dtype)pairs->dtype);
    v->as.strides = v->strides;
    v->as.rank--;
    v->as.numel /= 2;
    return true;
}

// Views numbers, which are complex or in pairs, as complex ones.
static const sc_tensor *complex_of(const sc_tensor *t, complex_view *v) {
    return read_pairs(t, v) ? &v->as : t;
}

// --- Scratch -------------------------------------------------------------------------------------

static uint32_t listed_dims(const sc_kernel_call *call, uint32_t rank, uint32_t *dims) {
    int64_t listed[SC_RANK_MAX];
    const uint32_t count = sc_call_ints(call, 1, listed, SC_RANK_MAX, 0);
    for (uint32_t i = 0; i < count; i++) dims[i] = sc_wrap_dim(listed[i], rank);
    return count;
}

// Lengths that may change can have any factors.
static uint64_t dim_scratch(sc_fft_kind kind, const sc_tensor *in, const sc_tensor *out,
                            uint32_t dim) {
    sc_fft plan = plan_of(kind, in, out, dim);
    return in->is_dynamic || out->is_dynamic ? sc_fft_bytes_max(plan.length) : sc_fft_plan(&plan);
}

static uint64_t scratch_of(const sc_kernel_call *call, sc_fft_kind last_kind, const sc_tensor *in,
                           const sc_tensor *out, const sc_tensor *middle) {
    uint32_t dims[SC_RANK_MAX];
    uint64_t most = 0;
    if (in->rank == 0 || in->rank != out->rank) return 0;
    const uint32_t count = listed_dims(call, in->rank, dims);
    for (uint32_t i = 0; i < count; i++) {
        const bool last = i + 1 == count;
        if (dims[i] >= in->rank) return 0;  // not of pairs
        const uint64_t bytes = last ? dim_scratch(last_kind, in, out, dims[i])
                                    : dim_scratch(SC_FFT_COMPLEX, middle, middle, dims[i]);
        most = sc_max_u64(most, bytes);
    }
    return most;
}

static uint64_t r2c_scratch(const sc_kernel_call *call) {
    complex_view view;
    const sc_tensor *out = complex_of(sc_call_out(call), &view);
    return scratch_of(call, SC_FFT_FROM_REAL, sc_call_tensor(call, 0), out, out);
}

static uint64_t c2c_scratch(const sc_kernel_call *call) {
    complex_view views[2];
    const sc_tensor *self = complex_of(sc_call_tensor(call, 0), &views[0]);
    const sc_tensor *out = complex_of(sc_call_out(call), &views[1]);
    return scratch_of(call, SC_FFT_COMPLEX, self, out, out);
}

static uint64_t middle_bytes(const sc_kernel_call *call) {
    uint32_t dims[SC_RANK_MAX];
    const sc_tensor *self = sc_call_tensor(call, 0);
    uint64_t bytes = 0;
    if (listed_dims(call, self->rank, dims) < 2) return 0;
    if (!sc_mul_u64((uint64_t)self->numel, sc_dtype_bytes((sc_dtype)self->dtype), &bytes))
        return UINT64_MAX;
    return sc_align_up(bytes, 64);
}

static uint64_t c2r_scratch(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    uint64_t all;
    if (!sc_add_u64(scratch_of(call, SC_FFT_TO_REAL, self, sc_call_out(call), self),
                    middle_bytes(call), &all))
        return UINT64_MAX;
    return all;
}

// --- Kernels -------------------------------------------------------------------------------------

static sc_status check(const sc_kernel_call *call, const sc_tensor *self, uint32_t *dims,
                       uint32_t *count) {
    *count = listed_dims(call, self->rank, dims);
    return *count == 0 || self->rank == 0 ? fail_empty(call) : SC_OK;
}

static how how_of(const sc_kernel_call *call, bool inverse) {
    return (how){call, sc_call_integer(call, 2), inverse, call->scratch, call->scratch_bytes};
}

// (self, dim, normalization, onesided, out): the last listed dim first, the others on the result.
static sc_status from_real(const sc_kernel_call *call, const sc_tensor *out) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    const how h = how_of(call, false);
    uint32_t dims[SC_RANK_MAX], count;
    if (!is_real(self) || (sc_dtype)out->dtype != sc_dtype_to_complex((sc_dtype)self->dtype))
        return sc_call_no_kernel(call);
    SC_TRY(check(call, self, dims, &count));
    SC_TRY(transform_dim(&h, SC_FFT_FROM_REAL, self, out, dims[count - 1]));
    for (uint32_t i = 0; i + 1 < count; i++)
        SC_TRY(transform_dim(&h, SC_FFT_COMPLEX, out, out, dims[i]));
    return SC_OK;
}

static sc_status run_r2c(const sc_kernel_call *call) { return from_real(call, sc_call_out(call)); }

static sc_status copy(const sc_kernel_call *call, const sc_tensor *to, const sc_tensor *from) {
    sc_strided dst, src;
    sc_strided_of(&dst, to);
    sc_strided_of(&src, from);
    return sc_move(call, &dst, &src);
}

// (self, dim, normalization, forward, out): over no dims, the numbers are copied.
static sc_status between_complex(const sc_kernel_call *call, const sc_tensor *self,
                                 const sc_tensor *out) {
    const how h = how_of(call, sc_call_integer(call, 3) == 0);
    uint32_t dims[SC_RANK_MAX], count;
    if (!is_complex(self) || out->dtype != self->dtype) return sc_call_no_kernel(call);
    if (listed_dims(call, self->rank, dims) == 0) return copy(call, out, self);
    SC_TRY(check(call, self, dims, &count));
    for (uint32_t i = 0; i < count; i++)
        SC_TRY(transform_dim(&h, SC_FFT_COMPLEX, i ? out : self, out, dims[i]));
    return SC_OK;
}

static sc_status run_c2c(const sc_kernel_call *call) {
    return between_complex(call, sc_call_tensor(call, 0), sc_call_out(call));
}

// (self, dim, normalization, last_dim_size, out): all but the last dim first, in scratch.
static sc_status run_c2r(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    const uint64_t used = middle_bytes(call);
    how h = how_of(call, true);
    uint32_t dims[SC_RANK_MAX], count;
    if (!is_complex(self) || (sc_dtype)out->dtype != sc_dtype_to_real((sc_dtype)self->dtype))
        return sc_call_no_kernel(call);
    SC_TRY(check(call, self, dims, &count));
    if (used > h.bytes) return sc_call_starved(call);
    sc_tensor middle = *self;
    middle.data = h.scratch;
    h.scratch += used;
    h.bytes -= used;
    for (uint32_t i = 0; i + 1 < count; i++)
        SC_TRY(transform_dim(&h, SC_FFT_COMPLEX, i ? &middle : self, &middle, dims[i]));
    return transform_dim(&h, SC_FFT_TO_REAL, count > 1 ? &middle : self, out, dims[count - 1]);
}

SC_KERNEL(fft_r2c, .run = run_r2c, .scratch = r2c_scratch);
SC_KERNEL(fft_c2c, .run = run_c2c, .scratch = c2c_scratch);
SC_KERNEL(fft_c2r, .run = run_c2r, .scratch = c2r_scratch);

static sc_status run_c2c_pairs(const sc_kernel_call *call) {
    complex_view self, out;
    if (!read_pairs(sc_call_tensor(call, 0), &self) || !read_pairs(sc_call_out(call), &out))
        return sc_call_no_kernel(call);
    return between_complex(call, &self.as, &out.as);
}

static sc_status run_r2c_pairs(const sc_kernel_call *call) {
    complex_view out;
    if (!read_pairs(sc_call_out(call), &out)) return sc_call_no_kernel(call);
    return from_real(call, &out.as);
}

const sc_kernel sc_k_fft_c2c_pairs = {.run = run_c2c_pairs, .scratch = c2c_scratch};
const sc_kernel sc_k_fft_r2c_pairs = {.run = run_r2c_pairs, .scratch = r2c_scratch};
