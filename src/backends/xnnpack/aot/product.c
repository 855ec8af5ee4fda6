// Matrix products with packed weights, float or quantized, and with computed matrices.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

// The form in which a product with weights is computed.
typedef enum form {
    FLOATS,
    COMPUTED,  // the weight is not constant
    STATIC,    // 8 bits in, 8 bits out
    DYNAMIC,   // quantized by row on the way
    WEIGHTS    // floats with quantized weights
} form;

typedef struct product {
    const sc_value *input, *weight, *bias;
    form form;
    sc_xa_constant w;  // as [outputs, inputs], in all forms but COMPUTED
    int64_t outputs, inputs;
    bool is_transposed;  // the operand is [inputs, outputs]
    sc_xa_tail tail;
    const sc_node *norm;
    const sc_node *dequantize;  // STATIC: of the input
    sc_xa_params input_params;
    sc_xa_dynamic dynamic;
} product;

// --- Weights -------------------------------------------------------------------------------------

static void swap_axes(sc_xa_constant *c) {
    const int64_t size = c->sizes[0], stride = c->strides[0];
    c->sizes[0] = c->sizes[1];
    c->strides[0] = c->strides[1];
    c->sizes[1] = size;
    c->strides[1] = stride;
    c->params.axis = c->params.axis == 0 ? 1 : 0;
}

static bool check_groups(sc_xa *x, product *p) {
    sc_xa_params *params = &p->w.params;
    if (params->group == p->inputs && !sc_xa_is_four_bits(params)) {
        params->kind = SC_XNN_PER_CHANNEL;
        return true;
    }
    if (!sc_xa_is_four_bits(params))
        return sc_xa_refuse(
            x, "Use 4 bits, or one scale for each row.",
            "its weight has 8 bits in groups, and XNNPACK takes groups of 4 bits only");
    if (params->group % 32 != 0 || p->inputs % params->group != 0)
        return sc_xa_refuse(x, "Use a group size of 32.",
                            "its groups have %lld weights, and XNNPACK needs a multiple of 32 that "
                            "divides the %lld inputs",
                            (long long)params->group, (long long)p->inputs);
    return true;
}

static bool check_weight_params(sc_xa *x, product *p) {
    const sc_xa_params *params = &p->w.params;
    if (params->dtype != SC_DTYPE_I8 || params->low < -128 || params->high > 127 ||
        p->w.constant->spec.dtype != SC_DTYPE_I8)
        return sc_xa_refuse(x, "Quantize weights to int8.", "its weight is not int8");
    if (params->kind != SC_XNN_PER_TENSOR && params->axis != 0)
        return sc_xa_refuse(x, "Quantize weights by output channel.",
                            "its weight has scales along its inputs");
    if (params->kind == SC_XNN_PER_GROUP && !check_groups(x, p)) return false;
    return sc_xa_symmetric(x, params);
}

// --- Forms ---------------------------------------------------------------------------------------

// Does its size equal the weight's, as known at lowering?
static bool check_rows(sc_xa *x, const product *p, sc_dim size) {
    const sc_spec *in = &p->input->spec;
    const sc_dim have = in->rank > 0 ? in->sizes[in->rank - 1] : sc_dim_int(1);
    sc_sb rows, want;
    if (in->rank > 0 && sc_dim_equal(have, size)) return true;
    sc_sb_init(&rows, x->ctx->scratch);
    sc_sb_init(&want, x->ctx->scratch);
    sc_dim_print(&rows, have);
    sc_dim_print(&want, size);
    const bool is_open = have.expr || size.expr;
    return sc_xa_refuse(x, is_open ? "Export with these sizes static." : NULL,
                        is_open ? "rows of its input have %s elements and rows of its weight %s, "
                                  "which are not known to be equal"
                                : "rows of its input have %s elements, and rows of its weight %s",
                        sc_sb_terminate(&rows), sc_sb_terminate(&want));
}

static bool check_computed(sc_xa *x, product *p) {
    const sc_spec *weight = &p->weight->spec;
    p->form = COMPUTED;
    if (sc_xa_is_widened(p->weight))
        return sc_xa_refuse(x, NULL,
                            "its weight has few bits in groups, and kernels multiply with these "
                            "integers as they are");
    if (weight->rank != 2)
        return sc_xa_refuse(x, NULL, "its weight is computed and does not have two dimensions");
    if (!check_rows(x, p, weight->sizes[p->is_transposed ? 0 : 1])) return false;
    if (p->input->spec.dtype == SC_DTYPE_BF16)
        return sc_xa_refuse(x, "Make the weight a parameter.",
                            "its weight is computed, and in bfloat16 XNNPACK takes constants only");
    return true;
}

