// Pooling, reductions over an image, and resizing, all channels-last.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

typedef struct pooling {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    int64_t extra[2];  // rows and columns after the padding, for windows that reach beyond it
} pooling;

static bool is_image(sc_xa *x, const sc_node *node) {
    if (node->args[0].value->spec.rank == 4) return true;
    return sc_xa_refuse(x, "Add a batch dimension of 1.",
                        "its input has %u dimensions, and XNNPACK pools batches of images",
                        node->args[0].value->spec.rank);
}

static bool is_whole_image(const sc_node *node) {
    int64_t size[2];
    return sc_op_param_index(node->op, "output_size") >= 0 &&
           sc_xa_ints(node, "output_size", size, 2, 2) == 2 && size[0] == 1 && size[1] == 1;
}

// --- Pooling -------------------------------------------------------------------------------------

static bool read_adaptive(sc_xa *x, const sc_node *node, pooling *p) {
    const sc_value *in = node->args[0].value, *out = node->outs[0];
    for (uint32_t i = 0; i < 2; i++) {
        const sc_dim from = in->spec.sizes[2 + i], to = out->spec.sizes[2 + i];
        if (!sc_dim_is_int(from) || !sc_dim_is_int(to) || from.value % to.value != 0)
            return sc_xa_refuse(x, "Pool to a size that divides the image, or to 1.",
                                "its windows differ in size");
        p->kernel[i] = p->stride[i] = from.value / to.value;
    }
    return true;
}

static bool read_pooling(sc_xa *x, const sc_node *node, pooling *p) {
    *p = (pooling){.dilation = {1, 1}};
    if (sc_op_param_index(node->op, "output_size") >= 0) return read_adaptive(x, node, p);
    const int32_t strides = sc_xa_ints(node, "stride", p->stride, 2, 2);
    if (sc_xa_ints(node, "kernel_size", p->kernel, 2, 2) != 2 ||
        sc_xa_ints(node, "padding", p->padding, 2, 2) != 2 || (strides != 0 && strides != 2) ||
        (sc_op_param_index(node->op, "dilation") >= 0 &&
         sc_xa_ints(node, "dilation", p->dilation, 2, 2) != 2))
        return sc_xa_refuse(x, NULL, "its window is not known");
    if (strides == 0) memcpy(p->stride, p->kernel, sizeof p->stride);
    for (uint32_t i = 0; i < 2; i++)
        if (p->kernel[i] < 1 || p->kernel[i] > INT16_MAX || p->stride[i] < 1 ||
            p->stride[i] > INT16_MAX || p->padding[i] < 0 || p->padding[i] > INT16_MAX ||
            p->dilation[i] < 1 || p->dilation[i] > INT16_MAX)
            return sc_xa_refuse(x, NULL, "its window is out of range");
    return true;
}

// The distance by which the last window exceeds image and padding.
static bool read_extra(sc_xa *x, const sc_node *node, pooling *p) {
    const sc_value *in = node->args[0].value, *out = node->outs[0];
    if (!sc_xa_flag(node, "ceil_mode")) return true;
    for (uint32_t i = 0; i < 2; i++) {
        const sc_dim from = in->spec.sizes[2 + i], to = out->spec.sizes[2 + i];
        if (!sc_dim_is_int(from) || !sc_dim_is_int(to))
            return sc_xa_refuse(x, "Use ceil_mode=False.",
                                "it rounds dynamic sizes up (ceil_mode)");
        const int64_t reach =
            (to.value - 1) * p->stride[i] + (p->kernel[i] - 1) * p->dilation[i] + 1;
        p->extra[i] = sc_max_i64(0, reach - from.value - 2 * p->padding[i]);
    }
    return true;
}

static bool pads_count(const sc_node *node, const pooling *p) {
    return sc_xa_flag(node, "count_include_pad") && (p->padding[0] || p->padding[1]);
}

