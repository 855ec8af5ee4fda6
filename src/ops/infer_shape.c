// Rules of ops that move elements: copies, concatenation, padding, repetition.
#include "ops/rule.h"

// --- Copies --------------------------------------------------------------------------------------

static sc_status publish_formatted(sc_infer *in, sc_spec spec, const sc_spec *self) {
    const sc_iarg *format = sc_rule_arg(in, "memory_format");
    if (format->kind == SC_IARG_MEMORY_FORMAT && format->code != SC_MEMORY_FORMAT_PRESERVE)
        sc_rule_set_format(in, &spec, (sc_memory_format)format->code);
    else
        sc_rule_copied(in, &spec, self);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_to_copy(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_dtype dtype = sc_rule_dtype(in, "dtype", (sc_dtype)self->dtype);
    return publish_formatted(in, sc_rule_like(in, dtype, self), self);
}

static sc_status publish_ordered(sc_infer *in, sc_spec spec, const sc_spec *self) {
    const sc_iarg *list = sc_rule_arg(in, "dim_order");
    if (list->kind == SC_IARG_LIST)
        SC_TRY(sc_rule_set_order(in, &spec, list, "dim order"));
    else if (self)
        sc_rule_copied(in, &spec, self);
    else
        sc_rule_contiguous(in, &spec);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_to_dim_order_copy(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_dtype dtype = sc_rule_dtype(in, "dtype", (sc_dtype)self->dtype);
    return publish_ordered(in, sc_rule_like(in, dtype, self), self);
}

sc_status sc_infer_empty_dim_order(sc_infer *in) {
    const sc_iarg *sizes = &in->args[0];
    SC_TRY(sc_rule_fits_rank(in, sizes->count));
    sc_spec spec = sc_rule_new(in, sc_rule_dtype(in, "dtype", SC_DTYPE_F32), sizes->count);
    for (uint32_t d = 0; d < sizes->count; d++) spec.sizes[d] = sc_rule_item_dim(&sizes->items[d]);
    return publish_ordered(in, spec, NULL);
}

static bool overlaps_itself(const sc_spec *spec) {
    for (uint32_t d = 0; d < spec->rank; d++)
        if (sc_dim_is(spec->strides[d], 0) && !sc_dim_is(spec->sizes[d], 1)) return true;
    return false;
}

// Keeps the strides of self, even when they are not dense, if they can be written to.
sc_status sc_infer_written(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    if (overlaps_itself(self))
        sc_rule_preserve(in, &spec, self);
    else if (self->rank)
        memcpy(spec.strides, self->strides, self->rank * sizeof(sc_dim));
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_copy(sc_infer *in) {
    const sc_spec *both[2] = {sc_rule_tensor(in, 0), sc_rule_tensor(in, 1)};
    sc_spec joint = {0};
    SC_TRY(sc_rule_broadcast(in, both, 2, &joint));
    if (joint.rank != both[0]->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "sizes %s cannot be copied into sizes %s",
                            sc_rule_text(in, both[1]), sc_rule_text(in, both[0]));
    return sc_infer_written(in);
}

// --- Joining -------------------------------------------------------------------------------------

// PyTorch's old convention: an empty one-dimensional tensor joins anything.
static bool is_skipped(const sc_spec *spec) {
    return spec->rank == 1 && sc_dim_is(spec->sizes[0], 0);
}

static sc_status joint_dtype(sc_infer *in, const sc_iarg *list, sc_dtype *out) {
    sc_promotion promotion = {0};
    for (uint32_t i = 0; i < list->count; i++)
        sc_promotion_add_tensor(&promotion, (sc_dtype)list->items[i].tensor->dtype,
                                list->items[i].tensor->rank > 0);
    *out = sc_promotion_result(&promotion);
    return *out != SC_DTYPE_NONE
               ? SC_OK
               : sc_rule_fail(in, SC_ERR_DTYPE, "the tensors given to %s have no common dtype",
                              in->op->name);
}

static sc_status add_along(sc_infer *in, sc_spec *spec, const sc_spec *item, uint32_t dim) {
    if (item->rank != spec->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE,
                            "%s: sizes %s and %s differ in their number of dimensions",
                            in->op->name, sc_rule_text(in, spec), sc_rule_text(in, item));
    for (uint32_t d = 0; d < spec->rank; d++)
        if (d != dim && sc_dim_known_equal(spec->sizes[d], item->sizes[d]) == SC_TRI_FALSE)
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s: sizes %s and %s differ in dimension %u",
                                in->op->name, sc_rule_text(in, spec), sc_rule_text(in, item), d);
    spec->sizes[dim] = sc_dim_add(in->exprs, spec->sizes[dim], item->sizes[dim]);
    return SC_OK;
}

// Row-major unless all of them suggest the same other format.
static void joint_format(sc_infer *in, const sc_iarg *list, sc_spec *spec) {
    bool same = !in->runtime;
    for (uint32_t i = 0; same && i < list->count; i++)
        same = sc_spec_suggested_format(in->exprs, list->items[i].tensor) ==
               sc_spec_suggested_format(in->exprs, list->items[0].tensor);
    if (same)
        sc_rule_follow_format(in, spec, list->items[0].tensor);
    else
        sc_rule_contiguous(in, spec);
}

sc_status sc_infer_cat(sc_infer *in) {
    const sc_iarg *list = &in->args[0];
    const sc_spec *first = NULL;
    sc_dtype dtype;
    uint32_t dim;
    if (!list->count)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs at least one tensor", in->op->name);
    SC_TRY(joint_dtype(in, list, &dtype));
    for (uint32_t i = 0; i < list->count && !first; i++)
        first = is_skipped(list->items[i].tensor) ? NULL : list->items[i].tensor;
    if (!first) first = list->items[0].tensor;
    if (!first->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s cannot join tensors without dimensions",
                            in->op->name);
    SC_TRY(sc_rule_wrapped(in, "dim", first->rank, &dim));
    sc_spec spec = sc_rule_like(in, dtype, first);
    spec.sizes[dim] = sc_dim_int(0);
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_spec *item = list->items[i].tensor;
        if (!is_skipped(item) || first->rank == 1) SC_TRY(add_along(in, &spec, item, dim));
    }
    joint_format(in, list, &spec);
    return sc_rule_publish(in, spec);
}

static sc_status need_equal(sc_infer *in, const sc_iarg *list) {
    const sc_spec *first = list->items[0].tensor;
    for (uint32_t i = 1; i < list->count; i++) {
        const sc_spec *item = list->items[i].tensor;
        bool same = item->rank == first->rank;
        for (uint32_t d = 0; same && d < first->rank; d++)
            same = sc_dim_known_equal(item->sizes[d], first->sizes[d]) != SC_TRI_FALSE;
        if (!same)
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s: sizes %s and %s differ", in->op->name,
                                sc_rule_text(in, first), sc_rule_text(in, item));
    }
    return SC_OK;
}

