// Operators that compute element by element, and softmax.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

static sc_status make_one(sc_xa_maker *m, const sc_node *node, sc_xnn_node **made) {
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    uint32_t input;
    SC_TRY(sc_xa_want(m, node->args[0].value, layout, &input));
    const uint32_t output = sc_xa_define(m, node->outs[0], layout);
    *made = sc_xa_add(m, (sc_xnn_kind)sc_xa_row_of(node)->kind, input, output);
    return SC_OK;
}

// --- One operand ---------------------------------------------------------------------------------

static bool check_unary(sc_xa *x, const sc_node *node) {
    (void)x;
    (void)node;
    return true;
}

static sc_status make_unary(sc_xa_maker *m, const sc_node *node) {
    sc_xnn_node *made;
    return make_one(m, node, &made);
}

static bool check_gelu(sc_xa *x, const sc_node *node) {
    const sc_arg *approximate = sc_xa_arg(node, "approximate");
    if (node->outs[0]->spec.dtype != SC_DTYPE_F32)
        return sc_xa_refuse(x, "Export the model in float32.", "XNNPACK's GELU is float32 only");
    if (approximate->kind != SC_ARG_STR || !sc_str_is(approximate->str, "none"))
        return sc_xa_refuse(x, "Use the exact GELU (approximate='none').",
                            "it is the approximate GELU, and XNNPACK's is the exact one");
    return true;
}

static bool check_power(sc_xa *x, const sc_node *node) {
    double exponent = 0;
    if (sc_xa_number(node, "exponent", &exponent) && exponent == 2) return true;
    return sc_xa_refuse(x, "Write it as products, or as a square root.",
                        "XNNPACK has no power but the square");
}

// --- Clamps and slopes ---------------------------------------------------------------------------

static bool check_clamp(sc_xa *x, const sc_node *node) {
    sc_xa_tail tail;
    float low, high;
    if (!sc_xa_range_of(node, &low, &high) || !(low < INFINITY && high > -INFINITY))
        return sc_xa_refuse(x, NULL, "its bounds admit no finite number");
    sc_xa_is_quantized(x, node, SC_XA_ALIKE, &tail);
    return true;
}

static sc_status make_clamp(sc_xa_maker *m, const sc_node *node) {
    sc_xa_tail tail, range = {.activation = node};
    const sc_value *input = node->args[0].value;
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    const bool quantized = sc_xa_is_quantized(&m->x, node, SC_XA_ALIKE, &tail);
    uint32_t id;
    if (quantized) {
        sc_xa_absorb(m, tail.quantize);
        input = input->node->args[0].value;
    }
    SC_TRY(sc_xa_want(m, input, layout, &id));
    const uint32_t out =
        sc_xa_define(m, quantized ? tail.quantize->outs[0] : node->outs[0], layout);
    sc_xa_range_of(node, &range.low, &range.high);
    sc_xa_set_range(sc_xa_add(m, SC_XNN_CLAMP, id, out), &range);
    return SC_OK;
}

static bool check_slope(sc_xa *x, const sc_node *node) {
    double alpha = 1, scale = 1, input_scale = 1;
    sc_xa_number(node, "alpha", &alpha);
    sc_xa_number(node, "scale", &scale);
    sc_xa_number(node, "input_scale", &input_scale);
    if (scale != 1 || input_scale != 1)
        return sc_xa_refuse(x, "Multiply before and afterwards.",
                            "XNNPACK's ELU has no scales, only alpha");
    if (!(alpha > 0 && isnormal((float)alpha)))
        return sc_xa_refuse(x, NULL, "XNNPACK's ELU takes a positive alpha");
    double slope = 0.01;
    sc_xa_number(node, "negative_slope", &slope);
    if (!isfinite((float)slope)) return sc_xa_refuse(x, NULL, "its slope is not finite");
    return true;
}

static sc_status make_slope(sc_xa_maker *m, const sc_node *node) {
    sc_xnn_node *made;
    double value = 0;
    SC_TRY(make_one(m, node, &made));
    sc_xa_number(node, made->kind == SC_XNN_ELU ? "alpha" : "negative_slope", &value);
    made->value = (float)value;
    return SC_OK;
}

enum { CHANNELS_MAX = 1 << 20 };  // the most channels for which one slope is repeated

