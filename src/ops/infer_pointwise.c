// Rules of elementwise ops: sizes broadcast, dtypes promote, layout follows the operands. Ops
// differ only in the dtype that they make of the common one.
#include "ops/rule.h"

typedef struct operands {
    const sc_spec *tensors[RULE_OPERAND_MAX];
    uint32_t count;
    sc_promotion promotion;
} operands;

// Numbers that are operands, as against parameters such as alpha or a slope.
static bool is_operand(const sc_param *param) {
    static const char *const names[] = {"self", "other", "min", "max", "exponent"};
    if (param->type == SC_PARAM_TENSOR) return true;
    for (size_t i = 0; param->type == SC_PARAM_SCALAR && i < SC_COUNT_OF(names); i++)
        if (sc_str_is(param->name, names[i])) return true;
    return false;
}

static void add_operand(operands *ops, const sc_iarg *arg) {
    if (arg->kind == SC_IARG_TENSOR) {
        SC_ASSERT(ops->count < RULE_OPERAND_MAX);
        ops->tensors[ops->count++] = arg->tensor;
        sc_promotion_add_tensor(&ops->promotion, (sc_dtype)arg->tensor->dtype,
                                arg->tensor->rank > 0);
    } else if (arg->kind != SC_IARG_NONE) {
        sc_promotion_add_number(&ops->promotion, sc_rule_category(arg));
    }
}

static operands gather(const sc_infer *in, uint32_t first) {
    operands ops = {.count = 0};
    for (uint32_t i = first; i < in->arg_count; i++)
        if (is_operand(&in->op->schema->params[i])) add_operand(&ops, &in->args[i]);
    return ops;
}

static sc_status common_dtype(const sc_infer *in, const operands *ops, sc_dtype *out) {
    *out = sc_promotion_result(&ops->promotion);
    if (*out != SC_DTYPE_NONE) return SC_OK;
    const char *first = ops->count ? sc_dtype_name((sc_dtype)ops->tensors[0]->dtype) : "?";
    const char *last =
        ops->count ? sc_dtype_name((sc_dtype)ops->tensors[ops->count - 1]->dtype) : "?";
    return sc_rule_fail(in, SC_ERR_DTYPE, "%s and %s have no common dtype", first, last);
}

static sc_status publish(sc_infer *in, const operands *ops, sc_dtype dtype) {
    sc_spec spec = {.dtype = (uint8_t)dtype};
    SC_TRY(sc_rule_broadcast(in, ops->tensors, ops->count, &spec));
    sc_rule_elementwise_strides(in, &spec, ops->tensors, ops->count);
    return sc_rule_publish(in, spec);
}

static sc_dtype float_of(sc_dtype dtype) {
    sc_category category = sc_dtype_category(dtype);
    return category == SC_CATEGORY_BOOL || category == SC_CATEGORY_INT ||
                   category == SC_CATEGORY_UINT
               ? SC_DTYPE_F32
               : dtype;
}

static sc_dtype same_dtype(sc_dtype dtype) { return dtype; }

static sc_dtype truth(sc_dtype dtype) {
    (void)dtype;
    return SC_DTYPE_BOOL;
}

static sc_dtype power_of(sc_dtype dtype) { return dtype == SC_DTYPE_BOOL ? SC_DTYPE_I64 : dtype; }

static sc_status promote_to(sc_infer *in, sc_dtype (*result_of)(sc_dtype common)) {
    operands ops = gather(in, 0);
    sc_dtype dtype;
    SC_TRY(common_dtype(in, &ops, &dtype));
    return publish(in, &ops, result_of(dtype));
}

sc_status sc_infer_promote(sc_infer *in) { return promote_to(in, same_dtype); }

sc_status sc_infer_to_float(sc_infer *in) { return promote_to(in, float_of); }

sc_status sc_infer_compare(sc_infer *in) { return promote_to(in, truth); }

sc_status sc_infer_pow(sc_infer *in) { return promote_to(in, power_of); }

// Bit operations and common divisors, which take integers and booleans.
sc_status sc_infer_whole(sc_infer *in) {
    operands ops = gather(in, 0);
    sc_dtype dtype;
    SC_TRY(common_dtype(in, &ops, &dtype));
    const sc_category category = sc_dtype_category(dtype);
    if (category == SC_CATEGORY_FLOAT || category == SC_CATEGORY_COMPLEX)
        return sc_fail(in->ctx, SC_ERR_DTYPE, "Convert them to whole numbers: x.long().",
                       "%s takes whole numbers, not %s", in->op->name, sc_dtype_name(dtype));
    return publish(in, &ops, dtype);
}

sc_status sc_infer_abs(sc_infer *in) {
    operands ops = gather(in, 0);
    return publish(in, &ops, sc_dtype_to_real((sc_dtype)ops.tensors[0]->dtype));
}

sc_status sc_infer_angle(sc_infer *in) {
    operands ops = gather(in, 0);
    return publish(in, &ops, float_of(sc_dtype_to_real((sc_dtype)ops.tensors[0]->dtype)));
}

sc_status sc_infer_div_mode(sc_infer *in) {
    return sc_rule_is_none(in, "rounding_mode") ? sc_infer_to_float(in) : sc_infer_promote(in);
}

// The condition takes part in sizes and layout, not in the dtype.
sc_status sc_infer_where(sc_infer *in) {
    operands ops = {.count = 0};
    if (in->args[0].kind != SC_IARG_TENSOR)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "the condition of %s must be a tensor",
                            in->op->name);
    const sc_dtype truth = (sc_dtype)in->args[0].tensor->dtype;
    if (truth != SC_DTYPE_BOOL && truth != SC_DTYPE_U8)
        return sc_rule_fail(in, SC_ERR_DTYPE, "the condition of %s is %s, not bool or uint8",
                            in->op->name, sc_dtype_name(truth));
    add_operand(&ops, &in->args[0]);
    operands values = gather(in, 1);
    sc_dtype dtype;
    SC_TRY(common_dtype(in, &values, &dtype));
    for (uint32_t i = 0; i < values.count; i++) ops.tensors[ops.count++] = values.tensors[i];
    return publish(in, &ops, dtype);
}

sc_status sc_infer_masked_fill(sc_infer *in) {
    operands ops = gather(in, 0);
    sc_spec spec = {.dtype = ops.tensors[0]->dtype};
    SC_TRY(sc_rule_broadcast(in, ops.tensors, ops.count, &spec));
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_polar(sc_infer *in) {
    operands ops = gather(in, 0);
    sc_dtype dtype = sc_dtype_to_complex((sc_dtype)ops.tensors[0]->dtype);
    return publish(in, &ops, dtype);
}

sc_status sc_infer_native_dropout(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_iout *outs = sc_infer_outs(in, 2);
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    sc_spec random = sc_rule_like(in, SC_DTYPE_BOOL, self);
    sc_spec mask = sc_rule_like(in, SC_DTYPE_BOOL, self);
    const sc_spec *factors[] = {&mask, self};
    sc_rule_preserve(in, &random, self);
    sc_rule_preserve(in, &mask, &random);
    sc_rule_elementwise_strides(in, &spec, factors, 2);
    sc_rule_set(&outs[0], spec);
    sc_rule_set(&outs[1], mask);
    return SC_OK;
}

// A fresh tensor like the first one.
sc_status sc_infer_preserve(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    return sc_rule_publish_preserved(in, (sc_dtype)self->dtype, self);
}

// Same dtype and sizes, row-major.
sc_status sc_infer_contiguous_like(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    return sc_rule_publish_like(in, (sc_dtype)self->dtype, self);
}
