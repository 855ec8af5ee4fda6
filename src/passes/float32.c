// Computes in float32 if the option is on: halves become float32, the weights and states of a
// method, its inputs and results, and all values between. Casts between the two then have no
// effect.
//
// Every operator means the same for halves and for float32, but for those that show bytes as
// another dtype, and those that no table knows.
#include "core/widened.h"
#include "passes/passes.h"

static bool is_half(const sc_spec *spec) { return sc_dtype_is_half((sc_dtype)spec->dtype); }

static bool touches_half(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->type == SC_VALUE_TENSOR && is_half(&node->outs[i]->spec)) return true;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (node->args[i].kind == SC_ARG_VALUE && node->args[i].value->type == SC_VALUE_TENSOR &&
            is_half(&node->args[i].value->spec))
            return true;
    return false;
}

// Is the result a view of another dtype?
static bool shows_bytes(const sc_node *node) {
    return sc_op_has(node->op, SC_VIEW) && node->args[0].kind == SC_ARG_VALUE &&
           node->outs[0]->spec.dtype != node->args[0].value->spec.dtype;
}

static sc_status refuse(sc_ctx *ctx, const sc_graph *graph, const sc_node *node) {
    return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Lower the program without the option float32.",
                   "node '%s' of method '%s' calls %s on halves, which means something else for "
                   "float32",
                   node->name->text, graph->method->name->text, node->op->name);
}

static sc_status check_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        if ((shows_bytes(node) || sc_op_has(node->op, SC_FOREIGN | SC_OWN)) && touches_half(node))
            return refuse(ctx, graph, node);
    }
    return SC_OK;
}

static void widen(sc_value *value) {
    if (value->type == SC_VALUE_TENSOR && is_half(&value->spec)) value->spec.dtype = SC_DTYPE_F32;
}

static sc_status widen_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx, (void)user;
    for (uint32_t i = 0; i < graph->inputs.count; i++) widen(graph->inputs.data[i]);
    for (sc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->arg_count; i++) {
            sc_arg *arg = &node->args[i];
            if (arg->kind == SC_ARG_DTYPE && sc_dtype_is_half((sc_dtype)arg->code))
                arg->code = SC_DTYPE_F32;
        }
        for (uint32_t i = 0; i < node->out_count; i++) widen(node->outs[i]);
    }
    return SC_OK;
}

static void widen_constant(sc_ctx *ctx, sc_input_sig *sig) {
    const sc_constant *old = sig->constant;
    if (!old || !is_half(&old->spec)) return;
    sc_constant *constant = sc_new(ctx->arena, sc_constant);
    *constant = *old;
    constant->spec.dtype = SC_DTYPE_F32;
    if (old->data.size > 0)
        constant->data =
            sc_extent_whole(sc_source_widened(ctx->arena, old->data, (sc_dtype)old->spec.dtype));
    sig->constant = constant;
}

sc_status sc_pass_float32(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    if (!env->options || !env->options->float32) return SC_OK;
    SC_TRY(sc_graphs_visit(ctx, method->graph, check_graph, NULL));
    SC_TRY(sc_graphs_visit(ctx, method->graph, widen_graph, NULL));
    for (uint32_t i = 0; i < method->inputs.count; i++)
        widen_constant(ctx, &method->inputs.data[i]);
    return SC_OK;
}
