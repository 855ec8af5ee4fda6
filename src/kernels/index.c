// Reads and writes by index tensors along one dim: embedding, index_select, gather and the
// scatters. Every index is checked before it is used, whatever its sign or width.
#include <math.h>

#include "base/parallel.h"
#include "kernels/move.h"

// --- Index tensors -------------------------------------------------------------------------------

static sc_status check_index_dtype(const sc_kernel_call *call, const sc_tensor *index) {
    if (index->dtype != SC_DTYPE_I64 && index->dtype != SC_DTYPE_I32)
        return sc_call_no_kernel(call);
    return SC_OK;
}

static int64_t index_at(const sc_tensor *index, int64_t offset) {
    return index->dtype == SC_DTYPE_I64 ? ((const int64_t *)index->data)[offset]
                                        : ((const int32_t *)index->data)[offset];
}

static sc_status out_of_range(const sc_kernel_call *call, int64_t index, int64_t size) {
    return sc_call_fail(call, SC_ERR_INDEX, "index %lld is out of range for a dim of size %lld",
                        (long long)index, (long long)size);
}

// --- Rows ----------------------------------------------------------------------------------------

// Fails for the first index of the tensor, in its order, that is out of range.
static sc_status check_indices(const sc_kernel_call *call, const sc_tensor *index, int64_t size) {
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

typedef struct rows {
    const sc_tensor *table, *indices, *out;
    uint32_t dim;  // of a selection
} rows;

static void copy_rows(void *work, int64_t first, int64_t end, uint32_t thread) {
    const rows *r = work;
    const sc_tensor *table = r->table, *indices = r->indices, *out = r->out;
    const uint32_t width = sc_dtype_bytes((sc_dtype)table->dtype), last = out->rank - 1u;
    const sc_load_fn load = sc_loader(SC_CLASS_I64, indices->dtype);
    sc_stream from, to;
    sc_stream_init_dims(&from, indices->data, sc_dtype_bytes((sc_dtype)indices->dtype),
                        indices->rank, indices->sizes, indices->strides);
    sc_stream_init_dims(&to, out->data, width, last, out->sizes, out->strides);
    sc_stream_seek(&from, first);
    sc_stream_seek(&to, first);
    (void)thread;
    for (int64_t i = first; i < end; i++) {
        int64_t index, stride;
        char *row;
        sc_stream_load(&from, load, &index, sizeof index, 1);
        sc_stream_run(&to, 1, &row, &stride);
        sc_copy_row(row, out->strides[last],
                    (const char *)table->data + index * table->strides[0] * width,
                    table->strides[1], table->sizes[1], width);
    }
}

// (weight, indices, padding_idx, scale_grad_by_freq, sparse, out): negatives are errors too.
static sc_status run_embedding(const sc_kernel_call *call) {
    const sc_tensor *weight = sc_call_tensor(call, 0), *indices = sc_call_tensor(call, 1);
    const sc_tensor *out = sc_call_out(call);
    SC_TRY(check_index_dtype(call, indices));
    bool fits = weight->rank == 2 && out->rank == indices->rank + 1u && out->dtype == weight->dtype;
    for (uint32_t d = 0; fits && d < out->rank; d++)
        fits = out->sizes[d] == (d < indices->rank ? indices->sizes[d] : weight->sizes[1]);
    if (!fits) return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    SC_TRY(check_indices(call, indices, weight->sizes[0]));
    rows r = {.table = weight, .indices = indices, .out = out};
    if (out->numel > 0)
        sc_parallel_rows(indices->numel, SC_COST_COPY * (double)weight->sizes[1], copy_rows, &r);
    return SC_OK;
}

// Position `i` of the index along `dim`.
static sc_status select_one(const rows *r, const sc_kernel_call *call, int64_t i) {
    const int64_t at = index_at(r->indices, r->indices->rank > 0 ? i * r->indices->strides[0] : 0);
    sc_strided src, dst;
    sc_strided_of(&src, r->table);
    sc_strided_of(&dst, r->out);
    if (r->table->rank > 0) {
        sc_strided_drop(&src, r->dim, at);
        sc_strided_drop(&dst, r->dim, i);
    }
    return sc_move(call, &dst, &src);
}

// Positions after the first one, which has shown that moves do not fail.
static void select_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const rows *r = work;
    const sc_kernel_call no_call = {0};
    (void)thread;
    for (int64_t i = from; i < to; i++) SC_ASSERT(select_one(r, &no_call, i + 1) == SC_OK);
}

