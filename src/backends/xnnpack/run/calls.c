// Nodes that a portable kernel computes without change: a call is built with arguments for it.
#include "backends/xnnpack/run/delegate.h"

static const sc_evalue absent = {.tag = SC_EVALUE_NONE};

static sc_status call_kernel(const sc_xnn_delegate *d, const sc_op *op, sc_evalue *const *args,
                             uint32_t count) {
    const sc_kernel *kernel = sc_kernel_get((sc_op_id)op->id);
    sc_kernel_call call = {
        .ctx = d->ctx, .op = op, .kernel = kernel, .args = args, .arg_count = count};
    return kernel->run(&call);
}

// Softmax along the last dimension.
static sc_status run_softmax(sc_xnn_delegate *d, sc_xnn_step *s) {
    sc_evalue in = {.tag = SC_EVALUE_TENSOR, .tensor = &s->in[0]->tensor};
    sc_evalue out = {.tag = SC_EVALUE_TENSOR, .tensor = &s->out[0]->tensor};
    sc_evalue dim = {.tag = SC_EVALUE_INT, .i = -1}, half_to_float = {.tag = SC_EVALUE_BOOL};
    sc_evalue *args[] = {&in, &dim, &half_to_float, &out};
    return call_kernel(d, sc_op_get(SC_OP__softmax), args, SC_COUNT_OF(args));
}

// An image as the kernel expects it: channels are the second dimension, whatever their place in
// memory.
typedef struct image {
    sc_tensor tensor;
    int64_t sizes[4], strides[4];
    uint8_t dim_order[4];
} image;

static void set_image(image *i, const sc_xnn_operand *o) {
    static const uint8_t from[4] = {0, 3, 1, 2};
    *i = (image){.tensor = o->tensor, .dim_order = {0, 2, 3, 1}};
    for (uint32_t d = 0; d < 4; d++) {
        i->sizes[d] = o->sizes[from[d]];
        i->strides[d] = o->strides[from[d]];
    }
    i->tensor.sizes = i->sizes;
    i->tensor.strides = i->strides;
    i->tensor.dim_order = i->dim_order;
}

static sc_status load_resize(sc_xnn_delegate *d, sc_xnn_step *s) {
    return sc_xnn_is_byte(s->out[0]) ? sc_xnn_not_executed(d, s) : SC_OK;
}

static sc_status run_resize(sc_xnn_delegate *d, sc_xnn_step *s) {
    image from, to;
    set_image(&from, s->in[0]);
    set_image(&to, s->out[0]);
    sc_evalue in = {.tag = SC_EVALUE_TENSOR, .tensor = &from.tensor};
    sc_evalue out = {.tag = SC_EVALUE_TENSOR, .tensor = &to.tensor};
    sc_evalue align = {.tag = SC_EVALUE_BOOL, .b = s->node->flags & SC_XNN_ALIGN_CORNERS};
    sc_evalue size = absent, scales = absent;
    sc_evalue *args[] = {&in, &size, &align, &scales, &out};
    return call_kernel(d, sc_op_get(SC_OP_upsample_bilinear2d_vec), args, SC_COUNT_OF(args));
}

const sc_xnn_runner sc_xnn_run_softmax = {.run = run_softmax, .overwrites = true};
const sc_xnn_runner sc_xnn_run_resize = {.load = load_resize, .run = run_resize};
