// Attention as one call: walks the shapes of its operands to the matrices of compute/attention.h.
// The walk costs less than one of the copies that it replaces.
#include "kernels/attention.h"

#include <math.h>

#include "base/parallel.h"
#include "compute/attention.h"

// --- Shapes --------------------------------------------------------------------------------------

enum { FACTORS = SC_RANK_MAX };

// A dim that a view has merged has several factors, the first of the largest steps.
typedef struct factor {
    int64_t size, step;
} factor;

typedef struct shape {
    uint32_t rank, count;
    uint32_t ends[SC_RANK_MAX];  // of the factors of each dim
    factor factors[FACTORS];
} shape;

static uint32_t begin_of(const shape *s, uint32_t dim) { return dim ? s->ends[dim - 1] : 0; }

// The product of the sizes, -1 if it is too large.
static int64_t multiply(const factor *factors, uint32_t count) {
    int64_t size = 1;
    for (uint32_t i = 0; i < count; i++)
        if (!sc_mul_i64(size, factors[i].size, &size)) return -1;
    return size;
}

static int64_t size_of(const shape *s, uint32_t dim) {
    const uint32_t begin = begin_of(s, dim);
    return multiply(s->factors + begin, s->ends[dim] - begin);
}

static int64_t count_of(const shape *s) { return multiply(s->factors, s->count); }

// Sizes of 1 have no factors, and factors that are one run are merged.
static bool add_factor(shape *s, uint32_t begin, int64_t size, int64_t step) {
    factor *last = s->count > begin ? &s->factors[s->count - 1] : NULL;
    if (size == 1) return true;
    if (last && last->step == step * size) {
        last->size *= size;
        last->step = step;
        return true;
    }
    if (s->count == FACTORS) return false;
    s->factors[s->count++] = (factor){size, step};
    return true;
}

static void end_dim(shape *s) {
    s->ends[s->rank] = s->count;
    s->rank++;
}

static bool add_dim_of(shape *s, const shape *from, uint32_t dim) {
    const uint32_t begin = s->count;
    for (uint32_t i = begin_of(from, dim); i < from->ends[dim]; i++)
        if (!add_factor(s, begin, from->factors[i].size, from->factors[i].step)) return false;
    end_dim(s);
    return true;
}

static shape shape_of(const sc_tensor *t) {
    shape s = {.rank = 0};
    for (uint32_t d = 0; d < t->rank; d++) {
        add_factor(&s, s.count, t->sizes[d], t->strides[d]);
        end_dim(&s);
    }
    return s;
}

// --- Changes -------------------------------------------------------------------------------------

// False if they are no sizes. Those of a run do not exist at load.
static bool read_sizes(const sc_attention_step *step, bool at_load, int64_t *sizes) {
    const sc_evalue *list = at_load ? NULL : step->sizes;
    if (list && (list->tag != SC_EVALUE_INT_LIST || list->count != step->rank)) return false;
    for (uint32_t d = 0; d < step->rank; d++) {
        if (list && list->ints[d]->tag != SC_EVALUE_INT) return false;
        sizes[d] = list ? list->ints[d]->i : step->most[d];
        if (sizes[d] < -1 || sizes[d] > INT32_MAX) return false;
    }
    return true;
}

// Gives the dim of size -1, if there is one, what the others leave.
static bool complete(int64_t *sizes, uint32_t rank, int64_t count) {
    int64_t known = 1, *rest = NULL;
    for (uint32_t d = 0; d < rank; d++) {
        if (sizes[d] == -1 && rest) return false;
        if (sizes[d] == -1)
            rest = &sizes[d];
        else if (!sc_mul_i64(known, sizes[d], &known))
            return false;
    }
    if (rest) *rest = known ? count / known : 0;
    return rest ? known * *rest == count : known == count;
}

