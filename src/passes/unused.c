// Removes parameters, buffers and constants that no node reads or writes, and unused tokens and
// script objects. The user's own inputs stay: they are the method's signature.
#include "passes/passes.h"

static bool is_kept(const sc_input_sig *sig, const sc_value *value, const sc_map *written) {
    if (value->use_count > 0 || sig->kind == SC_INPUT_USER || sig->kind == SC_INPUT_CONSTANT)
        return true;
    return sig->target.size > 0 && sc_map_find(written, sig->target) != NULL;
}

// Buffers that outputs write back, and parameters with gradients, are in use although no node may
// read them.
static void collect_written(const sc_method *method, sc_map *written) {
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *sig = &method->outputs.data[i];
        if (sig->kind == SC_OUTPUT_BUFFER_MUTATION || sig->kind == SC_OUTPUT_PARAMETER_MUTATION ||
            sig->kind == SC_OUTPUT_GRADIENT)
            sc_map_set(written, sig->target, (void *)(uintptr_t)1);
    }
}

sc_status sc_pass_unused(sc_ctx *ctx, sc_method *method) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_map written;
    sc_map_init(&written, ctx->scratch);
    collect_written(method, &written);
    sc_graph *graph = method->graph;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        if (!is_kept(&method->inputs.data[i], graph->inputs.data[i], &written)) continue;
        graph->inputs.data[kept] = graph->inputs.data[i];
        graph->inputs.data[kept]->index = kept;
        method->inputs.data[kept++] = method->inputs.data[i];
    }
    graph->inputs.count = method->inputs.count = kept;
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

sc_status sc_pass_sweep(sc_ctx *ctx, sc_method *method) {
    SC_TRY(sc_pass_dce(ctx, method));
    return sc_pass_unused(ctx, method);
}