static bool check_prelu(sc_xa *x, const sc_node *node) {
    sc_xa_constant slope;
    const sc_value *input = node->args[0].value;
    const uint32_t rank = input->spec.rank;
    if (!sc_xa_holds_operands(x)) return false;
    if (!sc_xa_constant_of(node->args[1].value, &slope) || slope.dequantize ||
        slope.input != node->args[1].value)
        return sc_xa_refuse(x, "Make the slope a parameter.",
                            "its slope is not a parameter of the program");
    if (rank < 2 || rank > 4)
        return sc_xa_refuse(x, "Reshape it to 2 to 4 dimensions.",
                            "it has %u dimensions; 2 to 4 can be delegated", rank);
    if (sc_xa_size(input, 1) > CHANNELS_MAX)
        return sc_xa_refuse(x, NULL, "it has more than %d channels", CHANNELS_MAX);
    if (rank == 3 && sc_xa_dynamic_dims(input) > 1)
        return sc_xa_refuse(x, "Fix all sizes but one.", "two of its three sizes are dynamic");
    if (slope.rank > 1 || (slope.rank == 1 && slope.sizes[0] != 1 &&
                           !sc_dim_is(input->spec.sizes[1], slope.sizes[0])))
        return sc_xa_refuse(x, NULL, "it does not have one slope for each channel");
    return true;
}

// Slopes by channel, in the input's type. The channel is the last dim.
static sc_status make_prelu(sc_xa_maker *m, const sc_node *node) {
    const sc_value *input = node->args[0].value;
    const uint32_t channels = sc_xa_size(input, 1);
    const sc_xnn_shape shape = {1, {channels}};
    sc_xa_constant slope;
    double *numbers;
    uint32_t count, in, id;
    sc_xa_constant_of(node->args[1].value, &slope);
    SC_TRY(sc_xa_read_numbers(m->x.ctx, &slope, &numbers, &count));
    m->weight = slope.constant->name;
    float *values = sc_new_array(m->x.ctx->arena, float, channels);
    for (uint32_t c = 0; c < channels; c++) values[c] = (float)numbers[count == 1 ? 0 : c];
    const bool is_half = input->spec.dtype == SC_DTYPE_F16;
    SC_TRY((is_half ? sc_xa_add_halves : sc_xa_add_floats)(m, values, &shape, &id));
    SC_TRY(sc_xa_want(m, input, SC_XA_CHANNELS_LAST, &in));
    const uint32_t out = sc_xa_define(m, node->outs[0], SC_XA_CHANNELS_LAST);
    sc_xa_add(m, SC_XNN_PRELU, in, out)->inputs[1] = id;
    return SC_OK;
}

// --- Two operands --------------------------------------------------------------------------------

static bool is_weight_elsewhere(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user->op && (sc_xa_is(use->user, &sc_xa_gemm) ||
                              sc_xa_is(use->user, &sc_xa_conv) || sc_xa_is(use->user, &sc_xa_norm)))
            return true;
    return false;
}

static bool fuses(const sc_node *node) {
    switch (sc_xa_row_of(node)->kind) {
    case SC_XNN_ADD:
    case SC_XNN_SUBTRACT:
    case SC_XNN_MULTIPLY: return true;
    default: return false;
    }
}

// Can it be computed with integers? Scales of summands must not differ too much from that of the
// result.
static bool is_quantized(sc_xa *x, const sc_node *node, sc_xa_tail *tail) {
    const sc_node *dequantize;
    sc_xa_params a, b;
    if (!fuses(node)) return false;
    sc_xa_tail_of(node->outs[0], true, tail);
    if (!tail->quantize || !sc_xa_dequantized(node->args[0].value, &dequantize, &a) ||
        !sc_xa_dequantized(node->args[1].value, &dequantize, &b))
        return false;
    if (sc_xa_row_of(node)->kind != SC_XNN_MULTIPLY &&
        !sc_xnn_sum_fits(a.scale, b.scale, tail->params.scale))
        return false;
    return sc_xa_is_quantized(x, node, SC_XA_FUSES, tail);
}

static bool check_alpha(sc_xa *x, const sc_node *node) {
    double alpha = 1;
    sc_xa_number(node, "alpha", &alpha);
    if (alpha == 1) return true;
    return sc_xa_refuse(x, "Multiply before.", "its alpha is %g, and XNNPACK adds without a factor",
                        alpha);
}

// A delegate is planned for the largest sizes, so these must be compatible like all others.
static bool check_sizes(sc_xa *x, const sc_value *a, const sc_value *b) {
    const uint32_t shared = sc_min_u32(a->spec.rank, b->spec.rank);
    for (uint32_t i = 1; i <= shared; i++) {
        const uint32_t m = sc_xa_size(a, a->spec.rank - i), n = sc_xa_size(b, b->spec.rank - i);
        if (m == n || m == 1 || n == 1) continue;
        return sc_xa_refuse(x, "Add a torch._check that these sizes are equal.",
                            "one operand may have %u elements and the other %u along one "
                            "dimension, and these sizes are not known to be equal",
                            m, n);
    }
    return true;
}