static bool check_floats(sc_xa *x, const product *p) {
    const uint8_t dtype = p->input->spec.dtype;
    if (p->w.constant->spec.dtype != dtype)
        return sc_xa_refuse(x, "Cast them to one type.", "its weight is %s and its input %s",
                            sc_dtype_name(p->w.constant->spec.dtype), sc_dtype_name(dtype));
    if (dtype == SC_DTYPE_BF16 && x->runtime < SC_XNN_RUNTIME_1_5)
        return sc_xa_refuse(x, "Set the target runtime to 1.5 or later.",
                            "it computes in bfloat16, which the target runtime's XNNPACK cannot");
    return true;
}

// Next to 8-bit inputs XNNPACK reads rows of 4 bits as if every row ended on a whole byte.
static bool has_whole_bytes(const product *p) {
    return !sc_xa_is_four_bits(&p->w.params) || p->inputs % 2 == 0;
}

static bool is_static(sc_xa *x, product *p) {
    sc_xa_tail_of(p->tail.out, true, &p->tail);
    return p->tail.quantize && p->w.params.kind != SC_XNN_PER_GROUP && has_whole_bytes(p) &&
           sc_xa_dequantized(p->input, &p->dequantize, &p->input_params) &&
           sc_xa_requantizes(x, &p->w.params, &p->input_params, &p->tail.params);
}

static bool find_form(sc_xa *x, const sc_node *node, product *p) {
    p->tail.out = node->outs[0];
    if (!sc_xa_constant_of(p->weight, &p->w)) return check_computed(x, p);
    if (p->w.rank != 2) return sc_xa_refuse(x, NULL, "its weight does not have two dimensions");
    if (p->is_transposed) swap_axes(&p->w);
    p->outputs = p->w.sizes[0];
    p->inputs = p->w.sizes[1];
    p->form = FLOATS;
    if (!check_rows(x, p, sc_dim_int(p->inputs))) return false;
    if (!p->w.dequantize) {
        // Channels of a norm are dim 1, those of a product its last dim.
        if (node->outs[0]->spec.rank == 2) p->norm = sc_xa_norm_behind(node->outs[0]);
        return check_floats(x, p);
    }
    if (!check_weight_params(x, p)) return false;
    const bool is_dynamic =
        has_whole_bytes(p) && sc_xa_dynamically_dequantized(x, p->input, &p->dynamic);
    p->form = is_dynamic ? DYNAMIC : is_static(x, p) ? STATIC : WEIGHTS;
    if (p->form == WEIGHTS && p->input->spec.dtype != SC_DTYPE_F32)
        return sc_xa_refuse(x, "Export the model in float32.",
                            "its weight is quantized and its input is not float32");
    if (p->form == WEIGHTS && p->w.params.kind == SC_XNN_PER_GROUP)
        return sc_xa_refuse(x, "Quantize its input dynamically.",
                            "its weight has 4 bits in groups, and its input is not quantized "
                            "dynamically");
    return true;
}

// --- The operators -------------------------------------------------------------------------------

static bool is_one(const sc_node *node, const char *param) {
    double value = 1;
    sc_xa_number(node, param, &value);
    return value == 1;
}

// Runtimes free the operands of packing, although they pack computed weights again in every run. If
// only the weight is quantized, they also scale the bias with it.
static bool adds_after(const product *p) {
    return p->bias && (p->form == COMPUTED || p->form == WEIGHTS);
}

static bool is_constant_bias(const product *p, sc_xa_constant *bias) {
    return sc_xa_constant_of(p->bias, bias) && !bias->dequantize;
}

// An addend may be any value, such as a parameter that is passed to a body; a constant keeps its
// type, like operands.
static bool check_added(sc_xa *x, const product *p) {
    const sc_spec *spec = &p->bias->spec, *out = &p->tail.out->spec;
    if (spec->rank != 1 || !sc_dim_equal(spec->sizes[0], out->sizes[out->rank - 1]))
        return sc_xa_refuse(x, "Add it afterwards.",
                            "its addend is not one number for each output");
    if (spec->dtype != p->input->spec.dtype)
        return sc_xa_refuse(x, "Cast them to one type.", "its input is %s and its addend %s",
                            sc_dtype_name(p->input->spec.dtype), sc_dtype_name(spec->dtype));
    return true;
}

static bool check_bias(sc_xa *x, const product *p) {
    sc_xa_constant bias;
    if (!p->bias) return true;
    const bool is_constant = is_constant_bias(p, &bias);
    if (adds_after(p)) return (!is_constant || sc_xa_holds_operands(x)) && check_added(x, p);
    if (!is_constant && sc_xa_is_passed(p->bias))
        return sc_xa_refuse(x, "Compute it outside of the branch or loop, or without a bias.",
                            "its addend is an operand of the branch or loop around it, as even "
                            "parameters are there, and XNNPACK adds only constants of the part");
    if (!is_constant)
        return sc_xa_refuse(x, "Add it afterwards.",
                            "its addend is computed when the program runs");
    if (bias.rank != 1 || bias.sizes[0] != p->outputs || !sc_xa_has_numbers(&bias))
        return sc_xa_refuse(x, "Add it afterwards.",
                            "its addend is not one number for each output");
    return p->form != STATIC || sc_xa_quantizes_bias(x, &p->w.params, &p->input_params);
}

