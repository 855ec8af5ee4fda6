// Expands calls that the official runtime has no kernel for, or refuses, into calls that it runs
// (trace/expand_node.h). This happens after delegation, because a backend may take an operator
// whole. Without an expansion the call stays. With the target sconce, only calls are expanded whose
// kernel here is slower than the expansion. The edge passes, which passes.def runs again, handle
// numbers, mixed dtypes and memory formats of an expansion.
//
// A note reports expansions that take more than twice the memory (peak.h). A call that stays
// without an expansion gives a warning.
#include "trace/expand_node.h"

#include "passes/passes.h"
#include "passes/peak.h"
#include "trace/coverage.h"

typedef struct expanding {
    sc_graph *graph;  // of the method
    bool is_official;
    // Bytes: those needed at once before, measured at the first expansion that makes more than it
    // replaces; and how much more expansions have made.
    uint64_t peak_before, more;
    uint64_t recorded;  // nodes of all expansions
    bool changed;
} expanding;

// Warns once for each call that was not expanded, with the reason if it is known. Emission warns of
// other calls that the official runtime has no kernel for.
static void warn(sc_ctx *ctx, const sc_node *node, const sc_node_expansion *refused) {
    if (refused->limit != SC_LIMIT_NONE)
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP, sc_limit_hint(refused->limit),
                  "ExecuTorch's runtime cannot run this call of %s; only these calls can be "
                  "expanded for it: %s",
                  node->op->name, sc_limit_calls(refused->limit));
    else if (refused->has_kernel)
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP,
                  "Run it with Sconce. For apps, write this line with other operators.",
                  "ExecuTorch's runtime refuses this call of %s", node->op->name);
}

// Most expansions make no more bytes than they replace, and then the graph is not measured.
static void note_more(expanding *all, sc_node *node, const sc_node_expansion *expansion) {
    if (expansion->is_faster) return;  // other targets do not need this
    sc_node *first = expansion->first;
    const uint64_t made = sc_result_bytes(first, node), was = sc_result_bytes(node, node->next);
    if (made <= was) return;
    if (all->more == 0) all->peak_before = sc_peak_bytes(all->graph, (sc_span){first, node}, NULL);
    all->more += made - was;
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_expander expander;
    expanding *all = user;
    sc_status status = SC_OK;
    sc_expander_begin(&expander, ctx, graph, all->is_official, all->recorded);
    for (sc_node *node = graph->first, *next; node && status == SC_OK; node = next) {
        sc_node_expansion found;
        status = sc_expander_expand(&expander, node, &found);
        next = node->next;
        if (found.verdict == SC_NODE_REFUSED) warn(ctx, node, &found);
        if (found.verdict != SC_NODE_EXPANDED) continue;
        note_more(all, node, &found);
        // The official runtime may lack the new calls, too. An expansion that contains its own
        // operator meets the limit of recorded nodes.
        if (found.first != node) next = found.first;
        sc_expander_replace(&expander, node, &found);
        all->changed = true;
    }
    all->recorded = expander.recorded;
    sc_expander_end(&expander);
    return status;
}

sc_status sc_pass_official(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    expanding all = {.graph = method->graph, .is_official = sc_options_are_official(env->options)};
    SC_TRY(sc_graphs_visit(ctx, method->graph, visit, &all));
    if (all.changed) method->facts &= ~(uint32_t)SC_FACT_EDGE;
    method->peak_before = all.more > all.peak_before ? all.peak_before : 0;
    return SC_OK;
}
