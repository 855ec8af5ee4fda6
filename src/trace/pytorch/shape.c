// Expansions that only rearrange: reshape and its relatives, permutations, splits.
#include "trace/expand.h"
#include "trace/words/calls.h"

// --- Reshape ------------------------------------------------------------------------------------

// A contiguous tensor is viewed with the sizes as the caller wrote them, -1 included; other views,
// and copies, get them resolved.
static sc_x reshape_to(sc_trace *t, sc_x x, sc_x shape) {
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank;
    if (!sc_f_infer_size(t, x, shape, sizes, &rank)) return x;
    if (sc_x_is_contiguous(t, x)) return CALL(t, view, x, shape);
    return sc_f_reshape(t, x, sizes, rank);
}

sc_x sc_expand_reshape(sc_trace *t, const sc_x *a) { return reshape_to(t, a[0], a[1]); }

static sc_x flatten(sc_trace *t, sc_x x, uint32_t first, uint32_t last) {
    const sc_spec *spec = sc_x_spec(x);
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = 0;
    if (spec->rank == 0) return CALL(t, reshape, x, X_INTS(t, 1));
    if (first == last) return x;
    if (first > last)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "flatten cannot go from dimension %u to %u",
                             first, last);
    for (uint32_t i = 0; i < first; i++) sizes[rank++] = spec->sizes[i];
    sizes[rank++] = sc_trace_product(t, spec->sizes + first, last - first + 1);
    for (uint32_t i = last + 1; i < spec->rank; i++) sizes[rank++] = spec->sizes[i];
    return reshape_to(t, x, sc_x_dims(t, sizes, rank));
}

sc_x sc_expand_flatten(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]);
    uint32_t first = sc_x_wrap(t, a[1], rank);
    return flatten(t, a[0], first, sc_x_wrap(t, a[2], rank));
}

sc_x sc_expand_unflatten(sc_trace *t, const sc_x *a) {
    const sc_spec *spec = sc_x_spec(a[0]);
    uint32_t dim = sc_x_wrap(t, a[1], spec->rank), open = UINT32_MAX, rank = 0;
    sc_dim sizes[2 * SC_RANK_MAX], known = sc_dim_int(1);
    if (a[2]->kind != SC_X_LIST || a[2]->count == 0 || a[2]->count > SC_RANK_MAX || spec->rank == 0)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "unflatten needs sizes");
    for (uint32_t i = 0; i < dim; i++) sizes[rank++] = spec->sizes[i];
    for (uint32_t i = 0; i < a[2]->count; i++) {
        sc_dim size = a[2]->items[i]->kind == SC_X_INT ? a[2]->items[i]->dim : sc_dim_int(0);
        if (sc_dim_is(size, -1))
            open = rank;
        else
            known = sc_trace_mul(t, known, size);
        sizes[rank++] = size;
    }
    if (open != UINT32_MAX && !sc_dim_is(known, 0))
        sizes[open] = sc_trace_floordiv(t, spec->sizes[dim], known);
    for (uint32_t i = dim + 1; i < spec->rank; i++) sizes[rank++] = spec->sizes[i];
    return sc_f_view(t, a[0], sizes, rank);
}

sc_x sc_expand_squeeze_all(sc_trace *t, const sc_x *a) {
    int64_t dims[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(a[0]);
    for (uint32_t i = 0; i < rank; i++) dims[i] = i;
    return CALL(t, squeeze_dims, a[0], sc_x_ints(t, dims, rank));
}

// Sums a tensor that was broadcast back to its original sizes.
sc_x sc_expand_sum_to_size(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]), count = a[1]->kind == SC_X_LIST ? a[1]->count : 0, summed = 0;
    int64_t dims[SC_RANK_MAX];
    if (count > rank)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "sum_to_size gives no more dimensions");
    for (uint32_t i = 0; i < rank; i++) {
        bool is_new = i < rank - count;
        bool is_one = !is_new && sc_x_number(a[1]->items[i - (rank - count)], 0) == 1;
        if (is_new || (is_one && !sc_dim_is(sc_x_size(a[0], i), 1))) dims[summed++] = i;
    }
    if (summed == 0) return a[0];
    sc_x out = sc_f_sum(t, a[0], sc_x_ints(t, dims, summed), true);
    return rank > count ? CALL(t, view, out, a[1]) : out;
}

