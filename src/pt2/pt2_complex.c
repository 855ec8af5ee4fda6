// Complex numbers among the arguments of a call. Nothing in the IR is one: they become tensors of
// rank 0, of the complex dtype that the call's tensors promote to, so that they promote nothing
// that the number would not have.
#include "pt2/pt2.h"

enum { COMPLEX_NUMBER = 1 };  // the code of a list of two floats that stand for one

static bool is_number(const sc_json *json, double *out) { return json && sc_json_f64(json, out); }

sc_status sc_pt2_read_complex(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    double re, im;
    if (json->kind != SC_JSON_OBJECT || !is_number(sc_json_get(json, "real"), &re) ||
        !is_number(sc_json_get(json, "imag"), &im))
        return sc_fail(scope->imp->ctx, SC_ERR_FORMAT, NULL, "malformed complex number");
    sc_arg *parts = sc_new_array(scope->imp->ctx->scratch, sc_arg, 2);
    parts[0] = sc_arg_float(re);
    parts[1] = sc_arg_float(im);
    *out = sc_arg_list(parts, 2);
    out->code = COMPLEX_NUMBER;
    return SC_OK;
}

bool sc_pt2_is_complex(const sc_arg *arg) {
    return arg->kind == SC_ARG_LIST && arg->code == COMPLEX_NUMBER;
}

// What the tensors beside it and a complex number promote to: a tensor without dims does not widen
// one that has some. SC_DTYPE_NONE without any.
static sc_dtype common_dtype(const sc_arg *args, uint32_t count) {
    sc_promotion p = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind != SC_ARG_VALUE || args[i].value->type != SC_VALUE_TENSOR) continue;
        const sc_spec *spec = &args[i].value->spec;
        sc_promotion_add_tensor(&p, (sc_dtype)spec->dtype, spec->rank > 0);
    }
    if (!p.has_with_dims && !p.has_zero_dim) return SC_DTYPE_NONE;
    sc_promotion_add_number(&p, SC_CATEGORY_COMPLEX);
    return sc_promotion_result(&p);
}

// Numbers that an operator multiplies one of its tensors by.
static const struct {
    sc_op_id op;
    uint8_t number, tensor;
} factors[] = {{SC_OP_add_Tensor, 2, 1},
               {SC_OP_sub_Tensor, 2, 1},
               {SC_OP_addcmul, 3, 1},
               {SC_OP_addcdiv, 3, 1}};

static int multiplied(const sc_op *op, uint32_t number) {
    for (size_t i = 0; i < SC_COUNT_OF(factors); i++)
        if (factors[i].op == op->id && factors[i].number == number) return factors[i].tensor;
    return -1;
}

bool sc_pt2_may_be_complex(const sc_op *op, uint32_t index) {
    return op->schema->params[index].type == SC_PARAM_TENSOR || multiplied(op, index) >= 0;
}

static sc_status scalar(sc_pt2_scope *scope, double number, sc_dtype dtype, const sc_meta *meta,
                        sc_arg *out) {
    sc_arg args[2] = {sc_arg_float(number), sc_arg_dtype(dtype)};
    sc_node *node;
    SC_TRY(sc_build(scope->graph, NULL, sc_op_get(SC_OP_scalar_tensor), args, 2, meta, &node));
    *out = sc_arg_value(node->outs[0]);
    return SC_OK;
}

// The number as it is, or the tensor that it multiplies, and 1 in its place.
static sc_status put(sc_pt2_scope *scope, const sc_op *op, const sc_meta *meta, sc_arg *args,
                     uint32_t index, sc_value *number) {
    const int tensor = multiplied(op, index);
    sc_node *node;
    args[index] = tensor < 0 ? sc_arg_value(number) : sc_arg_int(1);
    if (tensor < 0) return SC_OK;
    sc_arg operands[2] = {args[tensor], sc_arg_value(number)};
    SC_TRY(sc_build(scope->graph, NULL, sc_op_get(SC_OP_mul_Tensor), operands, 2, meta, &node));
    args[tensor] = sc_arg_value(node->outs[0]);
    return SC_OK;
}

sc_status sc_pt2_place_complex(sc_pt2_scope *scope, const sc_op *op, const sc_meta *meta,
                               sc_arg *args, uint32_t count) {
    const sc_dtype common = common_dtype(args, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!sc_pt2_is_complex(&args[i])) continue;
        if (common == SC_DTYPE_NONE)
            return sc_fail(scope->imp->ctx, SC_ERR_UNSUPPORTED,
                           "Make it of two real tensors with torch.complex().",
                           "a complex number beside no tensor is not supported");
        const sc_dtype part = sc_dtype_to_real(sc_dtype_to_complex(common));
        sc_arg parts[2];
        sc_node *node;
        SC_TRY(scalar(scope, args[i].items[0].f, part, meta, &parts[0]));
        SC_TRY(scalar(scope, args[i].items[1].f, part, meta, &parts[1]));
        SC_TRY(sc_build(scope->graph, NULL, sc_op_get(SC_OP_complex), parts, 2, meta, &node));
        SC_TRY(put(scope, op, meta, args, i, node->outs[0]));
    }
    return SC_OK;
}
