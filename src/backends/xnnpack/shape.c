// Derives the sizes of values from those of their operands, as XNNPACK does. If XNNPACK would round
// a size up beyond the input's elements, the graph is refused.
#include "backends/xnnpack/graph.h"

typedef struct inference {
    sc_ctx *ctx;
    const sc_xnn_graph *graph;
    sc_xnn_shape *shapes;
    uint32_t index;
    const sc_xnn_node *node;
} inference;

static void add_shape(sc_sb *out, const sc_xnn_shape *shape) {
    sc_sb_add_char(out, '[');
    for (uint32_t d = 0; d < shape->rank; d++)
        sc_sb_addf(out, "%s%u", d ? ", " : "", shape->dims[d]);
    sc_sb_add_char(out, ']');
}

// Names the node, the fault, and the sizes of its operands.
static sc_status mismatch(const inference *f, const char *what) {
    const sc_xnn_kind_row *row = &sc_xnn_kinds[f->node->kind];
    sc_sb text;
    sc_sb_init(&text, f->ctx->scratch);
    for (uint32_t i = 0; i < row->inputs; i++) {
        if (f->node->inputs[i] == SC_XNN_NONE) continue;
        if (text.size) sc_sb_add_text(&text, ", ");
        add_shape(&text, &f->shapes[f->node->inputs[i]]);
    }
    return sc_fail(f->ctx, SC_ERR_SHAPE, NULL, "node %u (%s) of an XNNPACK graph %s: it reads %s",
                   f->index, row->name, what, sc_sb_terminate(&text));
}

static const sc_xnn_shape *input(const inference *f, uint32_t i) {
    return &f->shapes[f->node->inputs[i]];
}
static sc_xnn_shape *output(const inference *f) { return &f->shapes[f->node->outputs[0]]; }

static bool put(uint64_t size, uint32_t *dim) {
    *dim = (uint32_t)size;
    return size <= UINT32_MAX;
}

// --- Elements ------------------------------------------------------------------------------------

// From the last one on, sizes are equal, or one of them is 1 or absent.
static bool broadcast(const sc_xnn_shape *a, const sc_xnn_shape *b, uint32_t kept,
                      sc_xnn_shape *out) {
    out->rank = sc_max_u32(a->rank, b->rank);
    for (uint32_t i = kept; i < out->rank; i++) {
        uint32_t x = i < a->rank ? a->dims[a->rank - 1 - i] : 1;
        uint32_t y = i < b->rank ? b->dims[b->rank - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) return false;
        out->dims[out->rank - 1 - i] = x == 1 ? y : x;
    }
    return true;
}

static sc_status infer_binary(const inference *f) {
    sc_xnn_shape out;
    if (!broadcast(input(f, 0), input(f, 1), 0, &out))
        return mismatch(f, "has operands that do not broadcast");
    *output(f) = out;
    return SC_OK;
}

// --- Products ------------------------------------------------------------------------------------

static sc_status infer_linear(const inference *f) {
    const sc_xnn_shape *in = input(f, 0), *filter = input(f, 1);
    bool is_transposed = f->node->flags & SC_XNN_TRANSPOSE_WEIGHTS;
    if (filter->rank != 2) return mismatch(f, "has weights that are not a matrix");
    if (in->dims[in->rank - 1] != filter->dims[is_transposed ? 0 : 1])
        return mismatch(f, "has weights for inputs of another size");
    *output(f) = *in;
    output(f)->dims[in->rank - 1] = filter->dims[is_transposed ? 1 : 0];
    return SC_OK;
}