sc_x sc_expand_broadcast_tensors(sc_trace *t, const sc_x *a) {
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < a[0]->count; i++)
        rank = sc_x_rank(a[0]->items[i]) > rank ? sc_x_rank(a[0]->items[i]) : rank;
    for (uint32_t d = 0; d < rank; d++) {
        sizes[d] = sc_dim_int(1);
        for (uint32_t i = 0; i < a[0]->count; i++) {
            uint32_t missing = rank - sc_x_rank(a[0]->items[i]);
            if (d >= missing)
                sizes[d] = sc_x_broadcast(sizes[d], sc_x_size(a[0]->items[i], d - missing));
        }
    }
    sc_x outs[64];
    if (a[0]->count > SC_COUNT_OF(outs))
        return sc_trace_fail(t, SC_ERR_LIMIT, NULL, "there are more than 64 tensors to broadcast");
    for (uint32_t i = 0; i < a[0]->count; i++) {
        sc_x x = a[0]->items[i];
        bool same = sc_x_rank(x) == rank;
        for (uint32_t d = 0; d < rank && same; d++) same = sc_dim_equal(sc_x_size(x, d), sizes[d]);
        outs[i] = same ? x : sc_f_expand(t, x, sizes, rank);
    }
    return sc_x_list(t, outs, a[0]->count);
}

// --- Permutations -------------------------------------------------------------------------------

sc_x sc_expand_transpose(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]);
    uint32_t first = sc_x_wrap(t, a[1], rank), second = sc_x_wrap(t, a[2], rank);
    int64_t dims[SC_RANK_MAX];
    if (first == second) return CALL(t, alias, a[0]);
    for (uint32_t i = 0; i < rank; i++) dims[i] = i == first ? second : i == second ? first : i;
    return sc_f_permute(t, a[0], dims);
}

sc_x sc_expand_t(sc_trace *t, const sc_x *a) {
    return sc_f_transpose(t, a[0], 0, sc_x_rank(a[0]) < 2 ? 0 : 1);
}

sc_x sc_expand_numpy_T(sc_trace *t, const sc_x *a) {
    int64_t dims[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(a[0]);
    for (uint32_t i = 0; i < rank; i++) dims[i] = rank - 1 - i;
    return sc_f_permute(t, a[0], dims);
}

static sc_x movedim(sc_trace *t, sc_x x, const int64_t *from, const int64_t *to, uint32_t count) {
    int64_t source[SC_RANK_MAX], dims[SC_RANK_MAX];
    bool moved[SC_RANK_MAX] = {false};
    uint32_t rank = sc_x_rank(x), next = 0;
    for (uint32_t i = 0; i < SC_RANK_MAX; i++) source[i] = -1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = sc_x_wrap(t, sc_x_int(t, from[i]), rank);
        source[sc_x_wrap(t, sc_x_int(t, to[i]), rank)] = dim;
        moved[dim] = true;
    }
    for (uint32_t i = 0; i < rank; i++) {
        while (source[i] < 0 && next < rank && moved[next]) next++;
        dims[i] = source[i] >= 0 ? source[i] : next++;
    }
    return t->status == SC_OK ? sc_f_permute(t, x, dims) : x;
}

sc_x sc_expand_movedim(sc_trace *t, const sc_x *a) {
    int64_t from[SC_RANK_MAX], to[SC_RANK_MAX];
    uint32_t count = sc_x_int_list(t, a[1], from, SC_RANK_MAX);
    if (sc_x_int_list(t, a[2], to, SC_RANK_MAX) != count)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "movedim needs as many sources as targets");
    return movedim(t, a[0], from, to, count);
}

sc_x sc_expand_rot90(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]);
    int64_t k = ((sc_x_small(t, a[1], 0) % 4) + 4) % 4;
    int64_t first = sc_x_wrap(t, sc_x_at(t, a[2], 0), rank),
            second = sc_x_wrap(t, sc_x_at(t, a[2], 1), rank);
    if (k == 0) return sc_f_clone(t, a[0]);
    if (k == 2) return CALL(t, flip, a[0], X_INTS(t, first, second));
    return sc_f_transpose(t, CALL(t, flip, a[0], X_INTS(t, k == 1 ? second : first)), first,
                          second);
}

