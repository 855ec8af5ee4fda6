// Nodes that a portable kernel computes as it is: arguments are made up for a call.
#include "backends/xnnpack/run/delegate.h"

static const sc_evalue none = {.tag = SC_EVALUE_NONE};

static sc_status call_kernel(const sc_xnn_delegate *d, const sc_op *op, sc_evalue *const *args,
                             uint32_t count) {
    sc_kernel_call call = {.ctx = d->ctx, .op = op, .args = args, .arg_count = count};
    return sc_kernel_get((sc_op_id)op->id)->run(&call);
}

// Along the last dimension.
static sc_status run_softmax(sc_xnn_delegate *d, sc_xnn_step *s) {
    sc_evalue in = {.tag = SC_EVALUE_TENSOR, .tensor = &s->in[0]->tensor};
    sc_evalue out = {.tag = SC_EVALUE_TENSOR, .tensor = &s->out[0]->tensor};
    sc_evalue dim = {.tag = SC_EVALUE_INT, .i = -1}, half_to_float = {.tag = SC_EVALUE_BOOL};
    sc_evalue *args[] = {&in, &dim, &half_to_float, &out};
    return call_kernel(d, sc_op_get(SC_OP__softmax), args, SC_COUNT_OF(args));
}

// Images as the kernel knows them: channels are the second dimension, wherever they lie.
static sc_tensor images(const sc_xnn_operand *o, int64_t sizes[4], int64_t strides[4]) {
    static const uint8_t from[4] = {0, 3, 1, 2};
    static uint8_t dim_order[4] = {0, 2, 3, 1};
    sc_tensor t = o->tensor;
    for (uint32_t i = 0; i < 4; i++) {
        sizes[i] = o->sizes[from[i]];
        strides[i] = o->strides[from[i]];
    }
    t.sizes = sizes;
    t.strides = strides;
    t.dim_order = dim_order;
    return t;
}

static sc_status load_resize(sc_xnn_delegate *d, sc_xnn_step *s) {
    return sc_xnn_is_byte(s->out[0]) ? sc_xnn_not_executed(d, s) : SC_OK;
}

static sc_status run_resize(sc_xnn_delegate *d, sc_xnn_step *s) {
    int64_t sizes[2][4], strides[2][4];
    sc_tensor from = images(s->in[0], sizes[0], strides[0]);
    sc_tensor to = images(s->out[0], sizes[1], strides[1]);
    sc_evalue in = {.tag = SC_EVALUE_TENSOR, .tensor = &from};
    sc_evalue out = {.tag = SC_EVALUE_TENSOR, .tensor = &to};
    sc_evalue align = {.tag = SC_EVALUE_BOOL, .b = s->node->flags & SC_XNN_ALIGN_CORNERS};
    sc_evalue size = none, scales = none;
    sc_evalue *args[] = {&in, &size, &align, &scales, &out};
    return call_kernel(d, sc_op_get(SC_OP_upsample_bilinear2d_vec), args, SC_COUNT_OF(args));
}

const sc_xnn_runner sc_xnn_run_softmax = {.run = run_softmax, .overwrites = true};
const sc_xnn_runner sc_xnn_run_resize = {.load = load_resize, .run = run_resize};
