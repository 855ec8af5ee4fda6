// Looking values up: searchsorted, bucketize, and bags of embeddings.
#include "base/parallel.h"
#include "kernels/iter.h"
#include "ops/bag.h"

// --- Searchsorted --------------------------------------------------------------------------------

typedef struct search {
    const sc_tensor *sorted, *values, *out;
    const sc_tensor *sorter;  // NULL, or the permutation that sorts a row
    bool right;
    bool is_real;
    bool shares_row;  // all values are looked for in one row
    int64_t row;      // its length
} search;

// Does sorted[k] come before the value? A NaN comes before every value, and every value before a
// NaN, as in PyTorch.
static bool comes_before(const search *s, int64_t k, int64_t at) {
    if (!s->is_real) {
        int64_t x = sc_tensor_integer(s->sorted, k), v = sc_tensor_integer(s->values, at);
        return s->right ? x <= v : x < v;
    }
    double x = sc_tensor_real(s->sorted, k), v = sc_tensor_real(s->values, at);
    return s->right ? !(x > v) : !(x >= v);
}

static void search_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const search *s = work;
    const int64_t row = s->row;
    int64_t per_row = s->values->numel;
    (void)thread;
    if (!s->shares_row && s->values->rank > 0) per_row = s->values->sizes[s->values->rank - 1];
    for (int64_t i = from; i < to; i++) {
        int64_t start = s->shares_row || per_row == 0 ? 0 : i / per_row * row, low = 0, high = row;
        while (low < high) {
            int64_t middle = low + (high - low) / 2, k = middle;
            if (s->sorter) {
                k = sc_tensor_integer(s->sorter, start + middle);
                k = k < 0 || k >= row ? middle : k;
            }
            if (comes_before(s, start + k, i))
                low = middle + 1;
            else
                high = middle;
        }
        sc_tensor_put_integer(s->out, i, low);
    }
}

static sc_status run_search(const sc_kernel_call *call, search *s) {
    bool all = sc_tensor_is_contiguous(s->sorted) && sc_tensor_is_contiguous(s->values) &&
               sc_tensor_is_contiguous(s->out);
    bool shares = s->sorted->rank == 1;
    bool fits =
        s->out->numel == s->values->numel && s->sorted->rank > 0 &&
        (shares || s->sorted->rank == s->values->rank) &&
        (!s->sorter || (sc_same_sizes(s->sorter, s->sorted) && sc_tensor_is_contiguous(s->sorter)));
    for (uint32_t d = 0; fits && !shares && d + 1 < s->sorted->rank; d++)
        fits = s->sorted->sizes[d] == s->values->sizes[d];
    fits = fits && (!s->sorter || s->sorter->dtype == SC_DTYPE_I64);
    if (!fits || !sc_dtype_is_integral((sc_dtype)s->out->dtype, false))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    if (!all)
        return sc_call_fail_hint(call, SC_ERR_UNSUPPORTED, "Call contiguous() first.",
                                 "takes row-major tensors");
    if (sc_class_of(s->sorted->dtype) == SC_CLASS_COUNT ||
        sc_class_of(s->values->dtype) == SC_CLASS_COUNT)
        return sc_call_no_kernel(call);
    s->is_real = sc_dtype_is_float((sc_dtype)s->sorted->dtype) ||
                 sc_dtype_is_float((sc_dtype)s->values->dtype);
    s->shares_row = shares;
    s->row = s->sorted->sizes[s->sorted->rank - 1];
    double cost = SC_COST_CONVERT;
    for (int64_t n = 1; n < s->row; n *= 2) cost += 2 * SC_COST_CONVERT;
    sc_parallel_rows(s->values->numel, cost, search_part, s);
    return SC_OK;
}

// (sorted_sequence, self, out_int32, right, side, sorter, out)
static sc_status run_searchsorted(const sc_kernel_call *call) {
    search s = {.sorted = sc_call_tensor(call, 0),
                .values = sc_call_tensor(call, 1),
                .sorter = sc_call_tensor(call, 5),
                .out = sc_call_out(call),
                .right = sc_call_integer(call, 3) != 0};
    if (call->args[4]->tag == SC_EVALUE_STRING) s.right = sc_str_is(call->args[4]->str, "right");
    return run_search(call, &s);
}

// (self, boundaries, out_int32, right, out)
static sc_status run_bucketize(const sc_kernel_call *call) {
    search s = {.sorted = sc_call_tensor(call, 1),
                .values = sc_call_tensor(call, 0),
                .out = sc_call_out(call),
                .right = sc_call_integer(call, 3) != 0};
    return run_search(call, &s);
}

// --- Embedding bags ------------------------------------------------------------------------------

typedef struct bags {
    const sc_tensor *weight, *indices, *offsets, *weights, *out;
    const sc_tensor *bag_of, *sizes, *winners;
    int64_t mode, padding, count;
    bool stops;  // at the end of the bag, even the last one
} bags;

static void put_if_room(const sc_tensor *t, int64_t count, int64_t at, int64_t value) {
    if (t->numel == count) sc_tensor_put_integer(t, at, value);
}

// Rows [first, last) of the index list are a bag. The next offset, if there is one, is `next`.
typedef struct bag_rows {
    int64_t first, last, next;
} bag_rows;

static bag_rows rows_of_bag(const bags *b, int64_t bag) {
    const int64_t all = b->indices->numel;
    bag_rows r = {sc_tensor_integer(b->offsets, bag), all, all};
    if (bag + 1 < b->offsets->numel) r.next = sc_tensor_integer(b->offsets, bag + 1);
    if (bag + 1 < b->count) r.last = r.next;
    return r;
}

