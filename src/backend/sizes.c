// Writes sizes that views can derive as -1. Delegates take tensors and no numbers. A view that
// needs a dynamic size could only stay outside, and so would the nodes that compute the size. A
// view by strides that only repeats its tensor needs no sizes, and is removed.
#include "backend/sizes.h"

#include "passes/passes.h"

// The argument for a size: itself if it is known, like a -1 that was there before; -1 if the view
// can derive it; otherwise unchanged.
static sc_arg derived(const sc_arg *item, sc_dim size, bool is_derivable) {
    if (sc_dim_is_int(size)) return sc_arg_int(size.value);
    return is_derivable ? sc_arg_int(-1) : *item;
}

// Can the view derive the size? An expansion can if the operand has the size already, and other
// views can if it is their only dynamic one.
static bool can_tell(const sc_node *node, uint32_t dim, uint32_t dynamic) {
    const sc_spec *in = &node->args[0].value->spec, *out = &node->outs[0]->spec;
    if (sc_op_param_index(node->op, "implicit") < 0) return dynamic == 1;
    const uint32_t more = out->rank - in->rank;
    return dim >= more && sc_dim_equal(in->sizes[dim - more], out->sizes[dim]);
}

static void set_items(sc_arg *list, const sc_arg *items) {
    for (uint32_t i = 0; i < list->count; i++) sc_arg_set(&list->items[i], items[i]);
}

// The view must have the same result as before. If the rule of sizes cannot prove that, or refuses,
// the view stays unchanged.
static void rewrite(sc_node *node, sc_arg *sizes) {
    sc_value *out = node->outs[0];
    const sc_spec before = out->spec;
    sc_arg old[SC_RANK_MAX], new[SC_RANK_MAX];
    uint32_t dynamic = 0, handed = 0;
    for (uint32_t d = 0; d < out->spec.rank; d++) {
        if (sc_dim_is(before.sizes[d], 0)) return;  // -1 could mean any size
        dynamic += !sc_dim_is_int(before.sizes[d]);
        handed += sizes->items[d].kind == SC_ARG_VALUE;
    }
    if (!handed) return;
    for (uint32_t d = 0; d < out->spec.rank; d++) {
        old[d] = sizes->items[d];
        new[d] = derived(&old[d], before.sizes[d], can_tell(node, d, dynamic));
    }
    set_items(sizes, new);
    sc_ctx *ctx = node->graph->ctx;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    if (sc_node_infer(node) == SC_OK && sc_spec_equal(&before, &out->spec)) return;
    sc_diags_rewind(ctx, mark);
    set_items(sizes, old);
    out->spec = before;
}

// Are these the row-major strides of its own sizes? Adaptive pooling ends in such a view. Dims of
// one element may have any stride.
static bool shows_all(const sc_node *node) {
    const sc_arg *strides = sc_node_arg(node, "stride"),
                 *offset = sc_node_arg(node, "storage_offset");
    const sc_value *in = node->args[0].value, *out = node->outs[0];
    const bool has_offset = offset && !(offset->kind == SC_ARG_INT && offset->i == 0);
    if (!strides || strides->kind != SC_ARG_LIST || strides->count != out->spec.rank ||
        (has_offset && offset->kind != SC_ARG_NONE) || !sc_spec_equal(&in->spec, &out->spec) ||
        !sc_spec_is_contiguous(node->graph->method->exprs, &in->spec))
        return false;
    int64_t step = 1;
    for (uint32_t d = out->spec.rank; d-- > 0;) {
        const sc_dim size = out->spec.sizes[d];
        const sc_arg *stride = &strides->items[d];
        if (sc_dim_is(size, 1)) continue;
        if (stride->kind != SC_ARG_INT || stride->i != step || (d > 0 && !sc_dim_is_int(size)))
            return false;
        if (d > 0 && !sc_mul_i64(step, size.value, &step)) return false;
    }
    return in->node && !sc_value_is_returned(out);
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    (void)user;
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        const int32_t at = sc_op_param_index(node->op, "size");
        if (at < 0 || node->args[0].kind != SC_ARG_VALUE) continue;
        if (sc_op_has(node->op, SC_SEES_STORAGE) && shows_all(node)) {
            sc_node_replace(node, node->args[0].value);
            continue;
        }
        if (!sc_op_has(node->op, SC_HANDS_ON)) continue;
        sc_arg *sizes = &node->args[at];
        if (sizes->kind == SC_ARG_LIST && sizes->count == node->outs[0]->spec.rank)
            rewrite(node, sizes);
    }
    return SC_OK;
}

sc_status sc_sizes_derive(sc_ctx *ctx, sc_method *method) {
    SC_TRY(sc_graphs_visit(ctx, method->graph, visit, NULL));
    return sc_pass_dce(ctx, method);
}
