// Decides by strides, not by op names: the view twin of a *_copy op is inferred on the base's
// row-major layout, and when its result is row-major too, the copy would only repeat the bytes that
// are there. Slices of the outermost dimension, selects, splits, reshapes and trivial permutations
// all fall out of that one question.
#include "plan/views.h"

#include "ir/ir.h"

// "aten::slice_copy.Tensor" -> aten::slice.Tensor; NULL when the op is no copy of a view.
static const sc_op *view_twin(sc_arena *arena, const sc_op *op) {
    sc_str name = sc_str_from(op->name);
    ptrdiff_t dot = sc_str_find_last(name, '.');
    sc_str base = dot < 0 ? name : sc_str_slice(name, 0, (size_t)dot);
    if (!sc_str_ends_with(base, "_copy")) return NULL;
    sc_str overload = sc_str_slice(name, base.size, name.size);
    base.size -= 5;
    sc_str twin =
        sc_str_format(arena, SC_STR_FMT SC_STR_FMT, SC_STR_ARG(base), SC_STR_ARG(overload));
    const sc_op *found = sc_op_find(twin);
    return found && sc_op_has(found, SC_VIEW) &&
                   found->schema->param_count == op->schema->param_count
               ? found
               : NULL;
}

static bool is_output(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (!use->user->op) return true;
    return false;
}

// Storage that others may change, or that is not ours to lay out, cannot be aliased.
static bool can_lend(const sc_storage_table *table, const sc_value *base) {
    uint64_t offset = 0;
    const sc_storage *root = sc_storage_root(table, base, &offset);
    return root->kind == SC_STORAGE_PLANNED || root->kind == SC_STORAGE_CONSTANT;
}

static bool is_written(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user->op && sc_op_has(use->user->op, SC_MUTATES) && use == &use->user->args[0])
            return true;
    return false;
}

// What the view twin makes of a row-major base: one spec per out.
static sc_status view_specs(sc_ctx *ctx, const sc_node *node, const sc_op *twin, sc_infer *in) {
    sc_iarg *args = NULL;
    SC_TRY(sc_node_infer_args(ctx->scratch, node, &args));
    sc_spec *base = sc_new(ctx->scratch, sc_spec);
    *base = *args[0].tensor;
    base->strides = sc_new_array(ctx->scratch, sc_dim, base->rank);
    base->offset = sc_dim_int(0);
    sc_spec_set_contiguous(node->graph->method->exprs, base);
    args[0].tensor = base;
    *in = (sc_infer){.ctx = ctx,
                     .arena = ctx->scratch,
                     .exprs = node->graph->method->exprs,
                     .op = twin,
                     .args = args,
                     .arg_count = node->arg_count};
    return sc_infer_run(in);
}

static bool out_can_alias(const sc_storage_table *table, sc_value *out, const sc_spec *view,
                          bool base_is_constant) {
    sc_exprs *exprs = out->graph->method->exprs;
    const sc_storage *storage = sc_storage_of(table, out);
    if (storage->kind != SC_STORAGE_PLANNED || is_output(out) || is_written(out)) return false;
    if (!sc_spec_is_static(&out->spec) || !sc_spec_is_contiguous(exprs, &out->spec)) return false;
    if (!sc_dim_is_int(view->offset) || (base_is_constant && view->offset.value != 0)) return false;
    return sc_spec_is_contiguous(exprs, view);
}

static sc_status alias_node(sc_ctx *ctx, sc_storage_table *table, sc_node *node) {
    const sc_op *twin = view_twin(ctx->scratch, node->op);
    if (!twin || node->args[0].kind != SC_ARG_VALUE) return SC_OK;
    sc_value *base = node->args[0].value;
    if (!can_lend(table, base) || is_written(base) || !sc_spec_is_static(&base->spec) ||
        !sc_spec_is_contiguous(node->graph->method->exprs, &base->spec))
        return SC_OK;
    uint64_t base_offset = 0;
    bool is_constant = sc_storage_root(table, base, &base_offset)->kind == SC_STORAGE_CONSTANT;
    sc_infer in;
    SC_TRY(view_specs(ctx, node, twin, &in));
    if (in.out_count != node->out_count) return SC_OK;
    // All outs or none: a node is either run or not.
    for (uint32_t i = 0; i < node->out_count; i++)
        if (!out_can_alias(table, node->outs[i], &in.outs[i].spec, is_constant)) return SC_OK;
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_storage *storage = sc_storage_of(table, node->outs[i]);
        storage->kind = SC_STORAGE_ALIAS;
        storage->base = base;
        storage->offset =
            (uint64_t)in.outs[i].spec.offset.value * sc_dtype_bytes((sc_dtype)base->spec.dtype);
    }
    return SC_OK;
}

static sc_status alias_graph(sc_ctx *ctx, sc_storage_table *table, const sc_graph *graph) {
    for (sc_node *node = graph->first; node; node = node->next) {
        sc_mark mark = sc_arena_mark(ctx->scratch);
        sc_where_set_node(ctx, node);
        SC_TRY(alias_node(ctx, table, node));
        sc_arena_rewind(ctx->scratch, mark);
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH)
                SC_TRY(alias_graph(ctx, table, node->args[i].graph));
    }
    return SC_OK;
}

sc_status sc_views_alias(sc_ctx *ctx, sc_storage_table *table) {
    return alias_graph(ctx, table, table->method->graph);
}
