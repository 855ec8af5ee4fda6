// Sums over pairs and triples of rows: cdist, pdist and the trilinear product. Sums are in double.
#include <math.h>

#include "base/parallel.h"
#include "kernels/move.h"

// --- Distances -----------------------------------------------------------------------------------

// The p-norm of the difference of two rows of `n` elements.
static double distance(const sc_tensor *a, int64_t a_offset, const sc_tensor *b, int64_t b_offset,
                       int64_t n, double p) {
    int64_t a_step = a->strides[a->rank - 1u], b_step = b->strides[b->rank - 1u];
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(sc_tensor_real(a, a_offset + i * a_step) -
                        sc_tensor_real(b, b_offset + i * b_step));
        if (p == 0.0)
            sum += d != 0.0;
        else if (p == 1.0)
            sum += d;
        else if (p == 2.0)
            sum += d * d;
        else if (p == INFINITY)
            sum = d > sum || d != d ? d : sum;
        else
            sum += pow(d, p);
    }
    if (p == 2.0) return sqrt(sum);
    return p == 0.0 || p == 1.0 || p == INFINITY ? sum : pow(sum, 1.0 / p);
}

static sc_status need_floats(const sc_kernel_call *call, const sc_tensor *a, const sc_tensor *b,
                             const sc_tensor *out, double p) {
    if (!sc_dtype_is_float((sc_dtype)a->dtype) || !sc_dtype_is_float((sc_dtype)b->dtype) ||
        !sc_dtype_is_float((sc_dtype)out->dtype))
        return sc_call_no_kernel(call);
    if (!(p >= 0.0)) return sc_call_fail(call, SC_ERR_ARGUMENT, "p must not be negative");
    return SC_OK;
}

// The start of batch `index` of the result in an operand whose leading dims broadcast to it.
static int64_t batch_offset(const sc_tensor *t, const sc_tensor *out, const int64_t *index) {
    int64_t offset = 0;
    uint32_t batch = out->rank - 2u, missing = out->rank - t->rank;
    for (uint32_t d = missing; d < batch; d++)
        offset += t->sizes[d - missing] == 1 ? 0 : index[d] * t->strides[d - missing];
    return offset;
}

static bool batch_fits(const sc_tensor *t, const sc_tensor *out, int64_t rows) {
    if (t->rank < 2 || t->rank > out->rank || t->sizes[t->rank - 2] != rows) return false;
    for (uint32_t d = 0; d + 2 < t->rank; d++) {
        int64_t size = out->sizes[d + out->rank - t->rank];
        if (t->sizes[d] != 1 && t->sizes[d] != size) return false;
    }
    return true;
}

typedef struct pairs {
    const sc_tensor *a, *b, *out;
    double p;
} pairs;

// Elements of the result in index order.
static void measure_pairs(void *work, int64_t from, int64_t end, uint32_t thread) {
    const pairs *all = work;
    const sc_tensor *a = all->a, *b = all->b, *out = all->out;
    const uint32_t row = out->rank - 2u, column = out->rank - 1u;
    int64_t index[SC_RANK_MAX], rest = from, n = a->sizes[a->rank - 1];
    for (uint32_t d = out->rank; d-- > 0; rest /= out->sizes[d]) index[d] = rest % out->sizes[d];
    (void)thread;
    for (int64_t k = from; k < end; k++) {
        int64_t to = 0;
        for (uint32_t d = 0; d < out->rank; d++) to += index[d] * out->strides[d];
        int64_t from_a = batch_offset(a, out, index) + index[row] * a->strides[a->rank - 2];
        int64_t from_b = batch_offset(b, out, index) + index[column] * b->strides[b->rank - 2];
        sc_tensor_put_real(out, to, distance(a, from_a, b, from_b, n, all->p));
        for (uint32_t d = out->rank; d-- > 0;) {
            if (++index[d] < out->sizes[d]) break;
            index[d] = 0;
        }
    }
}

// (x1, x2, p, compute_mode, out)
static sc_status run_cdist(const sc_kernel_call *call) {
    const sc_tensor *a = sc_call_tensor(call, 0), *b = sc_call_tensor(call, 1);
    const sc_tensor *out = sc_call_out(call);
    double p = sc_call_number(call, 2);
    SC_TRY(need_floats(call, a, b, out, p));
    if (out->rank < 2 || !batch_fits(a, out, out->sizes[out->rank - 2]) ||
        !batch_fits(b, out, out->sizes[out->rank - 1]) ||
        a->sizes[a->rank - 1] != b->sizes[b->rank - 1])
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    pairs all = {a, b, out, p};
    const double each = SC_COST_FUNCTION * (double)a->sizes[a->rank - 1];
    sc_parallel_rows(out->numel, SC_COST_FUNCTION + each, measure_pairs, &all);
    return SC_OK;
}

