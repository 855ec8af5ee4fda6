// Rules of normalisation, pooling and resampling. Images keep the memory format of their input.
#include "ops/rule.h"

// --- Normalisation -------------------------------------------------------------------------------

static sc_status batch_norm(sc_infer *in, uint32_t out_count) {
    const sc_spec *input = sc_rule_tensor(in, 0);
    const sc_spec *mean = sc_rule_tensor_named(in, "running_mean");
    const sc_spec *var = sc_rule_tensor_named(in, "running_var");
    bool training = sc_rule_bool(in, "training", false);
    if (input->rank < 2)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs a channel dimension, but the sizes are %s",
                            in->op->name, sc_rule_text(in, input));
    sc_dim channels = input->sizes[1], saved = training ? channels : sc_dim_int(0);
    if (mean)
        SC_TRY(sc_rule_same(in, mean->rank ? mean->sizes[0] : sc_dim_int(1), channels,
                            "the channels of input and statistics"));
    static const char *const PARAMETERS[] = {"weight", "bias"};
    for (size_t i = 0; i < SC_COUNT_OF(PARAMETERS); i++) {
        const sc_spec *of = sc_rule_tensor_named(in, PARAMETERS[i]);
        if (of && of->rank == 1)
            SC_TRY(
                sc_rule_same(in, of->sizes[0], channels, "the channels of input and parameters"));
    }
    sc_iout *outs = sc_infer_outs(in, out_count);
    sc_spec spec = sc_rule_like(in, (sc_dtype)input->dtype, input);
    sc_rule_perm_strides(in, &spec, &input, 1);
    sc_rule_set(&outs[0], spec);
    sc_rule_set_vector(in, &outs[1], (sc_dtype)input->dtype, saved);
    sc_rule_set_vector(in, &outs[2], (sc_dtype)input->dtype, saved);
    if (out_count == 5 && mean && var) {
        sc_rule_set_vector(in, &outs[3], (sc_dtype)mean->dtype, channels);
        sc_rule_set_vector(in, &outs[4], (sc_dtype)var->dtype, channels);
    }
    return SC_OK;
}

sc_status sc_infer_batch_norm(sc_infer *in) { return batch_norm(in, 3); }

sc_status sc_infer_batch_norm_functional(sc_infer *in) { return batch_norm(in, 5); }

// The normalised input, and its mean and reciprocal deviation.
static sc_status publish_normalized(sc_infer *in, sc_spec spec, sc_spec stats) {
    sc_rule_contiguous(in, &stats);
    sc_iout *outs = sc_infer_outs(in, 3);
    sc_rule_set(&outs[0], spec);
    sc_rule_set(&outs[1], stats);
    sc_rule_set(&outs[2], stats);
    return SC_OK;
}

// Weight and bias are of the normalised dims.
static sc_status check_normalized(sc_infer *in, const char *name, const sc_iarg *shape) {
    const sc_spec *of = sc_rule_tensor_named(in, name);
    if (!of) return SC_OK;
    if (of->rank != shape->count)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: the %s has the sizes %s, for %u dimensions",
                            in->op->name, name, sc_rule_text(in, of), shape->count);
    for (uint32_t i = 0; i < shape->count; i++)
        SC_TRY(sc_rule_same(in, of->sizes[i], sc_rule_item_dim(&shape->items[i]),
                            "the sizes of a parameter and normalized_shape"));
    return SC_OK;
}

sc_status sc_infer_layer_norm(sc_infer *in) {
    const sc_spec *input = sc_rule_tensor(in, 0);
    const sc_iarg *shape = sc_rule_arg(in, "normalized_shape");
    if (shape->count > input->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s cannot normalise %u dimensions of sizes %s",
                            in->op->name, shape->count, sc_rule_text(in, input));
    uint32_t outer = input->rank - shape->count;
    sc_spec stats = sc_rule_like(in, (sc_dtype)input->dtype, input);
    for (uint32_t i = 0; i < shape->count; i++) {
        SC_TRY(sc_rule_same(in, input->sizes[outer + i], sc_rule_item_dim(&shape->items[i]),
                            "the last sizes of the input and normalized_shape"));
        stats.sizes[outer + i] = sc_dim_int(1);
    }
    SC_TRY(check_normalized(in, "weight", shape));
    SC_TRY(check_normalized(in, "bias", shape));
    sc_spec spec = sc_rule_like(in, (sc_dtype)input->dtype, input);
    sc_rule_normalized(in, &spec, input);
    return publish_normalized(in, spec, stats);
}