static bool read_product(sc_xa *x, const sc_node *node, product *p) {
    const bool is_linear = sc_op_param_index(node->op, "weight") >= 0;
    *p = (product){.is_transposed = !is_linear};
    p->input = sc_xa_tensor(node, is_linear ? "input" : "mat1");
    if (!p->input) p->input = sc_xa_tensor(node, "self");
    p->weight = sc_xa_tensor(node, is_linear ? "weight" : "mat2");
    const bool adds = sc_op_param_index(node->op, "mat1") >= 0;
    p->bias = is_linear ? sc_xa_tensor(node, "bias") : adds ? sc_xa_tensor(node, "self") : NULL;
    if (!is_one(node, "alpha") || !is_one(node, "beta"))
        return sc_xa_refuse(x, "Multiply before.", "its factors alpha and beta are not 1");
    if (p->input->spec.rank < 2)
        return sc_xa_refuse(x, "Add a batch dimension of 1.", "its input has no batch dimension");
    return find_form(x, node, p) && check_bias(x, p);
}

static bool has_dtypes(sc_xa *x, const sc_node *node, const product *p) {
    const uint8_t dtype = p->input->spec.dtype;
    if (dtype != SC_DTYPE_F32 && dtype != SC_DTYPE_F16 && dtype != SC_DTYPE_BF16)
        return sc_xa_refuse(x, "Cast its tensors to float32.",
                            "it computes with %s, and XNNPACK with floats", sc_dtype_name(dtype));
    if (p->weight->spec.dtype != dtype || node->outs[0]->spec.dtype != dtype)
        return sc_xa_refuse(x, "Cast them to one type.", "its tensors differ in type");
    return true;
}

static bool check_gemm(sc_xa *x, const sc_node *node) {
    product p;
    if (!read_product(x, node, &p) || !has_dtypes(x, node, &p)) return false;
    if (x->asked) return p.form == DYNAMIC && p.input == x->asked;
    if (p.form != COMPUTED) sc_xa_join_constant(x, node, p.weight);
    if (p.form == DYNAMIC) {
        sc_xa_join(x, node, p.dynamic.dequantize);
        sc_xa_join(x, node, p.dynamic.quantize);
        sc_xa_join(x, node, p.dynamic.choose);
    }
    if (p.form == STATIC) {
        sc_xa_join(x, node, p.dequantize);
        sc_xa_join(x, node, p.tail.quantize);
        if (p.tail.activation) sc_xa_join(x, node, p.tail.activation);
    }
    return true;
}

// --- Making --------------------------------------------------------------------------------------

static sc_status add_weight(sc_xa_maker *m, const product *p, const double *factors, uint32_t *id) {
    sc_xa_weight weight = {.constant = &p->w,
                           .rank = 2,
                           .inner = (uint64_t)p->inputs,
                           .channels = (uint64_t)p->outputs,
                           .factors = factors,
                           .keeps_dtype = true,
                           .by_channel = p->form != STATIC,
                           .shape = {2, {(uint32_t)p->outputs, (uint32_t)p->inputs}}};
    memcpy(weight.sizes, p->w.sizes, sizeof weight.sizes);
    memcpy(weight.strides, p->w.strides, sizeof weight.strides);
    return sc_xa_add_weight(m, &weight, id);
}

static sc_status add_filter(sc_xa_maker *m, const product *p, uint32_t *filter, uint32_t *bias) {
    double *factors = NULL;
    const bool is_static = p->form == STATIC;
    const bool is_value = p->bias && adds_after(p);
    SC_TRY(sc_xa_add_bias_of(m, is_value ? NULL : p->bias, p->norm, is_static ? &p->w.params : NULL,
                             is_static ? &p->input_params : NULL, &factors, bias));
    if (is_value) SC_TRY(sc_xa_want(m, p->bias, SC_XA_PLAIN, bias));
    if (p->form == COMPUTED) return sc_xa_want(m, p->weight, SC_XA_PLAIN, filter);
    return add_weight(m, p, factors, filter);
}

