// XNNPACK's rules for values and nodes, checked before XNNPACK sees them. So a payload that we
// write runs everywhere, and a file that loads here also loads there.
#include <math.h>

#include "backends/xnnpack/graph.h"
#include "core/dtype.h"

typedef struct checker {
    sc_ctx *ctx;
    const sc_xnn_graph *graph;
    sc_xnn_runtime runtime;
    uint32_t index;
    const sc_xnn_node *node;
    const sc_xnn_kind_row *row;
} checker;

#define refuse(c, ...) \
    sc_fail((c)->ctx, SC_ERR_DELEGATE, NULL, "node %u (%s) of an XNNPACK graph " __VA_ARGS__)
#define NODE_ARGS(c) (c)->index, (c)->row->name

static const sc_xnn_value *operand(const checker *c, uint32_t i) {
    uint32_t id = i < c->row->inputs ? c->node->inputs[i] : c->node->outputs[i - c->row->inputs];
    return id == SC_XNN_NONE ? NULL : &c->graph->values.data[id];
}

bool sc_xnn_sum_fits(float a, float b, float out) {
    const float most = (a > b ? a : b) / out;
    return most >= 0x1p-10f && most < 0x1p8f;
}

// --- Values --------------------------------------------------------------------------------------

static sc_status bad_value(const checker *c, uint32_t i, const char *what) {
    uint32_t id = i < c->row->inputs ? c->node->inputs[i] : c->node->outputs[i - c->row->inputs];
    return refuse(c, "cannot use value %u, %s[...]: %s", NODE_ARGS(c), id,
                  sc_xnn_datatypes[operand(c, i)->datatype].name, what);
}

static sc_xnn_quant_kind quant_of(unsigned datatype) {
    switch (datatype) {
    case SC_XNN_QINT8:
    case SC_XNN_QUINT8:
    case SC_XNN_QINT32: return SC_XNN_PER_TENSOR;
    case SC_XNN_QCINT8:
    case SC_XNN_QCINT32:
    case SC_XNN_QCINT4: return SC_XNN_PER_CHANNEL;
    case SC_XNN_QDINT8: return SC_XNN_PER_TOKEN;
    case SC_XNN_QBINT4: return SC_XNN_PER_GROUP;
    default: return SC_XNN_QUANT_NONE;
    }
}

static bool zero_point_fits(unsigned datatype, int32_t zero) {
    switch (datatype) {
    case SC_XNN_QINT8: return zero >= INT8_MIN && zero <= INT8_MAX;
    case SC_XNN_QUINT8: return zero >= 0 && zero <= UINT8_MAX;
    default: return zero == 0;
    }
}

static sc_status check_scales(const checker *c, uint32_t i, const float *scales, uint32_t count) {
    for (uint32_t s = 0; s < count; s++)
        if (!isnormal(scales[s]) || scales[s] < 0)
            return bad_value(c, i, "a scale is not a normal number above zero");
    return SC_OK;
}

// Scale `s` of a value, in floats or in bfloat16; false if its data has not been found yet.
static bool scale_at(const checker *c, const sc_xnn_quant *quant, uint32_t s, float *scale) {
    const uint8_t *data = c->graph->constants.data[quant->scales].data;
    *scale = quant->scale;
    if (quant->kind == SC_XNN_PER_TENSOR) return true;
    if (!quant->scales) *scale = quant->inline_scales[s];
    if (!quant->scales || !data) return !quant->scales;
    uint16_t half;
    if (quant->kind == SC_XNN_PER_CHANNEL) {
        memcpy(scale, data + (size_t)s * sizeof *scale, sizeof *scale);
    } else {
        memcpy(&half, data + (size_t)s * sizeof half, sizeof half);
        *scale = sc_bf16_to_f32(half);
    }
    return true;
}

// Checks the known scales. A runtime checks again once it has found the named data of the others.
static sc_status check_channels(const checker *c, uint32_t i, const sc_xnn_quant *quant) {
    float scale;
    for (uint32_t s = 0; s < quant->scale_count && scale_at(c, quant, s, &scale); s++)
        SC_TRY(check_scales(c, i, &scale, 1));
    return SC_OK;
}

