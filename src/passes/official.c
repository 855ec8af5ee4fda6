// What the official runtime has no kernel for, or refuses, is expanded into what it runs
// (trace/official). After delegation, because a backend may take an operator whole. An expansion is
// traced in the node's place, on operands that are row-major; what it cannot say stays as it is.
#include "trace/official/official.h"

#include "passes/layout.h"
#include "passes/passes.h"
#include "passes/peak.h"
#include "trace/coverage.h"
#include "trace/expand.h"

typedef struct expanding {
    sc_graph *graph;  // of the method
    // Bytes: what it needed at once, asked for when there is first more than there was; and how
    // much more there is, if all of it were needed at once.
    uint64_t peak_before, more;
    bool changed;
} expanding;

// Views are copies in the edge dialect, and a copy is dense, whatever it is of.
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
    return sc_op_expansion(op) ? sc_trace_expand(t, op, args) : record(t, op, args);
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

// The results of the expansion, in the layout of the node's; those that nobody uses may be missing.
static void finish(sc_trace *t, const sc_node *node, sc_x result, sc_x *outs) {
    for (uint32_t i = 0; i < node->out_count && t->status == SC_OK; i++) {
        if (node->outs[i]->use_count == 0) continue;
        outs[i] = result->kind == SC_X_LIST ? sc_x_at(t, result, i) : result;
        if (t->status == SC_OK && !stands_for(outs[i], node->outs[i]))
            sc_trace_fail(t, SC_ERR_UNSUPPORTED, NULL, "result %u would be another tensor", i);
        outs[i] = in_layout_of(t, outs[i], &node->outs[i]->spec);
    }
}

// Nothing is computed where nothing is wanted.
static sc_x empty_results(sc_trace *t, const sc_node *node) {
    sc_x *items = sc_new_array(t->arena, sc_x, node->out_count + 1);
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_spec *spec = &node->outs[i]->spec;
        if (node->outs[i]->use_count == 0) continue;
        if (node->outs[i]->type != SC_VALUE_TENSOR || !sc_spec_is_empty(spec)) return NULL;
        items[i] = sc_f_zeros(t, sc_x_dims(t, spec->sizes, spec->rank), (sc_dtype)spec->dtype);
    }
    return sc_x_list_of(t, items, node->out_count);
}

static void take_back(sc_node *node, const sc_node *last) {
    while (node->prev != last) sc_node_erase(node->prev);
}

// Of what has no kernel there at all emission warns.
static void warn(sc_ctx *ctx, const sc_node *node) {
    sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP,
              "Run it with Sconce; for apps, write this line with other operators.",
              "the official runtime refuses this call of %s", node->op->name);
}

// Why this call was not expanded, where it is known.
static void note_limit(sc_ctx *ctx, const sc_node *node) {
    const char *limit = sc_official_limit(node->op);
    if (!limit) return;
    sc_report(ctx, SC_NOTE, SC_ERR_UNSUPPORTED_OP,
              "Stay within it, or run the program with Sconce, which has no such limit.",
              "%s is written out for the official runtime within a limit: %s", node->op->name,
              limit);
}

// Most expansions make no more than they replace, and then nothing has to be looked at.
static void note_more(expanding *all, sc_node *node, const sc_node *last) {
    sc_node *first = last ? last->next : node->graph->first;
    const uint64_t made = sc_result_bytes(first, node), was = sc_result_bytes(node, node->next);
    if (made <= was) return;
    if (all->more == 0) all->peak_before = sc_peak_bytes(all->graph, (sc_span){first, node}, NULL);
    all->more += made - was;
}

