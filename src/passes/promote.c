// Inserts casts for operands of mixed dtype, so that the six arithmetic operators that the edge
// dialect wants uniform see one dtype. All others promote inside their kernels.
//
// In half precision, a factor or divisor without dims is float32: PyTorch computes with it
// unrounded, and so do the kernels. PyTorch rounds all other operands to the dtype first. Kernels
// that promote internally do not round, so these operands get casts, too.
#include "passes/promote.h"

static sc_category number_category(const sc_arg *arg) {
    if (arg->kind == SC_ARG_FLOAT) return SC_CATEGORY_FLOAT;
    return arg->kind == SC_ARG_BOOL ? SC_CATEGORY_BOOL : SC_CATEGORY_INT;
}

static void add_operand(sc_promotion *promotion, const sc_arg *arg) {
    if (arg->kind == SC_ARG_LIST) {
        for (uint32_t i = 0; i < arg->count; i++) add_operand(promotion, &arg->items[i]);
    } else if (arg->kind != SC_ARG_VALUE) {
        if (sc_arg_is_number(arg)) sc_promotion_add_number(promotion, number_category(arg));
    } else if (arg->value->type == SC_VALUE_TENSOR) {
        sc_promotion_add_tensor(promotion, (sc_dtype)arg->value->spec.dtype,
                                arg->value->spec.rank > 0);
    } else if (arg->value->type == SC_VALUE_FLOAT) {
        sc_promotion_add_number(promotion, SC_CATEGORY_FLOAT);
    } else {
        bool is_bool = arg->value->type == SC_VALUE_BOOL;
        sc_promotion_add_number(promotion, is_bool ? SC_CATEGORY_BOOL : SC_CATEGORY_INT);
    }
}

static bool makes_float(const sc_node *node) {
    if (node->op->id == SC_OP_div_Tensor) return true;
    return node->op->id == SC_OP_div_Tensor_mode &&
           sc_node_arg(node, "rounding_mode")->kind == SC_ARG_NONE;
}

static bool takes_part(const sc_node *node, uint32_t i) {
    return node->op->schema->params[i].type == SC_PARAM_TENSOR &&
           !(i == 0 && sc_op_has(node->op, SC_CHOOSES));
}

sc_dtype sc_node_operand_dtype(const sc_node *node) {
    sc_promotion promotion = {0};
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (takes_part(node, i)) add_operand(&promotion, &node->args[i]);
    sc_dtype dtype = sc_promotion_result(&promotion);
    if (makes_float(node) && sc_dtype_is_integral(dtype, true)) dtype = SC_DTYPE_F32;
    return dtype;
}

static bool is_rank_zero(void *user, sc_arg *arg) {
    (void)user;
    return arg->value->type != SC_VALUE_TENSOR || arg->value->spec.rank == 0;
}

// If no operand has dims, a float32 number would make the result float32.
sc_dtype sc_node_number_dtype(const sc_node *node, const sc_arg *arg, sc_dtype common) {
    const bool is_exact = sc_dtype_is_half(common) && sc_op_has(node->op, SC_SCALES) &&
                          arg == &node->args[1] && !sc_node_visit_values(node, is_rank_zero, NULL);
    return is_exact ? SC_DTYPE_F32 : common;
}

static sc_dtype dtype_of_operand(const sc_node *node, const sc_arg *arg, sc_dtype common) {
    const sc_spec *spec = &arg->value->spec;
    const bool is_number = spec->rank == 0 && spec->dtype != common;
    return is_number ? sc_node_number_dtype(node, arg, common) : common;
}

// `shared` is the cast of the previous operand: both may be the same tensor.
static sc_status cast(sc_ctx *ctx, sc_node *node, sc_arg *arg, sc_dtype dtype, sc_node **shared) {
    if (arg->kind != SC_ARG_VALUE || arg->value->type != SC_VALUE_TENSOR) return SC_OK;
    dtype = dtype_of_operand(node, arg, dtype);
    if (arg->value->spec.dtype == dtype) return SC_OK;
    sc_where_set_node(ctx, node);
    sc_arg args[2] = {*arg, sc_arg_dtype(dtype)};
    if (!*shared || (*shared)->args[0].value != arg->value)
        SC_TRY(
            sc_build(node->graph, node, sc_op_get(SC_OP__to_copy), args, 2, &node->meta, shared));
    sc_arg_set(arg, sc_arg_value((*shared)->outs[0]));
    return SC_OK;
}

// Truth values need no rounding.
static bool is_cast(const sc_node *node, uint32_t i) {
    const sc_arg *arg = &node->args[i];
    if (!takes_part(node, i)) return false;
    return sc_op_has(node->op, SC_UNIFORM) ||
           (arg->kind == SC_ARG_VALUE && arg->value->spec.dtype != SC_DTYPE_BOOL);
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (sc_node *node = graph->first; node; node = node->next) {
        if (!sc_op_has(node->op, SC_UNIFORM) && !sc_op_has(node->op, SC_POINTWISE)) continue;
        sc_dtype dtype = sc_node_operand_dtype(node);
        const bool matters = sc_op_has(node->op, SC_UNIFORM) || sc_dtype_is_half(dtype);
        if (dtype == SC_DTYPE_NONE || !matters) continue;
        sc_node *shared = NULL;
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (is_cast(node, i)) SC_TRY(cast(ctx, node, &node->args[i], dtype, &shared));
    }
    return SC_OK;
}

sc_status sc_pass_promote(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