static sc_status check_value(const checker *c, uint32_t i) {
    const sc_xnn_value *value = operand(c, i);
    if (!value) return SC_OK;
    const sc_xnn_datatype_row *type = &sc_xnn_datatypes[value->datatype];
    const sc_xnn_quant *quant = &value->quant;
    if (type->since > c->runtime)
        return refuse(c, "has a %s operand, which runtimes before %s lack", NODE_ARGS(c),
                      type->name, sc_xnn_runtimes[type->since]);
    if (quant->kind != quant_of(value->datatype))
        return bad_value(c, i, "its quantization is not of the kind that its datatype has");
    switch (quant->kind) {
    case SC_XNN_PER_TENSOR:
        SC_TRY(check_scales(c, i, &quant->scale, 1));
        if (!zero_point_fits(value->datatype, quant->zero_point))
            return bad_value(c, i, "its zero point is out of range");
        return SC_OK;
    case SC_XNN_PER_CHANNEL: return check_channels(c, i, quant);
    case SC_XNN_PER_TOKEN:
        if (quant->nonbatch_dims == 0 || quant->nonbatch_dims > value->shape.rank)
            return bad_value(c, i, "it is quantized over dimensions that it does not have");
        return SC_OK;
    case SC_XNN_PER_GROUP:
        if (quant->group_size % 32 != 0)
            return bad_value(c, i, "its groups are not multiples of 32 elements");
        return check_channels(c, i, quant);
    default: return SC_OK;
    }
}

// --- Datatypes -----------------------------------------------------------------------------------

static bool combination_fits(const checker *c, const sc_xnn_types *types) {
    const uint32_t operands = c->row->inputs + c->row->outputs;
    for (uint32_t i = 0; i < operands; i++) {
        const sc_xnn_value *value = operand(c, i);
        const uint8_t wanted = types->of[types->mixing == SC_XNN_MIX ? i : 0];
        if (value && value->datatype != wanted) return false;
    }
    return true;
}

static sc_status check_alike(const checker *c) {
    const sc_xnn_quant *first = &operand(c, 0)->quant;
    for (uint32_t i = 1; i < c->row->inputs + c->row->outputs; i++) {
        const sc_xnn_quant *other = &operand(c, i)->quant;
        if (other->scale != first->scale || other->zero_point != first->zero_point)
            return refuse(c, "moves values that are quantized in different ways", NODE_ARGS(c));
    }
    return SC_OK;
}

static sc_status check_types(const checker *c) {
    for (const sc_xnn_types *types = c->row->types; types->of[0]; types++)
        if (combination_fits(c, types))
            return types->mixing == SC_XNN_ALIKE ? check_alike(c) : SC_OK;
    sc_sb text;
    sc_sb_init(&text, c->ctx->scratch);
    for (uint32_t i = 0; i < c->row->inputs + c->row->outputs; i++) {
        const sc_xnn_value *value = operand(c, i);
        sc_sb_addf(&text, "%s%s",
                   i == 0               ? ""
                   : i < c->row->inputs ? ", "
                                        : " to ",
                   value ? sc_xnn_datatypes[value->datatype].name : "none");
    }
    return refuse(c, "has no variant from %s", NODE_ARGS(c), sc_sb_terminate(&text));
}

// --- Weights -------------------------------------------------------------------------------------

static sc_status check_weights(const checker *c, const sc_xnn_shape *wanted, uint32_t channel_dim,
                               uint32_t channels) {
    const sc_xnn_value *filter = operand(c, 1), *bias = operand(c, 2);
    if (!sc_xnn_shape_is(&filter->shape, wanted))
        return bad_value(c, 1, "its sizes are not those that the parameters ask for");
    if (filter->quant.kind == SC_XNN_PER_TENSOR && filter->quant.zero_point != 0)
        return bad_value(c, 1, "the zero point of weights must be 0");
    bool has_channels =
        filter->quant.kind == SC_XNN_PER_CHANNEL || filter->quant.kind == SC_XNN_PER_GROUP;
    if (has_channels && filter->quant.channel_dim != channel_dim)
        return bad_value(c, 1, "its scales are not those of the output's channels");
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != channels))
        return bad_value(c, 2, "a bias has one element for each output channel");
    return SC_OK;
}

// The factor that requantizes sums of products to 8 bits must be less than 256.
static sc_status check_requantization(const checker *c) {
    const sc_xnn_quant *in = &operand(c, 0)->quant, *filter = &operand(c, 1)->quant;
    const sc_xnn_quant *out = &operand(c, 3)->quant;
    const uint32_t count = filter->kind == SC_XNN_PER_CHANNEL ? filter->scale_count : 1;
    float scale;
    if (out->kind != SC_XNN_PER_TENSOR) return SC_OK;
    for (uint32_t s = 0; s < count && scale_at(c, filter, s, &scale); s++)
        if (!(in->scale * scale / out->scale < SC_XNN_REQUANTIZATION_END))
            return bad_value(c, 3,
                             "its scale is too small for its operands: their product is 256 "
                             "times as large, or more");
    return SC_OK;
}