// Strides of tensors joined along a dim that each of them gets at its end.
static void join_at_end(sc_infer *in, const sc_iarg *list, sc_spec *spec) {
    sc_iarg *items = sc_new_array(in->arena, sc_iarg, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_spec *item = list->items[i].tensor;
        sc_spec *longer = sc_new(in->arena, sc_spec);
        *longer = sc_rule_new(in, (sc_dtype)item->dtype, item->rank + 1u);
        for (uint32_t d = 0; d <= item->rank; d++) {
            longer->sizes[d] = d < item->rank ? item->sizes[d] : sc_dim_int(1);
            longer->strides[d] = d < item->rank ? item->strides[d] : sc_dim_int(1);
        }
        items[i] = (sc_iarg){.kind = SC_IARG_TENSOR, .tensor = longer};
    }
    joint_format(in, &(sc_iarg){.kind = SC_IARG_LIST, .count = list->count, .items = items}, spec);
}

// A concatenation along `dim`, seen with one dim more; at the end, of tensors with one dim more.
sc_status sc_infer_stack(sc_infer *in) {
    const sc_iarg *list = &in->args[0];
    sc_dtype dtype;
    uint32_t dim;
    if (!list->count)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs at least one tensor", in->op->name);
    SC_TRY(joint_dtype(in, list, &dtype));
    SC_TRY(need_equal(in, list));
    const sc_spec *first = list->items[0].tensor;
    SC_TRY(sc_rule_fits_rank(in, first->rank + 1u));
    SC_TRY(sc_rule_wrapped(in, "dim", first->rank + 1u, &dim));
    sc_spec spec = sc_rule_new(in, dtype, first->rank + 1u),
            joined = sc_rule_like(in, dtype, first);
    sc_dim count = sc_dim_int(list->count);
    for (uint32_t d = 0; d < spec.rank; d++)
        spec.sizes[d] = d == dim ? count : first->sizes[d < dim ? d : d - 1];
    if (dim == first->rank) {
        join_at_end(in, list, &spec);
        return sc_rule_publish(in, spec);
    }
    joined.sizes[dim] = sc_dim_mul(in->exprs, joined.sizes[dim], count);
    joint_format(in, list, &joined);
    if (!sc_spec_view_by_chunks(in->exprs, &joined, &spec)) sc_rule_contiguous(in, &spec);
    return sc_rule_publish(in, spec);
}

// --- Padding and repeating -----------------------------------------------------------------------

// Pairs (before, after) from the last dim backwards.
static sc_status pad_sizes(sc_infer *in, const char *param, sc_spec *spec) {
    const sc_iarg *pad = sc_rule_arg(in, param);
    if (pad->count % 2 || pad->count / 2 > spec->rank)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: %u paddings for %u dimensions", in->op->name,
                            pad->count, spec->rank);
    for (uint32_t i = 0; i < pad->count; i++) {
        uint32_t d = spec->rank - 1u - i / 2;
        spec->sizes[d] = sc_dim_add(in->exprs, spec->sizes[d], sc_rule_item_dim(&pad->items[i]));
        if (i % 2 && sc_rule_less(spec->sizes[d], sc_dim_int(0), false))
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s: dimension %u gets a negative size",
                                in->op->name, d);
    }
    return SC_OK;
}

