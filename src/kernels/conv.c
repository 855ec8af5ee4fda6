// aten::convolution: from arguments to plain numbers. Half-precision convolutions run on f32
// copies. If the channels of a pixel are adjacent on one end of a convolution only, the other end
// is copied to that layout, because no variant is fast between two layouts.
#include "compute/conv.h"
#include "kernels/convert.h"
#include "kernels/move.h"
#include "kernels/product.h"

enum {
    ARG_INPUT,
    ARG_WEIGHT,
    ARG_BIAS,
    ARG_STRIDE,
    ARG_PADDING,
    ARG_DILATION,
    ARG_TRANSPOSED,
    ARG_OUTPUT_PADDING,
    ARG_GROUPS,
    ARG_OUT
};

#define PARAM_MAX INT32_MAX  // limits strides and the like, so that coordinates cannot overflow

// Copies the spatial part of a list argument to three numbers, with `fill` for absent dimensions.
static sc_status read_list(const sc_kernel_call *call, uint32_t arg, uint32_t spatial, int64_t fill,
                           int64_t least, int64_t out[3]) {
    int64_t values[3] = {0, 0, 0};
    uint32_t count = sc_call_ints(call, arg, values, 3, spatial);
    for (uint32_t d = 0; d < 3; d++) out[d] = d < 3 - spatial ? fill : values[d - (3 - spatial)];
    bool ok = count == spatial;
    for (uint32_t d = 0; d < 3; d++) ok = ok && out[d] >= least && out[d] <= PARAM_MAX;
    if (!ok)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "a stride, padding or dilation is out of range");
    return SC_OK;
}

static void read_sizes(const sc_tensor *t, int64_t sizes[3], int64_t step[5]) {
    uint32_t spatial = t->rank - 2u;
    step[0] = t->strides[0];
    step[1] = t->strides[1];
    for (uint32_t d = 0; d < 3; d++) {
        bool absent = d < 3 - spatial;
        sizes[d] = absent ? 1 : t->sizes[2 + d - (3 - spatial)];
        step[2 + d] = absent ? 0 : t->strides[2 + d - (3 - spatial)];
    }
}

static bool shapes_agree(const sc_conv *c, const sc_tensor *input, const sc_tensor *weight,
                         const sc_tensor *bias, const sc_tensor *out) {
    const int64_t channels = c->groups * c->out_channels;
    bool ok = input->sizes[1] == c->groups * c->in_channels && out->sizes[1] == channels &&
              input->sizes[0] == out->sizes[0] && (!bias || bias->numel == channels);
    if (c->transposed) return ok && weight->sizes[0] == input->sizes[1];
    return ok && weight->sizes[0] == channels;
}

// Everything but data.
static sc_status describe(const sc_kernel_call *call, sc_conv *c) {
    const sc_tensor *input = sc_call_tensor(call, ARG_INPUT);
    const sc_tensor *weight = sc_call_tensor(call, ARG_WEIGHT);
    const sc_tensor *bias = sc_call_tensor(call, ARG_BIAS);
    const sc_tensor *out = sc_call_tensor(call, ARG_OUT);
    const uint32_t spatial = input->rank - 2u;
    if (input->rank < 3 || input->rank > 5 || weight->rank != input->rank ||
        out->rank != input->rank)
        return sc_call_fail(call, SC_ERR_SHAPE, "takes tensors of rank 3 to 5");
    *c = (sc_conv){.record = sc_product_record(call, SC_RECORD_CONV, input->dtype),
                   .batch = input->sizes[0],
                   .groups = sc_call_integer(call, ARG_GROUPS),
                   .transposed = sc_call_integer(call, ARG_TRANSPOSED) != 0};
    SC_TRY(read_list(call, ARG_STRIDE, spatial, 1, 1, c->stride));
    SC_TRY(read_list(call, ARG_PADDING, spatial, 0, 0, c->pad));
    SC_TRY(read_list(call, ARG_DILATION, spatial, 1, 1, c->dilation));
    if (c->groups < 1 || c->groups > PARAM_MAX)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "needs at least one group");
    read_sizes(input, c->in, c->in_step);
    read_sizes(out, c->out, c->out_step);
    read_sizes(weight, c->kernel, c->weight_step);
    c->in_channels = input->sizes[1] / c->groups;
    c->out_channels = c->transposed ? weight->sizes[1] : weight->sizes[0] / c->groups;
    c->weight_group = c->out_channels * c->weight_step[0];
    if (c->transposed) {  // stored as [in, out / groups, ...]
        int64_t in_step = c->weight_step[0];
        c->weight_step[0] = c->weight_step[1];
        c->weight_step[1] = in_step;
        c->weight_group = c->in_channels * in_step;
    } else if (weight->sizes[1] != c->in_channels) {
        return sc_call_fail(call, SC_ERR_SHAPE,
                            "the weight has %lld input channels per group, but the input has %lld",
                            (long long)weight->sizes[1], (long long)c->in_channels);
    }
    if (!shapes_agree(c, input, weight, bias, out))
        return sc_call_fail(call, SC_ERR_SHAPE,
                            "input, weight, bias and result do not fit together");
    return SC_OK;
}