static sc_status check_static(const checker *c) {
    if (!operand(c, 1)->constant) return bad_value(c, 1, "weights must be constants");
    if (operand(c, 2) && !operand(c, 2)->constant)
        return bad_value(c, 2, "a bias must be a constant");
    return SC_OK;
}

// Refuses forms that XNNPACK takes and computes wrongly. It adds a bias before it scales if only
// the weights are quantized. It reads rows of 4 bits as if they did not end on whole bytes, and
// transposes them only for inputs that are quantized by row.
static sc_status check_form(const checker *c) {
    const sc_xnn_value *in = operand(c, 0), *filter = operand(c, 1);
    const bool is_float = in->quant.kind == SC_XNN_QUANT_NONE;
    const bool is_transposed = c->node->flags & SC_XNN_TRANSPOSE_WEIGHTS;
    if (is_float && filter->quant.kind != SC_XNN_QUANT_NONE && operand(c, 2))
        return bad_value(c, 2, "a bias is not scaled with the weights");
    if (filter->datatype != SC_XNN_QCINT4) return SC_OK;
    if (!is_float && (filter->shape.dims[1] % 2 || (is_transposed && filter->shape.dims[0] % 2)))
        return bad_value(c, 1, "its rows of 4 bits do not end on whole bytes");
    if (in->datatype != SC_XNN_QDINT8 && is_transposed)
        return bad_value(c, 1, "weights of 4 bits cannot be transposed");
    return SC_OK;
}

static sc_status check_linear(const checker *c) {
    const sc_xnn_value *filter = operand(c, 1);
    bool is_transposed = c->node->flags & SC_XNN_TRANSPOSE_WEIGHTS;
    bool is_float = filter->quant.kind == SC_XNN_QUANT_NONE;
    if (!is_float) SC_TRY(check_static(c));
    if (filter->quant.kind == SC_XNN_PER_GROUP && is_transposed)
        return bad_value(c, 1, "weights that are quantized in groups cannot be transposed");
    if (filter->shape.rank != 2) return bad_value(c, 1, "weights must be a matrix");
    if (!filter->shape.dims[0] || !filter->shape.dims[1])
        return bad_value(c, 1, "weights have at least one input and one output");
    SC_TRY(check_form(c));
    SC_TRY(check_requantization(c));
    uint32_t channel_dim = is_transposed ? 1 : 0;
    return check_weights(c, &filter->shape, channel_dim, filter->shape.dims[channel_dim]);
}

// Numbers of channels whose product is a number of channels, too.
static bool channels_fit(const sc_xnn_window *w) {
    uint64_t most = sc_max_u64(w->group_input_channels, w->group_output_channels);
    return w->groups && w->group_input_channels && w->group_output_channels &&
           most * w->groups <= INT32_MAX;
}

static bool window_fits(const sc_xnn_window *w, bool has_stride, bool has_dilation) {
    bool fits = w->kernel_height && w->kernel_width && w->kernel_height <= INT32_MAX &&
                w->kernel_width <= INT32_MAX && w->padding_top <= INT32_MAX &&
                w->padding_right <= INT32_MAX && w->padding_bottom <= INT32_MAX &&
                w->padding_left <= INT32_MAX;
    if (has_stride)
        fits = fits && w->stride_height && w->stride_width && w->stride_height <= INT32_MAX &&
               w->stride_width <= INT32_MAX;
    if (has_dilation)
        fits = fits && w->dilation_height && w->dilation_width && w->dilation_height <= INT32_MAX &&
               w->dilation_width <= INT32_MAX;
    return fits;
}

