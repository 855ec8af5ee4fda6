// Reports every operator that cannot be lowered, for the whole method at once: its name, the node,
// the user's own source line, and what to do about it. Runs twice: right after import for operators
// that nobody knows, and before emission for those that no kernel computes.
#include "passes/passes.h"

static const char *foreign_hint(sc_arena *arena, const sc_node *node) {
    const sc_op *similar[3];
    uint32_t count = sc_op_similar(sc_str_from(node->op->name), similar);
    if (count == 0) return "Rewrite this line with operators that PyTorch itself defines.";
    return sc_str_format(arena, "Rewrite this line with another operator, for example %s.",
                         similar[0]->name)
        .data;
}

static void report(sc_ctx *ctx, const sc_node *node, const char *what, const char *hint) {
    sc_where_set_node(ctx, node);
    sc_report(ctx, SC_ERROR, SC_ERR_UNSUPPORTED_OP, hint, "%s %s", node->op->name, what);
}

// Why an operator cannot be lowered, or NULL.
typedef const char *(*complaint_fn)(const sc_op *op);

typedef struct survey {
    complaint_fn complaint;
    uint32_t found;
} survey;

static sc_status check_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    survey *s = user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const char *what = s->complaint(node->op);
        if (!what) continue;
        sc_mark mark = sc_arena_mark(ctx->scratch);
        bool is_foreign = sc_op_has(node->op, SC_FOREIGN);
        report(ctx, node, what, is_foreign ? foreign_hint(ctx->scratch, node) : NULL);
        sc_arena_rewind(ctx->scratch, mark);
        s->found++;
    }
    return SC_OK;
}

static sc_status check(sc_ctx *ctx, sc_method *method, complaint_fn complaint) {
    survey s = {complaint, 0};
    SC_TRY(sc_graphs_visit(ctx, method->graph, check_graph, &s));
    return s.found ? SC_ERR_UNSUPPORTED_OP : SC_OK;
}

static const char *foreign(const sc_op *op) {
    return sc_op_has(op, SC_FOREIGN) ? "is not supported" : NULL;
}

sc_status sc_pass_check_foreign(sc_ctx *ctx, sc_method *method) {
    return check(ctx, method, foreign);
}

// Control flow becomes jumps; every other operator needs a name
// that runtimes know and a kernel somewhere. What one of the two runtimes lacks, emission warns of.
static const char *lack_of(const sc_op *op) {
    if (sc_op_has(op, SC_HIGHER_ORDER) && sc_op_has(op, SC_CORE)) return NULL;
    if (!op->out_name) return "cannot be executed: the runtime has no such operator";
    if (!sc_op_has(op, SC_RUNS) && sc_op_has(op, SC_UNOFFICIAL))
        return "cannot be executed: neither this runtime nor the official one has a kernel for it";
    return NULL;
}

sc_status sc_pass_check_kernels(sc_ctx *ctx, sc_method *method) {
    return check(ctx, method, lack_of);
}
