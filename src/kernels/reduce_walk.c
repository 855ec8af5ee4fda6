// Splits a tensor's dims into kept and reduced ones and visits them, without arithmetic.
#include "kernels/reduce.h"

#include "base/parallel.h"

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

// The kept dims `rank`, from position `at` on, one after the other.
typedef struct cursor {
    const sc_reduction *r;
    uint32_t rank;
    int64_t index[SC_RANK_MAX], in, out;  // offsets in elements
} cursor;

static cursor cursor_at(const sc_reduction *r, uint32_t rank, int64_t at) {
    cursor c = {.r = r, .rank = rank};
    for (uint32_t d = rank; d-- > 0; at /= r->sizes[d]) {
        c.index[d] = at % r->sizes[d];
        c.in += c.index[d] * r->in_strides[d];
        c.out += c.index[d] * r->out_strides[d];
    }
    return c;
}

static void cursor_on(cursor *c) {
    const sc_reduction *r = c->r;
    for (uint32_t d = c->rank; d-- > 0;) {
        c->in += r->in_strides[d];
        c->out += r->out_strides[d];
        if (++c->index[d] < r->sizes[d]) return;
        c->in -= r->sizes[d] * r->in_strides[d];
        c->out -= r->sizes[d] * r->out_strides[d];
        c->index[d] = 0;
    }
}

static sc_stream elements_at(const sc_reduction *r, int64_t offset) {
    sc_stream elements = r->reduced;
    elements.data += offset * elements.item_bytes;
    return elements;
}

// Nanoseconds of a visit, besides those of its elements.
enum { VISIT = 20 };

typedef struct visits {
    const sc_reduction *r;
    sc_reduce_visit visit;
    sc_reduce_visit_run visit_run;
    int64_t width;
    void *user;
} visits;

static void visit_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const visits *v = work;
    cursor c = cursor_at(v->r, v->r->rank, from);
    (void)thread;
    for (int64_t i = from; i < to; i++, cursor_on(&c)) {
        sc_stream elements = elements_at(v->r, c.in);
        v->visit(v->user, &elements, c.out);
    }
}

void sc_reduction_part(const sc_reduction *r, int64_t from, int64_t to, sc_reduce_visit visit,
                       void *user) {
    visits v = {.r = r, .visit = visit, .user = user};
    if (from < to) visit_part(&v, from, to, 0);
}

void sc_reduction_share(const sc_reduction *r, double cost, sc_reduce_visit visit, void *user) {
    visits v = {.r = r, .visit = visit, .user = user};
    sc_parallel_rows(r->out_count, VISIT + cost * (double)r->count, visit_part, &v);
}

static int64_t runs_of(const visits *v, uint32_t inner) {
    return (v->r->sizes[inner] - 1) / v->width + 1;
}

static void visit_runs(void *work, int64_t from, int64_t to, uint32_t thread) {
    const visits *v = work;
    const sc_reduction *r = v->r;
    const uint32_t inner = r->rank - 1;
    const int64_t runs = runs_of(v, inner);
    cursor c = cursor_at(r, inner, from / runs);
    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const int64_t at = i % runs * v->width, n = sc_min_i64(v->width, r->sizes[inner] - at);
        sc_stream elements = elements_at(r, c.in + at * r->in_strides[inner]);
        v->visit_run(v->user, &elements, c.out + at * r->out_strides[inner], n);
        if (at + n == r->sizes[inner]) cursor_on(&c);
    }
}

void sc_reduction_share_runs(const sc_reduction *r, int64_t width, double cost,
                             sc_reduce_visit_run visit, void *user) {
    visits v = {.r = r, .visit_run = visit, .width = width, .user = user};
    const int64_t runs = runs_of(&v, r->rank - 1), inner = r->sizes[r->rank - 1];
    if (r->out_count > 0)
        sc_parallel_rows(r->out_count / inner * runs, VISIT + cost * (double)(r->count * width),
                         visit_runs, &v);
}