static sc_status check_conv(const checker *c) {
    const sc_xnn_window *w = &c->node->window;
    bool is_depthwise = c->node->kind == SC_XNN_DEPTHWISE_CONV;
    if (!window_fits(w, true, true) || !channels_fit(w))
        return refuse(c, "has parameters that are zero or out of range", NODE_ARGS(c));
    if (is_depthwise && w->group_input_channels != 1)
        return refuse(c, "has more than one input channel in a group", NODE_ARGS(c));
    if (w->adjustment_height >= INT32_MAX || w->adjustment_width >= INT32_MAX)
        return refuse(c, "has parameters that are out of range", NODE_ARGS(c));
    if (c->node->kind == SC_XNN_CONV_TRANSPOSE &&
        (w->adjustment_height >= w->stride_height || w->adjustment_width >= w->stride_width))
        return refuse(c, "has an output padding of a whole stride or more", NODE_ARGS(c));
    SC_TRY(check_static(c));
    SC_TRY(check_requantization(c));
    uint32_t channels = w->groups * w->group_output_channels;
    sc_xnn_shape wanted = {4,
                           {channels, w->kernel_height, w->kernel_width, w->group_input_channels}};
    if (is_depthwise) wanted = (sc_xnn_shape){4, {1, w->kernel_height, w->kernel_width, channels}};
    return check_weights(c, &wanted, is_depthwise ? 3 : 0, channels);
}

// --- Other nodes ---------------------------------------------------------------------------------

// Does a window fit into the padding of one side? If so, XNNPACK computes its elements from other
// ones.
static bool is_only_padding(uint64_t before, uint64_t after, uint64_t kernel, uint64_t dilation) {
    return sc_max_u64(before, after) > (kernel - 1) * dilation;
}

static sc_status check_pool(const checker *c) {
    const sc_xnn_window *w = &c->node->window;
    bool is_argmax = c->node->kind == SC_XNN_ARGMAX_POOL;
    bool is_max = c->node->kind == SC_XNN_MAX_POOL;
    if (!window_fits(w, !is_argmax, is_max))
        return refuse(c, "has parameters that are zero or out of range", NODE_ARGS(c));
    if (w->kernel_height == 1 && w->kernel_width == 1)
        return refuse(c, "pools single elements, which XNNPACK refuses", NODE_ARGS(c));
    if (is_max && (w->stride_height > w->kernel_height || w->stride_width > w->kernel_width))
        return refuse(c, "has a stride that is larger than its window", NODE_ARGS(c));
    if (is_max &&
        (is_only_padding(w->padding_top, w->padding_bottom, w->kernel_height, w->dilation_height) ||
         is_only_padding(w->padding_left, w->padding_right, w->kernel_width, w->dilation_width)))
        return refuse(c, "pools windows of padding alone", NODE_ARGS(c));
    return SC_OK;
}

static sc_status check_lists(const checker *c) {
    const sc_xnn_list *first = &c->node->lists[0], *second = &c->node->lists[1];
    uint32_t seen = 0, zeros = 0;
    switch (c->node->kind) {
    case SC_XNN_TRANSPOSE:
        for (uint32_t i = 0; i < first->count; i++) {
            uint32_t dim = first->items[i];
            if (dim >= first->count || (seen & (1u << dim)))
                return refuse(c, "has a list of dimensions that is not a permutation",
                              NODE_ARGS(c));
            seen |= 1u << dim;
        }
        return SC_OK;
    case SC_XNN_RESHAPE:
        for (uint32_t i = 0; i < first->count; i++) zeros += first->items[i] == 0;
        if (zeros > 1) return refuse(c, "leaves more than one size to be derived", NODE_ARGS(c));
        return SC_OK;
    case SC_XNN_SLICE:
        for (uint32_t i = 0; i < second->count && i < first->count; i++) {
            if (second->items[i]) continue;
            if (first->items[i]) return refuse(c, "slices no elements", NODE_ARGS(c));
            zeros++;
        }
        if (zeros && c->runtime < SC_XNN_RUNTIME_1_5)
            return refuse(
                c, "slices a size that is known only at run time, which runtimes before 1.5 cannot",
                NODE_ARGS(c));
        break;
    default: break;
    }
    if (first->count != second->count)
        return refuse(c, "has lists of different lengths", NODE_ARGS(c));
    return SC_OK;
}

// --- Bytes to bytes ------------------------------------------------------------------------------

// Ratios of scales for which XNNPACK's fixed-point numbers are precise. It accepts others, but its
// results are then wrong.
static sc_status check_ratios(const checker *c) {
    const sc_xnn_quant *a = &operand(c, 0)->quant, *out = &operand(c, c->row->inputs)->quant;
    if (a->kind != SC_XNN_PER_TENSOR || out->kind != SC_XNN_PER_TENSOR) return SC_OK;
    const float ratio = a->scale / out->scale, slope = ratio * c->node->value;
    bool fits = true;
    switch (c->node->kind) {
    case SC_XNN_ADD:
    case SC_XNN_SUBTRACT:
        fits = sc_xnn_sum_fits(a->scale, operand(c, 1)->quant.scale, out->scale);
        break;
    case SC_XNN_CONVERT: fits = ratio <= 0x1p7f; break;
    case SC_XNN_LEAKY_RELU:
        fits = ratio >= 0x1p-8f && ratio <= 0x1p7f && slope > -0x1p7f && slope <= 0x1p7f;
        break;
    case SC_XNN_CLAMP:
        if (!c->node->has_range || (c->node->low == -INFINITY && c->node->high == INFINITY))
            return check_alike(c);
        break;
    default: break;
    }
    if (fits) return SC_OK;
    return refuse(c, "has operands whose scales differ too much from the %g of its result",
                  NODE_ARGS(c), (double)out->scale);
}

