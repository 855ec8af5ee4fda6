// Constants that the program computes: tables that are looked up, weights that are transposed,
// numbers that are lifted. If they are to be quantized, they are computed now, in a small program
// of their own that the evaluator runs. PT2E folds the same constants.
#include "passes/apart.h"
#include "passes/passes.h"
#include "quant/plan.h"

// Limits: the bytes of all computed constants, and the operands that a search visits.
enum { HELD_BYTES_MAX = 64 << 20, WALK_MAX = 1 << 22 };

typedef struct chains {
    sc_quant_plan *plan;
    sc_imap constant;  // node -> 1 if all its operands are constants
    sc_imap needed;    // nodes of the small program -> 1
    sc_imap asked;     // values that were visited
    SC_VEC(sc_value *) wanted;
    SC_VEC(const sc_node *) chain;  // operands of a value that have not been added yet
    uint64_t held;
    uint32_t walked;
} chains;

// --- Constant nodes ------------------------------------------------------------------------------

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
                               SC_HIGHER_ORDER | SC_ASSERTION | SC_FOREIGN | SC_OWN;
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

// --- Wanted values -------------------------------------------------------------------------------

static bool hold(uint64_t *held, const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++) {
        uint64_t bytes = 0;
        if (!sc_spec_bytes_max(&node->outs[i]->spec, &bytes) || bytes > HELD_BYTES_MAX - *held)
            return false;
        *held += bytes;
    }
    return true;
}

static void need(chains *c, const sc_node *node) {
    uint64_t *is_needed = sc_imap_at(&c->needed, SC_PTR_KEY(node));
    if (!*is_needed) sc_vec_push(c->plan->ctx->scratch, &c->chain, node);
    *is_needed = 1;
}

static bool need_operand(void *user, sc_arg *arg) {
    chains *c = user;
    if (arg->value->node) need(c, arg->value->node);
    return ++c->walked < WALK_MAX;
}

static bool is_needed(const chains *c, const sc_node *node) {
    const uint64_t *found = sc_imap_find(&c->needed, SC_PTR_KEY(node));
    return found && *found;
}

// Lists all that the node depends on; empty if that exceeds the limit.
static bool need_chain(chains *c, const sc_node *node) {
    uint64_t held = c->held;
    c->chain.count = 0;
    need(c, node);
    for (uint32_t i = 0; i < c->chain.count; i++) {
        const sc_node *next = c->chain.data[i];
        if (hold(&held, next) && sc_node_visit_values(next, need_operand, c)) continue;
        for (uint32_t k = 0; k < c->chain.count; k++)
            sc_imap_set(&c->needed, SC_PTR_KEY(c->chain.data[k]), 0);
        return false;
    }
    c->held = held;
    return true;
}

static void want(chains *c, const quant_probe *probe) {
    sc_value *value = probe->value;
    if (probe->after != SC_QUANT_NO || probe->is_output || !value->node ||
        c->plan->groups.data[probe->group].range.is_dynamic ||
        !sc_imap_find(&c->constant, SC_PTR_KEY(value->node)) ||
        !sc_imap_add(&c->asked, SC_PTR_KEY(value), 1))
        return;
    if (need_chain(c, value->node))
        sc_vec_push(c->plan->ctx->scratch, &c->wanted, value);
    else
        sc_quant_remark(c->plan,
                        "'%s' is computed from constants that are too large to compute in advance, "
                        "so every run computes and quantizes it",
                        value->name->text);
}

// --- The small program ---------------------------------------------------------------------------

// The constant's bytes, dense and row-major, whatever its strides are.
static sc_status want_plain(sc_apart *apart, const sc_value *value) {
    sc_node *plain;
    const sc_arg args[] = {sc_arg_value(sc_apart_value(apart, value)),
                           sc_arg_format(SC_MEMORY_FORMAT_CONTIGUOUS)};
    SC_TRY(sc_build(apart->method->graph, NULL, sc_op_get(SC_OP_clone), args, 2, NULL, &plain));
    sc_apart_return(apart, plain->outs[0]);
    return SC_OK;
}

static sc_status evaluate(const chains *c, sc_apart *apart, const sc_evaluator *evaluator,
                          sc_extent *data) {
    sc_pipeline pipeline = {0};
    SC_TRY(sc_apart_begin(apart, c->plan->method, SC_FACT_SPECS));
    for (const sc_node *node = c->plan->method->graph->first; node; node = node->next)
        if (is_needed(c, node)) sc_apart_add(apart, node);
    for (uint32_t i = 0; i < c->wanted.count; i++) SC_TRY(want_plain(apart, c->wanted.data[i]));
    sc_apart_close(apart);
    SC_TRY(sc_pipeline_run(&apart->ctx, &pipeline, apart->program, SC_STEP_decompose));
    SC_TRY(sc_pipeline_run(&apart->ctx, &pipeline, apart->program, SC_STEP_to_edge));
    return sc_apart_evaluate(apart, evaluator, data);
}

// --- Results -------------------------------------------------------------------------------------

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

// Computes the chains. A chain that cannot be computed here is quantized when the program runs.
static sc_status compute(chains *c, const sc_evaluator *evaluator) {
    sc_apart apart;
    sc_extent *data = sc_new_array(c->plan->ctx->scratch, sc_extent, c->wanted.count);
    const sc_status status = evaluate(c, &apart, evaluator, data);
    if (status == SC_OK) keep(c, data);
    const sc_status outcome = sc_apart_outcome(&apart, status);
    sc_apart_end(&apart);
    return outcome;
}

sc_status sc_quant_compute_constants(sc_quant_plan *plan, const sc_evaluator *evaluator) {
    chains c = {.plan = plan};
    sc_imap_init(&c.constant, plan->ctx->scratch);
    sc_imap_init(&c.needed, plan->ctx->scratch);
    sc_imap_init(&c.asked, plan->ctx->scratch);
    sc_imap_init(&plan->computed, plan->ctx->arena);
    if (!evaluator) return SC_OK;
    find_constants(&c);
    for (uint32_t i = 0; i < plan->probes.count; i++) want(&c, &plan->probes.data[i]);
    return c.wanted.count ? compute(&c, evaluator) : SC_OK;
}
