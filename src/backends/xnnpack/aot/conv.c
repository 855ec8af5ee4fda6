// Convolutions, and batch norm. Behind a product a norm is folded into the weights; alone it is a
// depthwise convolution of one pixel.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

// --- Batch norm ----------------------------------------------------------------------------------

static bool is_vector(const sc_node *node, const char *param, bool optional) {
    sc_xa_constant c;
    const sc_value *value = sc_xa_tensor(node, param);
    if (!value) return optional;
    return sc_xa_constant_of(value, &c) && !c.dequantize && c.rank == 1 &&
           sc_dim_is(node->args[0].value->spec.sizes[1], c.sizes[0]) && sc_xa_has_numbers(&c) &&
           sc_dtype_is_float((sc_dtype)c.constant->spec.dtype);
}

static bool is_known(const sc_node *norm) {
    const bool alone = (norm->out_count < 2 || norm->outs[1]->use_count == 0) &&
                       (norm->out_count < 3 || norm->outs[2]->use_count == 0);
    return alone && norm->args[0].value->spec.rank >= 2 && is_vector(norm, "weight", true) &&
           is_vector(norm, "bias", true) && is_vector(norm, "running_mean", false) &&
           is_vector(norm, "running_var", false);
}

const sc_node *sc_xa_norm_behind(const sc_value *value) {
    const sc_node *user = sc_xa_only_user(value);
    const bool fits = sc_xa_is(user, &sc_xa_norm) && user->args[0].value == value &&
                      value->spec.rank <= 4 && is_known(user);
    return fits ? user : NULL;
}

static sc_status read_vector(sc_ctx *ctx, const sc_node *norm, const char *param, double **out,
                             uint32_t *count) {
    sc_xa_constant c;
    const sc_value *value = sc_xa_tensor(norm, param);
    *out = NULL;
    if (!value || !sc_xa_constant_of(value, &c)) return SC_OK;
    return sc_xa_read_numbers(ctx, &c, out, count);
}

// The constant that stands for all of a norm: the one that each norm has.
static sc_str name_of(const sc_node *norm) {
    sc_xa_constant mean;
    sc_xa_constant_of(sc_xa_tensor(norm, "running_mean"), &mean);
    return mean.constant->name;
}

// The norm's factors and addends by channel, on scratch.
static sc_status read_norm(sc_ctx *ctx, const sc_node *norm, double **factor, double **summand,
                           uint32_t *count) {
    double *weight, *bias, *mean, *var, eps = 0;
    SC_TRY(read_vector(ctx, norm, "weight", &weight, count));
    SC_TRY(read_vector(ctx, norm, "bias", &bias, count));
    SC_TRY(read_vector(ctx, norm, "running_mean", &mean, count));
    SC_TRY(read_vector(ctx, norm, "running_var", &var, count));
    sc_xa_number(norm, "eps", &eps);
    *factor = sc_new_array(ctx->scratch, double, *count);
    *summand = sc_new_array(ctx->scratch, double, *count);
    for (uint32_t c = 0; c < *count; c++) {
        (*factor)[c] = (weight ? weight[c] : 1) / sqrt(var[c] + eps);
        (*summand)[c] = (bias ? bias[c] : 0) - mean[c] * (*factor)[c];
    }
    return SC_OK;
}

sc_status sc_xa_add_bias_of(sc_xa_maker *m, const sc_value *bias, const sc_node *norm,
                            const sc_xa_params *weight, const sc_xa_params *input, double **factors,
                            uint32_t *id) {
    sc_xa_constant constant;
    double *summands = NULL, *numbers = NULL;
    uint32_t count = 0;
    *id = SC_XNN_NONE;
    if (bias) {
        sc_xa_constant_of(bias, &constant);
        SC_TRY(sc_xa_read_numbers(m->x.ctx, &constant, &numbers, &count));
        m->weight = constant.constant->name;
    }
    if (norm) {
        m->weight = name_of(norm);
        SC_TRY(read_norm(m->x.ctx, norm, factors, &summands, &count));
        for (uint32_t i = 0; i < count && numbers; i++) summands[i] += numbers[i] * (*factors)[i];
        numbers = summands;
    }
    return numbers ? sc_xa_add_bias(m, numbers, count, weight, input, id) : SC_OK;
}

