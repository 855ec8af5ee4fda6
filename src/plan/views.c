// Decides by strides, not by op names. The view twin of a *_copy op is inferred on the base's
// row-major layout. If its result is row-major too, the copy would only repeat bytes of the base.
// This one rule covers slices of the outermost dimension, selects, splits, reshapes and trivial
// permutations.
#include "plan/views.h"

#include "ir/weights.h"

typedef struct aliaser {
    sc_ctx *ctx;
    sc_storage_table *table;
    bool *written;  // by sc_value.mark: a node writes it in place
    const sc_options *options;
} aliaser;

// Storage that others may change, or whose layout is not ours, cannot be aliased.
static bool can_lend(const sc_storage_table *table, const sc_value *base) {
    uint64_t offset = 0;
    const sc_storage *root = sc_storage_root(table, base, &offset);
    return root->kind == SC_STORAGE_PLANNED || root->kind == SC_STORAGE_CONSTANT;
}

static bool is_written(const aliaser *a, const sc_value *value) { return a->written[value->mark]; }

// Specs of the view twin on a row-major base: one per out.
static sc_status view_specs(sc_ctx *ctx, const sc_node *node, sc_infer *in) {
    sc_iarg *args = NULL;
    SC_TRY(sc_node_infer_args(ctx->scratch, node, &args));
    sc_spec *base = sc_new(ctx->scratch, sc_spec);
    *base = *args[0].tensor;
    base->strides = sc_new_array(ctx->scratch, sc_dim, base->rank);
    base->offset = sc_dim_int(0);
    sc_spec_set_contiguous(node->graph->method->exprs, base);
    *in = (sc_infer){.ctx = ctx,
                     .arena = ctx->scratch,
                     .exprs = node->graph->method->exprs,
                     .op = node->op,
                     .args = args,
                     .arg_count = node->arg_count};
    return sc_infer_view_of(in, base);
}

static bool out_can_alias(const aliaser *a, sc_value *out, const sc_spec *view,
                          bool base_is_constant) {
    sc_exprs *exprs = out->graph->method->exprs;
    const sc_storage *storage = sc_storage_of(a->table, out);
    if (storage->kind != SC_STORAGE_PLANNED || sc_value_is_returned(out) || is_written(a, out))
        return false;
    if (!sc_spec_is_static(&out->spec) || !sc_spec_is_contiguous(exprs, &out->spec)) return false;
    if (!sc_dim_is_int(view->offset) || (base_is_constant && view->offset.value != 0)) return false;
    return sc_spec_is_contiguous(exprs, view);
}

// Strides of a tensor without elements count sizes of 0 as 1: its views may begin past its end.
static uint64_t byte_offset(const sc_value *base, const sc_spec *view) {
    for (uint32_t d = 0; d < view->rank; d++)
        if (sc_dim_is(view->sizes[d], 0)) return 0;
    return (uint64_t)view->offset.value * sc_dtype_bytes((sc_dtype)base->spec.dtype);
}

static sc_status alias_node(aliaser *a, sc_node *node) {
    const sc_storage_table *table = a->table;
    if (!node->op->view || sc_op_has(node->op, SC_SEES_STORAGE) ||
        node->args[0].kind != SC_ARG_VALUE)
        return SC_OK;
    sc_value *base = node->args[0].value;
    if (!can_lend(table, base) || is_written(a, base) || !sc_spec_is_static(&base->spec) ||
        !sc_spec_is_contiguous(node->graph->method->exprs, &base->spec))
        return SC_OK;
    uint64_t base_offset = 0;
    const sc_storage *root = sc_storage_root(table, base, &base_offset);
    const bool is_constant = root->kind == SC_STORAGE_CONSTANT;
    if (is_constant && sc_constant_file(a->options, root->constant).size &&
        (node->out_count != 1 || !sc_spec_equal(&base->spec, &node->outs[0]->spec)))
        return SC_OK;
    sc_infer in;
    sc_where_set_node(a->ctx, node);
    SC_TRY(view_specs(a->ctx, node, &in));
    if (in.out_count != node->out_count) return SC_OK;
    // All outs become aliases or none does: a node either runs or does not run.
    for (uint32_t i = 0; i < node->out_count; i++)
        if (!out_can_alias(a, node->outs[i], &in.outs[i].spec, is_constant)) return SC_OK;
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_storage *storage = sc_storage_of(table, node->outs[i]);
        storage->kind = SC_STORAGE_ALIAS;
        storage->base = base;
        storage->offset = byte_offset(base, &in.outs[i].spec);
    }
    return SC_OK;
}

static sc_status alias_graph(aliaser *a, const sc_graph *graph) {
    sc_arena *scratch = a->ctx->scratch;
    for (sc_node *node = graph->first; node; node = node->next) {
        sc_mark mark = sc_arena_mark(scratch);
        SC_TRY(alias_node(a, node));
        sc_arena_rewind(scratch, mark);
        for (uint32_t i = 0; graph->has_bodies && i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH) SC_TRY(alias_graph(a, node->args[i].graph));
    }
    return SC_OK;
}

static void find_written(aliaser *a, const sc_graph *graph) {
    for (const sc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; sc_op_has(node->op, SC_MUTATES) && i < node->arg_count; i++)
            if (node->op->schema->params[i].is_written && node->args[i].kind == SC_ARG_VALUE)
                a->written[node->args[i].value->mark] = true;
        for (uint32_t i = 0; graph->has_bodies && i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH) find_written(a, node->args[i].graph);
    }
}

sc_status sc_views_alias(sc_ctx *ctx, sc_storage_table *table, const sc_options *options) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    aliaser a = {.ctx = ctx, .table = table, .options = options};
    a.written = sc_new_array(ctx->scratch, bool, (size_t)table->items.count + 1);
    find_written(&a, table->method->graph);
    sc_status status = alias_graph(&a, table->method->graph);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