static bool check_average(sc_xa *x, const sc_node *node, const pooling *p) {
    double divisor = (double)(p->kernel[0] * p->kernel[1]);
    sc_xa_number(node, "divisor_override", &divisor);
    if (divisor != (double)(p->kernel[0] * p->kernel[1]))
        return sc_xa_refuse(x, "Leave out divisor_override, and multiply afterwards.",
                            "its divisor is not the size of its window");
    if (sc_op_param_index(node->op, "divisor_override") >= 0 &&
        sc_xa_arg(node, "divisor_override")->kind == SC_ARG_INT &&
        (p->padding[0] || p->padding[1]) && !sc_xa_flag(node, "count_include_pad"))
        return sc_xa_refuse(x, "Use count_include_pad=True.",
                            "it divides by a fixed number at the borders too");
    if (p->extra[0] || p->extra[1])
        return sc_xa_refuse(x, "Use ceil_mode=False.",
                            "windows reach beyond the image (ceil_mode), and XNNPACK would average "
                            "values that do not exist");
    return true;
}

static bool check_pool(sc_xa *x, const sc_node *node) {
    pooling p;
    sc_xa_tail tail;
    const bool is_max = sc_xa_row_of(node)->kind == SC_XNN_MAX_POOL;
    if (!is_image(x, node)) return false;
    if (is_whole_image(node)) return true;
    if (!read_pooling(x, node, &p) || !read_extra(x, node, &p)) return false;
    if (p.kernel[0] * p.kernel[1] == 1)
        return sc_xa_refuse(x, NULL,
                            "its window is one element, and XNNPACK takes only larger windows");
    if (!is_max) return check_average(x, node, &p);
    if (p.stride[0] > p.kernel[0] || p.stride[1] > p.kernel[1])
        return sc_xa_refuse(x, NULL, "its stride is larger than its window");
    sc_xa_is_quantized(x, node, SC_XA_ALIKE, &tail);
    return true;
}

static sc_xnn_window window_of(const pooling *p) {
    return (sc_xnn_window){.padding_top = (uint32_t)p->padding[0],
                           .padding_left = (uint32_t)p->padding[1],
                           .padding_bottom = (uint32_t)(p->padding[0] + p->extra[0]),
                           .padding_right = (uint32_t)(p->padding[1] + p->extra[1]),
                           .kernel_height = (uint32_t)p->kernel[0],
                           .kernel_width = (uint32_t)p->kernel[1],
                           .stride_height = (uint32_t)p->stride[0],
                           .stride_width = (uint32_t)p->stride[1],
                           .dilation_height = (uint32_t)p->dilation[0],
                           .dilation_width = (uint32_t)p->dilation[1]};
}

// Are zeros of the padding counted in the mean? Then they are written out.
static uint32_t pad_first(sc_xa_maker *m, uint32_t input, pooling *p) {
    sc_xnn_shape shape = m->graph->values.data[input].shape;
    uint32_t sides[4] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        sides[1 + i] = (uint32_t)p->padding[i];
        shape.dims[1 + i] += 2 * sides[1 + i];
        p->padding[i] = 0;
    }
    const uint32_t padded = sc_xa_between(m, input, &shape);
    sc_xnn_node *made = sc_xa_add(m, SC_XNN_PAD, input, padded);
    made->lists[0] = made->lists[1] = sc_xa_list(m, sides, 4);
    return padded;
}

static sc_status make_pool(sc_xa_maker *m, const sc_node *node) {
    pooling p;
    sc_xa_tail tail;
    sc_xnn_kind kind = (sc_xnn_kind)sc_xa_row_of(node)->kind;
    const sc_value *in = node->args[0].value, *out = node->outs[0];
    uint32_t id;
    if (kind == SC_XNN_MAX_POOL && sc_xa_is_quantized(&m->x, node, SC_XA_ALIKE, &tail)) {
        sc_xa_absorb(m, tail.quantize);
        in = in->node->args[0].value;
        out = tail.quantize->outs[0];
    }
    SC_TRY(sc_xa_want(m, in, SC_XA_CHANNELS_LAST, &id));
    const bool whole = is_whole_image(node);
    if (!whole) {
        if (!read_pooling(&m->x, node, &p) || !read_extra(&m->x, node, &p))
            return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL,
                           "the pooling cannot be delegated after all");
        if (kind == SC_XNN_GLOBAL_AVERAGE) kind = SC_XNN_AVERAGE_POOL;
        if (kind == SC_XNN_AVERAGE_POOL && pads_count(node, &p)) id = pad_first(m, id, &p);
    }
    sc_xnn_node *made = sc_xa_add(m, kind, id, sc_xa_define(m, out, SC_XA_CHANNELS_LAST));
    made->flags = SC_XNN_KEEP_DIMS;
    if (!whole) made->window = window_of(&p);
    if (kind == SC_XNN_AVERAGE_POOL) made->window.dilation_height = made->window.dilation_width = 0;
    return SC_OK;
}