static bool check_norm(sc_xa *x, const sc_node *node) {
    const uint32_t rank = node->args[0].value->spec.rank;
    if (!is_known(node))
        return sc_xa_refuse(x, "Export the model in inference mode.",
                            "its weight or statistics are not constant, or more than its result is "
                            "used");
    if (rank > 4)
        return sc_xa_refuse(x, "Reshape it to 2 to 4 dimensions.",
                            "it normalises %u dimensions; 2 to 4 can be delegated", rank);
    if (rank < 4 && sc_xa_dynamic_dims(node->args[0].value) > 1)
        return sc_xa_refuse(x, "Fix all sizes but one.", "more than one of its sizes is dynamic");
    return true;
}

static sc_status make_norm(sc_xa_maker *m, const sc_node *node) {
    double *factor, *summand;
    uint32_t count = 0, input, filter, bias;
    sc_xa_tail tail;
    m->weight = name_of(node);
    SC_TRY(read_norm(m->x.ctx, node, &factor, &summand, &count));
    const sc_xnn_shape shape = {4, {1, 1, 1, count}};
    float *weights = sc_new_array(m->x.ctx->arena, float, count);
    for (uint32_t c = 0; c < count; c++) weights[c] = (float)factor[c];
    SC_TRY(sc_xa_add_floats(m, weights, &shape, &filter));
    SC_TRY(sc_xa_add_bias(m, summand, count, NULL, NULL, &bias));
    SC_TRY(sc_xa_want(m, node->args[0].value, SC_XA_CHANNELS_LAST, &input));
    sc_xa_tail_of(node->outs[0], true, &tail);
    tail.quantize = NULL;
    sc_xa_absorb_tail(m, &tail);
    const uint32_t output = sc_xa_define(m, tail.out, SC_XA_CHANNELS_LAST);
    sc_xnn_node *made = sc_xa_add(m, SC_XNN_DEPTHWISE_CONV, input, output);
    made->inputs[1] = filter;
    made->inputs[2] = bias;
    made->window = (sc_xnn_window){.kernel_height = 1,
                                   .kernel_width = 1,
                                   .stride_height = 1,
                                   .stride_width = 1,
                                   .dilation_height = 1,
                                   .dilation_width = 1,
                                   .group_input_channels = 1,
                                   .group_output_channels = 1,
                                   .groups = count};
    sc_xa_set_range(made, &tail);
    return SC_OK;
}

const sc_xa_family sc_xa_norm = {check_norm, make_norm, SC_XA_REALS, false, SC_XA_CHANNELS_LAST};

// --- Convolutions --------------------------------------------------------------------------------

typedef struct convolution {
    const sc_value *input, *bias;  // input: in front of padding that becomes the node's own
    sc_xnn_kind kind;
    sc_xa_constant w;
    bool is_static, is_dynamic;
    sc_xa_tail tail;
    const sc_node *norm, *dequantize;
    sc_xa_params input_params;
    sc_xa_dynamic dynamic;
    sc_xa_pad_sides pad;
    int64_t stride[2], padding[2], dilation[2], adjustment[2];
    int64_t groups, group_inputs, group_outputs, kernel[2];
} convolution;

// Reads a pair of numbers. The image of a sequence has one row.
static bool read_pair(const sc_node *node, const char *param, int64_t *out, bool one_row,
                      int64_t of_row) {
    int64_t list[2];
    if (sc_xa_ints(node, param, list, 2, one_row ? 0 : 2) < 1) return false;
    out[0] = one_row ? of_row : list[0];
    out[1] = one_row ? list[0] : list[1];
    return out[0] >= 0 && out[1] >= 0 && out[0] <= INT16_MAX && out[1] <= INT16_MAX;
}

