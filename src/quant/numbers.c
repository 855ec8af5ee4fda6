// Numbers in sums and products with float32 tensors become constants, which are observed and
// quantized like tensors. PT2E does so for tensors of integers, too, which makes them floats, so
// that indices could not index any more.
#include "quant/plan.h"

static bool is_number(const sc_arg *arg, double *out) {
    switch (arg->kind) {
    case SC_ARG_INT: *out = (double)arg->i; return true;
    case SC_ARG_FLOAT: *out = arg->f; return true;
    case SC_ARG_BOOL: *out = arg->b; return true;
    default: return false;
    }
}

static bool is_f32(const sc_arg *arg) {
    return arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_TENSOR &&
           arg->value->spec.dtype == SC_DTYPE_F32;
}

static void convert(sc_quant_plan *plan, sc_node *node, sc_arg *arg, double number) {
    sc_arena *arena = plan->ctx->arena;
    float *bytes = sc_new(arena, float);
    *bytes = (float)number;
    sc_spec spec = sc_spec_new(arena, SC_DTYPE_F32, 0);
    sc_extent data = sc_extent_whole(sc_source_from_memory(arena, bytes, sizeof(*bytes)));
    sc_value *value = sc_quant_add_constant(
        plan, SC_INPUT_BUFFER, sc_quant_free_name(plan, "_tensor_constant_"), spec, data);
    sc_arg_set(arg, sc_arg_value(value));
    sc_imap_set(&plan->placed, SC_PTR_KEY(value), SC_PTR_KEY(node));
}

void sc_quant_numbers_to_constants(sc_quant_plan *plan) {
    for (sc_node *node = plan->method->graph->first; node; node = node->next) {
        const quant_role role = sc_quant_role(node->op);
        if ((role != QUANT_ADD && role != QUANT_MUL) || sc_op_has(node->op, SC_INPLACE)) continue;
        for (uint32_t i = 0; i < 2; i++) {
            double number = 0;
            if (is_number(&node->args[i], &number) && is_f32(&node->args[1 - i]))
                convert(plan, node, &node->args[i], number);
        }
    }
}