// (self, p, out): pairs (i, j) with i < j, in order.
static sc_status run_pdist(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    double p = sc_call_number(call, 1);
    SC_TRY(need_floats(call, self, self, out, p));
    int64_t rows = self->rank == 2 ? self->sizes[0] : 0, at = 0;
    if (self->rank != 2 || out->rank != 1 || rows > INT32_MAX ||
        out->numel != rows * (rows - 1) / 2)
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = i + 1; j < rows; j++, at++)
            sc_tensor_put_real(out, at,
                               distance(self, i * self->strides[0], self, j * self->strides[0],
                                        self->sizes[1], p));
    }
    return SC_OK;
}

// --- Trilinear -----------------------------------------------------------------------------------

// The operand with dims of size 1 at the places of `argument`.
static sc_status expanded(const sc_kernel_call *call, uint32_t operand, sc_strided *view) {
    int64_t dims[SC_RANK_MAX];
    const sc_tensor *t = sc_call_tensor(call, operand);
    uint32_t count = sc_call_ints(call, 3 + operand, dims, SC_RANK_MAX, 0);
    uint32_t rank = t->rank + count, added = 0;
    if (rank > SC_RANK_MAX) return sc_call_fail(call, SC_ERR_LIMIT, "too many dims");
    for (uint32_t i = 0; i < count; i++) added |= 1u << sc_wrap_dim(dims[i], rank);
    sc_strided_of(view, t);
    for (uint32_t d = 0; d < rank; d++) {
        if (added >> d & 1) sc_strided_insert(view, d);
    }
    return SC_OK;
}

static double view_real(const sc_strided *v, int64_t offset) {
    double value;
    uint32_t width = sc_dtype_bytes((sc_dtype)v->dtype);
    sc_loader(SC_CLASS_F64, v->dtype)(&value, v->data + offset * width, 1, 1);
    return value;
}

// Advances a position through `dims` and its offsets; false after the last one.
static bool step(uint32_t rank, uint32_t dims, const int64_t *sizes, int64_t *index,
                 const sc_strided *views, int64_t *offsets) {
    for (uint32_t d = rank; d-- > 0;) {
        if (!(dims >> d & 1)) continue;
        index[d]++;
        for (int k = 0; k < 3; k++) offsets[k] += views[k].strides[d];
        if (index[d] < sizes[d]) return true;
        for (int k = 0; k < 3; k++) offsets[k] -= sizes[d] * views[k].strides[d];
        index[d] = 0;
    }
    return false;
}

// (i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim, out)
static sc_status run_trilinear(const sc_kernel_call *call) {
    const sc_tensor *out = sc_call_out(call);
    sc_strided views[3];
    int64_t sizes[SC_RANK_MAX], summed_dims[SC_RANK_MAX], offsets[3] = {0},
                                                          index[SC_RANK_MAX] = {0};
    for (uint32_t k = 0; k < 3; k++) SC_TRY(expanded(call, k, &views[k]));
    uint32_t rank = views[0].rank, summed = 0, kept = 0, all = (1u << rank) - 1;
    uint32_t count = sc_call_ints(call, 6, summed_dims, SC_RANK_MAX, 0);
    bool fits = views[1].rank == rank && views[2].rank == rank, empty = false;
    for (uint32_t i = 0; i < count; i++) summed |= 1u << sc_wrap_dim(summed_dims[i], rank);
    for (uint32_t d = 0; fits && d < rank; d++) {
        sizes[d] = 1;
        for (int k = 0; k < 3; k++) {
            int64_t size = views[k].sizes[d];
            fits = fits && (size == 1 || sizes[d] == 1 || size == sizes[d]);
            sizes[d] = size == 1 ? sizes[d] : size;
            views[k].strides[d] = size == 1 ? 0 : views[k].strides[d];
        }
        empty = empty || sizes[d] == 0;
        if (!(summed >> d & 1)) fits = fits && kept < out->rank && out->sizes[kept++] == sizes[d];
    }
    if (!fits || kept != out->rank || !sc_tensor_is_contiguous(out) ||
        !sc_dtype_is_float((sc_dtype)views[0].dtype) || views[1].dtype != views[0].dtype ||
        views[2].dtype != views[0].dtype || !sc_dtype_is_float((sc_dtype)out->dtype))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes or dtypes do not agree");
    for (int64_t i = 0; i < out->numel; i++) {
        double sum = 0.0;
        do {
            if (!empty)
                sum += view_real(&views[0], offsets[0]) * view_real(&views[1], offsets[1]) *
                       view_real(&views[2], offsets[2]);
        } while (!empty && step(rank, summed, sizes, index, views, offsets));
        sc_tensor_put_real(out, i, sum);
        (void)step(rank, all & ~summed, sizes, index, views, offsets);
    }
    return SC_OK;
}

SC_KERNEL(cdist, .run = run_cdist);
SC_KERNEL(pdist, .run = run_pdist);
SC_KERNEL(trilinear, .run = run_trilinear);
