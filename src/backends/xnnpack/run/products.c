// Convolutions and products with constant weights, as records of compute. Weights are packed when
// the delegate starts; activations are read and written in place. Halves are computed in f32.
//
// Floats: sum + bias, clamped. 8 bits with one scale: 32-bit sums, the bias included, are
// requantized by input scale * weight scale / output scale. 8 bits with a scale for each row, and
// floats with weights of few bits: sums are multiplied by the scales, then a bias of floats is
// added.
#include <math.h>

#include "backends/xnnpack/run/delegate.h"

static bool is_conv(const sc_xnn_step *s) { return s->node->kind != SC_XNN_FULLY_CONNECTED; }
static bool is_float(const sc_xnn_operand *o) {
    return sc_xnn_is(o, SC_XNN_FP32) || sc_xnn_is_half(o);
}

// --- Weights -------------------------------------------------------------------------------------

// A copy of halves as f32.
static sc_status copy_floats(sc_xnn_delegate *d, const sc_xnn_operand *o, const void **data) {
    void *copy;
    SC_TRY(sc_xnn_own(d, sc_xnn_float_bytes(o), &copy));
    sc_loader(SC_CLASS_F32, o->tensor.dtype)(copy, *data, 1, o->tensor.numel);
    *data = copy;
    return SC_OK;
}

// A copy of the step's own: unpacked weights are read as long as the delegate lives.
static sc_status keep(sc_xnn_delegate *d, uint64_t bytes, const void **data) {
    void *copy;
    SC_TRY(sc_xnn_own(d, bytes, &copy));
    if (bytes) memcpy(copy, *data, (size_t)bytes);
    *data = copy;
    return SC_OK;
}

// Small weights, and those in the payload itself, stay in packed files as they are.
static bool may_save(const sc_xnn_delegate *d, const sc_xnn_step *s) {
    const sc_xnn_constant *weight = &d->graph->constants.data[s->in[1]->value->constant];
    return weight->key.data && weight->size >= d->ctx->limits.deferred_bytes_min;
}

static sc_status find_weights(sc_xnn_delegate *d, sc_xnn_step *s) {
    sc_rt_saved_key key = d->key;
    key.call = s->index;
    if (may_save(d, s))
        s->saved = sc_rt_saved_find(d->packed, key);
    else
        d->is_needed[s->in[1]->value->constant] = true;
    // Bytes may be scales of one node and weights of another, which has released them.
    if (s->in[1]->value->quant.scales) SC_TRY(sc_xnn_find(d, s->in[1]->value->quant.scales));
    if (!s->saved) SC_TRY(sc_xnn_find(d, s->in[1]->value->constant));
    if (!s->in[2]) return SC_OK;
    d->is_needed[s->in[2]->value->constant] = true;
    return sc_xnn_find(d, s->in[2]->value->constant);
}

// The place of weights that a packed file has in the order of a kernel. No code reads it.
static const uint64_t no_weights[8];

static sc_status read_weights(sc_xnn_delegate *d, sc_xnn_step *s) {
    s->weight = s->saved ? (const void *)no_weights : sc_xnn_constant_data(d, s->in[1]);
    if (sc_xnn_is_half(s->in[1]) && !s->saved) SC_TRY(copy_floats(d, s->in[1], &s->weight));
    if (!s->in[2]) return SC_OK;
    s->bias = sc_xnn_constant_data(d, s->in[2]);
    return sc_xnn_is_half(s->in[2]) ? copy_floats(d, s->in[2], &s->bias) : SC_OK;
}

// --- The output stage ----------------------------------------------------------------------------

static float weight_scale(const sc_xnn_delegate *d, const sc_xnn_quant *quant, uint32_t channel) {
    float scale;
    if (quant->kind == SC_XNN_PER_TENSOR) return quant->scale;
    if (!quant->scales) return quant->inline_scales[channel];
    memcpy(&scale, d->graph->constants.data[quant->scales].data + (size_t)channel * sizeof scale,
           sizeof scale);
    return scale;
}

static uint32_t channels_of(const sc_xnn_step *s) {
    if (is_conv(s)) return s->node->window.groups * s->node->window.group_output_channels;
    return s->in[1]->value->shape.dims[s->node->flags & SC_XNN_TRANSPOSE_WEIGHTS ? 1 : 0];
}