static sc_status check_bag(const sc_kernel_call *call, const bags *b, int64_t bag) {
    const bag_rows r = rows_of_bag(b, bag);
    if (r.first < 0 || r.next < r.first || r.next > b->indices->numel)
        return sc_call_fail(call, SC_ERR_INDEX, "the offsets do not ascend");
    for (int64_t i = r.first; i < r.last; i++) {
        int64_t index = sc_tensor_integer(b->indices, i);
        if (index < 0 || index >= b->weight->sizes[0])
            return sc_call_fail(call, SC_ERR_INDEX,
                                "index %lld is out of range for a table of %lld rows",
                                (long long)index, (long long)b->weight->sizes[0]);
    }
    return SC_OK;
}

static void fill_bag(const bags *b, int64_t bag) {
    const bag_rows rows = rows_of_bag(b, bag);
    const int64_t end = b->stops ? rows.next : rows.last;
    int64_t columns = b->weight->sizes[1], used = 0;
    for (int64_t i = rows.first; i < rows.last; i++) {
        put_if_room(b->bag_of, b->indices->numel, i, bag);
        used += sc_tensor_integer(b->indices, i) != b->padding;
    }
    put_if_room(b->sizes, b->count, bag, used);
    for (int64_t c = 0; c < columns; c++) {
        double sum = 0.0;
        int64_t winner = -1;
        for (int64_t i = rows.first; i < end; i++) {
            int64_t index = sc_tensor_integer(b->indices, i);
            if (index == b->padding) continue;
            double x = sc_tensor_real(b->weight, index * columns + c);
            x *= b->weights ? sc_tensor_real(b->weights, i) : 1.0;
            if (b->mode != SC_BAG_MAX) {
                sum += x;
            } else if (winner < 0 || x > sum) {
                sum = x;
                winner = index;
            }
        }
        sum = b->mode == SC_BAG_MEAN && used > 0 ? sum / (double)used : sum;
        uint32_t width = sc_dtype_bytes((sc_dtype)b->out->dtype);
        sc_put_number((char *)b->out->data + (bag * columns + c) * width, b->out->dtype, sum, 0,
                      true);
        if (b->mode == SC_BAG_MAX)
            put_if_room(b->winners, b->out->numel, bag * columns + c, winner < 0 ? 0 : winner);
    }
    if (b->mode != SC_BAG_MAX) put_if_room(b->winners, b->count, bag, 0);
}

static void fill_bags(void *work, int64_t from, int64_t to, uint32_t thread) {
    (void)thread;
    for (int64_t bag = from; bag < to; bag++) fill_bag(work, bag);
}

// (weight, indices, offsets, scale_grad, mode, sparse, per_sample_weights, include_last_offset,
//  padding_idx, out, offset2bag, bag_size, max_indices)
static sc_status run_embedding_bag(const sc_kernel_call *call) {
    bags b = {.weight = sc_call_tensor(call, 0),
              .indices = sc_call_tensor(call, 1),
              .offsets = sc_call_tensor(call, 2),
              .weights = sc_call_tensor(call, 6),
              .mode = sc_call_integer(call, 4),
              .padding = sc_call_integer(call, 8),
              .out = sc_call_tensor(call, 9),
              .bag_of = sc_call_tensor(call, 10),
              .sizes = sc_call_tensor(call, 11),
              .winners = sc_call_tensor(call, 12)};
    const sc_tensor *all[] = {b.weight, b.indices, b.offsets, b.out};
    bool plain = b.weight->rank == 2 && b.indices->rank == 1 && b.offsets->rank == 1;
    for (uint32_t i = 0; i < SC_COUNT_OF(all); i++)
        plain = plain && sc_tensor_is_contiguous(all[i]);
    b.count = b.offsets->numel - (sc_call_integer(call, 7) != 0);
    if (!plain || b.mode < SC_BAG_SUM || b.mode > SC_BAG_MAX || b.count < 0 ||
        b.out->numel != b.count * b.weight->sizes[1] ||
        !sc_dtype_is_float((sc_dtype)b.weight->dtype) || b.out->dtype != b.weight->dtype ||
        !sc_dtype_is_integral((sc_dtype)b.indices->dtype, false) ||
        !sc_dtype_is_integral((sc_dtype)b.offsets->dtype, false) ||
        (b.weights && b.weights->numel != b.indices->numel))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    if (b.weights && b.weights->dtype != b.weight->dtype) return sc_call_no_kernel(call);
    for (int64_t i = 0; b.sizes->numel != b.count && i < b.sizes->numel; i++)
        sc_tensor_put_integer(b.sizes, i, 0);  // as long as the offsets: PyTorch leaves it unset
    b.stops = sc_bag_stops_at_end(b.mode, (sc_dtype)b.weight->dtype, b.padding);
    for (int64_t bag = 0; bag < b.count; bag++) SC_TRY(check_bag(call, &b, bag));
    const double numbers = (double)b.indices->numel * (double)b.weight->sizes[1];
    sc_parallel_rows(b.count, 2 * SC_COST_CONVERT * numbers / (double)sc_max_i64(b.count, 1),
                     fill_bags, &b);
    return SC_OK;
}

SC_KERNEL(searchsorted, .run = run_searchsorted);
SC_KERNEL(bucketize, .run = run_bucketize);
SC_KERNEL(embedding_bag, .run = run_embedding_bag);
