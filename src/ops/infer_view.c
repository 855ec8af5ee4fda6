// Rules of views: new sizes, strides and offset on the same storage. The *_copy twin of a view has
// the view's sizes, row-major.
#include "ops/rule.h"

// The view's result before its sizes and strides are changed.
static sc_spec view_of(sc_infer *in, const sc_spec *self, uint32_t rank) {
    sc_spec spec = sc_rule_new(in, (sc_dtype)self->dtype, rank);
    spec.offset = self->offset;
    return spec;
}

static sc_spec same_view(sc_infer *in, const sc_spec *self) {
    sc_spec spec = view_of(in, self, self->rank);
    for (uint32_t d = 0; d < self->rank; d++) {
        spec.sizes[d] = self->sizes[d];
        spec.strides[d] = self->strides[d];
    }
    return spec;
}

static void move_offset(sc_infer *in, sc_spec *spec, sc_dim steps, sc_dim stride) {
    spec->offset = sc_dim_add(in->exprs, spec->offset, sc_dim_mul(in->exprs, steps, stride));
}

static sc_status copy_results(sc_infer *in, sc_status status) {
    SC_TRY(status);
    for (uint32_t i = 0; i < in->out_count; i++) {
        in->outs[i].spec.offset = sc_dim_int(0);
        sc_rule_contiguous(in, &in->outs[i].spec);
    }
    return SC_OK;
}

#define COPY_TWIN(view) \
    sc_status sc_infer_##view##_copy(sc_infer *in) { return copy_results(in, sc_infer_##view(in)); }

COPY_TWIN(alias)
COPY_TWIN(as_strided)
COPY_TWIN(diagonal)
COPY_TWIN(expand)
COPY_TWIN(permute)
COPY_TWIN(select)
COPY_TWIN(slice)
COPY_TWIN(split)
COPY_TWIN(split_with_sizes)
COPY_TWIN(squeeze)
COPY_TWIN(t)
COPY_TWIN(transpose)
COPY_TWIN(unbind)
COPY_TWIN(unfold)
COPY_TWIN(unsqueeze)
COPY_TWIN(view_dtype)
COPY_TWIN(view_as_complex)
COPY_TWIN(view_as_real)

sc_status sc_infer_alias(sc_infer *in) {
    return sc_rule_publish(in, same_view(in, sc_rule_tensor(in, 0)));
}

// --- Views of vmap and jvp -----------------------------------------------------------------------

