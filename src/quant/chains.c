// Constants that the program computes: tables that are looked up, weights that are transposed,
// numbers that are lifted. What is quantized of them is computed now, in a small program of its own
// that the evaluator runs; PT2E folds the same.
#include "passes/passes.h"
#include "quant/plan.h"

enum { HELD_BYTES_MAX = 64 << 20 };

typedef struct chains {
    sc_quant_plan *plan;
    sc_imap constant;  // node -> 1 when it computes with nothing but constants
    sc_imap needed;    // nodes of the small program
    SC_VEC(sc_value *) wanted;
    uint64_t held;
    sc_arena arena, scratch;
    sc_ctx inner;
    sc_imap twins;
} chains;

// --- What is constant ----------------------------------------------------------------------------

typedef struct operands {
    const chains *c;
    const sc_node *node;
    uint32_t count;
} operands;

static bool is_known(void *user, sc_arg *arg) {
    operands *o = user;
    const sc_quant_plan *plan = o->c->plan;
    const quant_key *key = sc_quant_key(plan, arg->value, arg->user);
    o->count++;
    if ((key && key->probe != SC_QUANT_NO) ||
        sc_quant_output_probe(plan, arg->value) != SC_QUANT_NO)
        return false;
    return arg->value->node ? sc_imap_find(&o->c->constant, SC_PTR_KEY(arg->value->node)) != NULL
                            : sc_quant_is_constant(plan, arg->value);
}

static bool is_constant(chains *c, const sc_node *node) {
    const sc_op_traits never = SC_MUTATES | SC_RANDOM | SC_DATA_DEPENDENT | SC_SYMBOLIC |
                               SC_HIGHER_ORDER | SC_ASSERTION | SC_FOREIGN;
    operands o = {.c = c, .node = node};
    if (sc_op_has(node->op, never)) return false;
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->type != SC_VALUE_TENSOR || !sc_spec_is_static(&node->outs[i]->spec))
            return false;
    return sc_node_visit_values(node, is_known, &o) && o.count > 0;
}

static void find_constants(chains *c) {
    for (const sc_node *node = c->plan->method->graph->first; node; node = node->next)
        if (is_constant(c, node)) sc_imap_set(&c->constant, SC_PTR_KEY(node), 1);
}

// --- What is wanted ------------------------------------------------------------------------------

static bool hold(chains *c, const sc_value *value) {
    uint64_t bytes = 0;
    if (!sc_spec_bytes_max(&value->spec, &bytes) || bytes > HELD_BYTES_MAX - c->held) return false;
    c->held += bytes;
    return true;
}

static void want(chains *c, const quant_probe *probe) {
    sc_value *value = probe->value;
    if (probe->after != SC_QUANT_NO || probe->is_output || !value->node ||
        c->plan->groups.data[probe->group].range.is_dynamic ||
        !sc_imap_find(&c->constant, SC_PTR_KEY(value->node)) || !hold(c, value))
        return;
    sc_vec_push(c->plan->ctx->scratch, &c->wanted, value);
    sc_imap_set(&c->needed, SC_PTR_KEY(value->node), 1);
}

static bool need(void *user, sc_arg *arg) {
    chains *c = user;
    if (arg->value->node) sc_imap_set(&c->needed, SC_PTR_KEY(arg->value->node), 1);
    return true;
}

static bool need_operands(chains *c) {
    for (const sc_node *node = c->plan->method->graph->last; node; node = node->prev) {
        if (!sc_imap_find(&c->needed, SC_PTR_KEY(node))) continue;
        for (uint32_t i = 0; i < node->out_count; i++)
            if (!hold(c, node->outs[i])) return false;
        (void)sc_node_visit_values(node, need, c);
    }
    return true;
}

// --- The small program ---------------------------------------------------------------------------

static sc_value *twin_of(chains *c, sc_method *method, const sc_value *value) {
    const uint64_t *known = sc_imap_find(&c->twins, SC_PTR_KEY(value));
    if (known) return (sc_value *)(uintptr_t)*known;
    sc_value *twin = sc_graph_add_input(method->graph, sc_name_str(value->name), SC_VALUE_TENSOR);
    twin->spec = value->spec;
    sc_vec_push(c->inner.arena, &method->inputs, c->plan->method->inputs.data[value->index]);
    sc_imap_set(&c->twins, SC_PTR_KEY(value), SC_PTR_KEY(twin));
    return twin;
}

// Of nodes that are not of higher order, a list in an argument holds no list.
static sc_arg twin_arg(chains *c, sc_method *method, const sc_arg *arg) {
    if (arg->kind == SC_ARG_VALUE) return sc_arg_value(twin_of(c, method, arg->value));
    if (arg->kind != SC_ARG_LIST || arg->count == 0) return *arg;
    sc_arg *items = sc_new_array(c->inner.scratch, sc_arg, arg->count);
    for (uint32_t i = 0; i < arg->count; i++) items[i] = twin_arg(c, method, &arg->items[i]);
    return sc_arg_list(items, arg->count);
}

