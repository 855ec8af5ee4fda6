// Every size must have a largest value, or no memory can be planned for it. Reports dimensions of
// inputs without one. If there are none, reports the first result of each size without one, by its
// name in the user's program. If the largest values have more bytes than can be counted, that is
// reported once for a method.
#include "core/stack_trace.h"
#include "ir/dynamic_sizes.h"
#include "ir/python_line.h"
#include "passes/passes.h"

enum { LINE_NODES_MAX = 256 };  // nodes of one line of the user's that the search visits

// Advice to bound the symbols when lowering, if that is enough: "Give it one: --max-size s77=N,
// or ... in JavaScript; or export ".
static void add_advice(sc_sb *hint, const sc_open_symbols *open) {
    if (open->list.count == 0 || open->is_ours || sc_open_is_difference(open)) {
        sc_sb_add_text(hint, "Export ");
        return;
    }
    sc_sb_add_text(hint, open->list.count == 1 ? "Give it one:" : "Bound its symbols:");
    sc_bound_flags(hint, open, NULL);
    sc_sb_add_text(hint, "; or export ");
}

// --- Without a maximum ---------------------------------------------------------------------------

static sc_status report_input(sc_ctx *ctx, const sc_value *value, uint32_t dim) {
    sc_dim size = value->spec.sizes[dim];
    const sc_symbol *symbol = sc_dim_symbol(size);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_open_symbols open = {.arena = ctx->scratch};
    sc_sb text, hint;
    sc_sb_init(&text, ctx->scratch);
    sc_dim_print(&text, size);
    sc_sb_init(&hint, ctx->scratch);
    sc_open_add_dim(&open, size);
    add_advice(&hint, &open);
    sc_sb_addf(&hint, "with dynamic_shapes={\"%s\": {%u: Dim(\"%s\", max=...)}}.",
               value->name->text, dim, symbol ? symbol->name->text : "name");
    sc_report(ctx, SC_ERROR, SC_ERR_UNBOUNDED, sc_sb_terminate(&hint),
              "dimension %u of input '%s' of method '" SC_STR_FMT "' (%s %s) has no maximum", dim,
              value->name->text, SC_STR_ARG(sc_name_str(value->graph->method->name)),
              symbol ? "symbol" : "size", sc_sb_terminate(&text));
    sc_arena_rewind(ctx->scratch, mark);
    return SC_ERR_UNBOUNDED;
}

static const char both_ends[] =
    "with a minimum and a maximum for each number that it is computed from: torch._check(n >= 0) "
    "and torch._check(n <= N) for each .item().";

static bool has_open_size(const sc_value *value, uint32_t *dim) {
    int64_t max;
    for (*dim = 0; value->type == SC_VALUE_TENSOR && *dim < value->spec.rank; ++*dim)
        if (!sc_spec_size_max(&value->spec, *dim, &max)) return true;
    return false;
}

// The last node that comes from the same line of the user's program.
static const sc_node *last_of_line(const sc_node *node) {
    const sc_str line = node->meta.stack_trace;
    for (int i = 0; line.size > 0 && i < LINE_NODES_MAX; i++) {
        const sc_node *next = node->next;
        if (!next || next->out_count == 0 || !sc_str_equal(next->meta.stack_trace, line)) break;
        node = next;
    }
    return node;
}

// "with torch._check(counts.shape[0] <= N)": names the first dim without a maximum.
static void add_check(sc_ctx *ctx, sc_sb *hint, const sc_node *node) {
    const sc_node *last = last_of_line(node);
    uint32_t dim;
    const bool is_open = last->out_count == 1 && has_open_size(last->outs[0], &dim);
    const sc_str name =
        is_open ? sc_python_name(sc_stack_trace_code(node->meta.stack_trace), ctx->where.node)
                : (sc_str){0};
    if (!is_open)
        sc_sb_add_text(hint, "with torch._check(size <= N) after that line, where size is the one "
                             "that depends on the data");
    else if (name.size)
        sc_sb_addf(hint, "with torch._check(" SC_STR_FMT ".shape[%u] <= N) after that line",
                   SC_STR_ARG(name), dim);
    else
        sc_sb_addf(hint,
                   "with torch._check(size <= N) after that line, where size is the result's "
                   ".shape[%u]",
                   dim);
    sc_sb_add_text(hint, ", or with Dim(name, max=N) if it is the size of an input.");
}

// Names the value with that size: the node's result if the node is the user's own, else the node
// that it was made from.
static void report_result(sc_ctx *ctx, const sc_node *node, const sc_value *value) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_open_symbols open = {.arena = ctx->scratch};
    sc_sb hint;
    sc_sb_init(&hint, ctx->scratch);
    sc_open_add_sizes(&open, value);
    sc_where_set_origin(ctx, node);
    add_advice(&hint, &open);
    const bool is_own = ctx->where.op.size > 0;
    if (sc_open_is_difference(&open))
        sc_sb_add_text(&hint, both_ends);
    else
        add_check(ctx, &hint, node);
    const sc_str name = is_own ? sc_name_str(value->name) : ctx->where.node;
    sc_report(ctx, SC_ERROR, SC_ERR_UNBOUNDED, sc_sb_terminate(&hint),
              "the size of '" SC_STR_FMT "'%s%s%s has no maximum", SC_STR_ARG(name),
              is_own ? " (" : "", is_own ? node->op->name : "", is_own ? ")" : "");
    sc_arena_rewind(ctx->scratch, mark);
}