static bool check_binary(sc_xa *x, const sc_node *node) {
    sc_xa_tail tail;
    if (!check_alpha(x, node)) return false;
    if (node->args[1].kind != SC_ARG_VALUE)
        return sc_xa_refuse(x, "Pass a tensor instead.", "its second operand is not a tensor");
    if (!check_sizes(x, node->args[0].value, node->args[1].value)) return false;
    for (uint32_t i = 0; i < 2 && x->runtime < SC_XNN_RUNTIME_1_4; i++)
        if (sc_xa_is_constant(node->args[i].value) && is_weight_elsewhere(node->args[i].value))
            return sc_xa_holds_operands(x);
    is_quantized(x, node, &tail);
    return true;
}

static sc_status make_binary(sc_xa_maker *m, const sc_node *node) {
    sc_xa_tail tail;
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    const bool quantized = is_quantized(&m->x, node, &tail);
    uint32_t ids[2];
    if (!quantized) {
        sc_xa_tail_of(node->outs[0], fuses(node), &tail);
        tail.quantize = NULL;
    }
    sc_xa_absorb_tail(m, &tail);
    for (uint32_t i = 0; i < 2; i++) {
        const sc_value *operand = node->args[i].value;
        if (quantized) operand = operand->node->args[0].value;
        SC_TRY(sc_xa_want_operand(m, operand, node->outs[0]->spec.rank, layout, &ids[i]));
    }
    const uint32_t out = sc_xa_define(m, tail.quantize ? tail.quantize->outs[0] : tail.out, layout);
    sc_xnn_node *made = sc_xa_add(m, (sc_xnn_kind)sc_xa_row_of(node)->kind, ids[0], out);
    made->inputs[1] = ids[1];
    sc_xa_set_range(made, &tail);
    return SC_OK;
}

static bool check_scalar(sc_xa *x, const sc_node *node) {
    double other;
    if (!check_alpha(x, node) || !sc_xa_holds_operands(x)) return false;
    if (!sc_xa_number(node, "other", &other) || !isfinite((float)other))
        return sc_xa_refuse(x, NULL, "its number is not finite");
    if (node->outs[0]->spec.dtype != SC_DTYPE_F32)
        return sc_xa_refuse(x, "Export the model in float32.",
                            "PyTorch rounds a number to half precision later than XNNPACK does");
    return true;
}

static sc_status make_scalar(sc_xa_maker *m, const sc_node *node) {
    const sc_xnn_shape one = {1, {1}};
    float *value = sc_new(m->x.ctx->arena, float);
    double other = 0;
    sc_xnn_node *made;
    sc_xa_tail tail;
    uint32_t id, in;
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    sc_xa_number(node, "other", &other);
    *value = (float)other;
    SC_TRY(sc_xa_add_floats(m, value, &one, &id));
    SC_TRY(sc_xa_want(m, node->args[0].value, layout, &in));
    sc_xa_tail_of(node->outs[0], fuses(node), &tail);
    tail.quantize = NULL;
    sc_xa_absorb_tail(m, &tail);
    made =
        sc_xa_add(m, (sc_xnn_kind)sc_xa_row_of(node)->kind, in, sc_xa_define(m, tail.out, layout));
    made->inputs[1] = id;
    sc_xa_set_range(made, &tail);
    return SC_OK;
}

// --- Softmax -------------------------------------------------------------------------------------

static bool check_softmax(sc_xa *x, const sc_node *node) {
    const uint32_t rank = node->outs[0]->spec.rank;
    if (rank == 0 || sc_xa_dim(sc_xa_int(node, "dim"), rank) != (int64_t)rank - 1)
        return sc_xa_refuse(
            x, "Permute that dimension to the end first.",
            "its dimension is not the last one, and XNNPACK's softmax takes only that");
    return true;
}

const sc_xa_family sc_xa_unary = {check_unary, make_unary, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_gelu = {check_gelu, make_unary, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_power = {check_power, make_unary, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_clamp = {check_clamp, make_clamp, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_slope = {check_slope, make_slope, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_prelu = {check_prelu, make_prelu, SC_XA_REALS, false, SC_XA_CHANNELS_LAST};
const sc_xa_family sc_xa_binary = {check_binary, make_binary, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_scalar = {check_scalar, make_scalar, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_softmax = {check_softmax, make_unary, SC_XA_REALS, false, SC_XA_PLAIN};