sc_status sc_infer_add_batch_dim(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    SC_TRY(sc_rule_wrapped(in, "batch_dim", self->rank, &dim));
    if (self->rank == 0)
        return sc_rule_fail(in, SC_ERR_SHAPE, "a tensor without dims has none to be a batch");
    sc_spec spec = view_of(in, self, self->rank - 1);
    for (uint32_t d = 0; d < spec.rank; d++) {
        spec.sizes[d] = self->sizes[d + (d >= dim)];
        spec.strides[d] = self->strides[d + (d >= dim)];
    }
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_remove_batch_dim(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    if (self->rank >= SC_RANK_MAX)
        return sc_rule_fail(in, SC_ERR_LIMIT, "a tensor has at most %d dims", SC_RANK_MAX);
    SC_TRY(sc_rule_wrapped(in, "out_dim", self->rank + 1, &dim));
    sc_spec spec = sc_rule_new(in, (sc_dtype)self->dtype, self->rank + 1);
    for (uint32_t d = 0; d < spec.rank; d++)
        spec.sizes[d] = d == dim ? sc_rule_dim(in, "batch_size", 0) : self->sizes[d - (d > dim)];
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_unpack_dual(sc_infer *in) {
    sc_spec primal = same_view(in, sc_rule_tensor(in, 0));
    sc_iout *outs = sc_infer_outs(in, 2);
    sc_rule_set(&outs[0], primal);
    primal.offset = sc_dim_int(0);
    sc_rule_contiguous(in, &primal);
    sc_rule_set(&outs[1], primal);
    return SC_OK;
}

// --- Order of dims -------------------------------------------------------------------------------

static sc_status publish_permuted(sc_infer *in, const sc_spec *self, const uint32_t *order) {
    sc_spec spec = view_of(in, self, self->rank);
    for (uint32_t d = 0; d < self->rank; d++) {
        spec.sizes[d] = self->sizes[order[d]];
        spec.strides[d] = self->strides[order[d]];
    }
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_permute(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *dims = &in->args[1];
    uint32_t order[SC_RANK_MAX];
    bool seen[SC_RANK_MAX];
    if (dims->count != self->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s lists %u dimensions for a tensor with %u",
                            in->op->name, dims->count, self->rank);
    SC_TRY(sc_rule_dim_set(in, "dims", self->rank, false, seen));
    for (uint32_t d = 0; d < self->rank; d++) {
        int64_t dim;
        SC_TRY(sc_rule_int(in, &dims->items[d], "the dimension", &dim));
        SC_TRY(sc_rule_wrap_dim(in, dim, self->rank, &order[d]));
    }
    return publish_permuted(in, self, order);
}

static sc_status publish_swapped(sc_infer *in, uint32_t a, uint32_t b) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t order[SC_RANK_MAX];
    for (uint32_t d = 0; d < SC_RANK_MAX; d++) order[d] = d == a ? b : d == b ? a : d;
    return publish_permuted(in, self, order);
}

sc_status sc_infer_transpose(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t a, b;
    SC_TRY(sc_rule_wrapped(in, "dim0", self->rank, &a));
    SC_TRY(sc_rule_wrapped(in, "dim1", self->rank, &b));
    return publish_swapped(in, a, b);
}

sc_status sc_infer_t(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    if (self->rank > 2)
        return sc_rule_fail(in, SC_ERR_SHAPE, "t() takes at most 2 dimensions, not %u", self->rank);
    return self->rank == 2 ? publish_swapped(in, 0, 1) : sc_infer_alias(in);
}

// --- Fewer or more dims --------------------------------------------------------------------------

sc_status sc_infer_unsqueeze(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t at;
    SC_TRY(sc_rule_fits_rank(in, self->rank + 1u));
    SC_TRY(sc_rule_wrapped(in, "dim", self->rank + 1u, &at));
    sc_spec spec = view_of(in, self, self->rank + 1u);
    for (uint32_t d = 0; d < spec.rank; d++) {
        uint32_t from = d < at ? d : d - 1;
        if (d == at) {
            spec.sizes[d] = sc_dim_int(1);
            spec.strides[d] = at < self->rank
                                  ? sc_dim_mul(in->exprs, self->sizes[at], self->strides[at])
                                  : sc_dim_int(1);
        } else {
            spec.sizes[d] = self->sizes[from];
            spec.strides[d] = self->strides[from];
        }
    }
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_squeeze(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    bool chosen[SC_RANK_MAX];
    SC_TRY(sc_rule_dim_set(in, "dim", self->rank, false, chosen));
    sc_spec spec = view_of(in, self, self->rank);
    uint32_t rank = 0;
    for (uint32_t d = 0; d < self->rank; d++) {
        if (chosen[d] && sc_dim_is(self->sizes[d], 1)) continue;
        spec.sizes[rank] = self->sizes[d];
        spec.strides[rank++] = self->strides[d];
    }
    spec.rank = (uint8_t)rank;
    return sc_rule_publish(in, spec);
}

// `spec` without dim `at`.
static void drop_dim(sc_spec *spec, uint32_t at) {
    for (uint32_t d = at; d + 1 < spec->rank; d++) {
        spec->sizes[d] = spec->sizes[d + 1];
        spec->strides[d] = spec->strides[d + 1];
    }
    spec->rank--;
}

// The argument `dim` of a tensor that has dims.
static sc_status need_dim(sc_infer *in, const sc_spec *self, uint32_t *out) {
    if (!self->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs a tensor with dimensions", in->op->name);
    return sc_rule_wrapped(in, "dim", self->rank, out);
}

sc_status sc_infer_select(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    SC_TRY(need_dim(in, self, &dim));
    sc_dim given = sc_rule_dim(in, "index", 0), index = given, size = self->sizes[dim];
    if (sc_rule_less(given, sc_dim_int(0), false)) index = sc_dim_add(in->exprs, given, size);
    if (!index.expr && !size.expr && (index.value < 0 || index.value >= size.value))
        return sc_rule_fail(in, SC_ERR_INDEX,
                            "index %lld is out of range for dimension %u of size %s",
                            (long long)given.value, dim, sc_rule_dim_text(in, size));
    sc_spec spec = same_view(in, self);
    move_offset(in, &spec, index, self->strides[dim]);
    drop_dim(&spec, dim);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_unbind(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    SC_TRY(need_dim(in, self, &dim));
    if (self->sizes[dim].expr || self->sizes[dim].value > 65536)
        return sc_rule_fail(in, SC_ERR_UNSUPPORTED, "%s cannot split a dimension of size %s",
                            in->op->name, sc_rule_dim_text(in, self->sizes[dim]));
    uint32_t count = (uint32_t)self->sizes[dim].value;
    sc_iout *outs = sc_infer_outs(in, count);
    for (uint32_t i = 0; i < count; i++) {
        sc_spec spec = same_view(in, self);
        move_offset(in, &spec, sc_dim_int(i), self->strides[dim]);
        drop_dim(&spec, dim);
        sc_rule_set(&outs[i], spec);
    }
    return SC_OK;
}

sc_status sc_infer_diagonal(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t a, b;
    int64_t offset;
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, "offset"), "the offset", &offset));
    SC_TRY(sc_rule_wrapped(in, "dim1", self->rank, &a));
    SC_TRY(sc_rule_wrapped(in, "dim2", self->rank, &b));
    if (a == b || self->rank < 2)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs two different dimensions", in->op->name);
    sc_spec spec = same_view(in, self);
    sc_dim shift = sc_dim_int(offset < 0 ? offset : -offset), zero = sc_dim_int(0);
    sc_dim rows = offset < 0 ? sc_dim_add(in->exprs, self->sizes[a], shift) : self->sizes[a];
    sc_dim columns = offset < 0 ? self->sizes[b] : sc_dim_add(in->exprs, self->sizes[b], shift);
    sc_dim count = sc_rule_less(columns, rows, false) ? columns : rows;
    if (sc_rule_less(count, zero, false)) count = zero;
    if (!sc_dim_is(count, 0))
        move_offset(in, &spec, sc_dim_int(offset < 0 ? -offset : offset),
                    self->strides[offset < 0 ? a : b]);
    drop_dim(&spec, a > b ? a : b);
    drop_dim(&spec, a > b ? b : a);
    spec.sizes[spec.rank] = count;
    spec.strides[spec.rank++] = sc_dim_add(in->exprs, self->strides[a], self->strides[b]);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_unfold(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    int64_t step;
    SC_TRY(sc_rule_wrapped(in, "dimension", self->rank, &dim));
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, "step"), "the step", &step));
    sc_dim window = sc_rule_dim(in, "size", 0);
    sc_dim size = self->rank ? self->sizes[dim] : sc_dim_int(1);
    if (step <= 0 || sc_rule_less(size, window, false) || self->rank == SC_RANK_MAX)
        return sc_rule_fail(in, SC_ERR_SHAPE,
                            "%s: windows of %s in steps of %lld do not suit size %s", in->op->name,
                            sc_rule_dim_text(in, window), (long long)step,
                            sc_rule_dim_text(in, size));
    sc_spec spec = view_of(in, self, self->rank + 1u);
    for (uint32_t d = 0; d < self->rank; d++) {
        spec.sizes[d] = self->sizes[d];
        spec.strides[d] = self->strides[d];
    }
    spec.sizes[self->rank] = window;
    spec.strides[self->rank] = self->rank ? self->strides[dim] : sc_dim_int(1);
    if (self->rank) {
        sc_dim starts =
            sc_dim_floordiv(in->exprs, sc_dim_sub(in->exprs, size, window), sc_dim_int(step));
        spec.sizes[dim] = sc_dim_add(in->exprs, starts, sc_dim_int(1));
        spec.strides[dim] = sc_dim_mul(in->exprs, self->strides[dim], sc_dim_int(step));
    }
    return sc_rule_publish(in, spec);
}

