// The check after each pass of the user's own.
#include "api/edit/edit.h"

static sc_status refuse(sc_ctx *ctx, const sc_node *node, const char *hint, const char *why) {
    sc_where_set_node(ctx, node);
    return sc_fail(ctx, SC_ERR_ARGUMENT, hint, "'%s' (%s) %s", node->name->text, node->op->name,
                   why);
}

// Views share memory and writes change it, so the edge dialect has neither.
static sc_status check_dialect(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_op *op = node->op;
        if (sc_op_has(op, SC_VIEW) && op->copy) {
            const char *hint = sc_str_format(ctx->arena, "Call %s instead.", op->copy->name).data;
            return refuse(ctx, node, hint, "is a view, which the edge dialect does not have");
        }
        if (sc_op_has(op, SC_MUTATES))
            return refuse(ctx, node, "Call the operator that returns its result.",
                          "writes in place, which the edge dialect does not have");
    }
    return SC_OK;
}

// The edge passes that a changed method goes through again, in the order of passes.def.
static sc_status run_edge_passes(sc_edit *edit, sc_method *method) {
    static const char *const NAMES[] = {"strides", "numbers", "promote", "dim_order"};
    sc_ctx *ctx = &edit->job->ctx;
    sc_options options = sc_options_default();
    sc_pipeline pipeline = {.arena = &edit->job->arena, .env = {.options = &options}};
    const sc_where where = ctx->where;
    for (uint32_t i = 0; i < SC_COUNT_OF(NAMES); i++) {
        SC_TRY(sc_pipeline_pass(ctx, &pipeline, sc_pass_find(sc_str_from(NAMES[i])), method));
        ctx->where = where;
    }
    return SC_OK;
}

// Nodes that kept their results when an input got another dtype must take it by now.
static sc_status infer_doubtful(sc_edit *edit) {
    for (uint32_t i = 0; i < edit->doubtful.count; i++) {
        sc_node *node = edit->nodes.data[edit->doubtful.data[i]];
        if (!node) continue;  // erased
        sc_where_set_node(&edit->job->ctx, node);
        SC_TRY(sc_edit_infer(node));
    }
    edit->doubtful.count = 0;
    return SC_OK;
}

sc_status sc_edit_check(sc_edit *edit) {
    sc_ctx *ctx = &edit->job->ctx;
    if (!edit->is_changed) return SC_OK;
    edit->is_changed = false;
    if (edit->is_broken)
        return sc_fail(ctx, SC_ERR_STATE, "Let the error of that change end the pass.",
                       "the pass went on after a change that failed half-way");
    if (edit->is_edge) {
        SC_TRY(sc_graphs_visit(ctx, edit->method->graph, check_dialect, NULL));
        SC_TRY(infer_doubtful(edit));
        SC_TRY(run_edge_passes(edit, edit->method));
    }
    SC_TRY(sc_edit_check_results(edit));
    SC_TRY(sc_facts_find(ctx, edit->method, &edit->unknown));
    edit->method->facts |= edit->unknown;
    edit->unknown = 0;
    return sc_verify(ctx, edit->program);
}