static sc_status infer_matmul(const inference *f) {
    const sc_xnn_shape *a = input(f, 0), *b = input(f, 1);
    bool is_transposed = f->node->flags & SC_XNN_TRANSPOSE_WEIGHTS;
    if (a->rank < 2 || b->rank != a->rank)
        return mismatch(f, "multiplies values that are not matrices");
    uint32_t last = a->rank - 1;
    sc_xnn_shape out;
    if (a->dims[last] != b->dims[is_transposed ? last : last - 1] || !broadcast(a, b, 2, &out))
        return mismatch(f, "has operands that cannot be multiplied");
    out.dims[last - 1] = a->dims[last - 1];
    out.dims[last] = b->dims[is_transposed ? last - 1 : last];
    *output(f) = out;
    return SC_OK;
}

// --- Windows -------------------------------------------------------------------------------------

static bool slide(uint64_t in, uint64_t before, uint64_t after, uint64_t kernel, uint64_t stride,
                  uint64_t dilation, uint32_t *out) {
    uint64_t padded = in + before + after, window = (kernel - 1) * dilation + 1;
    return padded >= window && put((padded - window) / stride + 1, out);
}

static sc_status infer_window(const inference *f, uint32_t channels, uint32_t dilation[2]) {
    const sc_xnn_window *w = &f->node->window;
    const sc_xnn_shape *in = input(f, 0);
    sc_xnn_shape out = {4, {in->dims[0], 0, 0, channels}};
    if (!slide(in->dims[1], w->padding_top, w->padding_bottom, w->kernel_height, w->stride_height,
               dilation[0], &out.dims[1]) ||
        !slide(in->dims[2], w->padding_left, w->padding_right, w->kernel_width, w->stride_width,
               dilation[1], &out.dims[2]))
        return mismatch(f, "has a window that is larger than the padded input");
    *output(f) = out;
    return SC_OK;
}

static sc_status infer_conv(const inference *f) {
    const sc_xnn_window *w = &f->node->window;
    const sc_xnn_shape *in = input(f, 0);
    if (in->rank != 4 || in->dims[3] != (uint64_t)w->group_input_channels * w->groups)
        return mismatch(f, "has an input without the channels that it is for");
    uint32_t dilation[2] = {w->dilation_height, w->dilation_width};
    return infer_window(f, w->group_output_channels * w->groups, dilation);
}

static bool spread(uint64_t in, uint64_t padding, uint64_t kernel, uint64_t stride,
                   uint64_t dilation, uint64_t adjustment, uint32_t *out) {
    uint64_t size = in ? (in - 1) * stride + (kernel - 1) * dilation + 1 : 0;
    return size + adjustment > padding && put(size + adjustment - padding, out);
}

static sc_status infer_conv_transpose(const inference *f) {
    const sc_xnn_window *w = &f->node->window;
    const sc_xnn_shape *in = input(f, 0);
    if (in->rank != 4 || in->dims[3] != (uint64_t)w->group_input_channels * w->groups)
        return mismatch(f, "has an input without the channels that it is for");
    sc_xnn_shape out = {4, {in->dims[0], 0, 0, w->group_output_channels * w->groups}};
    if (!spread(in->dims[1], (uint64_t)w->padding_top + w->padding_bottom, w->kernel_height,
                w->stride_height, w->dilation_height, w->adjustment_height, &out.dims[1]) ||
        !spread(in->dims[2], (uint64_t)w->padding_left + w->padding_right, w->kernel_width,
                w->stride_width, w->dilation_width, w->adjustment_width, &out.dims[2]))
        return mismatch(f, "is empty without its padding");
    *output(f) = out;
    return SC_OK;
}

static sc_status infer_pool(const inference *f) {
    const sc_xnn_window *w = &f->node->window;
    bool is_max = f->node->kind == SC_XNN_MAX_POOL;
    uint32_t dilation[2] = {is_max ? w->dilation_height : 1, is_max ? w->dilation_width : 1};
    if (input(f, 0)->rank != 4) return mismatch(f, "pools a value that is not a batch of images");
    return infer_window(f, input(f, 0)->dims[3], dilation);
}