static bool has_suggested_format(sc_infer *in, const sc_spec *spec) {
    switch (sc_spec_suggested_format(in->exprs, spec)) {
    case SC_MEMORY_FORMAT_CHANNELS_LAST: return sc_spec_is_channels_last(in->exprs, spec);
    case SC_MEMORY_FORMAT_CHANNELS_LAST_3D: return sc_spec_is_channels_last_3d(in->exprs, spec);
    default: return sc_spec_is_contiguous(in->exprs, spec);
    }
}

// With a weight, the input is scaled in its own layout. Without one it is normalised as groups,
// whose view is a row-major copy unless the input is row-major. PyTorch 2.13 first converts an
// input to the format that its strides suggest.
static void group_norm_strides(sc_infer *in, sc_spec *spec, const sc_spec *input, sc_spec groups) {
    sc_spec scale = sc_rule_new(in, (sc_dtype)input->dtype, input->rank);
    const sc_spec *operands[] = {input, &scale}, *grouped = &groups;
    sc_rule_follow_format(in, spec, input);
    if (in->runtime || !has_suggested_format(in, input)) return;
    for (uint32_t d = 0; d < input->rank; d++)
        scale.sizes[d] = d < 2 ? input->sizes[d] : sc_dim_int(1);
    sc_rule_contiguous(in, &scale);
    if (sc_rule_tensor_named(in, "weight")) {
        sc_rule_elementwise_strides(in, spec, operands, 2);
        return;
    }
    if (!sc_spec_view(in->exprs, input, &groups)) sc_rule_contiguous(in, &groups);
    sc_rule_perm_strides(in, &groups, &grouped, 1);
    if (!sc_spec_view(in->exprs, &groups, spec)) sc_rule_contiguous(in, spec);
}

sc_status sc_infer_group_norm(sc_infer *in) {
    const sc_spec *input = sc_rule_tensor(in, 0);
    sc_spec stats = sc_rule_new(in, (sc_dtype)input->dtype, 2);
    stats.sizes[0] = sc_rule_dim(in, "N", 1);
    stats.sizes[1] = sc_rule_dim(in, "group", 1);
    if (sc_rule_less(stats.sizes[1], sc_dim_int(1), false))
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: the number of groups must be positive",
                            in->op->name);
    sc_spec spec = sc_rule_like(in, (sc_dtype)input->dtype, input);
    sc_spec groups = sc_rule_new(in, (sc_dtype)input->dtype, 4);
    groups.sizes[0] = stats.sizes[0];
    groups.sizes[1] = stats.sizes[1];
    groups.sizes[2] = sc_dim_floordiv(in->exprs, sc_rule_dim(in, "C", 1), stats.sizes[1]);
    groups.sizes[3] = sc_rule_dim(in, "HxW", 1);
    group_norm_strides(in, &spec, input, groups);
    return publish_normalized(in, spec, stats);
}

static bool is_wanted(const sc_infer *in, uint32_t i) {
    const sc_iarg *mask = sc_rule_arg(in, "output_mask");
    return i < mask->count && sc_rule_number(&mask->items[i]) != 0;
}

sc_status sc_infer_layer_norm_backward(sc_infer *in) {
    const char *const names[] = {"input", "weight", "bias"};
    sc_iout *outs = sc_infer_outs(in, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const sc_spec *model = sc_rule_tensor_named(in, names[i]);
        if (!model || !is_wanted(in, i)) continue;
        sc_spec spec = sc_rule_like(in, (sc_dtype)model->dtype, model);
        sc_rule_contiguous(in, &spec);
        sc_rule_set(&outs[i], spec);
    }
    return SC_OK;
}

sc_status sc_infer_group_norm_backward(sc_infer *in) {
    const sc_spec *input = sc_rule_tensor_named(in, "input");
    sc_iout *outs = sc_infer_outs(in, 3);
    for (uint32_t i = 0; i < 3; i++) {
        if (!is_wanted(in, i)) continue;
        if (i) {
            sc_rule_set_vector(in, &outs[i], (sc_dtype)input->dtype, sc_rule_dim(in, "C", 1));
            continue;
        }
        sc_spec spec = sc_rule_like(in, (sc_dtype)input->dtype, input);
        sc_rule_contiguous(in, &spec);
        sc_rule_set(&outs[i], spec);
    }
    return SC_OK;
}

// Gradients have the sizes of the forward input, which is the second tensor.
sc_status sc_infer_like_second(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 1);
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    sc_rule_follow_format(in, &spec, self);
    return sc_rule_publish(in, spec);
}

