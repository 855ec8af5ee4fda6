// Finds the nodes that tags name. Names in bodies follow the path of the body: "true_graph_0/mul".
#include "backend/tags.h"

static sc_status fail_tag(sc_ctx *ctx, const sc_method *method, const sc_tagged *t, sc_str name,
                          const char *what) {
    return sc_fail(ctx, SC_ERR_ARGUMENT, "Name nodes of the graph, those of a body as PATH/NODE.",
                   "the part '" SC_STR_FMT "' of method '%s' cannot have '" SC_STR_FMT "': %s",
                   SC_STR_ARG(t->tag), method->name->text, SC_STR_ARG(name), what);
}

// --- Bodies --------------------------------------------------------------------------------------

// The end of the path before a node's name; 0: it is a name of the method's own graph.
static uint32_t path_end(sc_str node) {
    uint32_t slash = node.size;
    while (slash > 0 && node.data[slash - 1] != '/') slash--;
    return slash;
}

// The name of the node, if the tag means a node of this graph.
static bool is_of_graph(const sc_graph *graph, sc_str path, sc_str node, sc_str *name) {
    const uint32_t slash = path_end(node);
    *name = node;
    if (!path.size) return !slash || sc_graph_has_name(graph, node);
    *name = (sc_str){node.data + slash, node.size - slash};
    return slash && sc_str_equal(path, (sc_str){node.data, slash - 1});
}

static sc_status note_path(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_map_set(user, sc_graph_path(ctx->scratch, graph), graph);
    return SC_OK;
}

sc_status sc_tags_check_paths(sc_ctx *ctx, const sc_partitioner *p, const sc_method *method) {
    sc_map paths;
    sc_map_init(&paths, ctx->scratch);
    SC_TRY(sc_graphs_visit(ctx, method->graph, note_path, &paths));
    for (uint32_t i = 0; i < p->tagged_count; i++)
        for (uint32_t k = 0; k < p->tagged[i].node_count; k++) {
            const sc_str node = p->tagged[i].nodes[k];
            sc_str name;
            if (is_of_graph(method->graph, (sc_str){0}, node, &name)) continue;
            if (!sc_map_find(&paths, (sc_str){node.data, path_end(node) - 1}))
                return fail_tag(ctx, method, &p->tagged[i], node, "there is no such body");
        }
    return SC_OK;
}

// --- Nodes ---------------------------------------------------------------------------------------

typedef struct tagging {
    const sc_survey *survey;
    const sc_backend *backend;
    sc_map by_name;  // nodes of the graph
    sc_partition *partition;
    const sc_tagged **tagged;
} tagging;

// The reason why the part cannot have the node; NULL if it can.
static const char *refusal(const tagging *g, uint32_t number, const sc_node *node, sc_str name) {
    const sc_survey *survey = g->survey;
    sc_arena *scratch = survey->ctx->scratch;
    if (sc_str_is(name, "output")) return "outputs cannot be tagged";
    if (!node)
        return sc_graph_has_name(survey->graph, name)
                   ? "it is an input, or another part has it already"
                   : "there is no such node";
    const uint32_t owner = g->partition->of[node->mark];
    const sc_claim *claim = sc_claim_of(survey, node);
    if (owner == number) return "it is named twice";
    if (owner)
        return sc_str_format(scratch, "it belongs to the part '" SC_STR_FMT "'",
                             SC_STR_ARG(g->tagged[owner - 1]->tag))
            .data;
    if (claim->is_taken) return NULL;
    return sc_str_format(scratch, "%s says: " SC_STR_FMT, g->backend->name,
                         SC_STR_ARG(claim->reason))
        .data;
}

static sc_status tag_node(const tagging *g, uint32_t number, sc_str name) {
    const sc_node *node = sc_map_get(&g->by_name, name);
    const char *what = refusal(g, number, node, name);
    if (what)
        return fail_tag(g->survey->ctx, g->survey->graph->method, g->tagged[number - 1], name,
                        what);
    g->partition->of[node->mark] = number;
    return SC_OK;
}

// A tag without nodes in this graph makes no part of it.
static sc_status tag_nodes(const tagging *g, const sc_tagged *t, sc_str path) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < t->node_count; i++) {
        sc_str name;
        if (!is_of_graph(g->survey->graph, path, t->nodes[i], &name)) continue;
        if (!number) {
            number = ++g->partition->count;
            g->tagged[number - 1] = t;
        }
        SC_TRY(tag_node(g, number, name));
    }
    return SC_OK;
}

sc_status sc_tags_apply(const sc_survey *survey, const sc_partitioner *p, sc_partition *partition,
                        const sc_tagged ***tagged) {
    sc_arena *scratch = survey->ctx->scratch;
    const sc_str path = sc_graph_path(scratch, survey->graph);
    tagging g = {.survey = survey, .backend = p->backend, .partition = partition};
    sc_map_init(&g.by_name, scratch);
    for (sc_node *node = survey->graph->first; node; node = node->next)
        sc_map_set(&g.by_name, sc_name_str(node->name), node);
    partition->of = sc_new_array(scratch, uint32_t, (size_t)survey->graph->node_count + 1);
    g.tagged = sc_new_array(scratch, const sc_tagged *, (size_t)p->tagged_count + 1);
    for (uint32_t i = 0; i < p->tagged_count; i++) SC_TRY(tag_nodes(&g, &p->tagged[i], path));
    *tagged = g.tagged;
    return SC_OK;
}
