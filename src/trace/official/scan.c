// Scans along a dim by doubling. After a step of distance d, every element is combined with the
// elements at the 2 d - 1 places before it. Floats are computed in float64, so that the order of
// combining does not show. Products of few elements are made one after the other. A dim of open
// size has as many steps as its largest size needs, and steps beyond its end combine no elements.
#include "trace/official/official.h"

enum { SCANNED_MAX = 3, IN_A_ROW_MAX = 128 };

// One step of the doubling. The first `step` elements stay; `step` is at most the size. Tensors
// that `combine` returns unchanged stay as a whole.
static void scan_step(sc_trace *t, sc_x *x, uint32_t count, uint32_t dim, sc_dim step,
                      sc_official_combine_fn combine) {
    sc_x before[SCANNED_MAX], after[SCANNED_MAX];
    const sc_dim zero = sc_dim_int(0), n = sc_x_size(x[0], dim), rest = sc_trace_sub(t, n, step);
    for (uint32_t i = 0; i < count; i++) {
        before[i] = sc_f_slice_range(t, x[i], dim, zero, rest);
        after[i] = sc_f_slice_range(t, x[i], dim, step, n);
    }
    sc_x made = combine(t, before, after);
    for (uint32_t i = 0; i < count; i++) {
        sc_x combined = made->kind == SC_X_LIST ? sc_x_at(t, made, i) : made;
        if (combined == after[i]) continue;
        x[i] = sc_f_join(t, sc_f_slice_range(t, x[i], dim, zero, step), combined, dim);
    }
}

static void scan(sc_trace *t, sc_x *x, uint32_t count, uint32_t dim,
                 sc_official_combine_fn combine) {
    const sc_dim n = sc_x_size(x[0], dim);
    const int64_t most = sc_official_size_max(t, n);
    for (int64_t d = 1; d < most && t->status == SC_OK; d *= 2)
        scan_step(t, x, count, dim, sc_f_smaller(t, n, sc_dim_int(d)), combine);
}

// Programs say that sizes of inputs are at least 1, but they may be 0 in a run. This many elements
// are added after the end, where they do not change the results before it. Then every step fits:
// steps are powers of two, and this is the first one beyond the least size that the program states.
static int64_t spare_of(sc_dim n) {
    const int64_t least = sc_dim_range(n).min;
    int64_t spare = 1;
    if (least <= 0 || !sc_f_may_be_empty(n)) return 0;
    while (spare <= least && spare < INT64_MAX / 2) spare *= 2;
    return spare;
}

void sc_official_scan(sc_trace *t, sc_x *x, uint32_t count, uint32_t dim,
                      sc_official_combine_fn combine) {
    const sc_dim n = sc_x_size(x[0], dim);
    const int64_t spare = spare_of(n);
    for (uint32_t i = 0; i < count; i++) x[i] = sc_f_pad(t, x[i], dim, 0, spare, sc_x_int(t, 0));
    scan(t, x, count, dim, combine);
    for (uint32_t i = 0; i < count && spare > 0; i++) x[i] = sc_f_slice_first(t, x[i], dim, n);
}

sc_x sc_official_ends_run(sc_trace *t, sc_x x, uint32_t dim) {
    const sc_dim one = sc_dim_int(1), end = sc_trace_add(t, sc_x_size(x, dim), one);
    sc_x longer = sc_f_pad(t, x, dim, 0, 1, sc_x_int(t, -1));
    return CALL(t, ne_Tensor, x, sc_f_slice_range(t, longer, dim, one, end));
}

static sc_dtype wide(sc_dtype dtype) { return sc_dtype_is_float(dtype) ? SC_DTYPE_F64 : dtype; }

static sc_x finished(sc_trace *t, sc_x x, sc_x self) {
    return sc_f_to(t, sc_f_restore_rank(t, x, self), sc_official_result_dtype(t));
}

static bool is_single(sc_x x, uint32_t dim) {
    return sc_dim_is(sc_x_size(x, dim), 0) || sc_dim_is(sc_x_size(x, dim), 1);
}

