// The order of PT2E's prepare: batch norms, numbers, patterns, sharing, groups, observers.
#include "quant/plan.h"

#include "passes/passes.h"

// --- Written values ------------------------------------------------------------------------------

// The input that a value shows, through views.
static const sc_value *shown(const sc_imap *roots, const sc_value *value) {
    const uint64_t *root = sc_imap_find(roots, SC_PTR_KEY(value));
    return root ? (const sc_value *)(uintptr_t)*root : value;
}

static void learn_writes_in_place(sc_quant_plan *plan, const sc_method *method) {
    const sc_mark mark = sc_arena_mark(plan->ctx->scratch);
    sc_imap roots;
    sc_imap_init(&roots, plan->ctx->scratch);
    for (const sc_node *node = method->graph->first; node; node = node->next) {
        if (node->arg_count == 0 || node->args[0].kind != SC_ARG_VALUE) continue;
        const sc_value *value = shown(&roots, node->args[0].value);
        for (uint32_t i = 0; i < node->out_count && sc_quant_may_alias(node->op); i++)
            sc_imap_set(&roots, SC_PTR_KEY(node->outs[i]), SC_PTR_KEY(value));
        if (!sc_op_has(node->op, SC_MUTATES) || value->node) continue;
        if (method->inputs.data[value->index].target.size)
            sc_map_set(&plan->written, method->inputs.data[value->index].target, plan);
    }
    sc_arena_rewind(plan->ctx->scratch, mark);
}

// A value that another method writes is state for all methods if buffers are shared.
static void learn_writes(sc_quant_plan *plan) {
    const sc_program *program = plan->method->program;
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        learn_writes_in_place(plan, method);
        for (uint32_t i = 0; i < method->outputs.count; i++)
            if (method->outputs.data[i].target.size)
                sc_map_set(&plan->written, method->outputs.data[i].target, plan);
    }
}

// --- Which groups observe ------------------------------------------------------------------------

bool sc_quant_is_plain_weight(const sc_quant_plan *plan, const quant_group *group) {
    const sc_value *value = plan->probes.data[group->probes.data[0]].value;
    const sc_dtype dtype = (sc_dtype)value->spec.dtype;
    return group->spec.kind == QUANT_WEIGHT && sc_quant_constant(plan, value) &&
           (dtype == SC_DTYPE_F32 || sc_dtype_is_half(dtype));
}

void sc_quant_choose_observers(sc_quant_plan *plan) {
    plan->observers.count = 0;
    for (uint32_t i = 0; i < plan->groups.count; i++) {
        quant_group *group = &plan->groups.data[i];
        group->observer = SC_QUANT_NO;
        if (group->probes.count == 0) continue;
        const sc_spec *spec = &plan->probes.data[group->probes.data[0]].value->spec;
        const bool is_weight = group->spec.kind == QUANT_WEIGHT;
        group->channels =
            group->spec.by_channel ? (uint64_t)spec->sizes[group->spec.axis].value : 1;
        group->is_weight = sc_quant_is_plain_weight(plan, group);
        group->range =
            (sc_quant_range){.is_weight = is_weight, .axis = group->spec.axis, .bits = 8};
        group->range.place_count = group->probes.count;
        group->range.is_dynamic = group->spec.is_dynamic;
        if (group->is_weight || group->range.is_dynamic) continue;
        group->observer = plan->observers.count;
        sc_vec_push(plan->ctx->arena, &plan->observers, i);
    }
}

static void list_users(sc_quant_plan *plan) {
    for (uint32_t i = 0; i < plan->keys.count; i++) {
        const quant_key *key = &plan->keys.data[i];
        if (key->use.user && key->probe != SC_QUANT_NO)
            sc_vec_push(plan->ctx->arena, &plan->probes.data[key->probe].users, key->use.user);
    }
}

// --- All of it -----------------------------------------------------------------------------------