// --- Splitting ----------------------------------------------------------------------------------

// Sizes of `size` elements each, the last one what is left.
static sc_x split_sizes(sc_trace *t, sc_x x, sc_x dim, int64_t size) {
    uint32_t d = sc_x_wrap(t, dim, sc_x_rank(x));
    int64_t total = sc_x_static_size(t, x, d), count = size > 0 ? (total + size - 1) / size : 1;
    if (size < 0 || (size == 0 && total != 0) || count > 65536)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "cannot split into pieces of %lld",
                             (long long)size);
    count = count ? count : 1;
    sc_x *sizes = sc_new_array(t->arena, sc_x, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        sizes[i] = sc_x_int(t, i + 1 < count ? size : total - size * (count - 1));
    sc_x list = sc_x_list_of(t, sizes, (uint32_t)count);
    return CALL(t, split_with_sizes, x, list, dim);
}

sc_x sc_expand_split(sc_trace *t, const sc_x *a) {
    return split_sizes(t, a[0], a[2], sc_x_small(t, a[1], -1));
}

// How many pieces an open size comes to is what the export has found: all sizes that it allows come
// to as many. The last one is what is left.
static sc_x open_chunks(sc_trace *t, const sc_x *a, sc_dim total, sc_dim chunks) {
    const uint32_t count = t->source->out_count;
    sc_dim most = sc_trace_sub(t, sc_trace_add(t, total, chunks), sc_dim_int(1));
    sc_dim each = sc_trace_floordiv(t, most, chunks);
    sc_dim over = sc_trace_sub(t, sc_trace_mul(t, each, sc_dim_int(count)), total);
    sc_x *sizes = sc_new_array(t->arena, sc_x, count + 1), piece = sc_x_dim(t, each);
    for (uint32_t i = 0; i + 1 < count; i++) sizes[i] = piece;
    if (count) sizes[count - 1] = sc_x_dim(t, sc_trace_sub(t, each, over));
    return CALL(t, split_with_sizes, a[0], sc_x_list_of(t, sizes, count), a[2]);
}

sc_x sc_expand_chunk(sc_trace *t, const sc_x *a) {
    uint32_t dim = sc_x_wrap(t, a[2], sc_x_rank(a[0]));
    sc_dim open = sc_x_size(a[0], dim);
    const bool is_source = t->source && t->source->op->id == SC_OP_chunk;
    if (open.expr && is_source && sc_x_small(t, a[1], 0) > 0)
        return open_chunks(t, a, open, a[1]->dim);
    int64_t total = sc_x_static_size(t, a[0], dim), chunks = sc_x_small(t, a[1], 0);
    if (chunks <= 0) return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "cannot chunk into no pieces");
    int64_t size = (total + chunks - 1) / chunks;
    if (size == 0) {
        uint32_t count = (uint32_t)sc_min_i64(chunks, 65536);
        sc_x *sizes = sc_new_array(t->arena, sc_x, count), zero = sc_x_int(t, 0);
        for (uint32_t i = 0; i < count; i++) sizes[i] = zero;
        return CALL(t, split_with_sizes, a[0], sc_x_list_of(t, sizes, count), a[2]);
    }
    return CALL(t, split_Tensor, a[0], sc_x_int(t, size), a[2]);
}

static sc_x slices_at(sc_trace *t, sc_x x, uint32_t dim, const int64_t *starts, uint32_t count,
                      sc_x last_end) {
    sc_x *outs = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count; i++)
        outs[i] = sc_f_slice(t, x, dim, sc_x_int(t, starts[i]),
                             i + 1 < count ? sc_x_int(t, starts[i + 1]) : last_end);
    return sc_x_list_of(t, outs, count);
}

static sc_x sections(sc_trace *t, sc_x x, int64_t count, sc_x wanted_dim) {
    uint32_t dim = sc_x_wrap(t, wanted_dim, sc_x_rank(x));
    int64_t total = sc_x_static_size(t, x, dim);
    if (count <= 0 || count > 65536)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "cannot split into %lld sections",
                             (long long)count);
    int64_t *starts = sc_new_array(t->arena, int64_t, (size_t)count + 1);
    for (int64_t i = 0; i < count; i++)
        starts[i + 1] = starts[i] + total / count + (i < total % count);
    return slices_at(t, x, dim, starts, (uint32_t)count, sc_x_int(t, total));
}

