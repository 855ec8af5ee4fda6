// Nodes to instructions. A kernel call has the functional arguments that the out form keeps, then
// the results as out arguments, then the return slot: the out again, or the list of all outs. The
// graph has none of these slots; they follow from the operator's row.
#include "emit/emit_state.h"

#include "program_fbs.h"

typedef struct call_args {
    int32_t *ids;
    uint32_t count;
} call_args;

static sc_status emit_inputs(sc_emit_method *m, const sc_node *node, call_args *call) {
    const sc_schema *schema = node->op->schema;
    for (uint32_t i = 0; i < schema->param_count; i++) {
        if (!sc_op_out_keeps(node->op, i)) continue;
        SC_TRY(sc_emit_arg(m, &schema->params[i], &node->args[i], &call->ids[call->count]));
        call->count++;
    }
    return SC_OK;
}

// Such a kernel leaves results alone that its mask does not ask for.
static bool has_output_mask(const sc_op *op) { return sc_op_param_index(op, "output_mask") >= 0; }

static sc_status emit_outputs(sc_emit_method *m, const sc_node *node, call_args *call) {
    int32_t *outs = call->ids + call->count;
    for (uint32_t i = 0; i < node->out_count; i++) {
        const bool is_absent = node->outs[i]->type == SC_VALUE_NONE;
        if (is_absent && !has_output_mask(node->op))
            return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED_OP,
                           "Call it so that it returns all of its results.",
                           "%s cannot be called without some of its results", node->op->name);
        if (is_absent)
            outs[i] = sc_emit_missing(m);
        else
            SC_TRY(sc_emit_value(m, node->outs[i], &outs[i]));
    }
    const uint32_t written = sc_op_written_count(node->op);
    const uint32_t count = node->out_count - sc_min_u32(written, node->out_count);
    if (sc_op_has(node->op, SC_SYMBOLIC) || count == 0) {
        call->count += node->out_count;
        return SC_OK;
    }
    const sc_schema *schema = node->op->schema;
    bool is_list = schema->return_count == 1 && schema->returns[0].is_list;
    if (!is_list && sc_op_out_count(node->op) != count)
        return sc_fail(m->state->ctx, SC_ERR_INTERNAL, NULL,
                       "%s has %u results, but its row says %u", node->op->name, count,
                       sc_op_out_count(node->op));
    int32_t last = outs[0];
    if (is_list || count > 1) last = sc_emit_list(m, SC_PTE_KernelTypes_TensorList, outs, count);
    if (is_list) outs[0] = last;
    call->count += is_list ? 1 : count;
    call->ids[call->count++] = last;
    return SC_OK;
}

static sc_status emit_kernel(sc_emit_method *m, const sc_node *node) {
    sc_ctx *ctx = m->state->ctx;
    if (!node->op->out_name)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED_OP, NULL, "no runtime has a kernel for %s",
                       node->op->name);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    call_args call = {0};
    call.ids = sc_new_array(ctx->scratch, int32_t,
                            (size_t)node->op->schema->param_count + node->out_count + 1);
    sc_status status = emit_inputs(m, node, &call);
    if (status == SC_OK) status = emit_outputs(m, node, &call);
    if (status == SC_OK) status = sc_emit_call(m, node->op, call.ids, call.count, node);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// A view whose shape is known only at run time: points the result at the base's memory.
static sc_status emit_view(sc_emit_method *m, const sc_node *node) {
    int32_t size = sc_op_param_index(node->op, "size");
    if (size < 0)
        return sc_fail(m->state->ctx, SC_ERR_INTERNAL, NULL, "%s cannot be a view at run time",
                       node->op->name);
    int32_t ids[3];
    SC_TRY(sc_emit_value(m, node->args[0].value, &ids[0]));
    SC_TRY(sc_emit_arg(m, &node->op->schema->params[size], &node->args[size], &ids[1]));
    SC_TRY(sc_emit_value(m, node->outs[0], &ids[2]));
    return sc_emit_call(m, sc_op_get(SC_OP_executorch_prim_et_view), ids, 3, node);
}

static bool all_aliases(const sc_emit_method *m, const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (sc_storage_of(m->storage, node->outs[i])->kind != SC_STORAGE_ALIAS) return false;
    return node->out_count > 0;
}

static bool all_known(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (!node->outs[i]->has_dim || !sc_dim_is_int(node->outs[i]->dim)) return false;
    return true;
}

static sc_status emit_node(sc_emit_method *m, const sc_node *node) {
    sc_where_set_node(m->state->ctx, node);
    if (sc_op_has(node->op, SC_ASSERTION)) return SC_OK;
    if (sc_node_part(node)) return sc_emit_delegate(m, node);
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) return sc_emit_control(m, node);
    if (sc_op_has(node->op, SC_SYMBOLIC) && all_known(node)) return SC_OK;
    if (all_aliases(m, node))
        return sc_spec_is_static(&node->outs[0]->spec) ? SC_OK : emit_view(m, node);
    return emit_kernel(m, node);
}

sc_status sc_emit_graph(sc_emit_method *m, const sc_graph *graph) {
    sc_ctx *ctx = m->state->ctx;
    if (++m->depth > ctx->limits.graph_depth_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "control flow is nested deeper than %u",
                       ctx->limits.graph_depth_max);
    for (const sc_node *node = graph->first; node; node = node->next) SC_TRY(emit_node(m, node));
    m->depth--;
    return SC_OK;
}