// --- Products ------------------------------------------------------------------------------------

static sc_x product(sc_trace *t, const sc_x *before, const sc_x *after) {
    return sc_official_step(t, SC_STEP_product, (const sc_x[]){before[0], after[0]});
}

static sc_x in_a_row(sc_trace *t, sc_x x, uint32_t dim) {
    sc_x parts[IN_A_ROW_MAX];
    const int64_t n = sc_x_static_size(t, x, dim);
    for (int64_t i = 0; i < n && t->status == SC_OK; i++) {
        parts[i] = sc_f_slice_steps(t, x, dim, i, 1, 1);
        if (i > 0) parts[i] = sc_f_mul(t, parts[i - 1], parts[i]);
    }
    return sc_f_cat(t, parts, t->status == SC_OK ? (uint32_t)n : 0, dim);
}

// (self, dim, dtype)
sc_x sc_official_cumprod(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    const sc_dtype dtype = sc_official_result_dtype(t);
    sc_x x = sc_f_to(t, sc_f_atleast_1d(t, a[0]), dtype);
    if (is_single(x, dim)) return finished(t, x, a[0]);
    x = sc_f_to(t, x, wide(dtype));
    const sc_dim n = sc_x_size(x, dim);
    if (sc_x_is_float(x) && sc_dim_is_int(n) && n.value <= IN_A_ROW_MAX)
        return finished(t, in_a_row(t, x, dim), a[0]);
    sc_official_scan(t, &x, 1, dim, product);
    return finished(t, x, a[0]);
}

// --- Logarithms of sums --------------------------------------------------------------------------

static sc_x log_sum(sc_trace *t, const sc_x *before, const sc_x *after) {
    return sc_official_step(t, SC_STEP_log_sum, (const sc_x[]){before[0], after[0]});
}

// (self, dim)
sc_x sc_official_logcumsumexp(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    sc_x x = sc_f_to(t, sc_f_atleast_1d(t, a[0]), wide(sc_x_dtype_of(a[0])));
    if (!sc_x_is_float(x)) return sc_official_refuse(t);
    sc_official_scan(t, &x, 1, dim, log_sum);
    return finished(t, x, a[0]);
}

// --- Extremes, with their places -----------------------------------------------------------------

// The later element if it is not worse, or if it is NaN.
static sc_x choose(sc_trace *t, const sc_x *before, const sc_x *after, sc_x take) {
    if (sc_x_is_float(after[0])) take = sc_f_or(t, take, CALL(t, isnan, after[0]));
    sc_x values = sc_f_where(t, take, after[0], before[0]);
    return X_LIST(t, values, sc_f_where(t, take, after[1], before[1]));
}

static sc_x largest(sc_trace *t, const sc_x *before, const sc_x *after) {
    return choose(t, before, after, CALL(t, ge_Tensor, after[0], before[0]));
}

static sc_x smallest(sc_trace *t, const sc_x *before, const sc_x *after) {
    return choose(t, before, after, CALL(t, le_Tensor, after[0], before[0]));
}

static sc_x extremes(sc_trace *t, const sc_x *a, sc_official_combine_fn combine) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    sc_x x = sc_f_atleast_1d(t, a[0]);
    const sc_spec *spec = sc_x_spec(x);
    if (t->status != SC_OK) return &t->poisoned;
    sc_x place = sc_f_places(t, spec->sizes[dim], dim, spec->rank);
    sc_x both[2] = {x, sc_f_expand(t, place, spec->sizes, spec->rank)};
    if (!is_single(x, dim)) sc_official_scan(t, both, 2, dim, combine);
    sc_x values = sc_f_restore_rank(t, both[0], a[0]);
    return X_LIST(t, values, sc_f_restore_rank(t, both[1], a[0]));
}

// (self, dim)
sc_x sc_official_cummax(sc_trace *t, const sc_x *a) { return extremes(t, a, largest); }
sc_x sc_official_cummin(sc_trace *t, const sc_x *a) { return extremes(t, a, smallest); }