// One scale for each channel, or one for all: that of the weights, multiplied by those of input and
// results if they have any.
static sc_status set_scales(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_quant *quant = &s->in[1]->value->quant;
    const bool is_one = quant->kind == SC_XNN_PER_TENSOR;
    const uint32_t count = is_one ? 1 : channels_of(s);
    float *scales = sc_arena_try_alloc(&d->arena, (size_t)count * sizeof *scales + 1);
    if (!scales) return sc_xnn_step_fail(d, s, SC_ERR_MEMORY, "has no memory for its scales");
    for (uint32_t c = 0; c < count; c++) {
        scales[c] = weight_scale(d, quant, c);
        if (sc_xnn_is_byte(s->out[0]))
            scales[c] = s->in[0]->value->quant.scale * scales[c] / s->out[0]->value->quant.scale;
    }
    s->record.finish.scale = scales;
    s->record.finish.scale_step = !is_one;
    return SC_OK;
}

static void set_float_range(sc_xnn_step *s) {
    sc_finish *finish = &s->record.finish;
    if (!s->node->has_range || (s->node->low == -INFINITY && s->node->high == INFINITY)) return;
    finish->clamps = true;
    finish->low = s->node->low;
    finish->high = s->node->high;
}

static void set_byte_range(sc_xnn_step *s) {
    sc_finish *finish = &s->record.finish;
    int low, high;
    sc_xnn_byte_range(s, s->out[0], &low, &high);
    finish->clamps = true;
    finish->low = (float)low;
    finish->high = (float)high;
    finish->zero = s->out[0]->value->quant.zero_point;
    s->in_zero = s->in[0]->value->quant.zero_point;
}

// A clamp that only reads this step's bytes, which quantized programs have instead of an output
// range. Clamping here gives the same numbers in one pass, because rounding is that of the clamp
// (sc_regrid). The step that is left only renames.
static void take_clamp(const sc_xnn_delegate *d, sc_xnn_step *s) {
    sc_xnn_step *next = s + 1;
    if (s->index + 1 >= d->graph->nodes.count || next->node->kind != SC_XNN_CLAMP ||
        next->in[0] != s->out[0] || s->out[0]->users != 1 || s->out[0]->value->flags ||
        !sc_xnn_is(s->out[0], SC_XNN_QINT8) || !sc_xnn_is(next->out[0], SC_XNN_QINT8))
        return;
    const sc_grid from = sc_xnn_grid(s->out[0]), to = sc_xnn_grid(next->out[0]);
    const bool is_same = from.scale == to.scale && from.zero == to.zero;
    int low, high;
    sc_xnn_byte_range(next, next->out[0], &low, &high);
    s->record.finish.regrids = true;
    s->record.finish.regrid = (sc_regrid){.scale = is_same ? 1 : from.scale,
                                          .inverse = is_same ? 1 : 1.0f / to.scale,
                                          .low = (float)low,
                                          .high = (float)high,
                                          .zero = to.zero};
    next->runner = &sc_xnn_run_rename;
}

// A bias of floats with integer weights is added after the scales.
static sc_status set_shift(sc_xnn_delegate *d, sc_xnn_step *s) {
    if (!s->bias) return SC_OK;
    SC_TRY(keep(d, (uint64_t)channels_of(s) * sizeof(float), &s->bias));
    s->record.finish.shift = s->bias;
    s->bias = NULL;
    return SC_OK;
}

static sc_status set_types(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *weight = s->in[1];
    const bool is_grouped = weight->value->quant.kind == SC_XNN_PER_GROUP;
    sc_record *r = &s->record;
    *r = (sc_record){.kind = is_conv(s) ? SC_RECORD_CONV : SC_RECORD_MATMUL,
                     .drops_weights = !s->is_computed};
    r->in = is_float(s->in[0]) ? SC_DTYPE_F32 : SC_DTYPE_I8;
    r->out = is_float(s->out[0]) ? SC_DTYPE_F32 : SC_DTYPE_I8;
    r->weight = is_float(weight)                                 ? SC_DTYPE_F32
                : sc_xnn_is(weight, SC_XNN_QCINT4) || is_grouped ? SC_DTYPE_I4
                                                                 : SC_DTYPE_I8;
    r->bias = r->out == SC_DTYPE_I8 ? SC_DTYPE_I32 : SC_DTYPE_F32;
    if (sc_xnn_is_byte(s->out[0])) {
        set_byte_range(s);
        take_clamp(d, s);
    } else {
        set_float_range(s);
    }
    if (r->weight == SC_DTYPE_F32) return SC_OK;
    if (is_grouped) {
        r->weights.block = weight->value->quant.group_size;
        r->weights.scales =
            (const uint16_t *)(const void *)d->graph->constants.data[weight->value->quant.scales]
                .data;
    } else {
        SC_TRY(set_scales(d, s));
    }
    return r->out == SC_DTYPE_F32 ? set_shift(d, s) : SC_OK;
}