static bool read_window(sc_xa *x, const sc_node *node, convolution *c) {
    const bool one_row = node->args[0].value->spec.rank == 3;
    const bool known = read_pair(node, "stride", c->stride, one_row, 1) &&
                       read_pair(node, "padding", c->padding, one_row, 0) &&
                       read_pair(node, "dilation", c->dilation, one_row, 1) &&
                       read_pair(node, "output_padding", c->adjustment, one_row, 0);
    const bool fits =
        known && c->stride[0] > 0 && c->stride[1] > 0 && c->dilation[0] > 0 && c->dilation[1] > 0;
    if (!fits) return sc_xa_refuse(x, NULL, "its window is not known or out of range");
    if (sc_xa_flag(node, "transposed") &&
        (c->adjustment[0] >= c->stride[0] || c->adjustment[1] >= c->stride[1]))
        return sc_xa_refuse(x, "Use an output_padding below the stride.",
                            "its output_padding is a whole stride or more, which XNNPACK refuses");
    return true;
}

static bool read_channels(sc_xa *x, const sc_node *node, convolution *c) {
    const bool transposed = sc_xa_flag(node, "transposed");
    const bool one_row = c->w.rank == 3;
    c->groups = sc_xa_int(node, "groups");
    if (c->groups < 1 || c->w.sizes[0] % c->groups != 0)
        return sc_xa_refuse(x, NULL, "its groups do not divide its channels");
    c->group_inputs = transposed ? c->w.sizes[0] / c->groups : c->w.sizes[1];
    c->group_outputs = transposed ? c->w.sizes[1] : c->w.sizes[0] / c->groups;
    c->kernel[0] = one_row ? 1 : c->w.sizes[2];
    c->kernel[1] = c->w.sizes[one_row ? 2 : 3];
    c->kind = transposed                              ? SC_XNN_CONV_TRANSPOSE
              : c->group_inputs == 1 && c->groups > 1 ? SC_XNN_DEPTHWISE_CONV
                                                      : SC_XNN_CONV;
    return true;
}

static bool find_input(sc_xa *x, const sc_node *node, convolution *c) {
    c->input = node->args[0].value;
    if (sc_xa_takes_padding(node) && sc_xa_pad_of(c->input, &c->pad))
        c->input = c->pad.node->args[0].value;
    sc_xa_tail_of(node->outs[0], true, &c->tail);
    if (!c->w.dequantize) {
        c->norm = sc_xa_norm_behind(node->outs[0]);
        return true;
    }
    const sc_xa_params *params = &c->w.params;
    const uint32_t axis = c->kind == SC_XNN_CONV_TRANSPOSE ? 1 : 0;
    if (params->dtype != SC_DTYPE_I8 || params->low < -128 || params->high > 127 ||
        c->w.constant->spec.dtype != SC_DTYPE_I8 || params->kind == SC_XNN_PER_GROUP)
        return sc_xa_refuse(x, "Quantize weights to int8, by output channel.",
                            "its weight is not int8 with a scale for each output channel");
    if (params->kind == SC_XNN_PER_CHANNEL && (params->axis != axis || (axis && c->groups > 1)))
        return sc_xa_refuse(x, "Quantize weights by output channel.",
                            "its weight has scales along another dimension than its outputs");
    if (!sc_xa_symmetric(x, params)) return false;
    c->is_static = c->tail.quantize &&
                   sc_xa_dequantized(c->input, &c->dequantize, &c->input_params) &&
                   sc_xa_requantizes(x, params, &c->input_params, &c->tail.params);
    c->is_dynamic = !c->is_static && c->kind != SC_XNN_DEPTHWISE_CONV &&
                    sc_xa_dynamically_dequantized(x, c->input, &c->dynamic);
    return true;
}

static bool check_conv_bias(sc_xa *x, const convolution *c) {
    sc_xa_constant bias;
    if (!c->bias) return true;
    if (!sc_xa_constant_of(c->bias, &bias) || bias.dequantize || bias.rank != 1 ||
        bias.sizes[0] != c->groups * c->group_outputs || !sc_xa_has_numbers(&bias))
        return sc_xa_refuse(x, "Make the bias a parameter.", "its bias is not a constant vector");
    return !c->is_static || sc_xa_quantizes_bias(x, &c->w.params, &c->input_params);
}

