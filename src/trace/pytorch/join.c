// Expansions that put tensors together, repeat them or change how they lie in memory: stack, roll,
// meshgrid, pixel shuffles, contiguous and to.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

// --- Joining ------------------------------------------------------------------------------------

sc_x sc_expand_stack(sc_trace *t, const sc_x *a) {
    sc_x first = sc_x_at(t, a[0], 0);
    uint32_t rank = sc_x_rank(first), count = a[0]->count;
    uint32_t dim = sc_x_wrap(t, a[1], rank + 1);
    if (t->status != SC_OK || rank >= SC_RANK_MAX) return first;
    if (dim == rank) {
        sc_x *items = sc_new_array(t->arena, sc_x, count);
        for (uint32_t i = 0; i < count; i++) items[i] = sc_f_unsqueeze(t, a[0]->items[i], dim);
        return CALL(t, cat, sc_x_list(t, items, count), a[1]);
    }
    sc_dim sizes[SC_RANK_MAX + 1];
    for (uint32_t i = 0; i <= rank; i++)
        sizes[i] = i == dim ? sc_dim_int(count) : sc_x_size(first, i < dim ? i : i - 1);
    sc_x joined = CALL(t, cat, a[0], sc_x_int(t, dim));
    return sc_f_view(t, joined, sizes, rank + 1);
}

// The sequence as long as `longest`, by numbers before or behind it.
static sc_x padded_to(sc_trace *t, sc_x x, sc_dim longest, bool before, sc_x value) {
    const uint32_t count = 2 * sc_x_rank(x);
    sc_x around[2 * SC_RANK_MAX];
    sc_dim lacking = sc_trace_sub(t, longest, sc_x_size(x, 0));
    if (sc_dim_is(lacking, 0)) return x;
    for (uint32_t i = 0; i < count; i++) around[i] = sc_x_int(t, 0);
    around[count - (before ? 2 : 1)] = sc_x_dim(t, lacking);
    return CALL(t, constant_pad_nd, x, sc_x_list(t, around, count), value);
}

// (sequences, batch_first, padding_value, padding_side)
sc_x sc_expand_pad_sequence(sc_trace *t, const sc_x *a) {
    const uint32_t count = a[0]->kind == SC_X_LIST ? a[0]->count : 0;
    const sc_str side = a[3]->kind == SC_X_STR ? a[3]->str : SC_STR("");
    const bool before = sc_str_is(side, "left");
    sc_dim longest = sc_dim_int(0);
    sc_x *items = sc_new_array(t->arena, sc_x, count + 1);
    if (a[0]->kind != SC_X_LIST || (!before && !sc_str_is(side, "right")))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "pad_sequence pads left or right");
    for (uint32_t i = 0; i < count; i++) {
        if (sc_x_rank(a[0]->items[i]) == 0)
            return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "pad_sequence takes sequences");
        longest = sc_dim_max(t->exprs, longest, sc_x_size(a[0]->items[i], 0));
    }
    for (uint32_t i = 0; i < count; i++)
        items[i] = padded_to(t, a[0]->items[i], longest, before, a[2]);
    return CALL(t, stack, sc_x_list(t, items, count), sc_x_int(t, sc_x_truth(a[1]) ? 0 : 1));
}

static sc_x at_least(sc_trace *t, sc_x x, uint32_t rank) {
    uint32_t has = sc_x_rank(x);
    if (has >= rank) return x;
    if (has == 0)
        return rank == 1   ? CALL(t, reshape, x, X_INTS(t, 1))
               : rank == 2 ? CALL(t, reshape, x, X_INTS(t, 1, 1))
                           : CALL(t, reshape, x, X_INTS(t, 1, 1, 1));
    if (has == 1) x = sc_f_unsqueeze(t, x, 0);
    return rank == 3 ? sc_f_unsqueeze(t, x, -1) : x;
}

static sc_x all_at_least(sc_trace *t, sc_x list, uint32_t rank) {
    if (list->kind != SC_X_LIST) return at_least(t, list, rank);
    sc_x *items = sc_new_array(t->arena, sc_x, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) items[i] = at_least(t, list->items[i], rank);
    return sc_x_list(t, items, list->count);
}

sc_x sc_expand_atleast_1d(sc_trace *t, const sc_x *a) { return all_at_least(t, a[0], 1); }
sc_x sc_expand_atleast_2d(sc_trace *t, const sc_x *a) { return all_at_least(t, a[0], 2); }
sc_x sc_expand_atleast_3d(sc_trace *t, const sc_x *a) { return all_at_least(t, a[0], 3); }