// --- Records -------------------------------------------------------------------------------------

static void set_steps(int64_t step[5], const sc_xnn_operand *o) {
    step[0] = o->strides[0];
    step[1] = o->strides[3];
    step[2] = 0;
    step[3] = o->strides[1];
    step[4] = o->strides[2];
}

static void describe_conv(sc_xnn_step *s) {
    const sc_xnn_window *w = &s->node->window;
    const sc_xnn_operand *in = s->in[0], *out = s->out[0], *filter = s->in[1];
    const bool is_depthwise = s->node->kind == SC_XNN_DEPTHWISE_CONV;
    sc_record record = s->record;
    s->conv = (sc_conv){.record = record,
                        .batch = in->sizes[0],
                        .groups = w->groups,
                        .in_channels = w->group_input_channels,
                        .out_channels = w->group_output_channels,
                        .in = {1, in->sizes[1], in->sizes[2]},
                        .out = {1, out->sizes[1], out->sizes[2]},
                        .kernel = {1, w->kernel_height, w->kernel_width},
                        .stride = {1, w->stride_height, w->stride_width},
                        .pad = {0, w->padding_top, w->padding_left},
                        .dilation = {1, w->dilation_height, w->dilation_width},
                        .transposed = s->node->kind == SC_XNN_CONV_TRANSPOSE,
                        .weight = s->weight,
                        .bias = s->bias};
    set_steps(s->conv.in_step, in);
    set_steps(s->conv.out_step, out);
    set_steps(s->conv.weight_step, filter);
    s->conv.weight_group = s->conv.out_channels * filter->strides[0];
    if (!is_depthwise) return;
    // Stored as taps of all channels.
    s->conv.weight_step[0] = 1;
    s->conv.weight_step[1] = 0;
    s->conv.weight_group = s->conv.out_channels;
}

// The distance in numbers from one row of the weights to the next: rows of 4 bits end on whole
// bytes.
static int64_t weight_pitch(const sc_xnn_step *s) {
    int64_t pitch = s->in[1]->sizes[1];
    return s->record.weight == SC_DTYPE_I4 ? pitch + pitch % 2 : pitch;
}

sc_matmul sc_xnn_matmul_of(sc_record record, int64_t m, int64_t n, int64_t k, sc_matrix b) {
    return (sc_matmul){.record = record,
                       .batch = 1,
                       .m = m,
                       .n = n,
                       .k = k,
                       .a = {NULL, 0, k, 1},
                       .b = b,
                       .c_row = n,
                       .c_column = 1,
                       .alpha = 1,
                       .beta = 1,
                       .alpha_int = 1,
                       .beta_int = 1};
}

static void describe_matmul(sc_xnn_step *s) {
    const sc_xnn_operand *in = s->in[0], *filter = s->in[1];
    const bool is_transposed = s->node->flags & SC_XNN_TRANSPOSE_WEIGHTS;
    const int64_t pitch = weight_pitch(s);
    int64_t k = filter->sizes[is_transposed ? 0 : 1], n = filter->sizes[is_transposed ? 1 : 0];
    int64_t m = 1;
    for (uint32_t i = 0; i + 1 < in->tensor.rank; i++) m *= in->sizes[i];
    s->matmul = sc_xnn_matmul_of(
        s->record, m, n, k,
        (sc_matrix){s->weight, 0, is_transposed ? pitch : 1, is_transposed ? 1 : pitch});
    s->matmul.addend = (sc_matrix){s->bias, 0, 0, 1};
}

static const int32_t no_zero = 0;
static const float no_scale = 1;

