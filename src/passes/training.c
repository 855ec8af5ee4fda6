// Parameters that a method computes gradients of are state: an optimizer writes them between runs.
// They become further outputs, in the order of the gradients, so that an optimizer finds both by
// the same names. Methods that share state read the parameters that one of them trains.
#include "passes/passes.h"

// Names of parameters that have a gradient -> their input, or NULL where that is not wanted.
static sc_status collect_gradients(sc_ctx *ctx, const sc_method *method, sc_map *trained) {
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *sig = &method->outputs.data[i];
        if (sig->kind == SC_OUTPUT_GRADIENT && !sc_map_add(trained, sig->target, NULL))
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "method '%s' has two gradients of parameter '" SC_STR_FMT "'",
                           method->name->text, SC_STR_ARG(sig->target));
    }
    return SC_OK;
}

static void mark_inputs(sc_method *method, sc_map *trained) {
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        sc_input_sig *sig = &method->inputs.data[i];
        void **input = sig->kind == SC_INPUT_PARAMETER ? sc_map_find(trained, sig->target) : NULL;
        if (!input) continue;
        sig->is_trained = true;
        *input = method->graph->inputs.data[i];
    }
}

static sc_status return_parameters(sc_ctx *ctx, sc_method *method, const sc_map *trained) {
    const sc_node *ret = method->graph->ret;
    const uint32_t count = method->outputs.count;
    SC_VEC(sc_arg) args = {0};
    for (uint32_t i = 0; i < count; i++) sc_vec_push(ctx->scratch, &args, ret->args[i]);
    for (uint32_t i = 0; i < count; i++) {
        const sc_output_sig sig = method->outputs.data[i];
        if (sig.kind != SC_OUTPUT_GRADIENT) continue;
        sc_value *parameter = sc_map_get(trained, sig.target);
        if (!parameter)
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "method '%s' has a gradient of '" SC_STR_FMT
                           "', which is not one of its parameters",
                           method->name->text, SC_STR_ARG(sig.target));
        sc_vec_push(ctx->scratch, &args, sc_arg_value(parameter));
        sc_vec_push(ctx->arena, &method->outputs,
                    (sc_output_sig){.kind = SC_OUTPUT_TRAINED, .target = sig.target});
    }
    if (args.count > count) sc_graph_set_outputs(method->graph, args.data, args.count);
    return SC_OK;
}

static sc_status train(sc_ctx *ctx, sc_method *method, bool shares_state) {
    sc_map own;
    sc_map_init(&own, ctx->scratch);
    SC_TRY(collect_gradients(ctx, method, &own));
    mark_inputs(method, &own);
    SC_TRY(return_parameters(ctx, method, &own));
    for (uint32_t m = 0; shares_state && m < method->program->methods.count; m++) {
        sc_map others;
        sc_map_init(&others, ctx->scratch);
        SC_TRY(collect_gradients(ctx, method->program->methods.data[m], &others));
        mark_inputs(method, &others);
    }
    return SC_OK;
}

sc_status sc_pass_training(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const bool shares_state = env->options && env->options->share_mutable_buffers;
    const sc_status status = train(ctx, method, shares_state);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