// --- Ranges --------------------------------------------------------------------------------------

// A slice bound into [low, size]; None gives `otherwise`.
static sc_dim clamp_bound(sc_infer *in, const char *param, sc_dim low, sc_dim size,
                          sc_dim otherwise) {
    if (sc_rule_is_none(in, param)) return otherwise;
    sc_dim bound = sc_rule_dim(in, param, 0);
    if (sc_dim_is(bound, INT64_MAX)) return size;
    if (sc_rule_less(bound, sc_dim_int(0), false)) bound = sc_dim_add(in->exprs, bound, size);
    if (sc_rule_less(bound, low, false)) return low;
    if (!sc_rule_less(size, bound, true)) return bound;
    return sc_rule_less(size, bound, false) ? size : sc_dim_min(in->exprs, bound, size);
}

// Start and length of what slice arguments (start, end, step) take from a dim.
static sc_status slice_bounds(sc_infer *in, sc_dim size, sc_dim *start, sc_dim *length,
                              int64_t *step) {
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, "step"), "the step", step));
    if (*step <= 0)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: the step must be positive, not %lld",
                            in->op->name, (long long)*step);
    sc_dim zero = sc_dim_int(0);
    *start = clamp_bound(in, "start", zero, size, zero);
    sc_dim end = clamp_bound(in, "end", *start, size, size);
    *length = sc_dim_sub(in->exprs, end, *start);
    if (*step > 1) *length = sc_rule_ceildiv(in, *length, sc_dim_int(*step));
    return SC_OK;
}

