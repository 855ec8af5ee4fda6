// Expands calls that the official runtime has no kernel for, or refuses, into calls that it runs
// (trace/official). This happens after delegation, because a backend may take an operator whole. An
// expansion is traced in the node's place, on row-major operands. Without an expansion the call
// stays. With the target sconce, only calls are expanded whose kernel here is slower than the
// expansion. The edge passes, which passes.def runs again, handle numbers, mixed dtypes and memory
// formats of an expansion.
//
// A note reports expansions that take more than twice the memory (peak.h). A call that stays
// without an expansion gives a warning.
#include "trace/official/official.h"

#include "ir/layout.h"
#include "passes/passes.h"
#include "passes/peak.h"
#include "trace/coverage.h"
#include "trace/expand.h"

typedef struct expanding {
    sc_graph *graph;   // of the method
    bool is_official;  // the target; for sconce, only calls that are faster expanded, without a
                       // warning
    // Bytes: those needed at once before, measured at the first expansion that makes more than it
    // replaces; and how much more expansions have made.
    uint64_t peak_before, more;
    uint64_t recorded;  // nodes of all expansions, which are limited
    sc_limit limit;     // the limit that the present call exceeds, if it was not expanded
    bool changed;
} expanding;

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

// Warns once for each call that was not expanded, with the reason if it is known. Emission warns of
// other calls that the official runtime has no kernel for.
static void warn(sc_ctx *ctx, const sc_node *node, sc_limit limit, bool has_kernel) {
    if (limit != SC_LIMIT_NONE)
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP, sc_limit_hint(limit),
                  "ExecuTorch's runtime cannot run this call of %s; only these calls can be "
                  "expanded for it: %s",
                  node->op->name, sc_limit_calls(limit));
    else if (has_kernel)
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP,
                  "Run it with Sconce. For apps, write this line with other operators.",
                  "ExecuTorch's runtime refuses this call of %s", node->op->name);
}

// Most expansions make no more bytes than they replace, and then the graph is not measured.
static void note_more(expanding *all, sc_node *node, const sc_node *last) {
    if (sc_official_faster(node)) return;  // other targets do not need this
    sc_node *first = last ? last->next : node->graph->first;
    const uint64_t made = sc_result_bytes(first, node), was = sc_result_bytes(node, node->next);
    if (made <= was) return;
    if (all->more == 0) all->peak_before = sc_peak_bytes(all->graph, (sc_span){first, node}, NULL);
    all->more += made - was;
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

// Expands a call in the place of its node: by the row of the table, or, if `row` is NULL, as
// decomposition does it. If that fails, the node stays.
static sc_status expand(expanding *all, sc_trace *t, sc_node *node, const sc_official *row,
                        bool *is_gone) {
    const sc_node *last = node->prev;
    const sc_diag_mark diags = sc_diags_mark(t->ctx);
    sc_x *args = sc_new_array(t->arena, sc_x, node->arg_count + 1);
    sc_x *outs = sc_new_array(t->arena, sc_x, node->out_count + 1);
    sc_where_set_node(t->ctx, node);
    t->before = node;
    t->source = node;
    t->meta = node->meta;
    note_pairs(t, node);
    for (uint32_t i = 0; i < node->arg_count; i++)
        args[i] = row_major(t, sc_trace_cell(t, &node->args[i], sc_trace_plain));
    sc_x result = empty_results(t, node);
    if (!result)
        result = row ? sc_official_expand(t, row, args)
                     : sc_trace_expand(t, node->op, sc_call_expansion(node->op, args), args);
    finish(t, node, result, outs);
    if (t->status == SC_ERR_CANCELLED || is_full(t)) return t->status;
    if (t->status != SC_OK) {
        sc_diags_rewind(t->ctx, diags);
        take_back(node, last);
        t->status = SC_OK;
        if (all->is_official && row) warn(t->ctx, node, all->limit, row->lacks != NULL);
        return SC_OK;
    }
    note_more(all, node, last);
    for (uint32_t i = 0; i < node->out_count; i++)
        if (outs[i]) sc_replace_uses(node->outs[i], sc_trace_arg(t, outs[i]).value);
    sc_node_erase(node);
    *is_gone = true;
    all->changed = true;
    return SC_OK;
}

static const sc_trace_hooks hooks = {.dispatch = dispatch, .body = made_body};

// Reads sizes off inputs if possible: a complex tensor kept only for its size would have to be
// computed. Inputs may be many, so they are noted once, before the first expansion.
static void note_inputs(sc_trace *inputs, sc_ctx *ctx, sc_arena *arena, sc_graph *graph) {
    sc_trace_begin(inputs, ctx, arena, graph, &hooks);
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        sc_trace_note_sizes(inputs, graph->inputs.data[i]);
}

// Each node has a trace of its own. Sizes that one trace reads come too late for the nodes of its
// expansion, if they are expanded in turn.
static void begin(expanding *all, sc_trace *t, const sc_trace *inputs) {
    sc_trace_begin(t, inputs->ctx, inputs->arena, inputs->graph, &hooks);
    all->limit = SC_LIMIT_NONE;
    t->outer = inputs;
    t->client = &all->limit;
    t->plain = 1;
    t->recorded = all->recorded;
}

// A pass of the user's own made it for a backend, and no backend took it.
static bool is_left_whole(const sc_node *node) {
    return node->is_kept && !node->op->infer && sc_op_expansion(node->op);
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_arena arena;
    sc_trace inputs = {.ctx = NULL}, trace;
    expanding *all = user;
    sc_status status = SC_OK;
    sc_arena_init(&arena);
    for (sc_node *node = graph->first, *next; node && status == SC_OK; node = next) {
        next = node->next;
        const sc_official *row =
            all->is_official ? sc_official_lack(node) : sc_official_faster(node);
        if (!row && all->is_official && sc_official_refuses(node)) {
            sc_where_set_node(ctx, node);
            warn(ctx, node, SC_LIMIT_NONE, true);
        }
        if (!row && !is_left_whole(node)) continue;
        const sc_node *last = node->prev;
        bool is_gone = false;
        if (!inputs.ctx) note_inputs(&inputs, ctx, &arena, graph);
        begin(all, &trace, &inputs);
        status = expand(all, &trace, node, row, &is_gone);
        all->recorded = trace.recorded;
        // The official runtime may lack the new calls, too. An expansion that contains its own
        // operator meets the limit of recorded nodes.
        if (is_gone) next = last ? last->next : graph->first;
    }
    sc_arena_deinit(&arena);
    return status;
}

sc_status sc_pass_official(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    expanding all = {.graph = method->graph, .is_official = sc_options_are_official(env->options)};
    SC_TRY(sc_graphs_visit(ctx, method->graph, visit, &all));
    if (all.changed) method->facts &= ~(uint32_t)SC_FACT_EDGE;
    method->peak_before = all.more > all.peak_before ? all.peak_before : 0;
    return SC_OK;
}