// Matrices along the diagonal: the rows of each are as wide as all are together.
sc_x sc_expand_block_diag(sc_trace *t, const sc_x *a) {
    sc_x list = all_at_least(t, a[0], 2);
    sc_dim before = sc_dim_int(0), total = sc_dim_int(0);
    sc_x *rows = sc_new_array(t->arena, sc_x, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) {
        if (sc_x_rank(list->items[i]) != 2)
            return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "block_diag takes matrices");
        total = sc_trace_add(t, total, sc_x_size(list->items[i], 1));
    }
    for (uint32_t i = 0; i < list->count; i++) {
        sc_dim end = sc_trace_add(t, before, sc_x_size(list->items[i], 1));
        sc_x around = X_LIST(t, sc_x_dim(t, before), sc_x_dim(t, sc_trace_sub(t, total, end)));
        rows[i] = CALL(t, constant_pad_nd, list->items[i], around);
        before = end;
    }
    return sc_f_cat(t, rows, list->count, 0);
}

sc_x sc_expand_column_stack(sc_trace *t, const sc_x *a) {
    sc_x *items = sc_new_array(t->arena, sc_x, a[0]->count + 1);
    for (uint32_t i = 0; i < a[0]->count; i++) {
        sc_x x = a[0]->items[i];
        sc_dim sizes[2] = {sc_x_numel(t, x), sc_dim_int(1)};
        items[i] = sc_x_rank(x) > 1 ? x : CALL(t, reshape, x, sc_x_dims(t, sizes, 2));
    }
    return sc_f_cat(t, items, a[0]->count, 1);
}

// --- Repeating ----------------------------------------------------------------------------------

sc_x sc_expand_repeat_interleave(sc_trace *t, const sc_x *a) {
    sc_x x = sc_x_is_none(a[2]) ? CALL(t, flatten_using_ints, a[0]) : a[0];
    uint32_t rank = sc_x_rank(x), dim = sc_x_is_none(a[2]) ? 0 : sc_x_wrap(t, a[2], rank);
    sc_dim sizes[SC_RANK_MAX + 1];
    if (a[1]->kind != SC_X_INT || rank >= SC_RANK_MAX)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "repeat_interleave needs a count");
    sc_x wide = sc_f_unsqueeze(t, x, (int64_t)dim + 1);
    for (uint32_t i = 0; i <= rank; i++) sizes[i] = i == dim + 1 ? a[1]->dim : sc_x_size(wide, i);
    sc_x copy = sc_f_clone(t, sc_f_expand(t, wide, sizes, rank + 1));
    return CALL(t, flatten_using_ints, copy, sc_x_int(t, dim), sc_x_int(t, (int64_t)dim + 1));
}

sc_x sc_expand_tile(sc_trace *t, const sc_x *a) {
    sc_x repeats[SC_RANK_MAX];
    uint32_t given = a[1]->kind == SC_X_LIST ? a[1]->count : 0, rank = sc_x_rank(a[0]);
    if (given >= rank) return CALL(t, repeat, a[0], a[1]);
    for (uint32_t i = 0; i < rank; i++)
        repeats[i] = i < rank - given ? sc_x_int(t, 1) : a[1]->items[i - (rank - given)];
    return CALL(t, repeat, a[0], sc_x_list(t, repeats, rank));
}

// Places that the elements come from. An empty dim has no remainder to take.
static sc_x rolled(sc_trace *t, sc_dim shift, sc_dim size) {
    const bool may_be_empty = size.expr && sc_f_may_be_empty(size);
    sc_dim start = sc_trace_sub(t, size, shift);
    if (!may_be_empty) start = sc_trace_mod(t, start, size);
    sc_x from = sc_f_range(t, sc_x_dim(t, size), SC_DTYPE_NONE);
    from = sc_f_add(t, from, sc_x_dim(t, start));
    return may_be_empty ? CALL(t, remainder_Scalar, from, sc_x_dim(t, size))
                        : CALL(t, fmod_Scalar, from, sc_x_dim(t, size));
}

static sc_x roll_one(sc_trace *t, sc_x x, sc_dim shift, uint32_t dim) {
    sc_x from = rolled(t, shift, sc_x_size(x, dim));
    return CALL(t, index_select, x, sc_x_int(t, dim), from);
}