// Cuts the factors, in their order, where dims of the new sizes end.
static bool view(shape *s, int64_t *sizes, uint32_t rank) {
    const shape from = *s;
    uint32_t at = 0;
    factor left = from.count ? from.factors[0] : (factor){1, 0};
    const int64_t count = count_of(&from);
    if (count < 0 || !complete(sizes, rank, count)) return false;
    *s = (shape){.rank = 0};
    for (uint32_t d = 0; d < rank; d++) {
        const uint32_t begin = s->count;
        int64_t size = sizes[d];
        if (count == 0 && !add_factor(s, begin, size, 0)) return false;
        while (size > 1 && count > 0) {
            while (left.size == 1 && at + 1 < from.count) left = from.factors[++at];
            const int64_t part = sc_min_i64(left.size, size);
            if (part <= 1 || left.size % part || size % part) return false;
            left.size /= part;
            if (!add_factor(s, begin, part, left.step * left.size)) return false;
            size /= part;
        }
        end_dim(s);
    }
    return true;
}

static bool permute(shape *s, const uint8_t *dims, uint32_t rank) {
    const shape from = *s;
    if (rank != from.rank) return false;
    *s = (shape){.rank = 0};
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] >= rank || !add_dim_of(s, &from, dims[d])) return false;
    return true;
}

static bool expand(shape *s, const int64_t *sizes, uint32_t rank) {
    const shape from = *s;
    if (rank < from.rank || rank > SC_RANK_MAX) return false;
    const uint32_t added = rank - from.rank;
    *s = (shape){.rank = 0};
    for (uint32_t d = 0; d < rank; d++) {
        const int64_t size = d < added ? 1 : size_of(&from, d - added);
        if (size != 1 || sizes[d] == -1) {
            if ((sizes[d] != -1 && sizes[d] != size) || d < added) return false;
            if (!add_dim_of(s, &from, d - added)) return false;
            continue;
        }
        if (!add_factor(s, s->count, sizes[d], 0)) return false;
        end_dim(s);
    }
    return true;
}

static bool lift(shape *s, uint32_t dim) {
    if (dim > s->rank || s->rank == SC_RANK_MAX) return false;
    for (uint32_t d = s->rank; d > dim; d--) s->ends[d] = s->ends[d - 1];
    s->ends[dim] = begin_of(s, dim);
    s->rank++;
    return true;
}

static bool take_step(shape *s, const sc_attention_step *step, bool at_load) {
    int64_t sizes[SC_RANK_MAX];
    switch ((sc_attention_change)step->change) {
    case SC_ATTENTION_VIEW: return read_sizes(step, at_load, sizes) && view(s, sizes, step->rank);
    case SC_ATTENTION_LIFT: return lift(s, step->dims[0]);
    case SC_ATTENTION_PERMUTE: return permute(s, step->dims, step->rank);
    case SC_ATTENTION_EXPAND:
        return read_sizes(step, at_load, sizes) && expand(s, sizes, step->rank);
    }
    return false;
}

// --- Matrices ------------------------------------------------------------------------------------

static bool read_items(const shape *s, sc_attention_items *items) {
    if (s->ends[0] > SC_ATTENTION_FACTORS) return false;
    items->count = s->ends[0];
    for (uint32_t i = 0; i < items->count; i++) {
        items->sizes[i] = s->factors[i].size;
        items->steps[i] = s->factors[i].step;
    }
    return true;
}

static bool read_step(const shape *s, uint32_t dim, int64_t *step) {
    const uint32_t begin = begin_of(s, dim), count = s->ends[dim] - begin;
    *step = count ? s->factors[begin].step : 0;
    return count <= 1;
}

// A dim of one element may have any step: that of dense rows serves best.
static bool read_column(const shape *s, uint32_t dim, int64_t *step) {
    if (!read_step(s, dim, step)) return false;
    if (size_of(s, dim) == 1) *step = 1;
    return true;
}

static bool read_shape(const sc_tensor *t, const shape *s, sc_attention_matrix *m) {
    m->data = t->data;
    return s->rank == 3 && read_items(s, &m->items) && read_step(s, 1, &m->row) &&
           read_column(s, 2, &m->column);
}

static bool read_matrix(const sc_tensor *t, const sc_attention_path *path, bool at_load, shape *s,
                        sc_attention_matrix *m) {
    if (t->dtype != SC_DTYPE_F32) return false;
    *s = shape_of(t);
    for (uint32_t i = 0; i < path->count; i++)
        if (!take_step(s, &path->steps[i], at_load)) return false;
    return read_shape(t, s, m);
}