// --- Pooling -------------------------------------------------------------------------------------

static sc_status pool_size(sc_infer *in, uint32_t i, sc_dim input, sc_dim *out) {
    sc_exprs *e = in->exprs;
    sc_dim one = sc_dim_int(1), kernel, stride, padding, dilation;
    bool ceil = sc_rule_bool(in, "ceil_mode", false);
    SC_TRY(sc_rule_item(in, "kernel_size", i, one, &kernel));
    SC_TRY(sc_rule_item(in, "stride", i, kernel, &stride));
    SC_TRY(sc_rule_item(in, "padding", i, sc_dim_int(0), &padding));
    SC_TRY(sc_rule_item(in, "dilation", i, one, &dilation));
    sc_dim twice = sc_dim_mul(e, padding, sc_dim_int(2));
    if (sc_rule_less(stride, one, false) || sc_rule_less(kernel, twice, false))
        return sc_rule_fail(
            in, SC_ERR_ARGUMENT,
            "%s: stride %s must be positive and padding %s at most half of kernel %s", in->op->name,
            sc_rule_dim_text(in, stride), sc_rule_dim_text(in, padding),
            sc_rule_dim_text(in, kernel));
    sc_dim reach = sc_dim_mul(e, dilation, sc_dim_sub(e, kernel, one));
    sc_dim room = sc_dim_sub(e, sc_dim_add(e, input, twice), sc_dim_add(e, reach, one));
    if (ceil) room = sc_dim_add(e, room, sc_dim_sub(e, stride, one));
    *out = sc_dim_add(e, sc_dim_floordiv(e, room, stride), one);
    // The last window must start inside the input or its left padding.
    sc_dim last = sc_dim_mul(e, sc_dim_sub(e, *out, one), stride);
    if (ceil && !sc_rule_less(last, sc_dim_add(e, input, padding), true))
        *out = sc_dim_sub(e, *out, one);
    if (sc_rule_less(*out, one, false))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: the window of %s is larger than its input of %s",
                            in->op->name, sc_rule_dim_text(in, kernel),
                            sc_rule_dim_text(in, input));
    return SC_OK;
}

// How many spatial dims an op has, which its list parameter says: int[2] kernel_size.
static uint32_t spatial_dims(const sc_infer *in, const char *param) {
    const sc_schema *schema = in->op->schema;
    for (uint32_t i = 0; i < schema->param_count; i++)
        if (sc_str_is(schema->params[i].name, param)) return (uint32_t)schema->params[i].list_size;
    return 0;
}

static sc_status need_spatial(sc_infer *in, const sc_spec *self, uint32_t spatial) {
    if (self->rank == spatial + 1 || self->rank == spatial + 2) return SC_OK;
    return sc_rule_fail(in, SC_ERR_SHAPE, "%s takes %u or %u dimensions, but the sizes are %s",
                        in->op->name, spatial + 1, spatial + 2, sc_rule_text(in, self));
}

// Sizes by the windows, or, of adaptive pooling, those that the call asks for.
static sc_status pooled(sc_infer *in, uint32_t *spatial, sc_spec *out) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const uint32_t asked = spatial_dims(in, "output_size");
    *spatial = asked ? asked : spatial_dims(in, "kernel_size");
    SC_TRY(need_spatial(in, self, *spatial));
    *out = sc_rule_like(in, (sc_dtype)self->dtype, self);
    for (uint32_t i = 0; i < *spatial; i++) {
        uint32_t d = self->rank - *spatial + i;
        SC_TRY(asked ? sc_rule_item(in, "output_size", i, self->sizes[d], &out->sizes[d])
                     : pool_size(in, i, self->sizes[d], &out->sizes[d]));
    }
    sc_rule_follow_format(in, out, self);
    return SC_OK;
}

