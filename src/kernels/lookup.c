// Looking values up: searchsorted, bucketize, and bags of embeddings.
#include "kernels/iter.h"
#include "ops/bag.h"

// --- Searchsorted --------------------------------------------------------------------------------

typedef struct search {
    const sc_tensor *sorted, *values, *out;
    const sc_tensor *sorter;  // NULL, or the permutation that sorts a row
    bool right;
    bool is_real;
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

static void search_rows(const search *s, int64_t row, bool shares_row) {
    int64_t per_row = s->values->numel;
    if (!shares_row && s->values->rank > 0) per_row = s->values->sizes[s->values->rank - 1];
    for (int64_t i = 0; i < s->values->numel; i++) {
        int64_t start = shares_row || per_row == 0 ? 0 : i / per_row * row, low = 0, high = row;
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
    search_rows(s, s->sorted->sizes[s->sorted->rank - 1], shares);
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
} bags;

static void put_if_room(const sc_tensor *t, int64_t count, int64_t at, int64_t value) {
    if (t->numel == count) sc_tensor_put_integer(t, at, value);
}

// Rows [first, last) of the index list are bag `bag`; those before `end` are reduced.
static sc_status fill_bag(const sc_kernel_call *call, const bags *b, int64_t bag, int64_t first,
                          int64_t last, int64_t end) {
    int64_t columns = b->weight->sizes[1], used = 0;
    for (int64_t i = first; i < last; i++) {
        int64_t index = sc_tensor_integer(b->indices, i);
        if (index < 0 || index >= b->weight->sizes[0])
            return sc_call_fail(call, SC_ERR_INDEX,
                                "index %lld is out of range for a table of %lld rows",
                                (long long)index, (long long)b->weight->sizes[0]);
        put_if_room(b->bag_of, b->indices->numel, i, bag);
        used += index != b->padding;
    }
    put_if_room(b->sizes, b->count, bag, used);
    for (int64_t c = 0; c < columns; c++) {
        double sum = 0.0;
        int64_t winner = -1;
        for (int64_t i = first; i < end; i++) {
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
    return SC_OK;
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
    const bool stops = sc_bag_stops_at_end(b.mode, (sc_dtype)b.weight->dtype, b.padding);
    for (int64_t bag = 0; bag < b.count; bag++) {
        int64_t first = sc_tensor_integer(b.offsets, bag), last = b.indices->numel, end = last;
        if (bag + 1 < b.offsets->numel) end = sc_tensor_integer(b.offsets, bag + 1);
        if (first < 0 || end < first || end > last)
            return sc_call_fail(call, SC_ERR_INDEX, "the offsets do not ascend");
        if (bag + 1 < b.count) last = end;
        SC_TRY(fill_bag(call, &b, bag, first, last, stops ? end : last));
    }
    return SC_OK;
}

SC_KERNEL(searchsorted, .run = run_searchsorted);
SC_KERNEL(bucketize, .run = run_bucketize);
SC_KERNEL(embedding_bag, .run = run_embedding_bag);
