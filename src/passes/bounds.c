// Every size must have a largest value, or no memory can be planned for it. Reports dimensions of
// inputs without one, and failing that the results whose size is unbounded.
#include "passes/passes.h"

static sc_status report_input(sc_ctx *ctx, const sc_value *value, uint32_t dim) {
    const sc_symbol *symbol = sc_dim_symbol(value->spec.sizes[dim]);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_sb text;
    sc_sb_init(&text, ctx->scratch);
    sc_dim_print(&text, value->spec.sizes[dim]);
    sc_str size = sc_sb_str(&text);
    sc_str hint = sc_str_format(ctx->scratch,
                                "Export with a largest size for it: dynamic_shapes={\"%s\": {%u: "
                                "Dim(\"" SC_STR_FMT "\", max=...)}}.",
                                value->name->text, dim, SC_STR_ARG(size));
    sc_report(ctx, SC_ERROR, SC_ERR_UNBOUNDED, hint.data,
              "dimension %u of input '%s' of method '" SC_STR_FMT "' (%s " SC_STR_FMT
              ") has no maximum",
              dim, value->name->text, SC_STR_ARG(sc_name_str(value->graph->method->name)),
              symbol ? "symbol" : "size", SC_STR_ARG(size));
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

static sc_status check_results(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_status *status = user;
    uint64_t bytes;
    for (const sc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->out_count; i++) {
            const sc_value *value = node->outs[i];
            if (value->type != SC_VALUE_TENSOR || sc_spec_bytes_max(&value->spec, &bytes)) continue;
            sc_where_set_node(ctx, node);
            sc_report(ctx, SC_ERROR, SC_ERR_UNBOUNDED,
                      "Bound it at export: torch._check(size <= ...), or Dim(name, max=...).",
                      "the size of '%s' (%s) has no maximum", value->name->text, node->op->name);
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