// (self, dim, index, out)
static sc_status run_index_select(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *index = sc_call_tensor(call, 2);
    const sc_tensor *out = sc_call_out(call);
    uint32_t dim = sc_call_dim(call, 1, self->rank);
    SC_TRY(check_index_dtype(call, index));
    if (index->rank > 1 || out->rank != self->rank ||
        (out->rank > 0 && out->sizes[dim] != index->numel))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    rows r = {.table = self, .indices = index, .out = out, .dim = dim};
    SC_TRY(check_indices(call, index, self->rank > 0 ? self->sizes[dim] : 1));
    if (index->numel == 0) return SC_OK;
    SC_TRY(select_one(&r, call, 0));
    const double each = (double)out->numel / (double)index->numel;
    sc_parallel_rows(index->numel - 1, 100 + SC_COST_COPY * each, select_part, &r);
    return SC_OK;
}

// --- Element by element --------------------------------------------------------------------------

// Walks the positions of an index tensor, with the offsets of three other tensors there. A tensor
// that the index itself addresses gets no step along `dim`.
typedef struct walk {
    uint32_t rank;
    int64_t sizes[SC_RANK_MAX], at[SC_RANK_MAX];
    int64_t strides[3][SC_RANK_MAX], offsets[3];
} walk;

enum { WALK_INDEX, WALK_TARGET, WALK_SOURCE };

static void walk_init(walk *w, const sc_tensor *index) {
    memset(w, 0, sizeof *w);
    w->rank = index->rank;
    for (uint32_t d = 0; d < index->rank; d++) {
        w->sizes[d] = index->sizes[d];
        w->strides[WALK_INDEX][d] = index->strides[d];
    }
}

// False if the index tensor is larger than the tensor in a dim that is walked (`dim` itself is only
// walked if `along` is set).
static bool walk_add(walk *w, uint32_t slot, const sc_tensor *t, uint32_t dim, bool along) {
    if (t->rank != w->rank) return false;
    for (uint32_t d = 0; d < w->rank; d++) {
        if (d == dim && !along) continue;
        if (w->sizes[d] > t->sizes[d]) return false;
        w->strides[slot][d] = t->strides[d];
    }
    return true;
}

static void walk_next(walk *w) {
    for (uint32_t d = w->rank; d-- > 0;) {
        for (int k = 0; k < 3; k++) w->offsets[k] += w->strides[k][d];
        if (++w->at[d] < w->sizes[d]) return;
        for (int k = 0; k < 3; k++) w->offsets[k] -= w->sizes[d] * w->strides[k][d];
        w->at[d] = 0;
    }
}

// A 0-dim tensor counts as a vector of one element here, as in PyTorch.
static sc_tensor as_vector(const sc_tensor *t, int64_t *one) {
    sc_tensor v = *t;
    if (t->rank == 0) {
        v.rank = 1;
        v.sizes = v.strides = one;
    }
    return v;
}

static void walk_seek(walk *w, int64_t at) {
    memset(w->offsets, 0, sizeof w->offsets);
    for (uint32_t d = w->rank; d-- > 0; at /= w->sizes[d]) {
        w->at[d] = at % w->sizes[d];
        for (int k = 0; k < 3; k++) w->offsets[k] += w->at[d] * w->strides[k][d];
    }
}