static sc_status check_config(sc_ctx *ctx, const sc_quant_config *config) {
    if ((unsigned)config->mode > SC_QUANT_HALF_WEIGHTS)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "quantization has no mode %u", config->mode);
    if (config->skip_count && !config->skip)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "the list of patterns to skip is missing");
    return SC_OK;
}

static bool computes_gradients(const sc_method *method) {
    for (uint32_t i = 0; i < method->outputs.count; i++)
        if (method->outputs.data[i].kind == SC_OUTPUT_GRADIENT) return true;
    return false;
}

static sc_status check_method(sc_ctx *ctx, const sc_method *method) {
    sc_where_set_method(ctx, method);
    if (computes_gradients(method))
        return sc_fail(ctx, SC_ERR_UNSUPPORTED,
                       "Quantize the module without the loss and with the trained parameters.",
                       "the method computes gradients, and quantized parameters have none");
    if (method->decomposed)
        return sc_fail(ctx, SC_ERR_STATE,
                       "Quantize the program of torch.export, before run_decompositions.",
                       "the program is decomposed, and its layers can no longer be recognised");
    for (const sc_node *node = method->graph->first; node; node = node->next) {
        if (sc_quant_role(node->op) != QUANT_QUANTIZED) continue;
        sc_where_set_node(ctx, node);
        return sc_fail(ctx, SC_ERR_STATE, "Give the program as it was before quantization.",
                       "the program is quantized already");
    }
    return SC_OK;
}

static sc_status begin(sc_quant_plan *plan) {
    sc_arena *arena = plan->ctx->arena;
    sc_imap_init(&plan->note_of, arena);
    sc_imap_init(&plan->input_of, arena);
    sc_imap_init(&plan->why_not, arena);
    sc_imap_init(&plan->left, arena);
    sc_map_init(&plan->remarked, arena);
    sc_imap_init(&plan->row_of, arena);
    sc_imap_init(&plan->absorbed, arena);
    sc_imap_init(&plan->placed, arena);
    sc_map_init(&plan->written, arena);
    sc_map_init(&plan->key_of, arena);
    sc_imap_init(&plan->first_probe, arena);
    sc_quant_learn_names(plan);
    learn_writes(plan);
    SC_TRY(sc_quant_begin_skips(plan));
    return sc_quant_begin_rows(plan);
}

static bool has_places(const sc_quant_plan *plan) {
    for (uint32_t i = 0; i < plan->config_count; i++)
        if (sc_quant_has_places(&plan->configs[i])) return true;
    return false;
}

// Prepares the places to observe. A node of which only weights are quantized stays as it is.
static sc_status prepare_places(sc_quant_plan *plan) {
    SC_TRY(sc_quant_fold_norms(plan));
    sc_quant_numbers_to_constants(plan);
    SC_TRY(sc_quant_order_inputs(plan));
    sc_quant_annotate(plan);
    return SC_OK;
}

static sc_status prepare(sc_quant_plan *plan) {
    plan->has_scales = !has_places(plan);
    if (!plan->has_scales) SC_TRY(prepare_places(plan));
    SC_TRY(sc_quant_prepare_weights(plan));
    sc_quant_form_groups(plan);
    sc_quant_place_probes(plan);
    list_users(plan);
    sc_quant_choose_observers(plan);
    sc_quant_end_rows(plan);
    return SC_OK;
}

sc_status sc_quant_prepare(sc_ctx *ctx, sc_method *method, const sc_quant_config *configs,
                           uint32_t count, sc_quant_plan **out) {
    if (count == 0)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "no quantization is given for the method");
    for (uint32_t i = 0; i < count; i++) SC_TRY(check_config(ctx, &configs[i]));
    SC_TRY(check_method(ctx, method));
    sc_quant_plan *plan = sc_new(ctx->arena, sc_quant_plan);
    *plan =
        (sc_quant_plan){.ctx = ctx, .method = method, .configs = configs, .config_count = count};
    SC_TRY(begin(plan));
    *out = plan;
    return prepare(plan);
}
