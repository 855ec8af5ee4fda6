// Checks that a method's facts are true: a pass that claims or keeps a fact must leave a graph that
// agrees with it. Builds that check themselves run this after every pass. SPECS is not checked
// here: the tests of inference compare every node's spec with its rule.
#include "passes/facts.h"

#include "passes/passes.h"
#include "trace/expand.h"

// False if the fact is not true of the node.
typedef bool (*fact_check)(const sc_node *node);

// A view is core, although its copy, which replaces it, has an expansion.
static bool is_core(const sc_node *node) {
    const sc_op *op = node->op;
    return !sc_op_has(op, SC_MUTATES) && (op->view || node->is_kept || !sc_op_expansion(op));
}

static bool is_edge(const sc_node *node) { return !sc_op_has(node->op, SC_VIEW); }

static bool is_alive(const sc_node *node) {
    return sc_node_has_effect(node) || sc_node_is_used(node);
}

static bool is_executable(const sc_node *node) {
    return node->op->out_name || sc_op_has(node->op, SC_HIGHER_ORDER);
}

static bool has_handle(const sc_node *node) { return node->meta.debug_handle != 0; }

typedef struct fact_row {
    sc_fact fact;
    const char *name;
    fact_check check;
} fact_row;

static const fact_row checks[] = {
    {SC_FACT_CORE, "CORE", is_core},
    {SC_FACT_EDGE, "EDGE", is_edge},
    {SC_FACT_NO_DEAD, "NO_DEAD", is_alive},
    {SC_FACT_HANDLES, "HANDLES", has_handle},
    {SC_FACT_EXECUTABLE, "EXECUTABLE", is_executable},
};

// The first of `facts` that the node contradicts, as a row of `checks`; NULL: no fact.
static const fact_row *contradicted(const sc_node *node, uint32_t facts) {
    for (size_t i = 0; i < SC_COUNT_OF(checks); i++)
        if ((facts & checks[i].fact) && !checks[i].check(node)) return &checks[i];
    return NULL;
}

static sc_status check_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    const uint32_t *facts = user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const fact_row *wrong = contradicted(node, *facts);
        if (!wrong) continue;
        sc_where_set_node(ctx, node);
        return sc_fail(ctx, SC_ERR_INTERNAL, NULL, "%s (%s) contradicts the fact %s",
                       node->name->text, node->op->name, wrong->name);
    }
    return SC_OK;
}

sc_status sc_facts_verify(sc_ctx *ctx, const sc_method *method) {
    uint32_t facts = method->facts;
    return sc_graphs_visit(ctx, method->graph, check_graph, &facts);
}

static sc_status find_true(sc_ctx *ctx, sc_graph *graph, void *user) {
    uint32_t *facts = user;
    const fact_row *wrong;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        while ((wrong = contradicted(node, *facts)) != NULL) *facts &= ~(uint32_t)wrong->fact;
    return SC_OK;
}

sc_status sc_facts_find(sc_ctx *ctx, const sc_method *method, uint32_t *facts) {
    return sc_graphs_visit(ctx, method->graph, find_true, facts);
}
