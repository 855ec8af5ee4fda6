// Every size must have a largest value, or no memory can be planned for it. Reports dimensions of
// inputs without one, and failing that the results whose size is unbounded.
#include "passes/passes.h"

typedef struct open_symbols {
    sc_arena *arena;
    SC_VEC(const sc_symbol *) list;
    bool is_ours;  // one of them is of our making, which nobody can bound by its name
} open_symbols;

static void add_open(void *user, sc_symbol *symbol) {
    open_symbols *open = user;
    if (symbol->range.max != SC_DIM_INF) return;
    open->is_ours = open->is_ours || symbol->is_fresh;
    for (uint32_t i = 0; i < open->list.count; i++)
        if (open->list.data[i] == symbol) return;
    sc_vec_push(open->arena, &open->list, symbol);
}

// How to bound the symbols when lowering, as far as that would do: "Give it one: --max-size s77=N,
// or ... in JavaScript; or export ".
static void add_advice(sc_sb *hint, const open_symbols *open) {
    if (open->list.count == 0 || open->is_ours) {
        sc_sb_add_text(hint, "Export ");
        return;
    }
    sc_sb_add_text(hint, open->list.count == 1 ? "Give it one:" : "Bound its symbols:");
    for (uint32_t i = 0; i < open->list.count; i++)
        sc_sb_addf(hint, " --max-size %s=N", open->list.data[i]->name->text);
    sc_sb_add_text(hint, ", in JavaScript compileConfig: { dynamicShapes: { ");
    for (uint32_t i = 0; i < open->list.count; i++)
        sc_sb_addf(hint, "%s%s: { max: N }", i ? ", " : "", open->list.data[i]->name->text);
    sc_sb_add_text(hint, " } }; or export ");
}

static sc_status report_input(sc_ctx *ctx, const sc_value *value, uint32_t dim) {
    sc_dim size = value->spec.sizes[dim];
    const sc_symbol *symbol = sc_dim_symbol(size);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    open_symbols open = {.arena = ctx->scratch};
    sc_sb text, hint;
    sc_sb_init(&text, ctx->scratch);
    sc_dim_print(&text, size);
    sc_sb_init(&hint, ctx->scratch);
    sc_dim_visit_symbols(size, add_open, &open);
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

static sc_status check_inputs(sc_ctx *ctx, const sc_method *method) {
    sc_status status = SC_OK;
    for (uint32_t i = 0; i < method->graph->inputs.count; i++) {
        const sc_value *value = method->graph->inputs.data[i];
        int64_t max;
        if (value->type != SC_VALUE_TENSOR) continue;
        for (uint32_t d = 0; d < value->spec.rank; d++)
            if (!sc_spec_size_max(&value->spec, d, &max)) status = report_input(ctx, value, d);
    }
    return status;
}

static void report_result(sc_ctx *ctx, const sc_node *node, const sc_value *value) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    open_symbols open = {.arena = ctx->scratch};
    sc_sb hint;
    sc_sb_init(&hint, ctx->scratch);
    for (uint32_t d = 0; d < value->spec.rank; d++)
        sc_dim_visit_symbols(value->spec.sizes[d], add_open, &open);
    add_advice(&hint, &open);
    sc_sb_add_text(&hint, "with torch._check(size <= ...), or Dim(name, max=...).");
    sc_where_set_node(ctx, node);
    sc_report(ctx, SC_ERROR, SC_ERR_UNBOUNDED, sc_sb_terminate(&hint),
              "the size of '%s' (%s) has no maximum", value->name->text, node->op->name);
    sc_arena_rewind(ctx->scratch, mark);
}

static sc_status check_results(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_status *status = user;
    uint64_t bytes;
    for (const sc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->out_count; i++) {
            const sc_value *value = node->outs[i];
            if (value->type != SC_VALUE_TENSOR || sc_spec_bytes_max(&value->spec, &bytes)) continue;
            report_result(ctx, node, value);
            *status = SC_ERR_UNBOUNDED;
        }
    }
    return SC_OK;
}

sc_status sc_pass_bounds(sc_ctx *ctx, sc_method *method) {
    sc_status status = SC_OK;
    SC_TRY(check_inputs(ctx, method));
    SC_TRY(sc_graphs_visit(ctx, method->graph, check_results, &status));
    return status;
}
