// Decides which nodes XNNPACK takes and which constants go with them. It contains the table of
// functions that lowering uses.
#include "backends/xnnpack/aot/rule.h"
#include "backends/xnnpack/aot/xnnpack.h"
#include "base/sets.h"

// Nodes that only exist for others: they go into the part of these, or into no part.
static bool is_helper(const sc_node *node) {
    return sc_xa_is(node, &sc_xa_choose) || sc_xa_is(node, &sc_xa_dequantize) ||
           sc_xa_is(node, &sc_xa_quantize);
}

// The longest chain of helpers, from the choice of parameters to the product that reads the
// quantized values.
enum { HELPERS_MAX = 4 };

// The reason why a helper stays outside that depends on another node. It names only the operator,
// so that many nodes with the same fault have the same text.
static bool blame(sc_xa *x, const sc_node *node) {
    x->reason = sc_str_format(x->ctx->arena, "it can only be taken with %s: " SC_STR_FMT,
                              node->op->name, SC_STR_ARG(x->reason));
    return false;
}

static bool refuse_alone(sc_xa *x) {
    return sc_xa_refuse(x, "Compute with the dequantized values.",
                        "no node that XNNPACK computes with 8 bits reads it");
}

static bool keeps_for(sc_xa *x, const sc_node *node, uint32_t depth) {
    if (!is_helper(node)) {
        const bool is_taken = sc_xa_judge(x, node);
        return is_taken || (depth < HELPERS_MAX && blame(x, node));
    }
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use && depth; use = use->next_use)
            if (use->user->op && sc_xa_row_of(use->user) && keeps_for(x, use->user, depth - 1))
                return true;
    return false;
}

static bool keeps(const sc_backend *backend, const sc_options *options, const sc_node *node,
                  sc_claim *claim) {
    (void)backend;
    const sc_xa_row *row = sc_xa_row_of(node);
    if (!row || !row->is_kept) return false;
    sc_xa x = {.ctx = node->graph->ctx,
               .graph = node->graph,
               .runtime = sc_xa_runtime(options),
               .is_heard = true,
               .is_early = true};
    // Numbers that cannot be read do not fail this question. They fail the survey, which reads them
    // again.
    const sc_diag_mark mark = sc_diags_mark(x.ctx);
    claim->is_taken = keeps_for(&x, node, HELPERS_MAX);
    sc_diags_rewind(x.ctx, mark);
    if (!claim->is_taken && !x.reason.size) (void)refuse_alone(&x);
    claim->reason = x.reason;
    claim->hint = x.hint;
    return claim->is_taken;
}

// --- Constants -----------------------------------------------------------------------------------

// Does the part need the bytes for this use? Every use needs them, except an operand that may be
// passed as well.
static bool needs_bytes(const sc_survey *survey, const sc_arg *use) {
    const sc_node *user = use->user;
    if (!user->op || !sc_claim_of(survey, user)->is_taken) return false;
    const sc_xa_family *family = sc_xa_row_of(user)->family;
    if (family == &sc_xa_permute || family == &sc_xa_copy)
        return sc_claim_of(survey, user)->group != 0;
    return family == &sc_xa_gemm || family == &sc_xa_conv || family == &sc_xa_norm ||
           family == &sc_xa_prelu || family == &sc_xa_dequantize || family == &sc_xa_quantize;
}

static bool is_outside(const sc_survey *survey, const sc_arg *use) {
    return !use->user->op || !sc_claim_of(survey, use->user)->is_taken;
}

// Constants that are mere operands are passed if the program keeps them anyway. They are also
// passed to runtimes that free all constants of a delegate except packed weights.
static void choose_inputs(const sc_survey *survey, sc_xnn_runtime runtime) {
    for (uint32_t i = 0; i < survey->graph->inputs.count; i++) {
        const sc_value *input = survey->graph->inputs.data[i];
        if (!sc_xa_is_constant(input)) continue;
        bool needed = false, outside = false;
        for (const sc_arg *use = input->first_use; use; use = use->next_use) {
            needed = needed || needs_bytes(survey, use);
            outside = outside || is_outside(survey, use);
        }
        if (!needed && (outside || runtime < SC_XNN_RUNTIME_1_4)) survey->takes_input[i] = false;
    }
}

// --- Precisions ----------------------------------------------------------------------------------

// Does the node compute with integers whose scales are known before a run?
static bool is_static(const sc_xa *x, const sc_node *node) {
    sc_xa quiet = {.ctx = x->ctx, .graph = x->graph, .runtime = x->runtime};
    sc_xa_tail tail;
    return node->out_count == 1 && sc_xa_is_quantized(&quiet, node, SC_XA_FUSES, &tail);
}