// In the place of the node, if it can be said: else the node stays.
static sc_status expand(expanding *all, sc_trace *t, sc_node *node, const sc_official *row) {
    const sc_node *last = node->prev;
    const sc_diag_mark diags = sc_diags_mark(t->ctx);
    sc_x *args = sc_new_array(t->arena, sc_x, node->arg_count + 1);
    sc_x *outs = sc_new_array(t->arena, sc_x, node->out_count + 1);
    sc_where_set_node(t->ctx, node);
    t->before = node;
    t->source = node;
    t->meta = node->meta;
    for (uint32_t i = 0; i < node->arg_count; i++)
        args[i] = row_major(t, sc_trace_cell(t, &node->args[i], sc_trace_plain));
    sc_x result = empty_results(t, node);
    finish(t, node, result ? result : row->expand(t, args), outs);
    if (t->status == SC_ERR_CANCELLED || t->status == SC_ERR_LIMIT) return t->status;
    if (t->status != SC_OK) {
        sc_diags_rewind(t->ctx, diags);
        take_back(node, last);
        t->status = SC_OK;
        note_limit(t->ctx, node);
        if (row->lacks) warn(t->ctx, node);
        return SC_OK;
    }
    note_more(all, node, last);
    for (uint32_t i = 0; i < node->out_count; i++)
        if (outs[i]) sc_replace_uses(node->outs[i], sc_trace_arg(t, outs[i]).value);
    sc_node_erase(node);
    all->changed = true;
    return SC_OK;
}

// Sizes are read off inputs where they can be: complex numbers that are kept only to ask for their
// size would have to be made.
static void begin(sc_trace *t, sc_ctx *ctx, sc_arena *arena, sc_graph *graph) {
    static const sc_trace_hooks hooks = {.dispatch = dispatch, .body = made_body};
    sc_trace_begin(t, ctx, arena, graph, &hooks);
    t->plain = 1;
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        sc_trace_note_sizes(t, graph->inputs.data[i]);
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_arena arena;
    sc_trace trace;
    expanding *all = user;
    sc_status status = SC_OK;
    sc_arena_init(&arena);
    for (sc_node *node = graph->first, *next; node && status == SC_OK; node = next) {
        next = node->next;
        const sc_official *row = sc_official_lack(node);
        if (!row) continue;
        begin(&trace, ctx, &arena, graph);
        status = expand(all, &trace, node, row);
    }
    sc_arena_deinit(&arena);
    return status;
}

// Numbers, mixed dtypes and memory formats are what edge passes know about.
static sc_status to_edge(sc_ctx *ctx, sc_method *method) {
    SC_TRY(sc_pass_numbers(ctx, method));
    SC_TRY(sc_pass_promote(ctx, method));
    SC_TRY(sc_pass_dim_order(ctx, method));
    return sc_pass_dce(ctx, method);
}

// More than twice as much at once is worth knowing, with the line that needs it; but less than wasm
// gives at the smallest is lost in what any program needs.
enum { PAGE_BYTES = 1 << 16 };

static void note_growth(sc_ctx *ctx, sc_method *method, const expanding *all) {
    const uint64_t before = all->peak_before;
    const sc_node *at = NULL;
    if (before == 0 || all->more <= before) return;
    const uint64_t after = sc_peak_bytes(method->graph, (sc_span){NULL, NULL}, &at);
    if (after / 2 <= before || after < PAGE_BYTES) return;
    sc_where_set_method(ctx, method);
    if (at) sc_where_set_origin(ctx, at);
    sc_report(ctx, SC_NOTE, SC_ERR_MEMORY,
              "Lower it with the target sconce if only Sconce runs it.",
              "what was expanded for the official runtime needs about %llu bytes at once, not %llu",
              (unsigned long long)after, (unsigned long long)before);
}

sc_status sc_pass_official(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    expanding all = {.graph = method->graph};
    if (!sc_options_are_official(env->options)) return SC_OK;
    SC_TRY(sc_graphs_visit(ctx, method->graph, visit, &all));
    if (!all.changed) return SC_OK;
    SC_TRY(to_edge(ctx, method));
    note_growth(ctx, method, &all);
    return SC_OK;
}