// --- Half precision: f32 copies ------------------------------------------------------------------

// Are operands that are not f32 copied, because the input is or becomes f32?
static bool computes_floats(const sc_kernel_call *call) {
    const sc_dtype dtype = (sc_dtype)sc_call_tensor(call, ARG_INPUT)->dtype;
    return dtype == SC_DTYPE_F32 || sc_dtype_is_half(dtype);
}

static uint64_t copies_bytes(const sc_kernel_call *call) {
    uint64_t bytes = 0;
    const uint32_t args[] = {ARG_INPUT, ARG_WEIGHT, ARG_BIAS, ARG_OUT};
    if (!computes_floats(call)) return 0;
    for (uint32_t i = 0; i < SC_COUNT_OF(args); i++) {
        const sc_tensor *t = sc_call_tensor(call, args[i]);
        if (t && t->dtype != SC_DTYPE_F32) bytes += sc_product_float_bytes(t);
    }
    return bytes;
}

static const void *operand(const sc_conv *c, const sc_tensor *t, uint8_t **scratch) {
    if (!t) return NULL;
    return t->dtype == c->record.in ? t->data : sc_product_floats(t, scratch);
}

// --- Mixed layouts -------------------------------------------------------------------------------

// The end of a convolution that is replaced by a copy.
typedef enum end { NEITHER_END, INPUT_END, OUTPUT_END } end;

static bool has_pixels(const int64_t step[5], const int64_t sizes[3], int64_t channels) {
    return sc_conv_pixel_step(step, sizes, channels) > 0;
}

static bool has_planes(const int64_t step[5], const int64_t sizes[3], int64_t channels) {
    return (channels == 1 || step[1] == sizes[0] * sizes[1] * sizes[2]) &&
           sc_conv_planes(step, sizes);
}

static void set_pixels(int64_t step[5], const int64_t sizes[3], int64_t channels) {
    step[1] = 1;
    step[4] = channels;
    step[3] = step[4] * sizes[2];
    step[2] = step[3] * sizes[1];
    step[0] = step[2] * sizes[0];
}

// Makes channels adjacent on both ends if they are so on one end only, and if `bytes` suffice for a
// copy of the other end. *copy gets the bytes of that copy.
static end unify(const sc_kernel_call *call, sc_conv *c, uint64_t bytes, uint64_t *copy) {
    const int64_t in_channels = c->groups * c->in_channels, out_channels = sc_conv_channels(c);
    const sc_tensor *in = sc_call_tensor(call, ARG_INPUT), *out = sc_call_tensor(call, ARG_OUT);
    const bool takes = has_pixels(c->in_step, c->in, in_channels);
    const bool gives = has_pixels(c->out_step, c->out, out_channels);
    *copy = 0;
    if (in->dtype != SC_DTYPE_F32 || c->transposed || takes == gives) return NEITHER_END;
    if (takes ? has_planes(c->in_step, c->in, in_channels)
              : has_planes(c->out_step, c->out, out_channels))
        return NEITHER_END;
    const uint64_t needed = sc_product_float_bytes(takes ? out : in);
    if (needed > bytes) return NEITHER_END;
    *copy = needed;
    if (takes)
        set_pixels(c->out_step, c->out, out_channels);
    else
        set_pixels(c->in_step, c->in, in_channels);
    return takes ? OUTPUT_END : INPUT_END;
}

// The tensor with the layout of its copy.
static sc_strided copy_of(const sc_tensor *t, const int64_t step[5], void *data) {
    sc_strided copy;
    sc_strided_of(&copy, t);
    copy.data = data;
    for (uint32_t d = 0; d < t->rank; d++) copy.strides[d] = step[d < 2 ? d : 5 - t->rank + d];
    return copy;
}

// --- The kernel ----------------------------------------------------------------------------------

static uint64_t conv_scratch(const sc_kernel_call *call) {
    sc_conv c;
    uint64_t copy, copies = copies_bytes(call);
    // A call whose largest sizes are not compatible may have compatible smaller ones. They run
    // without packing.
    if (describe(call, &c) != SC_OK) return copies;
    unify(call, &c, UINT64_MAX, &copy);
    copies += copy;
    const sc_variant *variant = sc_product_variant(call, &c.record, UINT64_MAX);
    return variant ? copies + sc_align_up(sc_variant_scratch_bytes(variant, &c.record), 64) : 0;
}

static bool dtypes_agree(const sc_kernel_call *call) {
    const uint8_t dtype = sc_call_tensor(call, ARG_INPUT)->dtype;
    return sc_call_tensor(call, ARG_WEIGHT)->dtype == dtype &&
           sc_call_tensor(call, ARG_OUT)->dtype == dtype;
}