// If rows were folded together for the product and are unfolded behind it, neither step is needed.
static const sc_value *unfold(const product *p, const sc_value **out) {
    const sc_node *before = p->input->node, *after = sc_xa_only_user(*out);
    if (!sc_xa_is(before, &sc_xa_reshape) || !sc_xa_is(after, &sc_xa_reshape)) return p->input;
    const sc_spec *from = &before->args[0].value->spec, *to = &after->outs[0]->spec;
    const sc_spec *in = &p->input->spec, *result = &(*out)->spec;
    if (from->rank != to->rank || from->rank < 2) return p->input;
    for (uint32_t d = 0; d + 1 < from->rank; d++)
        if (!sc_dim_equal(from->sizes[d], to->sizes[d])) return p->input;
    if (!sc_dim_equal(from->sizes[from->rank - 1], in->sizes[in->rank - 1]) ||
        !sc_dim_equal(to->sizes[to->rank - 1], result->sizes[result->rank - 1]))
        return p->input;
    *out = after->outs[0];
    return before->args[0].value;
}

static sc_xa_reader reader_of(const product *p) {
    if (p->w.params.kind == SC_XNN_PER_GROUP) return SC_XA_READER_GROUPS;
    return sc_xa_is_four_bits(&p->w.params) ? SC_XA_READER_NIBBLES : SC_XA_READER_BYTES;
}

static sc_status want_input(sc_xa_maker *m, product *p, const sc_value **out, uint32_t *id) {
    if (p->form == STATIC) return sc_xa_want(m, p->dequantize->args[0].value, SC_XA_PLAIN, id);
    if (p->form == DYNAMIC) return sc_xa_want_dynamic(m, p->dynamic.source, reader_of(p), id);
    const sc_value *folded = *out, *input = unfold(p, out);
    if (*out != folded) sc_xa_absorb(m, (*out)->node);
    return sc_xa_want(m, input, SC_XA_PLAIN, id);
}

// Adds a value with another one's shape. The shape is copied first, because adding may move the
// values.
static uint32_t between(sc_xa_maker *m, uint32_t like) {
    const sc_xnn_shape shape = m->graph->values.data[like].shape;
    return sc_xa_between(m, like, &shape);
}

static sc_status make_gemm(sc_xa_maker *m, const sc_node *node) {
    product p;
    uint32_t input, filter, bias;
    if (!read_product(&m->x, node, &p))
        return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL,
                       "the product cannot be delegated after all");
    const sc_value *out = node->outs[0];
    if (p.norm) {
        sc_xa_absorb(m, p.norm);
        out = p.norm->outs[0];
    }
    SC_TRY(want_input(m, &p, &out, &input));
    if (p.form != STATIC) {
        sc_xa_tail_of(out, true, &p.tail);
        p.tail.quantize = NULL;
    }
    sc_xa_absorb_tail(m, &p.tail);
    SC_TRY(add_filter(m, &p, &filter, &bias));
    const sc_value *last = p.tail.quantize ? p.tail.quantize->outs[0] : p.tail.out;
    const uint32_t output = sc_xa_define(m, last, SC_XA_PLAIN);
    uint32_t result = output;
    if (last->spec.dtype == SC_DTYPE_BF16) {
        result = between(m, output);
        m->graph->values.data[result].datatype = SC_XNN_FP32;
    }
    const bool two = adds_after(&p);
    if (two) result = between(m, output);
    sc_xnn_node *made = sc_xa_add(m, SC_XNN_FULLY_CONNECTED, input, result);
    made->inputs[1] = filter;
    if (!two) made->inputs[2] = bias;
    if (p.form == COMPUTED && p.is_transposed) made->flags = SC_XNN_TRANSPOSE_WEIGHTS;
    if (two) {
        made = sc_xa_add(m, SC_XNN_ADD, result, output);
        made->inputs[1] = bias;
        result = output;
    }
    sc_xa_set_range(made, &p.tail);
    if (result != output) sc_xa_add(m, SC_XNN_CONVERT, result, output);
    return SC_OK;
}

// --- Batches -------------------------------------------------------------------------------------

static bool check_bmm(sc_xa *x, const sc_node *node) {
    (void)x;
    (void)node;
    return true;
}

static sc_status make_bmm(sc_xa_maker *m, const sc_node *node) {
    uint32_t a, b;
    SC_TRY(sc_xa_want(m, node->args[0].value, SC_XA_PLAIN, &a));
    SC_TRY(sc_xa_want(m, node->args[1].value, SC_XA_PLAIN, &b));
    sc_xa_add(m, SC_XNN_BATCH_MATMUL, a, sc_xa_define(m, node->outs[0], SC_XA_PLAIN))->inputs[1] =
        b;
    return SC_OK;
}

const sc_xa_family sc_xa_gemm = {check_gemm, make_gemm, SC_XA_OWN, false, SC_XA_PLAIN};
const sc_xa_family sc_xa_bmm = {check_bmm, make_bmm, SC_XA_REALS, false, SC_XA_PLAIN};