sc_x sc_expand_roll(sc_trace *t, const sc_x *a) {
    uint32_t count = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    uint32_t dims = a[2]->kind == SC_X_LIST ? a[2]->count : 0;
    sc_x x = a[0];
    if (sc_dim_is(sc_x_numel(t, x), 0)) return CALL(t, clone, x);
    if (dims == 0 && count == 1) {
        sc_x flat = CALL(t, flatten_using_ints, x);
        flat = roll_one(t, flat, a[1]->items[0]->dim, 0);
        return CALL(t, view, flat, sc_x_sizes(t, a[0], 0, SC_RANK_MAX));
    }
    if (count != dims)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "roll needs one shift for each dimension");
    for (uint32_t i = 0; i < count; i++)
        x = roll_one(t, x, a[1]->items[i]->dim, sc_x_wrap(t, a[2]->items[i], sc_x_rank(x)));
    return x;
}

// --- Grids --------------------------------------------------------------------------------------

static sc_x grids(sc_trace *t, sc_x list, bool swapped) {
    uint32_t count = list->count;
    sc_dim sizes[SC_RANK_MAX];
    sc_x outs[SC_RANK_MAX];
    if (count == 0 || count > SC_RANK_MAX)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "meshgrid does not take %u tensors", count);
    swapped = swapped && count >= 2;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = swapped && i < 2 ? 1 - i : i;
        sizes[i] = sc_x_numel(t, list->items[from]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = swapped && i < 2 ? 1 - i : i;
        int64_t shape[SC_RANK_MAX];
        for (uint32_t d = 0; d < count; d++) shape[d] = d == i ? -1 : 1;
        sc_x view = CALL(t, view, list->items[from], sc_x_ints(t, shape, count));
        outs[i] = sc_f_expand(t, view, sizes, count);
    }
    if (swapped) {
        sc_x first = outs[0];
        outs[0] = outs[1];
        outs[1] = first;
    }
    return sc_x_list(t, outs, count);
}

sc_x sc_expand_meshgrid(sc_trace *t, const sc_x *a) { return grids(t, a[0], false); }

sc_x sc_expand_meshgrid_indexing(sc_trace *t, const sc_x *a) {
    return grids(t, a[0], sc_str_is(a[1]->str, "xy"));
}

sc_x sc_expand_cartesian_prod(sc_trace *t, const sc_x *a) {
    if (a[0]->count == 1) return a[0]->items[0];
    sc_x list = grids(t, a[0], false);
    sc_x *items = sc_new_array(t->arena, sc_x, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++)
        items[i] = CALL(t, flatten_using_ints, sc_x_at(t, list, i));
    return CALL(t, stack, sc_x_list(t, items, list->count), sc_x_int(t, 1));
}

// --- Pixels -------------------------------------------------------------------------------------

// Pixels and channels change places through a view with two more dims, which are then permuted.
typedef struct pixels {
    uint32_t rank, batch;
    sc_dim factor, squared;
    sc_dim wide[SC_RANK_MAX], out[SC_RANK_MAX];
} pixels;

static bool begin_pixels(sc_trace *t, const sc_x *a, const char *name, pixels *p) {
    const sc_spec *spec = sc_x_spec(a[0]);
    int64_t r = sc_x_small(t, a[1], 0);
    *p = (pixels){.rank = spec->rank, .batch = spec->rank - 3u};
    if (spec->rank < 3 || spec->rank + 2 > SC_RANK_MAX || r < 1) {
        sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "%s by %lld does not suit a rank-%u tensor", name,
                      (long long)r, spec->rank);
        return false;
    }
    p->factor = sc_dim_int(r);
    p->squared = sc_dim_int(r * r);
    for (uint32_t i = 0; i < p->batch; i++) p->wide[i] = p->out[i] = spec->sizes[i];
    return true;
}

static sc_x move_pixels(sc_trace *t, sc_x self, const pixels *p, const uint8_t moved[5]) {
    int64_t order[SC_RANK_MAX];
    for (uint32_t i = 0; i < p->batch; i++) order[i] = i;
    for (uint32_t i = 0; i < 5; i++) order[p->batch + i] = p->batch + moved[i];
    sc_x x = sc_f_permute(t, sc_f_view(t, self, p->wide, p->rank + 2), order);
    x = sc_f_reshape(t, x, p->out, p->rank);
    sc_memory_format format = p->rank == 4 ? sc_spec_suggested_format(t->exprs, sc_x_spec(self))
                                           : SC_MEMORY_FORMAT_CONTIGUOUS;
    return CALL(t, clone, x, sc_x_format(t, format));
}