static bool bias_fits(const sc_kernel_call *call, const sc_tensor *bias) {
    if (!bias || bias->dtype == sc_call_tensor(call, ARG_INPUT)->dtype) return true;
    return computes_floats(call) && sc_loader(SC_CLASS_F32, bias->dtype);
}

static sc_status copy_input(const sc_kernel_call *call, sc_conv *c, void *to) {
    const sc_tensor *input = sc_call_tensor(call, ARG_INPUT);
    const sc_strided copy = copy_of(input, c->in_step, to);
    sc_strided from;
    sc_strided_of(&from, input);
    c->input = to;
    return sc_move(call, &copy, &from);
}

static sc_status copy_output(const sc_kernel_call *call, const sc_conv *c) {
    const sc_tensor *out = sc_call_tensor(call, ARG_OUT);
    const sc_strided copy = copy_of(out, c->out_step, c->output);
    sc_strided to;
    sc_strided_of(&to, out);
    return sc_move(call, &to, &copy);
}

static sc_status run_conv(const sc_kernel_call *call) {
    sc_conv c;
    SC_TRY(describe(call, &c));
    const sc_tensor *bias = sc_call_tensor(call, ARG_BIAS), *out = sc_call_tensor(call, ARG_OUT);
    if (!dtypes_agree(call)) return sc_call_no_kernel(call);
    if (out->numel == 0) return SC_OK;
    uint64_t copy, copies = copies_bytes(call);
    if (copies > call->scratch_bytes) return sc_call_starved(call);
    const end copied = unify(call, &c, call->scratch_bytes - copies, &copy);
    copies += copy;
    const sc_variant *variant = sc_product_variant(call, &c.record, call->scratch_bytes - copies);
    if (!variant || !bias_fits(call, bias)) return sc_call_no_kernel(call);
    uint8_t *scratch = call->scratch;
    const bool is_half = out->dtype != c.record.out;
    c.input = operand(&c, sc_call_tensor(call, ARG_INPUT), &scratch);
    c.weight = operand(&c, sc_call_tensor(call, ARG_WEIGHT), &scratch);
    c.bias = operand(&c, bias, &scratch);
    c.output = is_half ? scratch : out->data;
    if (is_half) scratch += sc_product_float_bytes(out);
    if (copied == INPUT_END) SC_TRY(copy_input(call, &c, scratch));
    if (copied == OUTPUT_END) c.output = scratch;
    sc_product_run(call, variant, &c.record, scratch + copy);
    if (is_half) sc_storer(SC_CLASS_F32, out->dtype)(out->data, 1, c.output, out->numel);
    return copied == OUTPUT_END ? copy_output(call, &c) : SC_OK;
}

static bool conv_packs(const sc_kernel_call *call, sc_packing *packing) {
    sc_conv c;
    const sc_tensor *weight = sc_call_tensor(call, ARG_WEIGHT);
    const sc_tensor *bias = sc_call_tensor(call, ARG_BIAS);
    uint64_t copy;
    if (!dtypes_agree(call) || describe(call, &c) != SC_OK) return false;
    unify(call, &c, UINT64_MAX, &copy);
    return weight->dtype == c.record.weight && (!bias || bias->dtype == c.record.bias) &&
           sc_product_packs(&c.record, ARG_WEIGHT, bias ? ARG_BIAS : ARG_WEIGHT, packing);
}

static void conv_pack(const sc_kernel_call *call, const sc_packing *packing) {
    sc_conv c;
    const sc_tensor *bias = sc_call_tensor(call, ARG_BIAS);
    uint64_t copy;
    if (describe(call, &c) != SC_OK) return;  // does not happen: conv_packs has checked it
    unify(call, &c, UINT64_MAX, &copy);
    c.weight = sc_call_tensor(call, ARG_WEIGHT)->data;
    c.bias = bias ? bias->data : NULL;
    sc_product_pack(&c.record, packing);
}

// Measured by kind of convolution in MobileNetV2: the time that a multiplication saves on pixels,
// in units of moving an element.
static double conv_gain(const sc_kernel_call *call) {
    sc_conv c;
    const sc_tensor *in = sc_call_tensor(call, ARG_INPUT), *out = sc_call_tensor(call, ARG_OUT);
    if (in->dtype != SC_DTYPE_F32 || !sc_call_tensor(call, ARG_WEIGHT)->is_constant ||
        describe(call, &c) != SC_OK || c.transposed)
        return -2 * ((double)in->numel + (double)out->numel);
    const double products = (double)out->numel * (double)(c.in_channels * sc_conv_taps(&c));
    return products * (c.in_channels == 1 && c.out_channels == 1 ? 0.1 : 0.02);
}

SC_KERNEL(conv, .run = run_conv, .scratch = conv_scratch, .packs = conv_packs, .pack = conv_pack,
          .layout = SC_LAYOUT_EITHER, .gain = conv_gain);