static bool grows(const sc_iarg *pad) {
    for (uint32_t i = 0; i < pad->count; i++)
        if (sc_rule_less(sc_dim_int(0), sc_rule_item_dim(&pad->items[i]), true)) return true;
    return false;
}

sc_status sc_infer_constant_pad_nd(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    SC_TRY(pad_sizes(in, "pad", &spec));
    sc_spec cut = spec;  // what is not padded is a copy of a view
    cut.strides = self->strides;
    if (grows(sc_rule_arg(in, "pad")))
        sc_rule_follow_format(in, &spec, self);
    else
        sc_rule_copied(in, &spec, &cut);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_pad_sides(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    SC_TRY(pad_sizes(in, "padding", &spec));
    if (sc_rule_arg(in, "padding")->count == 6)
        sc_rule_contiguous(in, &spec);
    else
        sc_rule_follow_format(in, &spec, self);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_repeat(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *repeats = &in->args[1];
    if (repeats->count < self->rank || repeats->count > SC_RANK_MAX)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: %u repeats for %u dimensions", in->op->name,
                            repeats->count, self->rank);
    uint32_t missing = repeats->count - self->rank;
    sc_spec spec = sc_rule_new(in, (sc_dtype)self->dtype, repeats->count);
    for (uint32_t d = 0; d < spec.rank; d++) {
        sc_dim times = sc_rule_item_dim(&repeats->items[d]);
        if (sc_rule_less(times, sc_dim_int(0), false))
            return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: a repeat is negative", in->op->name);
        spec.sizes[d] =
            d < missing ? times : sc_dim_mul(in->exprs, self->sizes[d - missing], times);
    }
    return sc_rule_publish_contiguous(in, spec);
}

// repeats -> positions: [2, 0, 1] gives [0, 0, 2].
sc_status sc_infer_repeat_interleave(sc_infer *in) {
    const sc_iarg *repeats = &in->args[0];
    const sc_spec *self = repeats->tensor;
    sc_spec spec = sc_rule_new(in, (sc_dtype)self->dtype, 1);
    if (self->rank != 1)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs a one-dimensional tensor", in->op->name);
    if (!sc_rule_is_none(in, "output_size")) {
        spec.sizes[0] = sc_rule_dim(in, "output_size", 0);
    } else if (repeats->data && !self->sizes[0].expr) {
        int64_t total = 0;
        for (int64_t i = 0; i < self->sizes[0].value; i++)
            if (repeats->data[i] < 0 || !sc_add_i64(total, repeats->data[i], &total))
                return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: invalid repeats", in->op->name);
        spec.sizes[0] = sc_dim_int(total);
    } else if (in->exprs) {
        spec.sizes[0] = sc_exprs_fresh(in->exprs, (sc_range){0, SC_DIM_INF});
    } else {
        return sc_rule_fail(in, SC_ERR_UNSUPPORTED, "%s: the repeats are not known", in->op->name);
    }
    return sc_rule_publish_contiguous(in, spec);
}

// --- Channels to space and back ------------------------------------------------------------------

static sc_status need_image(sc_infer *in, const sc_spec *self, int64_t factor) {
    if (self->rank < 3 || factor <= 0 || factor > 65536)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s by %lld does not suit sizes %s", in->op->name,
                            (long long)factor, sc_rule_text(in, self));
    return SC_OK;
}

sc_status sc_infer_pixel_shuffle(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    int64_t r;
    SC_TRY(sc_rule_int(in, &in->args[1], "the factor", &r));
    SC_TRY(need_image(in, self, r));
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    sc_dim *channels = &spec.sizes[spec.rank - 3u];
    if (!sc_dim_is(sc_dim_mod(in->exprs, *channels, sc_dim_int(r * r)), 0))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: %s channels are not a multiple of %lld",
                            in->op->name, sc_rule_dim_text(in, *channels), (long long)(r * r));
    channels[0] = sc_dim_floordiv(in->exprs, channels[0], sc_dim_int(r * r));
    channels[1] = sc_dim_mul(in->exprs, channels[1], sc_dim_int(r));
    channels[2] = sc_dim_mul(in->exprs, channels[2], sc_dim_int(r));
    sc_rule_follow_format(in, &spec, self);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_pixel_unshuffle(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    int64_t r;
    SC_TRY(sc_rule_int(in, &in->args[1], "the factor", &r));
    SC_TRY(need_image(in, self, r));
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    sc_dim *channels = &spec.sizes[spec.rank - 3u], factor = sc_dim_int(r);
    for (uint32_t i = 1; i <= 2; i++) {
        if (!sc_dim_is(sc_dim_mod(in->exprs, channels[i], factor), 0))
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s: size %s is not a multiple of %lld",
                                in->op->name, sc_rule_dim_text(in, channels[i]), (long long)r);
        channels[i] = sc_dim_floordiv(in->exprs, channels[i], factor);
    }
    channels[0] = sc_dim_mul(in->exprs, channels[0], sc_dim_int(r * r));
    sc_rule_follow_format(in, &spec, self);
    return sc_rule_publish(in, spec);
}