sc_status sc_infer_slice(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    int64_t step;
    sc_dim start;
    SC_TRY(need_dim(in, self, &dim));
    sc_spec spec = same_view(in, self);
    SC_TRY(slice_bounds(in, self->sizes[dim], &start, &spec.sizes[dim], &step));
    move_offset(in, &spec, start, self->strides[dim]);
    spec.strides[dim] = sc_dim_mul(in->exprs, self->strides[dim], sc_dim_int(step));
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_narrow_copy(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    SC_TRY(need_dim(in, self, &dim));
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    spec.sizes[dim] = sc_rule_dim(in, "length", 0);
    if (sc_rule_less(self->sizes[dim], spec.sizes[dim], false))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s cannot take %s items of a dimension of size %s",
                            in->op->name, sc_rule_dim_text(in, spec.sizes[dim]),
                            sc_rule_dim_text(in, self->sizes[dim]));
    return sc_rule_publish_contiguous(in, spec);
}

static void set_part(sc_infer *in, sc_iout *out, uint32_t dim, sc_dim start, sc_dim length) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec = same_view(in, self);
    spec.sizes[dim] = length;
    move_offset(in, &spec, start, self->strides[dim]);
    sc_rule_set(out, spec);
}

sc_status sc_infer_split_with_sizes(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *sizes = &in->args[1];
    uint32_t dim;
    sc_dim start = sc_dim_int(0);
    SC_TRY(need_dim(in, self, &dim));
    sc_iout *outs = sc_infer_outs(in, sizes->count);
    for (uint32_t i = 0; i < sizes->count; i++) {
        sc_dim length;
        SC_TRY(sc_rule_item(in, "split_sizes", i, sc_dim_int(0), &length));
        if (sc_rule_less(length, sc_dim_int(0), false))
            return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: a negative size", in->op->name);
        set_part(in, &outs[i], dim, start, length);
        start = sc_dim_add(in->exprs, start, length);
    }
    if (sc_dim_known_equal(start, self->sizes[dim]) == SC_TRI_FALSE)
        return sc_rule_fail(in, SC_ERR_SHAPE,
                            "%s: the parts add up to %s, but the dimension has %s", in->op->name,
                            sc_rule_dim_text(in, start), sc_rule_dim_text(in, self->sizes[dim]));
    return SC_OK;
}

sc_status sc_infer_split(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    int64_t count;
    SC_TRY(need_dim(in, self, &dim));
    sc_dim size = self->sizes[dim], part = sc_rule_dim(in, "split_size", 1);
    if (!sc_rule_less(sc_dim_int(0), part, true))
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: the size of the parts must be positive",
                            in->op->name);
    if (!sc_dim_hint(sc_rule_ceildiv(in, size, part), &count) || count > 65536)
        return sc_rule_fail(in, SC_ERR_UNSUPPORTED, "%s: the number of parts is not known",
                            in->op->name);
    count = sc_max_i64(count, 1);
    sc_iout *outs = sc_infer_outs(in, (uint32_t)count);
    sc_dim start = sc_dim_int(0);
    for (uint32_t i = 0; i < count; i++) {
        sc_dim length = i + 1 < count ? part : sc_dim_sub(in->exprs, size, start);
        set_part(in, &outs[i], dim, start, length);
        start = sc_dim_add(in->exprs, start, length);
    }
    return SC_OK;
}

// --- Other readings of the same storage ----------------------------------------------------------