// --- Too large -----------------------------------------------------------------------------------

// Values of one method whose maximum has more bytes than can be counted.
typedef struct checking {
    sc_status status;
    const sc_value *large;  // the first such value
    uint32_t more;
    sc_imap reported;  // symbols of results that were reported
} checking;

// Does the size consist of symbols that were reported already?
static bool is_reported(sc_ctx *ctx, const checking *c, const sc_value *value) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_open_symbols open = {.arena = ctx->scratch};
    sc_open_add_sizes(&open, value);
    bool reported = open.list.count > 0;
    for (uint32_t i = 0; i < open.list.count; i++)
        reported = reported && sc_imap_find(&c->reported, SC_PTR_KEY(open.list.data[i]));
    sc_arena_rewind(ctx->scratch, mark);
    return reported;
}

static void note_reported(sc_ctx *ctx, checking *c, const sc_value *value) {
    sc_open_symbols open = {.arena = ctx->scratch};
    sc_open_add_sizes(&open, value);
    for (uint32_t i = 0; i < open.list.count; i++)
        sc_imap_set(&c->reported, SC_PTR_KEY(open.list.data[i]), 1);
}

static bool note_large(sc_ctx *ctx, checking *c, const sc_value *value) {
    uint64_t bytes;
    if (value->type != SC_VALUE_TENSOR || sc_spec_bytes_max(&value->spec, &bytes)) return false;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_open_symbols open = {.arena = ctx->scratch};
    sc_open_add_sizes(&open, value);
    bool is_large = open.list.count == 0;
    sc_arena_rewind(ctx->scratch, mark);
    if (!is_large) return false;
    if (c->large)
        c->more++;
    else
        c->large = value;
    return true;
}

static sc_status fail_large(sc_ctx *ctx, const checking *c) {
    sc_open_symbols bounded = {.arena = ctx->scratch, .bounded = true};
    sc_sb text, hint;
    sc_sb_init(&text, ctx->scratch);
    sc_sb_init(&hint, ctx->scratch);
    sc_open_add_sizes(&bounded, c->large);
    sc_sb_addf(&text, "'%s' has too many bytes: ", c->large->name->text);
    sc_spec_print(&text, c->large->graph->method->exprs, &c->large->spec);
    for (uint32_t i = 0; i < bounded.list.count; i++)
        sc_sb_addf(&text, "%s %s up to %lld", i ? "," : " with", bounded.list.data[i]->name->text,
                   (long long)bounded.list.data[i]->range.max);
    if (c->more) sc_sb_addf(&text, ", and so have %u more values", c->more);
    const sc_method *method = c->large->graph->method;
    const char *advice = sc_bound_hint(ctx, &bounded, method, "Use smaller sizes.");
    sc_sb_addf(&hint, "%s%s", sc_open_is_difference(&bounded) ? "Export " : "",
               sc_open_is_difference(&bounded) ? both_ends : advice);
    if (c->large->node) sc_where_set_node(ctx, c->large->node);
    return sc_fail(ctx, SC_ERR_LIMIT, sc_sb_terminate(&hint), "%s", sc_sb_terminate(&text));
}

// --- All -----------------------------------------------------------------------------------------

static void check_inputs(sc_ctx *ctx, const sc_method *method, checking *c) {
    for (uint32_t i = 0; i < method->graph->inputs.count; i++) {
        const sc_value *value = method->graph->inputs.data[i];
        int64_t max;
        if (value->type != SC_VALUE_TENSOR || note_large(ctx, c, value)) continue;
        for (uint32_t d = 0; d < value->spec.rank; d++)
            if (!sc_spec_size_max(&value->spec, d, &max)) c->status = report_input(ctx, value, d);
    }
}

static sc_status check_results(sc_ctx *ctx, sc_graph *graph, void *user) {
    checking *c = user;
    uint64_t bytes;
    for (const sc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->out_count; i++) {
            const sc_value *value = node->outs[i];
            if (value->type != SC_VALUE_TENSOR || sc_spec_bytes_max(&value->spec, &bytes)) continue;
            if (note_large(ctx, c, value)) continue;
            c->status = SC_ERR_UNBOUNDED;
            if (is_reported(ctx, c, value)) continue;
            report_result(ctx, node, value);
            note_reported(ctx, c, value);
        }
    }
    return SC_OK;
}

sc_status sc_pass_bounds(sc_ctx *ctx, sc_method *method) {
    checking c = {.status = SC_OK};
    sc_imap_init(&c.reported, ctx->scratch);
    check_inputs(ctx, method, &c);
    if (c.status == SC_OK) SC_TRY(sc_graphs_visit(ctx, method->graph, check_results, &c));
    return c.large ? fail_large(ctx, &c) : c.status;
}