static void describe(sc_xnn_step *s) {
    sc_record *r = &s->record;
    if (is_conv(s))
        describe_conv(s);
    else
        describe_matmul(s);
    if (s->out[0]->tensor.dtype == SC_DTYPE_I8) r->quant = (sc_input_quant){&s->in_zero, NULL, 0};
    // Addresses come at run time; only their existence counts now.
    if (sc_xnn_is(s->in[0], SC_XNN_QDINT8)) r->quant = (sc_input_quant){&no_zero, &no_scale, 1};
}

// A convolution may read planes itself, if the step before brings their channels together for it
// alone. Then that step only renames.
static void take_planes(const sc_xnn_delegate *d, sc_xnn_step *s) {
    static const uint32_t channels_last[] = {0, 2, 3, 1};
    sc_xnn_operand *in = s->in[0];
    sc_xnn_step *before = s - 1;
    if (s->index == 0 || s->node->kind != SC_XNN_CONV || !sc_xnn_is(in, SC_XNN_FP32) ||
        s->record.weight != SC_DTYPE_F32 || before->node->kind != SC_XNN_TRANSPOSE ||
        before->out[0] != in || in->users != 1 || in->value->flags || in->tensor.rank != 4 ||
        before->node->lists[0].count != 4 ||
        memcmp(before->node->lists[0].items, channels_last, sizeof channels_last) != 0)
        return;
    const sc_xnn_shape *shape = &d->shapes[s->node->inputs[0]];
    in->is_planar = true;
    sc_xnn_set_sizes(in, shape);
    describe(s);
    in->is_planar = sc_conv_is_stem(&s->conv);
    if (in->is_planar)
        before->runner = &sc_xnn_run_rename;
    else
        sc_xnn_set_sizes(in, shape);
}

// --- Loading -------------------------------------------------------------------------------------

// Weights that are not packed must stay in memory.
static void keep_weights(sc_xnn_delegate *d, const sc_xnn_step *s) {
    const sc_xnn_operand *weight = s->in[1], *bias = s->in[2];
    d->is_needed[weight->value->constant] = true;
    if (!sc_xnn_is_half(weight)) d->constant_uses[weight->value->constant] = true;
    if (bias && s->bias && !sc_xnn_is_half(bias)) d->constant_uses[bias->value->constant] = true;
    if (weight->value->quant.kind == SC_XNN_PER_GROUP)
        d->constant_uses[weight->value->quant.scales] = true;
}

// Turns the bytes of weights into a packing, or into the form that every run reads.
static sc_status pack_weights(sc_xnn_delegate *d, sc_xnn_step *s) {
    SC_TRY(find_weights(d, s));
    // Data that was found before this point is shared with other steps; later copies are not.
    const uint32_t owned = d->owned_count;
    SC_TRY(read_weights(d, s));
    SC_TRY(set_types(d, s));
    take_planes(d, s);
    describe(s);
    const sc_variant *best = sc_variant_best(&s->record);
    if (!best) return sc_xnn_not_executed(d, s);
    if (!best->algorithm->pack) {
        if (s->saved) SC_TRY(sc_rt_saved_check(d->ctx, s->saved, best->name, 0));
        keep_weights(d, s);
        return SC_OK;
    }
    SC_TRY(sc_xnn_pack(d, s, best));
    s->is_saved = may_save(d, s);
    d->is_packed[s->in[1]->value->constant] |= s->is_saved;
    // The packing contains all of it: weights and bias, scales and shifts.
    while (d->owned_count > owned) sc_xnn_disown(d);
    return SC_OK;
}

static sc_status load_static(sc_xnn_delegate *d, sc_xnn_step *s) {
    SC_TRY(pack_weights(d, s));
    sc_xnn_forget(d, s->in[1]->value->constant);
    if (s->in[2]) sc_xnn_forget(d, s->in[2]->value->constant);
    return SC_OK;
}

// The weights of a linear layer may be computed: then they are read in place.
static sc_status load_product(sc_xnn_delegate *d, sc_xnn_step *s) {
    if (s->in[1]->value->constant && (!s->in[2] || s->in[2]->value->constant))
        return load_static(d, s);
    for (uint32_t i = 0; i < 3; i++)
        if (s->in[i] && !is_float(s->in[i])) return sc_xnn_not_executed(d, s);
    for (uint32_t i = 1; i < 3; i++)
        if (s->in[i] && s->in[i]->value->constant)
            d->constant_uses[s->in[i]->value->constant] = true;
    s->is_computed = true;
    return set_types(d, s);
}