sc_status sc_infer_avg_pool(sc_infer *in) {
    uint32_t spatial;
    sc_spec spec;
    SC_TRY(pooled(in, &spatial, &spec));
    if (spatial == 3) sc_rule_contiguous(in, &spec);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_max_pool(sc_infer *in) {
    uint32_t spatial;
    sc_spec spec;
    SC_TRY(pooled(in, &spatial, &spec));
    return sc_rule_publish_indexed(in, spec);
}

// --- Resampling ----------------------------------------------------------------------------------

// floor(size * factor). A symbolic size needs a factor with a short binary expansion.
static sc_status scaled(sc_infer *in, sc_dim size, double factor, sc_dim *out) {
    int64_t denominator = 1;
    if (!(factor > 0) || factor > 1e6)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: the scale factor %g is out of range",
                            in->op->name, factor);
    if (!size.expr) {
        *out = sc_dim_int((int64_t)((double)size.value * factor));
        return SC_OK;
    }
    while (factor != (double)(int64_t)factor && denominator < (1 << 20)) {
        factor *= 2;
        denominator *= 2;
    }
    if (factor != (double)(int64_t)factor)
        return sc_fail(in->ctx, SC_ERR_UNSUPPORTED, "Export with fixed image sizes.",
                       "%s: the size %s times the scale factor is not a whole number", in->op->name,
                       sc_rule_dim_text(in, size));
    *out = sc_dim_mul(in->exprs, size, sc_dim_int((int64_t)factor));
    *out = sc_dim_floordiv(in->exprs, *out, sc_dim_int(denominator));
    return SC_OK;
}

sc_status sc_infer_upsample(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *wanted = sc_rule_arg(in, "output_size"),
                  *factors = sc_rule_arg(in, "scale_factors");
    bool by_size = wanted->kind == SC_IARG_LIST;
    if (by_size && factors->kind == SC_IARG_LIST)
        return sc_rule_fail(in, SC_ERR_ARGUMENT,
                            "%s takes either sizes or factors of scale, and has both",
                            in->op->name);
    if (self->rank != 4 || (by_size ? wanted->count : factors->count) != 2)
        return sc_rule_fail(in, SC_ERR_SHAPE,
                            "%s takes images of 4 dimensions and two sizes, not %s", in->op->name,
                            sc_rule_text(in, self));
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    for (uint32_t i = 0; i < 2; i++) {
        if (by_size)
            spec.sizes[2 + i] = sc_rule_item_dim(&wanted->items[i]);
        else
            SC_TRY(scaled(in, self->sizes[2 + i], sc_rule_number(&factors->items[i]),
                          &spec.sizes[2 + i]));
    }
    sc_rule_follow_format(in, &spec, self);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_grid_sampler(sc_infer *in) {
    const sc_spec *input = sc_rule_tensor(in, 0), *grid = sc_rule_tensor(in, 1);
    if (input->rank != 4 || grid->rank != 4 || !sc_dim_is(grid->sizes[3], 2))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: image %s does not match grid %s", in->op->name,
                            sc_rule_text(in, input), sc_rule_text(in, grid));
    SC_TRY(sc_rule_same(in, input->sizes[0], grid->sizes[0], "the batch sizes"));
    sc_spec spec = sc_rule_like(in, (sc_dtype)input->dtype, input);
    spec.sizes[2] = grid->sizes[1];
    spec.sizes[3] = grid->sizes[2];
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_col2im(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_dim kernel[2], area;
    if (self->rank != 2 && self->rank != 3)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s takes 2 or 3 dimensions, not %s", in->op->name,
                            sc_rule_text(in, self));
    SC_TRY(sc_rule_item(in, "kernel_size", 0, sc_dim_int(1), &kernel[0]));
    SC_TRY(sc_rule_item(in, "kernel_size", 1, sc_dim_int(1), &kernel[1]));
    area = sc_dim_mul(in->exprs, kernel[0], kernel[1]);
    if (sc_dim_is(area, 0))
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: the kernel is empty", in->op->name);
    uint32_t channel = self->rank - 2u;
    sc_spec spec = sc_rule_new(in, (sc_dtype)self->dtype, self->rank + 1u);
    if (channel) spec.sizes[0] = self->sizes[0];
    spec.sizes[channel] = sc_dim_floordiv(in->exprs, self->sizes[channel], area);
    for (uint32_t i = 0; i < 2; i++)
        SC_TRY(sc_rule_item(in, "output_size", i, sc_dim_int(1), &spec.sizes[channel + 1 + i]));
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_glu(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    SC_TRY(sc_rule_wrapped(in, "dim", self->rank, &dim));
    if (!self->rank || !sc_dim_is(sc_dim_mod(in->exprs, self->sizes[dim], sc_dim_int(2)), 0))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s cannot halve dimension %u of sizes %s",
                            in->op->name, dim, sc_rule_text(in, self));
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    spec.sizes[dim] = sc_dim_floordiv(in->exprs, self->sizes[dim], sc_dim_int(2));
    sc_spec half = spec;
    half.strides = self->strides;
    const sc_spec *operand = &half;
    if (in->runtime)
        sc_rule_contiguous(in, &spec);
    else
        sc_rule_perm_strides(in, &spec, &operand, 1);
    return sc_rule_publish(in, spec);
}