static bool has_sizes(const shape *s, int64_t items, int64_t rows, int64_t columns) {
    return size_of(s, 0) == items && size_of(s, 1) == rows && size_of(s, 2) == columns;
}

static const sc_attention_form *form_of(const sc_kernel_call *call) { return call->form; }

// The sizes that a step gives [items, rows, columns].
static bool view_matrices(const sc_attention_step *step, bool at_load, const int64_t *plain,
                          int64_t *sizes, uint32_t *rank) {
    int64_t count;
    *rank = step->rank ? step->rank : 3;
    memcpy(sizes, plain, 3 * sizeof *plain);
    return step->rank == 0 ||
           (sc_mul_i64(plain[0], plain[1], &count) && sc_mul_i64(count, plain[2], &count) &&
            read_sizes(step, at_load, sizes) && complete(sizes, *rank, count));
}

// The last dim of the scores is that of the keys, and the mask broadcasts to them.
static bool read_mask(const sc_kernel_call *call, bool at_load, sc_attention *a) {
    const sc_attention_form *f = form_of(call);
    int64_t plain[3] = {a->items, a->queries, a->keys}, sizes[SC_RANK_MAX];
    uint32_t rank;
    if (!view_matrices(&f->shape, at_load, plain, sizes, &rank) || sizes[rank - 1] != a->keys)
        return false;
    if (!f->has_mask) return true;
    const sc_tensor *mask = sc_call_tensor(call, 3);
    shape s = shape_of(mask);
    return mask->dtype == SC_DTYPE_F32 && expand(&s, sizes, rank) && view(&s, plain, 3) &&
           read_shape(mask, &s, &a->mask) && has_sizes(&s, a->items, a->queries, a->keys);
}

static bool read_operands(const sc_kernel_call *call, bool at_load, sc_attention *a) {
    const sc_attention_form *f = form_of(call);
    shape q, k, v;
    *a = (sc_attention){.scale = f->scale, .is_safe = f->is_safe};
    if (!read_matrix(sc_call_tensor(call, 0), &f->query, at_load, &q, &a->q) ||
        !read_matrix(sc_call_tensor(call, 1), &f->key, at_load, &k, &a->k) ||
        !read_matrix(sc_call_tensor(call, 2), &f->value, at_load, &v, &a->v))
        return false;
    a->items = size_of(&q, 0), a->queries = size_of(&q, 1), a->depth = size_of(&q, 2);
    a->keys = size_of(&v, 1), a->width = size_of(&v, 2);
    // The product has keys as columns.
    a->k.row = a->k.column;
    return read_column(&k, 1, &a->k.column) && has_sizes(&k, a->items, a->depth, a->keys) &&
           has_sizes(&v, a->items, a->keys, a->width) && read_mask(call, at_load, a);
}

// --- The result ----------------------------------------------------------------------------------

// The sizes of the result, and how its matrices become it.
typedef struct target {
    int64_t viewed[SC_RANK_MAX], sizes[SC_RANK_MAX];
    uint32_t rank;
} target;

static bool find_target(const sc_attention_form *f, bool at_load, const sc_attention *a,
                        target *t) {
    const int64_t plain[3] = {a->items, a->queries, a->width};
    if (!view_matrices(&f->view, at_load, plain, t->viewed, &t->rank) ||
        (f->order.rank && f->order.rank != t->rank))
        return false;
    for (uint32_t d = 0; d < t->rank; d++)
        t->sizes[d] = t->viewed[f->order.rank ? f->order.dims[d] : d];
    return true;
}