static bool read_conv(sc_xa *x, const sc_node *node, convolution *c) {
    const uint32_t rank = node->args[0].value->spec.rank;
    *c = (convolution){.bias = sc_xa_tensor(node, "bias")};
    if (rank != 4 && rank != 3)
        return sc_xa_refuse(
            x, NULL, "it convolves %u dimensions, and XNNPACK convolves only images and sequences",
            rank - 2);
    if (rank == 3 &&
        (sc_xa_dynamic_dims(node->args[0].value) > 1 || sc_xa_dynamic_dims(node->outs[0]) > 1))
        return sc_xa_refuse(x, "Fix all sizes but one.",
                            "more than one size of the sequences is dynamic");
    const bool is_constant = sc_xa_constant_of(node->args[1].value, &c->w);
    if (!is_constant && sc_xa_is_passed(node->args[1].value))
        return sc_xa_refuse(x, "Compute it outside of the branch or loop.",
                            "its weight is an operand of the branch or loop around it, as even "
                            "parameters are there, and XNNPACK packs only constants of the part");
    if (!is_constant)
        return sc_xa_refuse(x, "Make the weight a parameter.",
                            "its weight is computed when the program runs");
    if (c->w.rank != rank)
        return sc_xa_refuse(x, "Add a batch dimension of 1.", "its input has no batch dimension");
    return read_channels(x, node, c) && read_window(x, node, c) && find_input(x, node, c) &&
           check_conv_bias(x, c);
}

static bool check_conv(sc_xa *x, const sc_node *node) {
    convolution c;
    if (!read_conv(x, node, &c)) return false;
    if (x->asked) return c.is_dynamic && c.input == x->asked;
    sc_xa_join_constant(x, node, node->args[1].value);
    if (c.is_static) {
        sc_xa_join(x, node, c.dequantize);
        sc_xa_join(x, node, c.tail.quantize);
        if (c.tail.activation) sc_xa_join(x, node, c.tail.activation);
        if (c.pad.node) sc_xa_join(x, node, c.pad.node);
    }
    if (c.is_dynamic) {
        sc_xa_join(x, node, c.dynamic.dequantize);
        sc_xa_join(x, node, c.dynamic.quantize);
        sc_xa_join(x, node, c.dynamic.choose);
        if (c.pad.node) sc_xa_join(x, node, c.pad.node);
    }
    return true;
}

// --- Making --------------------------------------------------------------------------------------

// The weight in XNNPACK's order: outputs, rows, columns, inputs; depthwise ones with outputs last.
static sc_status add_conv_weight(sc_xa_maker *m, const convolution *c, const double *factors,
                                 uint32_t *id) {
    const uint32_t height = (uint32_t)c->kernel[0], width = (uint32_t)c->kernel[1];
    const uint32_t outputs = (uint32_t)(c->groups * c->group_outputs);
    const bool one_row = c->w.rank == 3, by_rows = !one_row;
    const int64_t *s = c->w.strides;
    const int64_t down = by_rows ? s[2] : 0, right = s[one_row ? 2 : 3];
    sc_xa_weight w = {.constant = &c->w,
                      .channels = outputs,
                      .inner = (uint64_t)c->kernel[0] * (uint64_t)c->kernel[1] *
                               (uint64_t)c->group_inputs,
                      .factors = factors,
                      .keeps_dtype = c->is_static || c->is_dynamic,
                      .by_channel = c->is_dynamic,
                      .shape = {4, {outputs, height, width, (uint32_t)c->group_inputs}}};
    if (c->kind == SC_XNN_DEPTHWISE_CONV) {
        w.rank = 3;
        memcpy(w.sizes, (int64_t[]){height, width, outputs}, 3 * sizeof *w.sizes);
        memcpy(w.strides, (int64_t[]){down, right, s[0]}, 3 * sizeof *w.strides);
        w.inner = 1;
        w.shape = (sc_xnn_shape){4, {1, height, width, outputs}};
        w.channel_dim = 3;
    } else if (c->kind == SC_XNN_CONV_TRANSPOSE) {
        w.rank = 5;
        memcpy(w.sizes, (int64_t[]){c->groups, c->group_outputs, height, width, c->group_inputs},
               5 * sizeof *w.sizes);
        memcpy(w.strides, (int64_t[]){c->group_inputs * s[0], s[1], down, right, s[0]},
               5 * sizeof *w.strides);
    } else {
        w.rank = 4;
        memcpy(w.sizes, (int64_t[]){outputs, height, width, c->group_inputs}, 4 * sizeof *w.sizes);
        memcpy(w.strides, (int64_t[]){s[0], down, right, s[1]}, 4 * sizeof *w.strides);
    }
    return sc_xa_add_weight(m, &w, id);
}