static sc_status check_range(const checker *c) {
    const sc_xnn_node *node = c->node;
    if (!node->has_range || node->low <= node->high) return SC_OK;
    return refuse(c, "has an output range from %g to %g", NODE_ARGS(c), (double)node->low,
                  (double)node->high);
}

static uint32_t flags_of(unsigned kind) {
    switch (kind) {
    case SC_XNN_FULLY_CONNECTED:
    case SC_XNN_BATCH_MATMUL: return SC_XNN_TRANSPOSE_WEIGHTS;
    case SC_XNN_RESIZE: return SC_XNN_ALIGN_CORNERS;
    case SC_XNN_AVERAGE_POOL:
    case SC_XNN_MAX_POOL:
    case SC_XNN_GLOBAL_AVERAGE: return SC_XNN_KEEP_DIMS;
    default: return 0;
    }
}

static sc_status check_parameters(const checker *c) {
    switch (c->node->kind) {
    case SC_XNN_FULLY_CONNECTED: return check_linear(c);
    case SC_XNN_CONV:
    case SC_XNN_DEPTHWISE_CONV:
    case SC_XNN_CONV_TRANSPOSE: return check_conv(c);
    case SC_XNN_AVERAGE_POOL:
    case SC_XNN_MAX_POOL:
    case SC_XNN_ARGMAX_POOL: return check_pool(c);
    case SC_XNN_RESIZE:
        if (!c->node->new_height || !c->node->new_width || c->node->new_height > (1u << 24) ||
            c->node->new_width > (1u << 24))
            return refuse(c, "has a size that is zero or out of range", NODE_ARGS(c));
        return SC_OK;
    case SC_XNN_TRANSPOSE:
    case SC_XNN_RESHAPE:
    case SC_XNN_SLICE:
    case SC_XNN_PAD: return check_lists(c);
    case SC_XNN_LEAKY_RELU:
    case SC_XNN_ELU:
        if (!isfinite(c->node->value))
            return refuse(c, "has a slope that is not finite", NODE_ARGS(c));
        return SC_OK;
    default: return SC_OK;
    }
}

static sc_status check_node(sc_ctx *ctx, const sc_xnn_graph *graph, uint32_t node,
                            sc_xnn_runtime runtime) {
    const sc_xnn_node *n = &graph->nodes.data[node];
    checker c = {ctx, graph, runtime, node, n, &sc_xnn_kinds[n->kind]};
    if (!c.row->types->of[0])
        return refuse(&c, "has a kind that no runtime executes", NODE_ARGS(&c));
    if (c.row->since > runtime)
        return refuse(&c, "has a kind that runtimes before %s lack", NODE_ARGS(&c),
                      sc_xnn_runtimes[c.row->since]);
    if (n->flags & ~flags_of(n->kind))
        return refuse(&c, "has the flags 0x%x, which are not supported", NODE_ARGS(&c), n->flags);
    for (uint32_t i = 0; i < c.row->inputs + (uint32_t)c.row->outputs; i++)
        SC_TRY(check_value(&c, i));
    SC_TRY(check_types(&c));
    SC_TRY(check_range(&c));
    SC_TRY(check_ratios(&c));
    return check_parameters(&c);
}

sc_status sc_xnn_check(sc_ctx *ctx, const sc_xnn_graph *graph, sc_xnn_runtime runtime) {
    for (uint32_t i = 0; i < graph->nodes.count; i++) SC_TRY(check_node(ctx, graph, i, runtime));
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_xnn_shape *shapes =
        sc_new_array(ctx->scratch, sc_xnn_shape, (size_t)graph->values.count + 1);
    for (uint32_t i = 0; i < graph->values.count; i++) shapes[i] = graph->values.data[i].shape;
    sc_status status = sc_xnn_infer(ctx, graph, shapes);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
