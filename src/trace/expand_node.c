// Expands single nodes of an edge program. An expansion is traced in the node's place, on row-major
// operands, and gives the layouts of the node's results.
#include "trace/expand_node.h"

#include "ir/layout.h"
#include "trace/expand.h"
#include "trace/official/official.h"

// Views are copies in the edge dialect, and a copy is dense, whatever its source.
static sc_x record(sc_trace *t, const sc_op *op, const sc_x *args) {
    const sc_op *as = sc_op_has(op, SC_VIEW) && op->copy ? op->copy : op;
    sc_x x = sc_trace_record(t, as, args, op->schema->param_count);
    sc_node *node = t->before ? t->before->prev : t->graph->last;
    for (uint32_t i = 0; t->status == SC_OK && i < node->out_count; i++) {
        sc_value *value = node->outs[i];
        if (value->type != SC_VALUE_TENSOR) continue;
        if (as != op) sc_spec_set_contiguous(t->exprs, &value->spec);
        sc_spec_canonicalise(t->exprs, &value->spec);
    }
    return x;
}

static sc_x dispatch(sc_trace *t, const sc_op *op, sc_x *args) {
    const sc_expansion *how = sc_op_expansion(op);
    return how ? sc_trace_expand(t, op, how, args) : record(t, op, args);
}

// An expansion has traced it already.
static sc_graph *made_body(sc_trace *t, const sc_graph *body) {
    (void)t;
    return (sc_graph *)(uintptr_t)body;
}

static sc_x row_major(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) return sc_f_contiguous(t, x);
    if (x->kind != SC_X_LIST) return x;
    sc_x *items = sc_new_array(t->arena, sc_x, x->count ? x->count : 1);
    for (uint32_t i = 0; i < x->count; i++) items[i] = row_major(t, x->items[i]);
    return sc_x_list_of(t, items, x->count);
}

static sc_x in_layout_of(sc_trace *t, sc_x x, const sc_spec *spec) {
    if (sc_spec_is_contiguous(t->exprs, spec)) return x;
    bool is_last = sc_spec_is_channels_last(t->exprs, spec);
    return CALL(t, clone, x,
                sc_x_format(t, is_last ? SC_MEMORY_FORMAT_CHANNELS_LAST
                                       : SC_MEMORY_FORMAT_CHANNELS_LAST_3D));
}

static bool stands_for(const sc_x x, const sc_value *value) {
    const sc_spec *spec = sc_x_spec(x);
    return x->kind == SC_X_TENSOR && spec->dtype == value->spec.dtype &&
           sc_spec_same_sizes(spec, &value->spec);
}

// The results of the expansion, in the layout of the node's; unused ones may be missing.
static void finish(sc_trace *t, const sc_node *node, sc_x result, sc_x *outs) {
    for (uint32_t i = 0; i < node->out_count && t->status == SC_OK; i++) {
        if (node->outs[i]->use_count == 0) continue;
        outs[i] = result->kind == SC_X_LIST ? sc_x_at(t, result, i) : result;
        if (t->status == SC_OK && !stands_for(outs[i], node->outs[i]))
            sc_trace_fail(t, SC_ERR_UNSUPPORTED, NULL,
                          "result %u would have another dtype or other sizes", i);
        outs[i] = in_layout_of(t, outs[i], &node->outs[i]->spec);
    }
}

// Empty results are not computed. Complex ones are, by the call that makes complex numbers.
static sc_x empty_results(sc_trace *t, const sc_node *node) {
    sc_x *items = sc_new_array(t->arena, sc_x, node->out_count + 1);
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_spec *spec = &node->outs[i]->spec;
        if (node->outs[i]->use_count == 0) continue;
        if (node->outs[i]->type != SC_VALUE_TENSOR || !sc_spec_is_empty(spec) ||
            sc_dtype_is_complex((sc_dtype)spec->dtype))
            return NULL;
        items[i] = sc_f_zeros(t, sc_x_dims(t, spec->sizes, spec->rank), (sc_dtype)spec->dtype);
    }
    return sc_x_list_of(t, items, node->out_count);
}

static void take_back(sc_node *node, const sc_node *last) {
    while (node->prev != last) sc_node_erase(node->prev);
}

// Is the limit of nodes reached? All other limits concern one call only, which stays.
static bool is_full(const sc_trace *t) {
    return t->status == SC_ERR_LIMIT && t->recorded > t->ctx->limits.node_max;
}