static sc_status add_conv_filter(sc_xa_maker *m, const convolution *c, uint32_t *filter,
                                 uint32_t *bias) {
    double *factors = NULL;
    SC_TRY(sc_xa_add_bias_of(m, c->bias, c->norm, c->is_static ? &c->w.params : NULL,
                             c->is_static ? &c->input_params : NULL, &factors, bias));
    return add_conv_weight(m, c, factors, filter);
}

static sc_xa_reader reader_of(const convolution *c) {
    const sc_xa_pad_sides *pad = &c->pad;
    const bool is_padded = c->padding[0] || c->padding[1] ||
                           (pad->node && (pad->left || pad->right || pad->top || pad->bottom));
    if (c->kind == SC_XNN_CONV_TRANSPOSE) return SC_XA_READER_TRANSPOSED;
    return c->kernel[0] == 1 && c->kernel[1] == 1 && c->stride[0] == 1 && c->stride[1] == 1 &&
                   !is_padded
               ? SC_XA_READER_PIXELS
               : SC_XA_READER_WINDOWS;
}

static sc_status make_conv(sc_xa_maker *m, const sc_node *node) {
    convolution c;
    uint32_t input, filter, bias;
    if (!read_conv(&m->x, node, &c))
        return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL,
                       "the convolution cannot be delegated after all");
    const sc_value *out = node->outs[0];
    if (c.norm) {
        sc_xa_absorb(m, c.norm);
        out = c.norm->outs[0];
    }
    if (!c.is_static) {
        sc_xa_tail_of(out, true, &c.tail);
        c.tail.quantize = NULL;
    }
    sc_xa_absorb_tail(m, &c.tail);
    if (c.is_dynamic)
        SC_TRY(sc_xa_want_dynamic(m, c.dynamic.source, reader_of(&c), &input));
    else
        SC_TRY(sc_xa_want(m, c.is_static ? c.dequantize->args[0].value : c.input,
                          SC_XA_CHANNELS_LAST, &input));
    SC_TRY(add_conv_filter(m, &c, &filter, &bias));
    const sc_value *last = c.tail.quantize ? c.tail.quantize->outs[0] : c.tail.out;
    const uint32_t output = sc_xa_define(m, last, SC_XA_CHANNELS_LAST);
    sc_xnn_node *made = sc_xa_add(m, c.kind, input, output);
    made->inputs[1] = filter;
    made->inputs[2] = bias;
    made->window = (sc_xnn_window){.padding_top = (uint32_t)c.padding[0] + c.pad.top,
                                   .padding_right = (uint32_t)c.padding[1] + c.pad.right,
                                   .padding_bottom = (uint32_t)c.padding[0] + c.pad.bottom,
                                   .padding_left = (uint32_t)c.padding[1] + c.pad.left,
                                   .kernel_height = (uint32_t)c.kernel[0],
                                   .kernel_width = (uint32_t)c.kernel[1],
                                   .stride_height = (uint32_t)c.stride[0],
                                   .stride_width = (uint32_t)c.stride[1],
                                   .dilation_height = (uint32_t)c.dilation[0],
                                   .dilation_width = (uint32_t)c.dilation[1],
                                   .group_input_channels = (uint32_t)c.group_inputs,
                                   .group_output_channels = (uint32_t)c.group_outputs,
                                   .groups = (uint32_t)c.groups,
                                   .adjustment_height = (uint32_t)c.adjustment[0],
                                   .adjustment_width = (uint32_t)c.adjustment[1]};
    sc_xa_set_range(made, &c.tail);
    return SC_OK;
}

const sc_xa_family sc_xa_conv = {check_conv, make_conv, SC_XA_REALS, false, SC_XA_CHANNELS_LAST};