static sc_status infer_argmax_pool(const inference *f) {
    const sc_xnn_window *w = &f->node->window;
    const sc_xnn_shape *in = input(f, 0);
    if (in->rank != 4) return mismatch(f, "pools a value that is not a batch of images");
    sc_xnn_shape out = {4, {in->dims[0], 0, 0, in->dims[3]}};
    if (!slide(in->dims[1], w->padding_top, w->padding_bottom, w->kernel_height, w->kernel_height,
               1, &out.dims[1]) ||
        !slide(in->dims[2], w->padding_left, w->padding_right, w->kernel_width, w->kernel_width, 1,
               &out.dims[2]))
        return mismatch(f, "has a window that is larger than the padded input");
    f->shapes[f->node->outputs[1]] = *output(f) = out;
    return SC_OK;
}

static sc_status infer_global_average(const inference *f) {
    const sc_xnn_shape *in = input(f, 0);
    if (in->rank != 4) return mismatch(f, "pools a value that is not a batch of images");
    sc_xnn_shape out = {4, {in->dims[0], 1, 1, in->dims[3]}};
    if (!(f->node->flags & SC_XNN_KEEP_DIMS)) out = (sc_xnn_shape){2, {in->dims[0], in->dims[3]}};
    *output(f) = out;
    return SC_OK;
}

static sc_status infer_resize(const inference *f) {
    const sc_xnn_shape *in = input(f, 0);
    if (in->rank != 4 || !in->dims[1] || !in->dims[2])
        return mismatch(f, "resizes a value that is not a batch of images");
    *output(f) =
        (sc_xnn_shape){4, {in->dims[0], f->node->new_height, f->node->new_width, in->dims[3]}};
    return SC_OK;
}

// --- Moves ---------------------------------------------------------------------------------------

static sc_status infer_transpose(const inference *f) {
    const sc_xnn_shape *in = input(f, 0);
    const sc_xnn_list *perm = &f->node->lists[0];
    if (perm->count != in->rank) return mismatch(f, "permutes another number of dimensions");
    sc_xnn_shape out = {.rank = in->rank};
    for (uint32_t d = 0; d < in->rank; d++) out.dims[d] = in->dims[perm->items[d]];
    *output(f) = out;
    return SC_OK;
}

static sc_status infer_reshape(const inference *f) {
    const sc_xnn_list *list = &f->node->lists[0];
    sc_xnn_shape out = {.rank = list->count};
    uint64_t numel, known = 1;
    uint32_t open = SC_XNN_NONE;
    if (!sc_xnn_numel(input(f, 0), &numel)) return mismatch(f, "reads too many elements");
    for (uint32_t d = 0; d < list->count; d++) {
        out.dims[d] = list->items[d];
        if (!out.dims[d])
            open = d;
        else if (!sc_mul_u64(known, out.dims[d], &known))
            return mismatch(f, "has too many elements");
    }
    if (open != SC_XNN_NONE && (numel % known != 0 || !put(numel / known, &out.dims[open])))
        return mismatch(f, "cannot spread its elements over the other dimensions");
    if (open == SC_XNN_NONE && known != numel) return mismatch(f, "changes the number of elements");
    if (out.rank == 0) out = (sc_xnn_shape){1, {1}};
    *output(f) = out;
    return SC_OK;
}

static sc_status infer_slice(const inference *f) {
    const sc_xnn_shape *in = input(f, 0);
    const sc_xnn_list *offsets = &f->node->lists[0], *sizes = &f->node->lists[1];
    if (offsets->count != in->rank) return mismatch(f, "slices another number of dimensions");
    sc_xnn_shape out = {.rank = in->rank};
    for (uint32_t d = 0; d < in->rank; d++) {
        if ((uint64_t)offsets->items[d] + sizes->items[d] > in->dims[d])
            return mismatch(f, "slices beyond its input");
        // 0 means the rest of the dim.
        out.dims[d] = sizes->items[d] ? sizes->items[d] : in->dims[d] - offsets->items[d];
    }
    *output(f) = out;
    return SC_OK;
}