static void add_twin(chains *c, sc_method *method, const sc_node *node) {
    sc_arg *args = sc_new_array(c->inner.scratch, sc_arg, (size_t)node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = twin_arg(c, method, &node->args[i]);
    sc_node *twin = sc_node_new(method->graph, node->op, args, node->arg_count, node->out_count,
                                node->name->text);
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_value *out = twin->outs[i];
        if (node->out_count > 1)
            out->name = sc_graph_unique_name(method->graph, sc_name_str(node->outs[i]->name));
        out->type = SC_VALUE_TENSOR;
        out->spec = node->outs[i]->spec;
        sc_imap_set(&c->twins, SC_PTR_KEY(node->outs[i]), SC_PTR_KEY(out));
    }
    sc_graph_append(method->graph, twin);
}

static sc_status build(chains *c, sc_program **out) {
    sc_method *method = NULL;
    *out = sc_program_new(&c->inner);
    SC_TRY(sc_program_add_method(*out, SC_STR("forward"), &method));
    method->facts = SC_FACT_SPECS;
    sc_imap_init(&c->twins, c->inner.arena);
    for (const sc_node *node = c->plan->method->graph->first; node; node = node->next)
        if (sc_imap_find(&c->needed, SC_PTR_KEY(node))) add_twin(c, method, node);
    sc_arg *outputs = sc_new_array(c->inner.scratch, sc_arg, c->wanted.count);
    for (uint32_t i = 0; i < c->wanted.count; i++) {
        sc_node *plain;
        const sc_arg args[] = {sc_arg_value(twin_of(c, method, c->wanted.data[i])),
                               sc_arg_format(SC_MEMORY_FORMAT_CONTIGUOUS)};
        SC_TRY(sc_build(method->graph, NULL, sc_op_get(SC_OP_clone), args, 2, NULL, &plain));
        outputs[i] = sc_arg_value(plain->outs[0]);
        sc_vec_push(c->inner.arena, &method->outputs, (sc_output_sig){.kind = SC_OUTPUT_USER});
    }
    sc_graph_set_outputs(method->graph, outputs, c->wanted.count);
    return SC_OK;
}

static sc_status evaluate(chains *c, const sc_evaluator *evaluator, sc_extent *data) {
    sc_program *program = NULL;
    sc_pipeline pipeline = {0};
    SC_TRY(build(c, &program));
    SC_TRY(sc_pipeline_run(&c->inner, &pipeline, program, SC_STEP_decompose));
    SC_TRY(sc_pipeline_run(&c->inner, &pipeline, program, SC_STEP_to_edge));
    return evaluator->run(evaluator->user, program, c->plan->ctx->arena, data);
}

// --- What comes of it ----------------------------------------------------------------------------

static void keep(chains *c, const sc_extent *data) {
    for (uint32_t i = 0; i < c->wanted.count; i++) {
        const sc_value *value = c->wanted.data[i];
        sc_constant *constant = sc_new(c->plan->ctx->arena, sc_constant);
        *constant =
            (sc_constant){.name = sc_name_str(value->name), .spec = value->spec, .data = data[i]};
        constant->spec.strides = sc_new_array(c->plan->ctx->arena, sc_dim, SC_RANK_MAX);
        sc_spec_set_contiguous(c->plan->method->exprs, &constant->spec);
        sc_imap_set(&c->plan->computed, SC_PTR_KEY(value), SC_PTR_KEY(constant));
    }
}

// What cannot be computed here is quantized when the program runs, and fails there or does not.
static sc_status settle(const chains *c, sc_status status) {
    if (status != SC_ERR_CANCELLED && status != SC_ERR_IO && status != SC_ERR_TRUNCATED &&
        status != SC_ERR_INTERNAL)
        return SC_OK;
    const sc_diag *diag = c->inner.diags.count ? &sc_vec_last(&c->inner.diags) : NULL;
    return sc_fail(c->plan->ctx, status, NULL, "constants cannot be computed: " SC_STR_FMT,
                   SC_STR_ARG(diag ? diag->message : (sc_str){0}));
}

static sc_status compute(chains *c, const sc_evaluator *evaluator) {
    sc_extent *data = sc_new_array(c->plan->ctx->scratch, sc_extent, c->wanted.count);
    sc_arena_init(&c->arena);
    sc_arena_init(&c->scratch);
    sc_ctx_init(&c->inner, &c->arena, &c->scratch);
    c->inner.limits = c->plan->ctx->limits;
    sc_status status = evaluate(c, evaluator, data);
    if (status == SC_OK)
        keep(c, data);
    else
        status = settle(c, status);
    sc_arena_deinit(&c->scratch);
    sc_arena_deinit(&c->arena);
    return status;
}

sc_status sc_quant_compute_constants(sc_quant_plan *plan, const sc_evaluator *evaluator) {
    chains c = {.plan = plan};
    sc_imap_init(&c.constant, plan->ctx->scratch);
    sc_imap_init(&c.needed, plan->ctx->scratch);
    sc_imap_init(&plan->computed, plan->ctx->arena);
    if (!evaluator) return SC_OK;
    find_constants(&c);
    for (uint32_t i = 0; i < plan->probes.count; i++) want(&c, &plan->probes.data[i]);
    if (c.wanted.count == 0 || !need_operands(&c)) return SC_OK;
    return compute(&c, evaluator);
}