sc_status sc_infer_as_strided(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *sizes = &in->args[1], *strides = &in->args[2];
    if (sizes->count != strides->count || sizes->count > SC_RANK_MAX)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: %u sizes but %u strides", in->op->name,
                            sizes->count, strides->count);
    sc_spec spec = view_of(in, self, sizes->count);
    for (uint32_t d = 0; d < spec.rank; d++) {
        spec.sizes[d] = sc_rule_item_dim(&sizes->items[d]);
        spec.strides[d] = sc_rule_item_dim(&strides->items[d]);
    }
    if (!sc_rule_is_none(in, "storage_offset")) spec.offset = sc_rule_dim(in, "storage_offset", 0);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_expand(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *sizes = &in->args[1];
    if (sizes->count < self->rank || sizes->count > SC_RANK_MAX)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: %u sizes for a tensor with %u dimensions",
                            in->op->name, sizes->count, self->rank);
    uint32_t missing = sizes->count - self->rank;
    sc_spec spec = view_of(in, self, sizes->count);
    for (uint32_t d = 0; d < spec.rank; d++) {
        sc_dim wanted = sc_rule_item_dim(&sizes->items[d]);
        sc_dim old = d < missing ? sc_dim_int(1) : self->sizes[d - missing];
        bool keep = sc_dim_is(wanted, -1) && d >= missing;
        bool same =
            keep || (d >= missing &&
                     (sc_dim_equal(wanted, old) ||
                      (!sc_dim_is(old, 1) && sc_dim_known_equal(wanted, old) != SC_TRI_FALSE)));
        if (!same && (!sc_dim_is(old, 1) || sc_rule_less(wanted, sc_dim_int(0), false)))
            return sc_rule_fail(in, SC_ERR_SHAPE,
                                "%s: dimension %u has size %s and cannot become %s", in->op->name,
                                d, sc_rule_dim_text(in, old), sc_rule_dim_text(in, wanted));
        spec.sizes[d] = keep || (same && wanted.expr && !old.expr) ? old : wanted;
        spec.strides[d] = same ? self->strides[d - missing] : sc_dim_int(0);
    }
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_view_dtype(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_dtype dtype = sc_rule_dtype(in, "dtype", (sc_dtype)self->dtype);
    uint32_t from = sc_dtype_bytes((sc_dtype)self->dtype), to = sc_dtype_bytes(dtype);
    sc_spec spec = same_view(in, self);
    spec.dtype = (uint8_t)dtype;
    if (from == to) return sc_rule_publish(in, spec);
    if (!self->rank || !from || !to)
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s needs a last dimension to change the item size",
                            in->op->name);
    uint32_t last = self->rank - 1u;
    bool shrink = to > from;
    sc_dim ratio = sc_dim_int(shrink ? to / from : from / to);
    if (shrink && !spec.sizes[last].expr && spec.sizes[last].value % ratio.value)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: the %s items of the last dimension fill no %s",
                            in->op->name, sc_rule_dim_text(in, spec.sizes[last]),
                            sc_dtype_name(dtype));
    for (uint32_t d = 0; d < last; d++)
        spec.strides[d] = shrink ? sc_dim_floordiv(in->exprs, spec.strides[d], ratio)
                                 : sc_dim_mul(in->exprs, spec.strides[d], ratio);
    spec.sizes[last] = shrink ? sc_dim_floordiv(in->exprs, spec.sizes[last], ratio)
                              : sc_dim_mul(in->exprs, spec.sizes[last], ratio);
    spec.offset = shrink ? sc_dim_floordiv(in->exprs, spec.offset, ratio)
                         : sc_dim_mul(in->exprs, spec.offset, ratio);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_view_as_real(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_dtype real = sc_dtype_to_real((sc_dtype)self->dtype);
    if (real == self->dtype || self->rank == SC_RANK_MAX)
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s needs a complex tensor", in->op->name);
    sc_spec spec = view_of(in, self, self->rank + 1u);
    sc_dim two = sc_dim_int(2);
    spec.dtype = (uint8_t)real;
    spec.offset = sc_dim_mul(in->exprs, self->offset, two);
    for (uint32_t d = 0; d < self->rank; d++) {
        spec.sizes[d] = self->sizes[d];
        spec.strides[d] = sc_dim_mul(in->exprs, self->strides[d], two);
    }
    spec.sizes[self->rank] = two;
    spec.strides[self->rank] = sc_dim_int(1);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_view_as_complex(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_dtype complex = sc_dtype_to_complex((sc_dtype)self->dtype);
    if (sc_dtype_to_real(complex) != self->dtype || complex == self->dtype || !self->rank ||
        !sc_dim_is(self->sizes[self->rank - 1], 2))
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s needs floats with a last dimension of size 2",
                            in->op->name);
    sc_spec spec = same_view(in, self);
    sc_dim two = sc_dim_int(2);
    spec.rank--;
    spec.dtype = (uint8_t)complex;
    spec.offset = sc_dim_floordiv(in->exprs, self->offset, two);
    for (uint32_t d = 0; d < spec.rank; d++)
        spec.strides[d] = sc_dim_floordiv(in->exprs, self->strides[d], two);
    return sc_rule_publish(in, spec);
}
