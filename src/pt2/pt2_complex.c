// Complex numbers among the arguments of a call. The IR has no complex number, so they become
// tensors of rank 0. Their dtype is the complex one that the call's tensors promote to. So they
// promote no more than the number would.
#include "pt2/pt2.h"

enum { COMPLEX_NUMBER = 1 };  // the code of a list of two floats that represents one

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

// The dtype that a complex number and the tensors of its call promote to: a tensor without dims
// does not widen one with dims. SC_DTYPE_NONE if there are no tensors.
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

static sc_status as_tensor(sc_pt2_scope *scope, const sc_arg *number, sc_dtype dtype,
                           const sc_meta *meta, sc_value **out) {
    const sc_dtype part = sc_dtype_to_real(dtype);
    sc_arg parts[2];
    sc_node *node;
    SC_TRY(scalar(scope, number->items[0].f, part, meta, &parts[0]));
    SC_TRY(scalar(scope, number->items[1].f, part, meta, &parts[1]));
    SC_TRY(sc_build(scope->graph, NULL, sc_op_get(SC_OP_complex), parts, 2, meta, &node));
    *out = node->outs[0];
    return SC_OK;
}

// Places the number as it is, or the tensor that it multiplies, with 1 in its place.
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
                           "a complex number without a tensor is not supported");
        sc_value *number;
        SC_TRY(as_tensor(scope, &args[i], sc_dtype_to_complex(common), meta, &number));
        SC_TRY(put(scope, op, meta, args, i, number));
    }
    return SC_OK;
}

// --- Filling -------------------------------------------------------------------------------------

// The positions of the arguments of full and full_like; those of new_full are one later.
enum { FILL_VALUE = 1, FILL_DTYPE = 2 };

static sc_dtype dtype_of(const sc_arg *arg) {
    const bool is_tensor = arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_TENSOR;
    return is_tensor ? (sc_dtype)arg->value->spec.dtype : SC_DTYPE_NONE;
}

static int fill_index(const sc_op *op) {
    return op->id == SC_OP_full || op->id == SC_OP_full_like ? FILL_VALUE
           : op->id == SC_OP_new_full                        ? FILL_VALUE + 1
                                                             : -1;
}

bool sc_pt2_fills(const sc_op *op) { return fill_index(op) >= 0; }

sc_status sc_pt2_fill_complex(sc_pt2_scope *scope, const sc_op **op, const sc_meta *meta,
                              sc_arg *args, uint32_t *count) {
    const bool is_new = (*op)->id == SC_OP_new_full;
    const sc_op *full = is_new ? sc_op_get(SC_OP_full) : *op;
    sc_arg zeros[8];
    sc_node *node;
    sc_value *number;
    if (!sc_pt2_is_complex(&args[fill_index(*op)]) || *count > SC_COUNT_OF(zeros))
        return sc_fail(scope->imp->ctx, SC_ERR_FORMAT, NULL, "malformed complex number");
    memcpy(zeros, args + is_new, (*count - is_new) * sizeof *zeros);
    zeros[FILL_VALUE] = sc_arg_int(0);
    if (full->id == SC_OP_full && zeros[FILL_DTYPE].kind == SC_ARG_NONE)
        zeros[FILL_DTYPE] = sc_arg_dtype(is_new ? dtype_of(&args[0]) : SC_DTYPE_C64);
    SC_TRY(sc_build(scope->graph, NULL, full, zeros, *count - is_new, meta, &node));
    const sc_dtype dtype = (sc_dtype)node->outs[0]->spec.dtype;
    if (!sc_dtype_is_complex(dtype))
        return sc_fail(scope->imp->ctx, SC_ERR_DTYPE, "Give it a complex dtype, too.",
                       "%s cannot be filled with a complex number", sc_dtype_name(dtype));
    SC_TRY(as_tensor(scope, &args[fill_index(*op)], dtype, meta, &number));
    args[0] = sc_arg_value(node->outs[0]);
    args[1] = sc_arg_value(number);
    *op = sc_op_get(SC_OP_fill_Tensor);
    *count = 2;
    return SC_OK;
}
