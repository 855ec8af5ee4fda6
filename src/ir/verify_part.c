#include "base/store.h"
#include "ir/part.h"
#include "ir/verify.h"

static bool same_type(const sc_value *a, const sc_value *b) {
    if (a->type != b->type) return false;
    return a->type != SC_VALUE_TENSOR || sc_spec_equal(&a->spec, &b->spec);
}

// Numbers may be constants on either side of the call.
static bool stands_for(const sc_arg *arg, const sc_value *value) {
    switch (arg->kind) {
    case SC_ARG_VALUE: return same_type(arg->value, value);
    case SC_ARG_INT: return value->type == SC_VALUE_INT;
    case SC_ARG_FLOAT: return value->type == SC_VALUE_FLOAT;
    case SC_ARG_BOOL: return value->type == SC_VALUE_BOOL;
    default: return false;
    }
}

static sc_status check_operands(sc_ctx *ctx, const sc_node *node, const sc_method *method) {
    const sc_arg *operands = &node->args[1];
    uint32_t given = 0;
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_value *input = method->graph->inputs.data[i];
        sc_input_kind kind = method->inputs.data[i].kind;
        if (kind != SC_INPUT_USER && !method->inputs.data[i].constant)
            return SC_FAIL_CHECK(ctx, "parts",
                                 "input %%%s of a part is neither a tensor nor an operand",
                                 input->name->text);
        if (kind != SC_INPUT_USER) continue;
        if (given >= operands->count || !stands_for(&operands->items[given++], input))
            return SC_FAIL_CHECK(ctx, "parts", "%s does not give its part %%%s", node->name->text,
                                 input->name->text);
    }
    if (given != operands->count)
        return SC_FAIL_CHECK(ctx, "parts", "%s gives its part %u operands instead of %u",
                             node->name->text, operands->count, given);
    return SC_OK;
}

// A part may write its own buffers; its caller only sees its results.
static sc_status check_returns(sc_ctx *ctx, const sc_node *node, const sc_method *method) {
    uint32_t taken = 0;
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        sc_output_kind kind = method->outputs.data[i].kind;
        if (kind == SC_OUTPUT_BUFFER_MUTATION) continue;
        if (kind != SC_OUTPUT_USER)
            return SC_FAIL_CHECK(ctx, "parts", "output %u of the part of %s is not for its caller",
                                 i, node->name->text);
        if (taken >= node->out_count ||
            !stands_for(&method->graph->ret->args[i], node->outs[taken++]))
            return SC_FAIL_CHECK(ctx, "parts", "%s does not return output %u of its part",
                                 node->name->text, i);
    }
    if (taken != node->out_count)
        return SC_FAIL_CHECK(ctx, "parts", "%s defines %u values, its part %u", node->name->text,
                             node->out_count, taken);
    return SC_OK;
}

static sc_status check_data(sc_ctx *ctx, const sc_node *node, const sc_part *part) {
    for (uint32_t i = 0; i < part->data.count; i++) {
        const sc_part_data *data = &part->data.data[i];
        const sc_spec *layout = data->layout;
        if (data->align == 0 || data->align > SC_STORE_ALIGN_MAX)
            return SC_FAIL_CHECK(
                ctx, "parts", "'" SC_STR_FMT "' of the part of %s is aligned to %llu",
                SC_STR_ARG(data->key), node->name->text, (unsigned long long)data->align);
        if (layout && (!sc_spec_is_static(layout) || !sc_dim_is(layout->offset, 0) ||
                       !sc_spec_is_dense(part->method->exprs, layout)))
            return SC_FAIL_CHECK(ctx, "parts",
                                 "'" SC_STR_FMT "' of the part of %s is no dense tensor",
                                 SC_STR_ARG(data->key), node->name->text);
    }
    return SC_OK;
}

sc_status sc_verify_call(sc_ctx *ctx, const sc_node *node) {
    const sc_part *part = sc_node_part(node);
    if (part->method->exprs != node->graph->method->exprs)
        return SC_FAIL_CHECK(ctx, "parts", "%s calls a part of another method", node->name->text);
    if (part->method->inputs.count != part->method->graph->inputs.count ||
        part->method->outputs.count != part->method->graph->ret->arg_count)
        return SC_FAIL_CHECK(ctx, "parts", "the part of %s does not match its signature",
                             node->name->text);
    if (!part->backend.size)
        return SC_FAIL_CHECK(ctx, "parts", "the part of %s has no backend", node->name->text);
    SC_TRY(check_data(ctx, node, part));
    SC_TRY(check_operands(ctx, node, part->method));
    return check_returns(ctx, node, part->method);
}