// Strides of the result back to those of matrices.
static bool read_result(const sc_kernel_call *call, const target *to, sc_attention *a) {
    const sc_attention_form *f = form_of(call);
    const sc_tensor *out = sc_call_out(call);
    int64_t plain[3] = {a->items, a->queries, a->width};
    uint8_t back[SC_RANK_MAX] = {0};
    if (out->dtype != SC_DTYPE_F32 || out->rank != to->rank ||
        memcmp(out->sizes, to->sizes, to->rank * sizeof *to->sizes) != 0)
        return false;
    shape s = shape_of(out);
    for (uint32_t d = 0; d < to->rank; d++) back[f->order.rank ? f->order.dims[d] : d] = (uint8_t)d;
    a->out = out->data;
    return permute(&s, back, to->rank) && view(&s, plain, 3) && read_items(&s, &a->out_items) &&
           read_step(&s, 1, &a->out_row) && read_column(&s, 2, &a->out_column);
}

// Resizes the result if its size is not that of every run.
static bool describe(const sc_kernel_call *call, bool at_load, sc_attention *a) {
    sc_tensor *out = sc_call_out(call);
    target to;
    if (!read_operands(call, at_load, a) || !find_target(form_of(call), at_load, a, &to))
        return false;
    if (out->is_dynamic && out->rank == to.rank && sc_call_resize(call, out, to.sizes) != SC_OK)
        return false;
    return read_result(call, &to, a);
}

bool sc_attention_fits(const sc_kernel_call *call) {
    sc_attention a;
    return describe(call, true, &a);
}

// --- The kernel ----------------------------------------------------------------------------------

static sc_status run(const sc_kernel_call *call) {
    sc_attention a;
    if (!describe(call, false, &a))
        return sc_call_fail(call, SC_ERR_SHAPE, "queries, keys and values do not fit together");
    if (sc_attention_scratch_bytes(&a) > call->scratch_bytes) return sc_call_starved(call);
    sc_attention_run(&a, call->scratch);
    return SC_OK;
}

static uint64_t scratch(const sc_kernel_call *call) {
    sc_attention a;
    return describe(call, true, &a) ? sc_attention_scratch_bytes(&a) : 0;
}

const sc_kernel sc_k_attention = {.run = run, .scratch = scratch};

// --- Masked rows ---------------------------------------------------------------------------------

static bool is_row_major(const sc_tensor *t) {
    for (uint32_t d = 0; d < t->rank; d++)
        if (t->dim_order[d] != d) return false;
    return t->rank > 0 && t->dtype == SC_DTYPE_F32;
}

static bool is_alike(const sc_tensor *a, const sc_tensor *b) {
    return is_row_major(a) && a->rank == b->rank &&
           memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0;
}

bool sc_masked_rows_fit(const sc_kernel_call *call) {
    const sc_tensor *out = sc_call_out(call);
    return is_row_major(out) && is_alike(sc_call_tensor(call, 0), out) &&
           is_alike(sc_call_tensor(call, 1), out);
}

typedef struct rows {
    const float *scores, *weights;
    float *out;
    int64_t count;  // of a row
} rows;

static bool is_masked(const float *scores, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (scores[i] != -INFINITY) return false;
    return true;
}

static void pass_rows(void *work, int64_t from, int64_t to, uint32_t thread) {
    const rows *r = work;
    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const int64_t at = i * r->count;
        const size_t bytes = (size_t)r->count * sizeof(float);
        if (is_masked(r->scores + at, r->count))
            memset(r->out + at, 0, bytes);
        else if (r->out != r->weights)
            memcpy(r->out + at, r->weights + at, bytes);
    }
}

static sc_status run_masked_rows(const sc_kernel_call *call) {
    const sc_tensor *weights = sc_call_tensor(call, 1);
    sc_tensor *out = sc_call_out(call);
    if (out->rank == weights->rank) SC_TRY(sc_call_resize(call, out, weights->sizes));
    if (!sc_masked_rows_fit(call))
        return sc_call_fail(call, SC_ERR_SHAPE, "needs scores and weights of the same sizes");
    rows r = {.scores = sc_call_tensor(call, 0)->data,
              .weights = weights->data,
              .out = out->data,
              .count = out->sizes[out->rank - 1]};
    if (out->numel == 0) return SC_OK;
    const double each = r.out == r.weights ? SC_COST_SUM : SC_COST_COPY * (double)r.count;
    sc_parallel_rows(out->numel / r.count, each, pass_rows, &r);
    return SC_OK;
}

const sc_kernel sc_k_masked_rows = {.run = run_masked_rows};
