// Writes by index tensors along one dim: the scatters.
#include <math.h>

#include "base/parallel.h"
#include "kernels/index_walk.h"

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
    sc_index_walk w;
    sc_tensor out, index, src;
    uint32_t dim, width;
    int64_t ones[1];
} scatter;

// If `src` is NULL, every position gets the element at `value`.
static sc_status scatter_init(const sc_kernel_call *call, scatter *s, const sc_tensor *src) {
    s->ones[0] = 1;
    s->src = (sc_tensor){0};
    s->out = sc_index_as_vector(sc_call_out(call), s->ones);
    s->index = sc_index_as_vector(sc_call_tensor(call, 2), s->ones);
    s->dim = sc_call_dim(call, 1, s->out.rank);
    s->width = sc_dtype_bytes((sc_dtype)s->out.dtype);
    SC_TRY(sc_index_check_dtype(call, &s->index));
    sc_index_walk_init(&s->w, &s->index);
    bool fits =
        s->index.numel == 0 || sc_index_walk_add(&s->w, SC_INDEX_TARGET, &s->out, s->dim, false);
    if (src) {
        s->src = sc_index_as_vector(src, s->ones);
        fits = fits && (s->index.numel == 0 ||
                        sc_index_walk_add(&s->w, SC_INDEX_SOURCE, &s->src, s->dim, true));
    }
    if (!fits || (src && src->dtype != s->out.dtype))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    SC_TRY(sc_index_check(call, &s->index, s->out.sizes[s->dim]));
    return copy_self(call);
}

static char *scatter_target(const scatter *s, const sc_index_walk *w) {
    const int64_t at = sc_index_at(&s->index, w->offsets[SC_INDEX]);
    return (char *)s->out.data +
           (w->offsets[SC_INDEX_TARGET] + at * s->out.strides[s->dim]) * (int64_t)s->width;
}

// Combines the target and the source of one position of the index. NULL: there is no source.
typedef void scatter_fn(void *user, char *target, const char *source);

typedef struct scattering {
    const scatter *s;
    scatter_fn *put;
    void *user;
    uint32_t dim;
} scattering;

static void scatter_slices(void *work, int64_t from, int64_t to, uint32_t thread) {
    const scattering *g = work;
    const scatter *s = g->s;
    sc_index_walk w = s->w;
    int64_t count = 1;
    (void)thread;
    w.sizes[g->dim] = to - from;
    for (int k = 0; k < 3; k++) w.offsets[k] += from * w.strides[k][g->dim];
    for (uint32_t d = 0; d < w.rank; d++) count *= w.sizes[d];
    for (int64_t i = 0; i < count; i++, sc_index_walk_next(&w))
        g->put(g->user, scatter_target(s, &w),
               (const char *)s->src.data + w.offsets[SC_INDEX_SOURCE] * s->width);
}

// Visits all positions of the index. An index may repeat along its own dim, so threads share
// another one: each place of the result belongs to one of them, and its terms come in order.
static void scatter_each(const scatter *s, scatter_fn *put, void *user) {
    scattering g = {.s = s, .put = put, .user = user, .dim = s->dim};
    const int64_t *sizes = s->w.sizes;
    if (s->index.numel == 0) return;
    for (uint32_t d = 0; d < s->w.rank; d++)
        if (d != s->dim && (g.dim == s->dim || sizes[d] > sizes[g.dim])) g.dim = d;
    const int64_t slices = sizes[g.dim];
    const double each = 4 * SC_COST_CONVERT * (double)s->index.numel / (double)slices;
    if (g.dim == s->dim)
        scatter_slices(&g, 0, slices, 0);
    else
        sc_parallel_rows(slices, each, scatter_slices, &g);
}

static void put_source(void *user, char *target, const char *source) {
    memcpy(target, source, *(const uint32_t *)user);
}