static bool look_for_scales(void *user, sc_arg *arg) {
    sc_precision *precision = user;
    const sc_node *made = arg->value->node;
    if (!made || !sc_xa_is(made, &sc_xa_dequantize)) return true;
    *precision =
        sc_xa_has_chosen_scale(made) ? SC_PRECISION_DYNAMIC_QUANT : SC_PRECISION_STATIC_QUANT;
    return *precision == SC_PRECISION_STATIC_QUANT;  // the scale of the weight is always static
}

static sc_precision precision_of(const sc_xa *x, const sc_node *node) {
    sc_precision precision = SC_PRECISION_FP32;
    if (sc_xa_is(node, &sc_xa_choose)) return SC_PRECISION_DYNAMIC_QUANT;
    if (is_helper(node))
        return sc_xa_has_chosen_scale(node) ? SC_PRECISION_DYNAMIC_QUANT
                                            : SC_PRECISION_STATIC_QUANT;
    if (!sc_xa_is(node, &sc_xa_gemm) && !sc_xa_is(node, &sc_xa_conv))
        return is_static(x, node) ? SC_PRECISION_STATIC_QUANT : SC_PRECISION_FP32;
    (void)sc_node_visit_values(node, look_for_scales, &precision);
    return precision;
}

static bool is_wanted(const sc_xa *x, const sc_survey *survey, const sc_node *node,
                      sc_claim *claim) {
    if (!survey->precisions || survey->precisions == SC_PRECISION_ALL) return true;
    const sc_precision precision = precision_of(x, node);
    if (survey->precisions & precision) return true;
    claim->reason =
        sc_str_format(x->ctx->arena, "its precision is %s, which configPrecisions leaves out",
                      sc_precision_name(precision));
    claim->hint = sc_str_format(x->ctx->arena, "Add \"%s\" to configPrecisions.",
                                sc_precision_name(precision));
    return false;
}

// --- The survey ----------------------------------------------------------------------------------

static void judge(sc_xa *x, const sc_survey *survey, const sc_node *node) {
    sc_claim *claim = sc_claim_of(survey, node);
    if (!is_wanted(x, survey, node, claim)) return;
    claim->is_taken = sc_xa_judge(x, node);
    if (claim->is_taken) return;
    claim->reason = x->reason;
    claim->hint = x->hint;
}

// Bytes that could not be read were reported where they were needed.
static sc_status read_failure(const sc_ctx *ctx) {
    const uint32_t count = ctx->diags.count;
    const sc_status last = count ? ctx->diags.data[count - 1].code : SC_OK;
    return last != SC_OK ? last : SC_ERR_IO;
}

static sc_status survey_graph(const sc_backend *backend, sc_survey *survey) {
    (void)backend;
    const sc_graph *graph = survey->graph;
    sc_xa x = {.ctx = survey->ctx,
               .graph = graph,
               .runtime = sc_xa_runtime(survey->options),
               .is_heard = true};
    sc_mark mark = sc_arena_mark(survey->ctx->scratch);
    sc_imap looked_at;
    sc_imap_init(&looked_at, survey->ctx->arena);
    x.looked_at = &looked_at;
    x.groups = sc_sets_new(survey->ctx->scratch, graph->node_count);
    bool *has_more = sc_new_array(survey->ctx->scratch, bool, graph->node_count);
    const uint32_t errors = x.ctx->error_count;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (!is_helper(node)) judge(&x, survey, node);
    for (const sc_node *node = graph->first; node; node = node->next)
        if (sc_xa_group_of(&x, node->mark) != node->mark)
            has_more[sc_xa_group_of(&x, node->mark)] = true;
    for (const sc_node *node = graph->first; node; node = node->next) {
        sc_claim *claim = sc_claim_of(survey, node);
        const uint32_t root = sc_xa_group_of(&x, node->mark);
        if (has_more[root]) {
            claim->is_taken = true;
            claim->group = root + 1;
        } else if (is_helper(node)) {
            judge(&x, survey, node);
        }
    }
    sc_arena_rewind(survey->ctx->scratch, mark);
    choose_inputs(survey, x.runtime);
    return x.ctx->error_count == errors ? SC_OK : read_failure(x.ctx);
}

const sc_backend sc_backend_xnnpack = {.name = "xnnpack",
                                       .id = SC_XNN_BACKEND,
                                       .keeps = keeps,
                                       .survey = survey_graph,
                                       .leaves_moves = true,
                                       .has_precisions = true,
                                       .preprocess = sc_xa_preprocess};