typedef struct gathering {
    const walk *w;
    const sc_tensor *self, *index, *out;
    uint32_t dim;
} gathering;

static void gather_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const gathering *g = work;
    const int64_t width = sc_dtype_bytes((sc_dtype)g->self->dtype), step = g->self->strides[g->dim];
    walk w = *g->w;
    walk_seek(&w, from);
    (void)thread;
    for (int64_t i = from; i < to; i++, walk_next(&w)) {
        const int64_t at = index_at(g->index, w.offsets[WALK_INDEX]);
        memcpy((char *)g->out->data + w.offsets[WALK_TARGET] * width,
               (const char *)g->self->data + (w.offsets[WALK_SOURCE] + at * step) * width,
               (size_t)width);
    }
}

// (self, dim, index, sparse_grad, out)
static sc_status run_gather(const sc_kernel_call *call) {
    int64_t one = 1;
    sc_tensor self = as_vector(sc_call_tensor(call, 0), &one);
    sc_tensor index = as_vector(sc_call_tensor(call, 2), &one);
    sc_tensor out = as_vector(sc_call_out(call), &one);
    uint32_t dim = sc_call_dim(call, 1, self.rank);
    walk w;
    SC_TRY(check_index_dtype(call, &index));
    if (index.numel == 0 && out.numel == 0) return SC_OK;
    walk_init(&w, &index);
    if (out.numel != index.numel || out.dtype != self.dtype ||
        !walk_add(&w, WALK_TARGET, &out, dim, true) ||
        !walk_add(&w, WALK_SOURCE, &self, dim, false))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    SC_TRY(check_indices(call, &index, self.sizes[dim]));
    gathering g = {&w, &self, &index, &out, dim};
    sc_parallel_rows(index.numel, 2 * SC_COST_CONVERT, gather_part, &g);
    return SC_OK;
}

typedef enum scatter_kind {
    SCATTER_SET,
    SCATTER_SUM,
    SCATTER_PROD,
    SCATTER_MAX,
    SCATTER_MIN,
    SCATTER_MEAN
} scatter_kind;

// Combines one target element with one source element, in the widest class of their kind. The
// target may be a float32 for halves.
typedef struct join {
    scatter_kind kind;
    bool is_real;
    sc_load_fn load_target, load_source;
    sc_store_fn store;
} join;

static sc_status join_init(const sc_kernel_call *call, join *j, scatter_kind kind, unsigned target,
                           unsigned source) {
    sc_class class_ = sc_class_of(target);
    const bool is_wider = target == SC_DTYPE_F32 && sc_dtype_is_half((sc_dtype)source);
    j->kind = kind;
    j->is_real = class_ == SC_CLASS_F32 || class_ == SC_CLASS_F64;
    class_ = j->is_real ? SC_CLASS_F64 : SC_CLASS_I64;
    j->load_target = sc_loader(class_, target);
    j->load_source = sc_loader(class_, source);
    j->store = sc_storer(class_, target);
    if (!j->load_target || !j->load_source || (target != source && !is_wider))
        return sc_call_no_kernel(call);
    return SC_OK;
}

static double join_real(scatter_kind kind, double a, double b) {
    switch (kind) {
    case SCATTER_PROD: return a * b;
    case SCATTER_MAX: return a != a || a > b ? a : b;
    case SCATTER_MIN: return a != a || a < b ? a : b;
    default: return a + b;
    }
}