// Reads sizes of complex operands off the pairs that they are made from, since the complex tensors
// would have to be computed.
static void note_pairs(sc_trace *t, const sc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const sc_arg *arg = &node->args[i];
        sc_value *pairs = arg->kind == SC_ARG_VALUE ? sc_official_pairs(arg->value) : NULL;
        if (pairs) sc_trace_note_sizes(t, pairs);
    }
}

static const sc_trace_hooks hooks = {.dispatch = dispatch, .body = made_body};

void sc_expander_begin(sc_expander *e, sc_ctx *ctx, sc_graph *graph, bool is_official,
                       uint64_t recorded) {
    e->is_official = is_official;
    e->recorded = recorded;
    sc_arena_init(&e->arena);
    sc_trace_begin(&e->inputs, ctx, &e->arena, graph, &hooks);
    e->knows_inputs = false;
}

void sc_expander_end(sc_expander *e) { sc_arena_deinit(&e->arena); }

// Reads sizes off inputs if possible: a complex tensor kept only for its size would have to be
// computed. Inputs may be many, so they are noted once, before the first expansion.
static void note_inputs(sc_expander *e) {
    const sc_graph *graph = e->inputs.graph;
    for (uint32_t i = 0; i < graph->inputs.count && !e->knows_inputs; i++)
        sc_trace_note_sizes(&e->inputs, graph->inputs.data[i]);
    e->knows_inputs = true;
}

// Each node has a trace of its own. Sizes that one trace reads come too late for the nodes of its
// expansion, if they are expanded in turn.
static sc_trace *begin(sc_expander *e, sc_node *node, sc_limit *limit) {
    sc_trace *t = &e->trace;
    sc_trace_begin(t, e->inputs.ctx, e->inputs.arena, e->inputs.graph, &hooks);
    t->client = limit;
    t->outer = &e->inputs;
    t->plain = 1;
    t->recorded = e->recorded;
    t->before = node;
    t->source = node;
    t->meta = node->meta;
    note_pairs(t, node);
    return t;
}

// The results of a call by its row, or, if `row` is NULL, as decomposition expands it.
static void expand(sc_trace *t, const sc_node *node, const sc_official *row, sc_x *outs) {
    sc_x *args = sc_new_array(t->arena, sc_x, node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++)
        args[i] = row_major(t, sc_trace_cell(t, &node->args[i], sc_trace_plain));
    sc_x result = empty_results(t, node);
    if (!result)
        result = row ? sc_official_expand(t, row, args)
                     : sc_trace_expand(t, node->op, sc_call_expansion(node->op, args), args);
    finish(t, node, result, outs);
}

// A pass of the user's own made it for a backend, and no backend took it.
static bool is_left_whole(const sc_node *node) {
    return node->is_kept && sc_op_expansion(node->op) &&
           (!node->op->infer || sc_op_has(node->op, SC_COMPOSITE));
}

sc_status sc_expander_expand(sc_expander *e, sc_node *node, sc_node_expansion *out) {
    sc_ctx *ctx = e->inputs.ctx;
    const sc_official *row = e->is_official ? sc_official_lack(node) : sc_official_faster(node);
    const bool is_refused = !row && e->is_official && sc_official_refuses(node);
    *out = (sc_node_expansion){.verdict = is_refused ? SC_NODE_REFUSED : SC_NODE_STAYS,
                               .has_kernel = is_refused};
    if (!row && !is_refused && !is_left_whole(node)) return SC_OK;
    sc_where_set_node(ctx, node);
    if (is_refused) return SC_OK;
    const sc_node *last = node->prev;
    const sc_diag_mark diags = sc_diags_mark(ctx);
    out->results = sc_new_array(&e->arena, sc_x, node->out_count + 1);
    note_inputs(e);
    sc_trace *t = begin(e, node, &out->limit);
    expand(t, node, row, out->results);
    e->recorded = t->recorded;
    if (t->status == SC_ERR_CANCELLED || is_full(t)) return t->status;
    if (t->status != SC_OK) {
        sc_diags_rewind(ctx, diags);
        take_back(node, last);
        if (e->is_official && row) out->verdict = SC_NODE_REFUSED;
        out->has_kernel = row && row->lacks;
        return SC_OK;
    }
    out->verdict = SC_NODE_EXPANDED;
    out->is_faster = sc_official_faster(node) != NULL;
    out->first = last ? last->next : node->graph->first;
    return SC_OK;
}

void sc_expander_replace(sc_expander *e, sc_node *node, const sc_node_expansion *expansion) {
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_x x = expansion->results[i];
        if (x) sc_replace_uses(node->outs[i], sc_trace_arg(&e->trace, x).value);
    }
    sc_node_erase(node);
}