sc_x sc_expand_pixel_shuffle(sc_trace *t, const sc_x *a) {
    pixels p;
    if (!begin_pixels(t, a, "pixel_shuffle", &p)) return a[0];
    const sc_dim *sizes = sc_x_spec(a[0])->sizes + p.batch;
    sc_dim *wide = p.wide + p.batch, *out = p.out + p.batch;
    out[0] = wide[0] = sc_trace_floordiv(t, sizes[0], p.squared);
    out[1] = sc_trace_mul(t, sizes[1], p.factor);
    out[2] = sc_trace_mul(t, sizes[2], p.factor);
    wide[1] = wide[2] = p.factor;
    wide[3] = sizes[1];
    wide[4] = sizes[2];
    return move_pixels(t, a[0], &p, (const uint8_t[5]){0, 3, 1, 4, 2});
}

sc_x sc_expand_pixel_unshuffle(sc_trace *t, const sc_x *a) {
    pixels p;
    if (!begin_pixels(t, a, "pixel_unshuffle", &p)) return a[0];
    const sc_dim *sizes = sc_x_spec(a[0])->sizes + p.batch;
    sc_dim *wide = p.wide + p.batch, *out = p.out + p.batch;
    out[0] = sc_trace_mul(t, sizes[0], p.squared);
    wide[1] = out[1] = sc_trace_floordiv(t, sizes[1], p.factor);
    wide[3] = out[2] = sc_trace_floordiv(t, sizes[2], p.factor);
    wide[0] = sizes[0];
    wide[2] = wide[4] = p.factor;
    return move_pixels(t, a[0], &p, (const uint8_t[5]){0, 2, 4, 1, 3});
}

sc_x sc_expand_channel_shuffle(sc_trace *t, const sc_x *a) {
    const sc_spec *spec = sc_x_spec(a[0]);
    uint32_t rank = spec->rank;
    int64_t groups = sc_x_small(t, a[1], 0), order[SC_RANK_MAX];
    if (rank < 3 || rank + 1 > SC_RANK_MAX || groups < 1)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "channel_shuffle does not take a rank-%u tensor", rank);
    sc_dim wide[SC_RANK_MAX];
    wide[0] = spec->sizes[0];
    wide[1] = sc_dim_int(groups);
    wide[2] = sc_trace_floordiv(t, spec->sizes[1], sc_dim_int(groups));
    for (uint32_t i = 0; i <= rank; i++) {
        order[i] = i == 1 ? 2 : i == 2 ? 1 : i;
        if (i > 2) wide[i] = spec->sizes[i - 1];
    }
    sc_x x = sc_f_permute(t, sc_f_view(t, a[0], wide, rank + 1), order);
    return sc_f_reshape(t, x, spec->sizes, rank);
}

// --- Layout and dtype ---------------------------------------------------------------------------

static bool has_format(sc_trace *t, sc_x x, sc_memory_format format) {
    switch (format) {
    case SC_MEMORY_FORMAT_CHANNELS_LAST: return sc_spec_is_channels_last(t->exprs, sc_x_spec(x));
    case SC_MEMORY_FORMAT_CHANNELS_LAST_3D:
        return sc_spec_is_channels_last_3d(t->exprs, sc_x_spec(x));
    case SC_MEMORY_FORMAT_CONTIGUOUS: return sc_x_is_contiguous(t, x);
    case SC_MEMORY_FORMAT_PRESERVE: break;
    }
    return true;
}

sc_x sc_expand_contiguous(sc_trace *t, const sc_x *a) {
    sc_memory_format format = (sc_memory_format)a[1]->code;
    return has_format(t, a[0], format) ? a[0] : CALL(t, clone, a[0], a[1]);
}

// Unlike contiguous(), to() goes by the format that a tensor looks like.
static bool looks_like(sc_trace *t, sc_x x, sc_memory_format format) {
    return format == SC_MEMORY_FORMAT_PRESERVE ||
           sc_spec_suggested_format(t->exprs, sc_x_spec(x)) == format;
}

// A call that changes nothing is its input; else _to_copy with exactly what was asked for.
static sc_x to_copy(sc_trace *t, sc_x x, sc_x dtype, sc_x layout, sc_x device, sc_x copy,
                    sc_x format) {
    bool changes =
        sc_x_truth(copy) || (dtype->kind == SC_X_DTYPE && dtype->code != sc_x_dtype_of(x)) ||
        (format->kind == SC_X_FORMAT && !looks_like(t, x, (sc_memory_format)format->code));
    if (!changes) return x;
    return CALL(t, _to_copy, x, dtype, layout, device, X_NONE, X_FALSE, format);
}

sc_x sc_expand_to_dtype_layout(sc_trace *t, const sc_x *a) {
    return to_copy(t, a[0], a[1], a[2], a[3], a[6], a[7]);
}
