// sort, topk, median, kthvalue: rows are ranked by a 64-bit key that orders any dtype (NaN largest,
// -0 equal to 0) and their position, so ties keep index order and every result is reproducible.
// Merge sort in scratch; values are copied from the input by position.
#include "base/parallel.h"
#include "kernels/reduce.h"

typedef struct ranked {
    uint64_t key;
    int64_t index;
} ranked;

typedef struct sorting {
    sc_reduction reduction;
    sc_class class_;
    sc_load_fn load;
    const sc_tensor *self, *values, *indices;
    int64_t step;     // of the results along the dim
    int64_t in_step;  // of the input
    int64_t kept;     // results per row
    bool descending;
    bool is_median;     // NaN decides; else the element of rank `nth`
    bool is_nanmedian;  // as if there were no NaN; all NaNs are last
    bool is_mode;       // the smallest of the most frequent values
    bool is_single;     // one result of rank `nth`
    int64_t nth;
    ranked *rows;  // twice the row length
} sorting;

static uint64_t real_key(double x) {
    uint64_t bits;
    if (x != x) return UINT64_MAX;
    x = x == 0 ? 0.0 : x;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

// Nanoseconds of an element in one round of merges.
#define COST 4.0

// Sorted runs of `width` elements, two of which become one.
typedef struct merging {
    const ranked *items;
    ranked *merged;
    int64_t count, width;
} merging;

static void merge_pairs(void *work, int64_t from, int64_t to, uint32_t thread) {
    const merging *m = work;
    const ranked *items = m->items;
    (void)thread;
    for (int64_t pair = from; pair < to; pair++) {
        const int64_t start = 2 * m->width * pair;
        const int64_t middle = sc_min_i64(start + m->width, m->count);
        const int64_t end = sc_min_i64(middle + m->width, m->count);
        int64_t a = start, b = middle;
        for (int64_t k = start; k < end; k++) {
            const bool left = a < middle && (b >= end || items[a].key <= items[b].key);
            m->merged[k] = left ? items[a++] : items[b++];
        }
    }
}

// Bottom-up, stable. The result is in the half that is returned.
static ranked *merge_sort(ranked *items, ranked *spare, int64_t count) {
    for (int64_t width = 1; width < count; width *= 2) {
        merging m = {items, spare, count, width};
        sc_parallel_rows((count - 1) / (2 * width) + 1, COST * 2.0 * (double)width, merge_pairs,
                         &m);
        ranked *swap = items;
        items = spare;
        spare = swap;
    }
    return items;
}

static int64_t rank_row(const sorting *s, sc_stream *elements) {
    union {
        double real[SC_BLOCK];
        int64_t integer[SC_BLOCK];
    } block;
    int64_t first_nan = -1, index = 0;
    for (int64_t left = s->reduction.count; left > 0; left -= SC_BLOCK) {
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(elements, s->load, &block, 8, n);
        for (int64_t i = 0; i < n; i++, index++) {
            uint64_t key = s->class_ == SC_CLASS_F64 ? real_key(block.real[i])
                                                     : (uint64_t)block.integer[i] ^ 1ull << 63;
            if (s->class_ == SC_CLASS_F64 && key == UINT64_MAX && first_nan < 0) first_nan = index;
            s->rows[index] = (ranked){s->descending ? ~key : key, index};
        }
    }
    return first_nan;
}

static int64_t middle_number(const ranked *sorted, int64_t count) {
    while (count > 1 && sorted[count - 1].key == UINT64_MAX) count--;
    return (count - 1) / 2;
}

// The last of equal values represents all; every NaN is its own value.
static bool is_repeated(const sorting *s, ranked a, ranked b) {
    return a.key == b.key && !(s->class_ == SC_CLASS_F64 && a.key == UINT64_MAX);
}

static int64_t most_frequent(const sorting *s, const ranked *sorted, int64_t count) {
    int64_t best = 0, most = 0;
    for (int64_t i = 0, start = 0; i < count; i++) {
        if (i + 1 < count && is_repeated(s, sorted[i], sorted[i + 1])) continue;
        if (i + 1 - start > most) {
            most = i + 1 - start;
            best = i;
        }
        start = i + 1;
    }
    return best;
}

static void sort_position(void *user, sc_stream *elements, int64_t out_offset) {
    const sorting *s = user;
    const char *row = elements->data;
    uint32_t width = elements->item_bytes;
    int64_t first_nan = rank_row(s, elements), count = s->reduction.count;
    ranked *sorted = merge_sort(s->rows, s->rows + count, count);
    int64_t nth = s->nth;
    if (s->is_nanmedian && s->class_ == SC_CLASS_F64) nth = middle_number(sorted, count);
    if (s->is_mode) nth = most_frequent(s, sorted, count);
    for (int64_t i = 0; i < s->kept; i++) {
        int64_t index = sorted[s->is_single ? nth : i].index;
        if (s->is_median && first_nan >= 0) index = first_nan;
        int64_t at = out_offset + i * s->step;
        memcpy((char *)s->values->data + at * width, row + index * s->in_step * width, width);
        ((int64_t *)s->indices->data)[at] = index;
    }
}

static void sort_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    sorting s = *(const sorting *)work;
    if (thread) s.rows = sc_parallel_scratch(thread);
    sc_reduction_part(&s.reduction, from, to, sort_position, &s);
}