// --- Reductions ----------------------------------------------------------------------------------

// Does it go over the whole image, or the whole sequence?
static bool check_mean(sc_xa *x, const sc_node *node) {
    int64_t dims[SC_RANK_MAX];
    sc_xa_tail tail;
    const uint32_t rank = node->args[0].value->spec.rank;
    const int32_t count = sc_xa_ints(node, "dim", dims, SC_RANK_MAX, 0);
    uint32_t seen = 0;
    for (int32_t i = 0; i < count; i++) {
        const int64_t dim = sc_xa_dim(dims[i], rank);
        if (dim >= 0 && dim < SC_RANK_MAX) seen |= 1u << dim;
    }
    if (!((rank == 4 && seen == 12) || (rank == 3 && seen == 4)))
        return sc_xa_refuse(x, NULL,
                            "it is not the mean over height and width of a batch of images");
    if (rank == 3 && sc_xa_dynamic_dims(node->args[0].value) > 1)
        return sc_xa_refuse(x, "Fix all sizes but one.", "more than one of its sizes is dynamic");
    sc_xa_is_quantized(x, node, 0, &tail);
    return true;
}

static sc_status make_reduction(sc_xa_maker *m, const sc_node *node, sc_xnn_kind kind,
                                const sc_value *in, const sc_value *out, sc_xnn_node **made) {
    uint32_t id, whole;
    bool dynamic[SC_XNN_RANK_MAX];
    const bool keeps_rank = out->spec.rank == in->spec.rank;
    SC_TRY(sc_xa_want(m, in, SC_XA_CHANNELS_LAST, &id));
    if (keeps_rank) {
        whole = sc_xa_define(m, out, SC_XA_CHANNELS_LAST);
        *made = sc_xa_add(m, kind, id, whole);
        return SC_OK;
    }
    // Computes as if dims were kept, then removes them.
    sc_xnn_shape shape = m->graph->values.data[id].shape;
    int64_t dims[SC_RANK_MAX];
    const int32_t count = sc_xa_ints(node, "dim", dims, SC_RANK_MAX, 0);
    for (int32_t i = 0; i < count; i++)
        shape.dims[sc_xa_place(in->spec.rank, SC_XA_CHANNELS_LAST,
                               (uint32_t)sc_xa_dim(dims[i], in->spec.rank))] = 1;
    const uint32_t like = sc_xa_define(m, out, SC_XA_PLAIN);
    whole = sc_xa_between(m, like, &shape);
    *made = sc_xa_add(m, kind, id, whole);
    const uint32_t index = m->graph->nodes.count - 1;
    sc_xa_dynamic_of(out, SC_XA_PLAIN, dynamic);
    SC_TRY(sc_xa_add_reshape(m, whole, like, dynamic));
    *made = &m->graph->nodes.data[index];
    return SC_OK;
}

static sc_status make_mean(sc_xa_maker *m, const sc_node *node) {
    sc_xa_tail tail;
    sc_xnn_node *made;
    const sc_value *in = node->args[0].value, *out = node->outs[0];
    if (sc_xa_is_quantized(&m->x, node, 0, &tail)) {
        sc_xa_absorb(m, tail.quantize);
        in = in->node->args[0].value;
        out = tail.quantize->outs[0];
    }
    SC_TRY(make_reduction(m, node, SC_XNN_GLOBAL_AVERAGE, in, out, &made));
    made->flags = SC_XNN_KEEP_DIMS;
    return SC_OK;
}

// The window of the maximum: height, width or both.
static bool read_amax(sc_xa *x, const sc_node *node, pooling *p) {
    int64_t dims[SC_RANK_MAX];
    const sc_value *in = node->args[0].value;
    const int32_t count = sc_xa_ints(node, "dim", dims, SC_RANK_MAX, 0);
    *p = (pooling){.kernel = {1, 1}, .dilation = {1, 1}};
    if (!is_image(x, node)) return false;
    for (int32_t i = 0; i < count; i++) {
        const int64_t dim = sc_xa_dim(dims[i], 4);
        if (dim != 2 && dim != 3)
            return sc_xa_refuse(x, NULL, "it does not reduce height or width of a batch of images");
        if (!sc_dim_is_int(in->spec.sizes[dim]))
            return sc_xa_refuse(
                x, "Fix this size.",
                "the size that it reduces is dynamic, and XNNPACK's windows are fixed");
        p->kernel[dim - 2] = in->spec.sizes[dim].value;
    }
    if (count < 1 || p->kernel[0] * p->kernel[1] == 1)
        return sc_xa_refuse(x, NULL, "it reduces at most one element");
    memcpy(p->stride, p->kernel, sizeof p->stride);
    return true;
}