sc_x sc_expand_tensor_split_sections(sc_trace *t, const sc_x *a) {
    return sections(t, a[0], sc_x_small(t, a[1], 0), a[2]);
}

sc_x sc_expand_tensor_split_indices(sc_trace *t, const sc_x *a) {
    uint32_t dim = sc_x_wrap(t, a[2], sc_x_rank(a[0])),
             count = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    int64_t *starts = sc_new_array(t->arena, int64_t, count + 2);
    sc_x_int_list(t, a[1], starts + 1, count + 1);
    return slices_at(t, a[0], dim, starts, count + 1, sc_x_dim(t, sc_x_size(a[0], dim)));
}

// In so many chunks along a dim, zeros in the last, and each chunk in a row.
static sc_x in_chunks(sc_trace *t, sc_x x, uint32_t dim, int64_t chunks) {
    const int64_t size = sc_x_static_size(t, x, dim), each = (size + chunks - 1) / chunks;
    const uint32_t rank = sc_x_rank(x);
    int64_t pad[2 * SC_RANK_MAX] = {0};
    sc_dim sizes[SC_RANK_MAX + 2], row = sc_dim_int(each);
    pad[2 * (rank - 1 - dim) + 1] = each * chunks - size;
    if (each * chunks > size)
        x = CALL(t, constant_pad_nd, x, sc_x_ints(t, pad, 2 * (rank - dim)), sc_x_int(t, 0));
    for (uint32_t i = 0; i < dim; i++) sizes[i] = sc_x_size(x, i);
    for (uint32_t i = dim + 1; i < rank; i++) row = sc_trace_mul(t, row, sc_x_size(x, i));
    sizes[dim] = sc_dim_int(chunks);
    sizes[dim + 1] = row;
    return sc_f_reshape(t, x, sizes, dim + 2);
}

// (tensors, dim, num_chunks): chunks next to each other
sc_x sc_expand_chunk_cat(sc_trace *t, const sc_x *a) {
    const uint32_t count = a[0]->kind == SC_X_LIST ? a[0]->count : 0;
    const int64_t chunks = sc_x_small(t, a[2], 0);
    sc_x *rows = sc_new_array(t->arena, sc_x, count + 1);
    uint32_t dim = count ? sc_x_wrap(t, a[1], sc_x_rank(a[0]->items[0])) : 0;
    for (uint32_t i = 0; i < count && t->status == SC_OK; i++) {
        if (chunks < 1 || sc_x_rank(a[0]->items[i]) <= dim || dim + 2 > SC_RANK_MAX)
            return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "_chunk_cat needs dims and chunks");
        rows[i] = in_chunks(t, a[0]->items[i], dim, chunks);
    }
    if (count == 0 || t->status != SC_OK)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "_chunk_cat needs tensors");
    return sc_f_cat(t, rows, count, dim + 1);
}

// One slice each, and only then the squeezes.
sc_x sc_expand_unbind(sc_trace *t, const sc_x *a) {
    uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    int64_t count = sc_x_static_size(t, a[0], dim);
    if (t->status != SC_OK || count == 0) return sc_x_list(t, NULL, 0);
    sc_x parts = sections(t, a[0], count, sc_x_int(t, dim));
    sc_x *outs = sc_new_array(t->arena, sc_x, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        outs[i] = sc_f_squeeze(t, sc_x_at(t, parts, (uint32_t)i), dim);
    return sc_x_list_of(t, outs, (uint32_t)count);
}

sc_x sc_expand_narrow(sc_trace *t, const sc_x *a) {
    uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    sc_dim start = a[2]->dim, length = a[3]->dim;
    if (a[2]->kind != SC_X_INT || a[3]->kind != SC_X_INT)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Slice with a plain integer.",
                             "narrow needs integers");
    if (!start.expr && start.value < 0) start = sc_trace_add(t, start, sc_x_size(a[0], dim));
    return CALL(t, slice_Tensor, a[0], a[1], sc_x_dim(t, start),
                sc_x_dim(t, sc_trace_add(t, start, length)));
}