// Threads share rows if they have room for some each, or else the merges of a row.
static void share_rows(sorting *s) {
    enum { ROOM_MAX = 8 << 20 };
    const int64_t rows = s->reduction.out_count, count = s->reduction.count;
    const uint64_t bytes = 2 * (uint64_t)count * sizeof(ranked);
    double rounds = 2;
    for (int64_t width = 1; width < count; width *= 2) rounds++;
    const int64_t step = sc_parallel_step(rows, COST * rounds * (double)count);
    if (step < rows && bytes <= ROOM_MAX && sc_parallel_reserve(bytes))
        sc_parallel(rows, step, sort_part, s);
    else
        sort_part(s, 0, rows, 0);
}

static uint64_t sort_scratch(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    int64_t longest = 1;
    for (uint32_t d = 0; d < self->rank; d++) longest = sc_max_i64(longest, self->sizes[d]);
    return 2 * (uint64_t)longest * sizeof(ranked);
}

static sc_status sort_rows(const sc_kernel_call *call, sorting *s, uint32_t dim) {
    s->self = sc_call_tensor(call, 0);
    s->values = sc_call_tensor(call, call->arg_count - 2);
    s->indices = sc_call_out(call);
    sc_class class_ = sc_class_of(s->self->dtype);
    s->class_ = class_ == SC_CLASS_F32 || class_ == SC_CLASS_F64 ? SC_CLASS_F64 : SC_CLASS_I64;
    s->load = sc_loader(s->class_, s->self->dtype);
    if (!s->load || s->values->dtype != s->self->dtype || s->indices->dtype != SC_DTYPE_I64)
        return sc_call_no_kernel(call);
    if (!sc_same_layout(s->values, s->indices))
        return sc_call_fail(call, SC_ERR_SHAPE, "values and indices differ in layout");
    s->in_step = s->self->rank > 0 ? s->self->strides[dim] : 1;
    if (call->scratch_bytes < 2 * (uint64_t)s->reduction.count * sizeof(ranked))
        return sc_call_starved(call);
    s->rows = call->scratch;
    share_rows(s);
    return SC_OK;
}

static sc_status sort_dim(const sc_kernel_call *call, int64_t dim_argument, bool descending,
                          int64_t kept) {
    const sc_tensor *self = sc_call_tensor(call, 0), *indices = sc_call_out(call);
    uint32_t dim = sc_wrap_dim(dim_argument, self->rank);
    sorting s = {.descending = descending};
    SC_TRY(sc_reduction_init_along(call->ctx, &s.reduction, self, indices, dim));
    s.kept = kept < 0 ? s.reduction.count : kept;
    int64_t room = indices->rank > 0 ? indices->sizes[dim] : 1;
    if (s.kept > s.reduction.count || s.kept != room)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "k is %lld for a dim of size %lld",
                            (long long)s.kept, (long long)s.reduction.count);
    s.step = indices->rank > 0 ? indices->strides[dim] : 1;
    return sort_rows(call, &s, dim);
}

static sc_status run_sort(const sc_kernel_call *call) {
    return sort_dim(call, sc_call_integer(call, 1), sc_call_integer(call, 2) != 0, -1);
}

// (self, stable, dim, descending, values, indices)
static sc_status run_sort_stable(const sc_kernel_call *call) {
    return sort_dim(call, sc_call_integer(call, 2), sc_call_integer(call, 3) != 0, -1);
}

static sc_status run_topk(const sc_kernel_call *call) {
    int64_t k = sc_call_integer(call, 1);
    return sort_dim(call, sc_call_integer(call, 2), sc_call_integer(call, 3) != 0, k < 0 ? 0 : k);
}

// One result for each row; for results by rank, `nth` among all of its elements.
static sc_status select_one(const sc_kernel_call *call, sorting *s, int64_t dim_argument) {
    const sc_tensor *self = sc_call_tensor(call, 0), *indices = sc_call_out(call);
    uint32_t dim = sc_wrap_dim(dim_argument, self->rank);
    uint32_t mask = self->rank > 0 ? 1u << dim : 0;
    s->kept = 1;
    s->is_single = true;
    SC_TRY(sc_reduction_init(call->ctx, &s->reduction, self, indices, mask, SC_REDUCE_INDEX));
    if (s->is_median || s->is_nanmedian || s->is_mode) s->nth = (s->reduction.count - 1) / 2;
    if (s->reduction.out_count > 0 && (s->nth < 0 || s->nth >= s->reduction.count))
        return sc_call_fail(call, SC_ERR_ARGUMENT, "there is no element of that rank");
    return sort_rows(call, s, dim);
}