// --- Running -------------------------------------------------------------------------------------

// A zero point and a scale for each row of a product, or each image.
static bool rows_fit(const sc_xnn_step *s) {
    if (!sc_xnn_is(s->in[0], SC_XNN_QDINT8)) return true;
    return s->in[0]->rows == (is_conv(s) ? s->conv.batch : s->matmul.m);
}

static uint64_t half_bytes(const sc_xnn_operand *o) {
    return o && sc_xnn_is_half(o) ? sc_xnn_float_bytes(o) : 0;
}

// Halves as f32. Constant weights were copied at the start.
static uint64_t copies_bytes(const sc_xnn_step *s) {
    const uint64_t bytes = half_bytes(s->in[0]) + half_bytes(s->out[0]);
    return s->is_computed ? bytes + half_bytes(s->in[1]) + half_bytes(s->in[2]) : bytes;
}

static sc_status prepare_product(sc_xnn_delegate *d, sc_xnn_step *s) {
    describe(s);
    if (!rows_fit(s))
        return sc_xnn_step_fail(d, s, SC_ERR_DELEGATE,
                                "is not executed here: its input is not quantized by rows");
    // Small images may also fit a row that stands before the one that has the weights.
    s->variant = s->packed_for;
    if (!s->variant) s->variant = sc_variant_pick(&s->record, NULL, UINT64_MAX);
    if (!s->variant || (s->packed_for && !sc_variant_fits(s->variant, &s->record)))
        return sc_xnn_not_executed(d, s);
    s->scratch_bytes = sc_align_up(sc_variant_scratch_bytes(s->variant, &s->record), 64);
    s->scratch_bytes += copies_bytes(s);
    return SC_OK;
}

const void *sc_xnn_floats(const sc_xnn_operand *in, uint8_t **scratch) {
    if (!sc_xnn_is_half(in)) return in->tensor.data;
    void *copy = *scratch;
    sc_loader(SC_CLASS_F32, in->tensor.dtype)(copy, in->tensor.data, 1, in->tensor.numel);
    *scratch += sc_xnn_float_bytes(in);
    return copy;
}

static void set_addresses(sc_xnn_step *s, const void *input, void *output) {
    if (is_conv(s)) {
        s->conv.input = input;
        s->conv.output = output;
    } else {
        s->matmul.a.data = input;
        s->matmul.c = output;
    }
    if (sc_xnn_is(s->in[0], SC_XNN_QDINT8))
        s->record.quant = (sc_input_quant){sc_xnn_zeros(s->in[0]), sc_xnn_scales(s->in[0]), 1};
}

static void set_weights(sc_xnn_step *s, uint8_t **scratch) {
    s->matmul.b.data = sc_xnn_floats(s->in[1], scratch);
    if (s->in[2]) s->matmul.addend.data = sc_xnn_floats(s->in[2], scratch);
}

static sc_status run_product(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *out = s->out[0];
    uint8_t *scratch = d->scratch;
    const void *input = sc_xnn_floats(s->in[0], &scratch);
    void *output = sc_xnn_is_half(out) ? scratch : out->tensor.data;
    if (sc_xnn_is_half(out)) scratch += sc_xnn_float_bytes(out);
    set_addresses(s, input, output);
    if (s->is_computed) set_weights(s, &scratch);
    sc_variant_run(s->variant, &s->record, s->packing ? s->packing->data : NULL, scratch);
    if (sc_xnn_is_half(out))
        sc_storer(SC_CLASS_F32, out->tensor.dtype)(out->tensor.data, 1, output, out->tensor.numel);
    return SC_OK;
}

void sc_xnn_run_pair(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_conv_call first = sc_xnn_conv_call(s), second = sc_xnn_conv_call(s + 1);
    for (sc_xnn_step *one = s; one <= s + 1; one++)
        set_addresses(one, one->in[0]->tensor.data, one->out[0]->tensor.data);
    sc_conv_run_pair(&first, &second, d->scratch);
}

const sc_xnn_runner sc_xnn_run_product = {
    .load = load_product, .prepare = prepare_product, .run = run_product};
