// Reports every operator that cannot be lowered, for the whole method at once: its name, the node
// of the source program that it comes from, the user's own line, and what to do about it. Asked
// when a method has been decomposed, where operators that nobody knows still stand beside what the
// others became, and before emission, of exactly what is to be executed.
#include "passes/passes.h"
#include "trace/expand.h"

#define UNKNOWN     "is not supported"
#define PTE_ONLY    "is an instruction of .pte files, not an operator of programs"
#define NO_OPERATOR "cannot be executed: the runtime has no such operator"
#define NO_KERNEL \
    "cannot be executed: neither this runtime nor the official one has a kernel for it"

// Why a node cannot be lowered, or NULL.
typedef const char *(*complaint_fn)(const sc_node *node);

static const char *foreign_lack(const sc_op *op) {
    return sc_op_has(op, SC_REFUSED) ? ((const sc_refused_op *)op)->what : UNKNOWN;
}

// Control flow becomes jumps; every other operator needs a name that runtimes know and a kernel
// somewhere. Emission warns of what one of the two runtimes lacks.
static const char *lack_of(const sc_op *op) {
    if (sc_op_has(op, SC_HIGHER_ORDER) && sc_op_has(op, SC_CORE)) return NULL;
    if (!op->out_name) return NO_OPERATOR;
    return !sc_op_has(op, SC_RUNS) && sc_op_has(op, SC_UNOFFICIAL) ? NO_KERNEL : NULL;
}

// The same of an operator in a decomposed graph, where views are not yet copies. What writes or has
// an expansion, and is still here, has been refused.
static const char *core_lack_of(const sc_op *op) {
    if (sc_op_has(op, SC_FOREIGN)) return foreign_lack(op);
    if (sc_op_has(op, SC_PTE_ONLY)) return PTE_ONLY;
    if (sc_op_has(op, SC_ASSERTION) || sc_op_has(op, SC_MUTATES) || sc_op_expansion(op))
        return NULL;
    return lack_of(op->copy ? op->copy : op);
}

static const char *unknown(const sc_node *node) {
    return sc_op_has(node->op, SC_FOREIGN) ? foreign_lack(node->op) : NULL;
}

static const char *core_lack(const sc_node *node) {
    if (node->is_kept) return NULL;
    if (!sc_op_has(node->op, SC_SYMBOLIC)) return core_lack_of(node->op);
    return sc_node_has_primitives(node) ? NULL : NO_OPERATOR;
}

static const char *lack(const sc_node *node) { return lack_of(node->op); }

static const char *hint_for(sc_arena *arena, const sc_op *op) {
    const sc_op *similar[3];
    if (!sc_op_has(op, SC_FOREIGN)) return NULL;
    if (sc_op_has(op, SC_REFUSED)) return ((const sc_refused_op *)op)->hint;
    uint32_t count = sc_op_similar(sc_str_from(op->name), similar);
    for (uint32_t i = 0; i < count; i++)
        if (!core_lack_of(similar[i]->functional ? similar[i]->functional : similar[i]))
            return sc_str_format(arena, "Rewrite this line with another operator, for example %s.",
                                 similar[i]->name)
                .data;
    return "Rewrite this line with operators that PyTorch itself defines.";
}

static void report(sc_ctx *ctx, const sc_node *node, const char *what) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const char *hint = hint_for(ctx->scratch, node->op);
    sc_where_set_node(ctx, node);
    if (node->meta.origin) ctx->where.node = sc_name_str(node->meta.origin);
    sc_report(ctx, SC_ERROR, SC_ERR_UNSUPPORTED_OP, hint, "%s %s", node->op->name, what);
    sc_arena_rewind(ctx->scratch, mark);
}

// Does the method compute it for more than an assertion, which is erased? Set as node->mark.
static bool is_needed(const sc_node *node) {
    if (sc_node_has_effect(node) && !sc_op_has(node->op, SC_ASSERTION)) return true;
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use; use = use->next_use)
            if (!use->user->op || use->user->mark) return true;
    return false;
}

static bool any_complaint(const sc_graph *graph, complaint_fn complaint) {
    for (const sc_node *node = graph->first; node; node = node->next)
        if (complaint(node)) return true;
    return false;
}

typedef struct survey {
    complaint_fn complaint;
    sc_status status;
} survey;

static sc_status check_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    survey *s = user;
    if (!any_complaint(graph, s->complaint)) return SC_OK;
    for (sc_node *node = graph->last; node; node = node->prev) node->mark = is_needed(node);
    for (const sc_node *node = graph->first; node; node = node->next) {
        const char *what = node->mark ? s->complaint(node) : NULL;
        if (!what) continue;
        s->status = SC_ERR_UNSUPPORTED_OP;
        report(ctx, node, what);
    }
    return SC_OK;
}

static sc_status check(sc_ctx *ctx, sc_graph *graph, complaint_fn complaint) {
    survey s = {complaint, SC_OK};
    SC_TRY(sc_graphs_visit(ctx, graph, check_graph, &s));
    return s.status;
}

sc_status sc_check_known_ops(sc_ctx *ctx, sc_graph *graph) { return check(ctx, graph, unknown); }

sc_status sc_check_core_ops(sc_ctx *ctx, sc_graph *graph) { return check(ctx, graph, core_lack); }

sc_status sc_pass_check_kernels(sc_ctx *ctx, sc_method *method) {
    return check(ctx, method->graph, lack);
}