static sc_status run_median(const sc_kernel_call *call) {
    sorting s = {.is_median = true};
    return select_one(call, &s, sc_call_integer(call, 1));
}

static sc_status run_nanmedian(const sc_kernel_call *call) {
    sorting s = {.is_nanmedian = true};
    return select_one(call, &s, sc_call_integer(call, 1));
}

static sc_status run_mode(const sc_kernel_call *call) {
    sorting s = {.is_mode = true};
    return select_one(call, &s, sc_call_integer(call, 1));
}

static sc_status run_kthvalue(const sc_kernel_call *call) {
    int64_t k = sc_call_integer(call, 1);
    sorting s = {.nth = k > 0 ? k - 1 : -1};
    return select_one(call, &s, sc_call_integer(call, 2));
}

// --- Unique --------------------------------------------------------------------------------------

// (self, sorted, return_inverse, return_counts, values, inverse, counts), always sorted.
static sc_status run_unique(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    sc_tensor *values = sc_call_tensor(call, 4), *counts = sc_call_tensor(call, 6);
    const sc_tensor *inverse = sc_call_tensor(call, 5);
    bool has_inverse = inverse->numel == self->numel, has_counts = sc_call_integer(call, 3) != 0;
    sorting s = {.self = self};
    sc_class class_ = sc_class_of(self->dtype);
    s.class_ = class_ == SC_CLASS_F32 || class_ == SC_CLASS_F64 ? SC_CLASS_F64 : SC_CLASS_I64;
    s.load = sc_loader(s.class_, self->dtype);
    if (!s.load || values->dtype != self->dtype || counts->dtype != SC_DTYPE_I64 ||
        inverse->dtype != SC_DTYPE_I64)
        return sc_call_no_kernel(call);
    if (values->rank != 1 || counts->rank != 1)
        return sc_call_fail(call, SC_ERR_SHAPE, "needs vectors for its values and counts");
    if (has_inverse && !sc_tensor_is_contiguous(inverse))
        return sc_call_fail(call, SC_ERR_SHAPE, "needs a row-major tensor for its inverse");
    if (call->scratch_bytes < 2 * (uint64_t)self->numel * sizeof(ranked))
        return sc_call_starved(call);
    sc_stream walk;
    uint32_t width = sc_dtype_bytes((sc_dtype)self->dtype);
    sc_stream_init_dims(&walk, self->data, width, self->rank, self->sizes, self->strides);
    s.rows = call->scratch;
    s.reduction.count = self->numel;
    (void)rank_row(&s, &walk);
    ranked *sorted = merge_sort(s.rows, s.rows + self->numel, self->numel);
    int64_t found = 0;
    for (int64_t i = 0; i < self->numel; i++)
        found += i == 0 || !is_repeated(&s, sorted[i], sorted[i - 1]);
    SC_TRY(sc_call_resize(call, values, &found));
    if (has_counts) SC_TRY(sc_call_resize(call, counts, &found));
    int64_t at = -1;
    for (int64_t i = 0; i < self->numel; i++) {
        bool is_new = i == 0 || !is_repeated(&s, sorted[i], sorted[i - 1]);
        at += is_new;
        if (is_new) {
            char *from;
            int64_t stride;
            sc_stream_seek(&walk, sorted[i].index);
            sc_stream_run(&walk, 1, &from, &stride);
            memcpy((char *)values->data + at * width, from, width);
        }
        if (has_inverse) ((int64_t *)inverse->data)[sorted[i].index] = at;
        if (has_counts)
            ((int64_t *)counts->data)[at] = is_new ? 1 : ((int64_t *)counts->data)[at] + 1;
    }
    return SC_OK;
}

static uint64_t unique_scratch(const sc_kernel_call *call) {
    return 2 * (uint64_t)sc_call_tensor(call, 0)->numel * sizeof(ranked);
}

SC_KERNEL(unique, .run = run_unique, .scratch = unique_scratch);
SC_KERNEL(sort, .run = run_sort, .scratch = sort_scratch);
SC_KERNEL(sort_stable, .run = run_sort_stable, .scratch = sort_scratch);
SC_KERNEL(topk, .run = run_topk, .scratch = sort_scratch);
SC_KERNEL(median, .run = run_median, .scratch = sort_scratch);
SC_KERNEL(nanmedian, .run = run_nanmedian, .scratch = sort_scratch);
SC_KERNEL(mode, .run = run_mode, .scratch = sort_scratch);
SC_KERNEL(kthvalue, .run = run_kthvalue, .scratch = sort_scratch);