static sc_status infer_pad(const inference *f) {
    const sc_xnn_shape *in = input(f, 0);
    const sc_xnn_list *before = &f->node->lists[0], *after = &f->node->lists[1];
    if (before->count != in->rank) return mismatch(f, "pads another number of dimensions");
    sc_xnn_shape out = {.rank = in->rank};
    for (uint32_t d = 0; d < in->rank; d++)
        if (!put((uint64_t)in->dims[d] + before->items[d] + after->items[d], &out.dims[d]))
            return mismatch(f, "has too many elements");
    *output(f) = out;
    return SC_OK;
}

static sc_status infer_concatenate(const inference *f) {
    const sc_xnn_kind_row *row = &sc_xnn_kinds[f->node->kind];
    uint32_t axis = f->node->axis;
    sc_xnn_shape out = *input(f, 0);
    if (axis >= out.rank) return mismatch(f, "joins along a dimension that is not there");
    for (uint32_t i = 1; i < row->inputs; i++) {
        sc_xnn_shape other = *input(f, i);
        uint64_t sum = (uint64_t)out.dims[axis] + (axis < other.rank ? other.dims[axis] : 0);
        out.dims[axis] = other.dims[axis] = 0;
        if (!sc_xnn_shape_is(&out, &other) || !put(sum, &out.dims[axis]))
            return mismatch(f, "joins tensors of different sizes");
    }
    *output(f) = out;
    return SC_OK;
}

// --- The whole -----------------------------------------------------------------------------------

static sc_status infer_node(const inference *f) {
    switch (f->node->kind) {
    case SC_XNN_ADD:
    case SC_XNN_SUBTRACT:
    case SC_XNN_MULTIPLY:
    case SC_XNN_DIVIDE:
    case SC_XNN_MINIMUM:
    case SC_XNN_MAXIMUM:
    case SC_XNN_PRELU: return infer_binary(f);
    case SC_XNN_FULLY_CONNECTED: return infer_linear(f);
    case SC_XNN_BATCH_MATMUL: return infer_matmul(f);
    case SC_XNN_CONV:
    case SC_XNN_DEPTHWISE_CONV: return infer_conv(f);
    case SC_XNN_CONV_TRANSPOSE: return infer_conv_transpose(f);
    case SC_XNN_AVERAGE_POOL:
    case SC_XNN_MAX_POOL: return infer_pool(f);
    case SC_XNN_ARGMAX_POOL: return infer_argmax_pool(f);
    case SC_XNN_GLOBAL_AVERAGE: return infer_global_average(f);
    case SC_XNN_RESIZE: return infer_resize(f);
    case SC_XNN_TRANSPOSE: return infer_transpose(f);
    case SC_XNN_RESHAPE: return infer_reshape(f);
    case SC_XNN_SLICE: return infer_slice(f);
    case SC_XNN_PAD: return infer_pad(f);
    case SC_XNN_CONCATENATE2:
    case SC_XNN_CONCATENATE3:
    case SC_XNN_CONCATENATE4:
    case SC_XNN_CONCATENATE5: return infer_concatenate(f);
    default: *output(f) = *input(f, 0); return SC_OK;
    }
}

static sc_status check_sizes(const inference *f) {
    for (uint32_t i = 0; i < sc_xnn_kinds[f->node->kind].outputs; i++) {
        uint32_t id = f->node->outputs[i];
        uint64_t bytes;
        if (!sc_xnn_bytes(f->graph->values.data[id].datatype, &f->shapes[id], &bytes))
            return mismatch(f, "has too many elements");
    }
    return SC_OK;
}

sc_status sc_xnn_infer(sc_ctx *ctx, const sc_xnn_graph *graph, sc_xnn_shape *shapes) {
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        inference f = {ctx, graph, shapes, i, &graph->nodes.data[i]};
        SC_TRY(infer_node(&f));
        SC_TRY(check_sizes(&f));
    }
    return SC_OK;
}
