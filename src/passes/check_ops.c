// Reports every operator that cannot be lowered, for the whole method at once: its name, the node,
// the user's own source line, and what to do about it. Runs twice: right after import for operators
// that nobody knows or that neither decompose nor have a kernel, and before emission for what
// decomposition left without one.
#include "passes/passes.h"
#include "passes/trace.h"

#define NO_KERNEL \
    "cannot be executed: neither this runtime nor the official one has a kernel for it"

static bool has_no_kernel(const sc_op *op) {
    return !sc_op_has(op, SC_RUNS) && sc_op_has(op, SC_UNOFFICIAL);
}

// What decomposition makes of an operator that it does not take apart.
static const sc_op *core_of(const sc_op *op) {
    if (op->functional) op = op->functional;
    return op->copy ? op->copy : op;
}

static const char *hopeless(const sc_op *op) {
    if (sc_op_has(op, SC_FOREIGN)) return "is not supported";
    const sc_op *core = core_of(op);
    if (!core->out_name || sc_op_has(op, SC_ASSERTION) || sc_op_expansion(op) ||
        sc_op_expansion(core))
        return NULL;
    return has_no_kernel(core) ? NO_KERNEL : NULL;
}

static const char *foreign_hint(sc_arena *arena, const sc_node *node) {
    const sc_op *similar[3];
    uint32_t count = sc_op_similar(sc_str_from(node->op->name), similar);
    for (uint32_t i = 0; i < count; i++)
        if (!hopeless(similar[i]))
            return sc_str_format(arena, "Rewrite this line with another operator, for example %s.",
                                 similar[i]->name)
                .data;
    return "Rewrite this line with operators that PyTorch itself defines.";
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

sc_status sc_pass_check_foreign(sc_ctx *ctx, sc_method *method) {
    return check(ctx, method, hopeless);
}

// Control flow becomes jumps; every other operator needs a name that runtimes know and a kernel
// somewhere. What one of the two runtimes lacks, emission warns of.
static const char *lack_of(const sc_op *op) {
    if (sc_op_has(op, SC_HIGHER_ORDER) && sc_op_has(op, SC_CORE)) return NULL;
    if (!op->out_name) return "cannot be executed: the runtime has no such operator";
    return has_no_kernel(op) ? NO_KERNEL : NULL;
}

sc_status sc_pass_check_kernels(sc_ctx *ctx, sc_method *method) {
    return check(ctx, method, lack_of);
}