static bool check_amax(sc_xa *x, const sc_node *node) {
    pooling p;
    if (!read_amax(x, node, &p)) return false;
    if (!sc_xa_flag(node, "keepdim")) {
        if (sc_xa_dynamic_dims(node->outs[0]) > 1)
            return sc_xa_refuse(x, "Fix all sizes but one.",
                                "more than one size of its result is dynamic");
        // The result of this reduction is channels-last, and would have to be transposed back.
        if (p.kernel[0] == 1 || p.kernel[1] == 1) {
            const sc_spec *in = &node->args[0].value->spec;
            const bool both =
                sc_dim_is(in->sizes[2], p.kernel[0]) && sc_dim_is(in->sizes[3], p.kernel[1]);
            if (!both)
                return sc_xa_refuse(x, "Use keepdim=True.", "it drops one of height and width");
        }
    }
    return true;
}

static sc_status make_amax(sc_xa_maker *m, const sc_node *node) {
    pooling p;
    sc_xnn_node *made;
    if (!read_amax(&m->x, node, &p))
        return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL,
                       "the maximum cannot be delegated after all");
    SC_TRY(make_reduction(m, node, SC_XNN_MAX_POOL, node->args[0].value, node->outs[0], &made));
    made->window = window_of(&p);
    return SC_OK;
}

// --- Resizing ------------------------------------------------------------------------------------

static bool check_resize(sc_xa *x, const sc_node *node) {
    const sc_value *in = node->args[0].value, *out = node->outs[0];
    const sc_arg *factors = sc_xa_arg(node, "scale_factors");
    if (!is_image(x, node)) return false;
    if (factors->kind == SC_ARG_LIST && factors->count != 2)
        return sc_xa_refuse(x, "Give one factor for the height and one for the width.",
                            "it has %u scale factors, and XNNPACK needs two", factors->count);
    for (uint32_t i = 0; i < 2; i++) {
        const sc_dim from = in->spec.sizes[2 + i], to = out->spec.sizes[2 + i];
        if (!sc_dim_is_int(to) || !sc_dim_is_int(from))
            return sc_xa_refuse(x, "Export it with fixed sizes.", "its size is dynamic");
        if (factors->kind != SC_ARG_LIST || sc_xa_flag(node, "align_corners")) continue;
        const sc_arg *factor = &factors->items[i];
        const double scale = factor->kind == SC_ARG_FLOAT ? factor->f : (double)factor->i;
        if (scale * (double)from.value != (double)to.value)
            return sc_xa_refuse(
                x, "Give sizes instead of factors.",
                "its factor %g does not give a whole number of pixels, and XNNPACK takes sizes",
                scale);
    }
    return true;
}

static sc_status make_resize(sc_xa_maker *m, const sc_node *node) {
    uint32_t id;
    const sc_value *out = node->outs[0];
    SC_TRY(sc_xa_want(m, node->args[0].value, SC_XA_CHANNELS_LAST, &id));
    sc_xnn_node *made = sc_xa_add(m, SC_XNN_RESIZE, id, sc_xa_define(m, out, SC_XA_CHANNELS_LAST));
    made->new_height = sc_xa_size(out, 2);
    made->new_width = sc_xa_size(out, 3);
    if (sc_xa_flag(node, "align_corners")) made->flags = SC_XNN_ALIGN_CORNERS;
    return SC_OK;
}

const sc_xa_family sc_xa_pool = {check_pool, make_pool, SC_XA_REALS, false, SC_XA_CHANNELS_LAST};
const sc_xa_family sc_xa_mean = {check_mean, make_mean, SC_XA_REALS, false, SC_XA_CHANNELS_LAST};
const sc_xa_family sc_xa_amax = {check_amax, make_amax, SC_XA_REALS, false, SC_XA_CHANNELS_LAST};
const sc_xa_family sc_xa_resize = {check_resize, make_resize, SC_XA_REALS, false,
                                   SC_XA_CHANNELS_LAST};