static int64_t join_integer(scatter_kind kind, int64_t a, int64_t b) {
    switch (kind) {
    case SCATTER_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case SCATTER_MAX: return a > b ? a : b;
    case SCATTER_MIN: return a < b ? a : b;
    default: return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

static void join_element(const join *j, char *target, const char *source) {
    if (j->is_real) {
        double a, b;
        j->load_target(&a, target, 1, 1);
        j->load_source(&b, source, 1, 1);
        a = join_real(j->kind, a, b);
        j->store(target, 1, &a, 1);
        return;
    }
    int64_t a, b;
    j->load_target(&a, target, 1, 1);
    j->load_source(&b, source, 1, 1);
    a = join_integer(j->kind, a, b);
    j->store(target, 1, &a, 1);
}

static sc_status copy_self(const sc_kernel_call *call) {
    sc_strided src, dst;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    sc_strided_of(&dst, sc_call_out(call));
    return sc_move(call, &dst, &src);
}

typedef struct scatter {
    walk w;
    sc_tensor out, index, src;
    uint32_t dim, width;
    int64_t ones[1];
} scatter;

// If `src` is NULL, every position gets the element at `value`.
static sc_status scatter_init(const sc_kernel_call *call, scatter *s, const sc_tensor *src) {
    s->ones[0] = 1;
    s->out = as_vector(sc_call_out(call), s->ones);
    s->index = as_vector(sc_call_tensor(call, 2), s->ones);
    s->dim = sc_call_dim(call, 1, s->out.rank);
    s->width = sc_dtype_bytes((sc_dtype)s->out.dtype);
    SC_TRY(check_index_dtype(call, &s->index));
    walk_init(&s->w, &s->index);
    bool fits = s->index.numel == 0 || walk_add(&s->w, WALK_TARGET, &s->out, s->dim, false);
    if (src) {
        s->src = as_vector(src, s->ones);
        fits = fits && (s->index.numel == 0 || walk_add(&s->w, WALK_SOURCE, &s->src, s->dim, true));
    }
    if (!fits || (src && src->dtype != s->out.dtype))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    return copy_self(call);
}

static sc_status scatter_target(const sc_kernel_call *call, const scatter *s, char **out) {
    int64_t at = index_at(&s->index, s->w.offsets[WALK_INDEX]), size = s->out.sizes[s->dim];
    if (at < 0 || at >= size) return out_of_range(call, at, size);
    *out = (char *)s->out.data +
           (s->w.offsets[WALK_TARGET] + at * s->out.strides[s->dim]) * (int64_t)s->width;
    return SC_OK;
}

// (self, dim, index, src, out)
static sc_status run_scatter_src(const sc_kernel_call *call) {
    scatter s;
    SC_TRY(scatter_init(call, &s, sc_call_tensor(call, 3)));
    for (int64_t i = 0; i < s.index.numel; i++, walk_next(&s.w)) {
        char *target;
        SC_TRY(scatter_target(call, &s, &target));
        memcpy(target, (const char *)s.src.data + s.w.offsets[WALK_SOURCE] * s.width, s.width);
    }
    return SC_OK;
}

static sc_status run_scatter_value(const sc_kernel_call *call) {
    scatter s;
    char element[16];
    SC_TRY(scatter_init(call, &s, NULL));
    sc_call_element(call, 3, s.out.dtype, element);
    for (int64_t i = 0; i < s.index.numel; i++, walk_next(&s.w)) {
        char *target;
        SC_TRY(scatter_target(call, &s, &target));
        memcpy(target, element, s.width);
    }
    return SC_OK;
}

// Sums and products of halves accumulate in float32, as in PyTorch, and are rounded once.
static bool grows_wide(unsigned dtype, scatter_kind kind) {
    return sc_dtype_is_half((sc_dtype)dtype) && kind != SCATTER_MAX && kind != SCATTER_MIN;
}

static uint64_t wide_bytes(const sc_kernel_call *call) {
    const sc_tensor *out = sc_call_out(call);
    return sc_dtype_is_half((sc_dtype)out->dtype) ? (uint64_t)out->numel * sizeof(float) : 0;
}

// Targets are the elements of the result, or their floats in `wide`.
static sc_status join_all(const sc_kernel_call *call, scatter *s, const join *j, float *wide) {
    for (int64_t i = 0; i < s->index.numel; i++, walk_next(&s->w)) {
        char *target;
        SC_TRY(scatter_target(call, s, &target));
        if (wide) target = (char *)&wide[(target - (char *)s->out.data) / s->width];
        join_element(j, target, (const char *)s->src.data + s->w.offsets[WALK_SOURCE] * s->width);
    }
    return SC_OK;
}

// Scratch before `used` is not touched.
static sc_status scatter_joined(const sc_kernel_call *call, scatter *s, scatter_kind kind,
                                uint64_t used) {
    const unsigned dtype = s->out.dtype;
    join j;
    if (!grows_wide(dtype, kind)) {
        SC_TRY(join_init(call, &j, kind, dtype, s->src.dtype));
        return join_all(call, s, &j, NULL);
    }
    if (!sc_tensor_is_dense(sc_call_out(call)) || call->scratch_bytes < used + wide_bytes(call))
        return sc_call_starved(call);
    float *wide = (float *)(void *)((char *)call->scratch + used);
    SC_TRY(join_init(call, &j, kind, SC_DTYPE_F32, s->src.dtype));
    sc_loader(SC_CLASS_F32, dtype)(wide, s->out.data, 1, s->out.numel);
    SC_TRY(join_all(call, s, &j, wide));
    sc_storer(SC_CLASS_F32, dtype)(s->out.data, 1, wide, s->out.numel);
    return SC_OK;
}

static sc_status run_scatter_add(const sc_kernel_call *call) {
    scatter s;
    SC_TRY(scatter_init(call, &s, sc_call_tensor(call, 3)));
    return scatter_joined(call, &s, SCATTER_SUM, 0);
}

// --- scatter_reduce ------------------------------------------------------------------------------

static uint64_t scatter_reduce_scratch(const sc_kernel_call *call) {
    return (uint64_t)sc_call_out(call)->numel * sizeof(int64_t) + wide_bytes(call);
}

static bool scatter_kind_of(sc_str name, scatter_kind *out) {
    static const struct {
        const char *name;
        scatter_kind kind;
    } kinds[] = {{"sum", SCATTER_SUM},
                 {"prod", SCATTER_PROD},
                 {"amax", SCATTER_MAX},
                 {"amin", SCATTER_MIN},
                 {"mean", SCATTER_MEAN}};
    for (uint32_t i = 0; i < SC_COUNT_OF(kinds); i++) {
        if (sc_str_is(name, kinds[i].name)) {
            *out = kinds[i].kind;
            return true;
        }
    }
    return false;
}

// The identity of the operation. Targets start from it if self is not included.
static void put_identity(char *target, unsigned dtype, scatter_kind kind) {
    bool is_real = sc_dtype_is_float((sc_dtype)dtype);
    double real = kind == SCATTER_PROD  ? 1.0
                  : kind == SCATTER_MAX ? -INFINITY
                  : kind == SCATTER_MIN ? INFINITY
                                        : 0.0;
    int64_t integer = kind == SCATTER_PROD  ? 1
                      : kind == SCATTER_MAX ? sc_dtype_low((sc_dtype)dtype)
                      : kind == SCATTER_MIN ? (int64_t)sc_dtype_high((sc_dtype)dtype)
                                            : 0;
    sc_put_number(target, dtype, real, integer, is_real);
}

// A count in PyTorch's dtype, that of the dividend.
static double count_in(unsigned dtype, int64_t count) {
    uint8_t narrow[8] = {0};
    double wide;
    sc_put_number(narrow, dtype, 0, count, false);
    sc_loader(SC_CLASS_F64, dtype)(&wide, narrow, 1, 1);
    return wide;
}

// Divides written elements by the number of their terms; integers round down.
static void divide_by_counts(const scatter *s, const int64_t *counts, int64_t own) {
    bool is_real = sc_dtype_is_float((sc_dtype)s->out.dtype);
    for (int64_t i = 0; i < s->out.numel; i++) {
        char *at = (char *)s->out.data + i * s->width;
        int64_t count = counts[i] + own;
        if (counts[i] == 0) continue;
        if (is_real) {
            double x;
            sc_loader(SC_CLASS_F64, s->out.dtype)(&x, at, 1, 1);
            sc_put_number(at, s->out.dtype, x / count_in(s->out.dtype, count), 0, true);
        } else {
            int64_t x;
            sc_loader(SC_CLASS_I64, s->out.dtype)(&x, at, 1, 1);
            int64_t q = x / count - (x % count < 0);
            sc_put_number(at, s->out.dtype, 0, q, false);
        }
    }
}

// (self, dim, index, src, reduce, include_self, out)
static sc_status run_scatter_reduce(const sc_kernel_call *call) {
    scatter s;
    scatter_kind kind;
    bool includes_self = sc_call_integer(call, 5) != 0;
    int64_t *counts = call->scratch;
    if (!scatter_kind_of(call->args[4]->str, &kind))
        return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Use sum, prod, mean, amax or amin.",
                                 "does not know this reduction");
    SC_TRY(scatter_init(call, &s, sc_call_tensor(call, 3)));
    if (!sc_tensor_is_dense(sc_call_out(call)) ||
        call->scratch_bytes < (uint64_t)s.out.numel * sizeof *counts)
        return sc_call_starved(call);
    memset(counts, 0, (size_t)s.out.numel * sizeof *counts);
    scatter first = s;
    for (int64_t i = 0; i < first.index.numel; i++, walk_next(&first.w)) {
        char *target;
        SC_TRY(scatter_target(call, &first, &target));
        int64_t *count = &counts[(target - (char *)s.out.data) / s.width];
        if (*count == 0 && !includes_self) put_identity(target, s.out.dtype, kind);
        ++*count;
    }
    SC_TRY(scatter_joined(call, &s, kind, (uint64_t)s.out.numel * sizeof *counts));
    if (kind == SCATTER_MEAN) divide_by_counts(&s, counts, includes_self);
    return SC_OK;
}

// (self, dim, index, src, out): the combined sources of one place replace self there.
static sc_status scatter_anew(const sc_kernel_call *call) {
    const scatter_kind kind = (scatter_kind)call->kernel->param;
    scatter s;
    SC_TRY(scatter_init(call, &s, sc_call_tensor(call, 3)));
    scatter first = s;
    for (int64_t i = 0; i < first.index.numel; i++, walk_next(&first.w)) {
        char *target;
        SC_TRY(scatter_target(call, &first, &target));
        put_identity(target, s.out.dtype, kind);
    }
    return scatter_joined(call, &s, kind, 0);
}

static sc_status run_scatter_multiplied(const sc_kernel_call *call) {
    scatter s;
    SC_TRY(scatter_init(call, &s, sc_call_tensor(call, 3)));
    return scatter_joined(call, &s, SCATTER_PROD, 0);
}

const sc_kernel sc_k_scatter_products = {
    .run = scatter_anew, .param = SCATTER_PROD, .scratch = wide_bytes};
const sc_kernel sc_k_scatter_multiplied = {.run = run_scatter_multiplied, .scratch = wide_bytes};
const sc_kernel sc_k_scatter_largest = {.run = scatter_anew, .param = SCATTER_MAX};
const sc_kernel sc_k_scatter_smallest = {.run = scatter_anew, .param = SCATTER_MIN};
SC_KERNEL(embedding, .run = run_embedding);
SC_KERNEL(index_select, .run = run_index_select);
SC_KERNEL(gather, .run = run_gather);
SC_KERNEL(scatter_src, .run = run_scatter_src);
SC_KERNEL(scatter_value, .run = run_scatter_value);
SC_KERNEL(scatter_add, .run = run_scatter_add, .scratch = wide_bytes);
SC_KERNEL(scatter_reduce, .run = run_scatter_reduce, .scratch = scatter_reduce_scratch);
