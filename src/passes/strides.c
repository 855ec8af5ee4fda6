// Derives the strides of every result again after views became copies: the result of an operator on
// a copied transpose is no longer transposed. Only strides change; sizes and dtypes are those that
// the importer checked. If a rule cannot derive strides (sizes that depend on data), they are
// row-major. Strides come out canonical: row-major or channels-last, and no other.
#include "ir/layout.h"
#include "ir/part.h"
#include "passes/passes.h"

static bool is_asked_again(const sc_op *op) {
    return op->infer && !(op->traits & (SC_SYMBOLIC | SC_HIGHER_ORDER | SC_DATA_DEPENDENT |
                                        SC_FOREIGN | SC_ASSERTION));
}

static void take_strides(sc_ctx *ctx, sc_exprs *exprs, sc_value *value, const sc_spec *derived) {
    sc_spec spec = sc_spec_new(ctx->scratch, (sc_dtype)value->spec.dtype, value->spec.rank);
    bool same = derived && derived->rank == spec.rank;
    for (uint32_t i = 0; i < spec.rank; i++) {
        spec.sizes[i] = value->spec.sizes[i];
        same = same && sc_dim_equal(derived->sizes[i], spec.sizes[i]);
    }
    if (same && spec.rank)
        memcpy(spec.strides, derived->strides, spec.rank * sizeof(sc_dim));
    else
        sc_spec_set_contiguous(exprs, &spec);
    sc_spec_canonicalise(exprs, &spec);
    sc_spec_share(exprs, &spec);
    spec.requires_grad = value->spec.requires_grad;
    value->spec = spec;
}

// Are operands and results all row-major already? Nearly every node is, and then the rule need not
// run.
static bool is_plain(const sc_node *node, sc_exprs *exprs) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->type == SC_VALUE_TENSOR &&
            !sc_spec_is_contiguous(exprs, &node->outs[i]->spec))
            return false;
    return true;
}

static bool reads_plain(void *user, sc_arg *arg) {
    return arg->value->type != SC_VALUE_TENSOR || sc_spec_is_contiguous(user, &arg->value->spec);
}

static sc_status derive(sc_ctx *ctx, sc_node *node) {
    sc_exprs *exprs = node->graph->method->exprs;
    if (sc_node_part(node)) return SC_OK;  // its backend has fixed the layout of what it returns
    if (is_plain(node, exprs) && sc_node_visit_values(node, reads_plain, exprs)) {
        for (uint32_t i = 0; i < node->out_count; i++)
            if (node->outs[i]->type == SC_VALUE_TENSOR)
                sc_spec_canonicalise(exprs, &node->outs[i]->spec);
        return SC_OK;
    }
    sc_where_set_node(ctx, node);
    sc_infer infer = {.ctx = ctx,
                      .arena = ctx->scratch,
                      .exprs = exprs,
                      .op = node->op,
                      .arg_count = node->arg_count};
    sc_iarg *args = NULL;
    bool known = false;
    if (is_asked_again(node->op)) {
        SC_TRY(sc_node_infer_args(ctx->scratch, node, &args));
        infer.args = args;
        SC_TRY(sc_infer_run(&infer));
        known = infer.out_count == node->out_count;
    }
    for (uint32_t i = 0; i < node->out_count; i++) {
        if (node->outs[i]->type != SC_VALUE_TENSOR) continue;
        bool tensor = known && infer.outs[i].kind == SC_IOUT_TENSOR;
        take_strides(ctx, exprs, node->outs[i], tensor ? &infer.outs[i].spec : NULL);
    }
    return SC_OK;
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        if (graph->inputs.data[i]->type == SC_VALUE_TENSOR)
            sc_spec_canonicalise(graph->method->exprs, &graph->inputs.data[i]->spec);
    for (sc_node *node = graph->first; node; node = node->next) {
        sc_mark mark = sc_arena_mark(ctx->scratch);
        sc_status status = derive(ctx, node);
        sc_arena_rewind(ctx->scratch, mark);
        SC_TRY(status);
    }
    return SC_OK;
}

sc_status sc_pass_strides(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