// (self, dim, index, src, out)
static sc_status run_scatter_src(const sc_kernel_call *call) {
    scatter s;
    SC_TRY(scatter_init(call, &s, sc_call_tensor(call, 3)));
    scatter_each(&s, put_source, &s.width);
    return SC_OK;
}

typedef struct scatter_element {
    char bytes[16];
    uint32_t width;
} scatter_element;

static void put_element(void *user, char *target, const char *source) {
    const scatter_element *element = user;
    (void)source;
    memcpy(target, element->bytes, element->width);
}

static sc_status run_scatter_value(const sc_kernel_call *call) {
    scatter s;
    scatter_element element;
    SC_TRY(scatter_init(call, &s, NULL));
    sc_call_element(call, 3, s.out.dtype, element.bytes);
    element.width = s.width;
    scatter_each(&s, put_element, &element);
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
typedef struct joining {
    const scatter *s;
    const join *j;
    float *wide;
} joining;

static void put_joined(void *user, char *target, const char *source) {
    const joining *g = user;
    if (g->wide) target = (char *)&g->wide[(target - (char *)g->s->out.data) / g->s->width];
    join_element(g->j, target, source);
}

static void join_all(const scatter *s, const join *j, float *wide) {
    joining g = {s, j, wide};
    scatter_each(s, put_joined, &g);
}

// Scratch before `used` is not touched.
static sc_status scatter_joined(const sc_kernel_call *call, const scatter *s, scatter_kind kind,
                                uint64_t used) {
    const unsigned dtype = s->out.dtype;
    join j;
    if (!grows_wide(dtype, kind)) {
        SC_TRY(join_init(call, &j, kind, dtype, s->src.dtype));
        join_all(s, &j, NULL);
        return SC_OK;
    }
    if (!sc_tensor_is_dense(sc_call_out(call)) || call->scratch_bytes < used + wide_bytes(call))
        return sc_call_starved(call);
    float *wide = (float *)(void *)((char *)call->scratch + used);
    SC_TRY(join_init(call, &j, kind, SC_DTYPE_F32, s->src.dtype));
    sc_loader(SC_CLASS_F32, dtype)(wide, s->out.data, 1, s->out.numel);
    join_all(s, &j, wide);
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

typedef struct counting {
    const scatter *s;
    int64_t *counts;
    scatter_kind kind;
    bool includes_self;
} counting;

static void count_term(void *user, char *target, const char *source) {
    const counting *c = user;
    int64_t *count = &c->counts[(target - (char *)c->s->out.data) / c->s->width];
    (void)source;
    if (*count == 0 && !c->includes_self) put_identity(target, c->s->out.dtype, c->kind);
    ++*count;
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
    counting c = {&s, counts, kind, includes_self};
    scatter_each(&s, count_term, &c);
    SC_TRY(scatter_joined(call, &s, kind, (uint64_t)s.out.numel * sizeof *counts));
    if (kind == SCATTER_MEAN) divide_by_counts(&s, counts, includes_self);
    return SC_OK;
}

typedef struct clearing {
    const scatter *s;
    scatter_kind kind;
} clearing;

static void clear_target(void *user, char *target, const char *source) {
    const clearing *c = user;
    (void)source;
    put_identity(target, c->s->out.dtype, c->kind);
}

// (self, dim, index, src, out): the combined sources of one place replace self there.
static sc_status scatter_anew(const sc_kernel_call *call) {
    const scatter_kind kind = (scatter_kind)call->kernel->param;
    scatter s;
    SC_TRY(scatter_init(call, &s, sc_call_tensor(call, 3)));
    scatter_each(&s, clear_target, &(clearing){&s, kind});
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
SC_KERNEL(scatter_src, .run = run_scatter_src);
SC_KERNEL(scatter_value, .run = run_scatter_value);
SC_KERNEL(scatter_add, .run = run_scatter_add, .scratch = wide_bytes);
SC_KERNEL(scatter_reduce, .run = run_scatter_reduce, .scratch = scatter_reduce_scratch);
