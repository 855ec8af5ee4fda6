// Warns of dtypes that the official runtime's kernels do not take: float8, and unsigned integers of
// more than 8 bits. Only kernels that move bytes take them there; any other call fails when it
// runs.
#include "passes/passes.h"

static bool is_rare(const sc_value *value) {
    if (value->type != SC_VALUE_TENSOR) return false;
    const sc_category category = sc_dtype_category((sc_dtype)value->spec.dtype);
    return (category == SC_CATEGORY_FLOAT8 || category == SC_CATEGORY_UINT) &&
           !sc_spec_is_empty(&value->spec);
}

// Most programs have no such value, and then no call has to be checked.
static bool has_rare(const sc_graph *graph) {
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        if (is_rare(graph->inputs.data[i])) return true;
    for (const sc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->out_count; i++)
            if (is_rare(node->outs[i])) return true;
    return false;
}

static bool find_rare(void *user, sc_arg *arg) {
    const sc_value **found = user;
    if (!*found && is_rare(arg->value)) *found = arg->value;
    return true;
}

// The first operand or result of such a dtype.
static const sc_value *rare_value(sc_node *node) {
    const sc_value *found = NULL;
    sc_node_visit_values(node, find_rare, &found);
    for (uint32_t i = 0; !found && i < node->out_count; i++)
        if (is_rare(node->outs[i])) found = node->outs[i];
    return found;
}

static void warn(sc_ctx *ctx, const sc_node *node, sc_dtype dtype) {
    const bool is_float = sc_dtype_category(dtype) == SC_CATEGORY_FLOAT8;
    sc_where_set_node(ctx, node);
    sc_report(ctx, SC_WARNING, SC_ERR_DTYPE,
              is_float
                  ? "Run it with Sconce. For apps, use float16, bfloat16 or quantized integers."
                  : "Run it with Sconce. For apps, use int32 or int64.",
              "the official runtime has no kernel of %s that takes %s", node->op->name,
              sc_dtype_name(dtype));
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    if (!has_rare(graph)) return SC_OK;
    for (sc_node *node = graph->first; node; node = node->next) {
        const sc_op *op = node->op;
        if (sc_op_has(op, SC_HIGHER_ORDER | SC_UNOFFICIAL | SC_MOVES_BYTES)) continue;
        const sc_value *value = rare_value(node);
        if (value) warn(ctx, node, (sc_dtype)value->spec.dtype);
    }
    return SC_OK;
}

sc_status sc_pass_official_dtypes(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    if (!sc_options_are_official(env->options)) return SC_OK;
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
