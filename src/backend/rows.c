#include "backend/rows.h"

#include "base/hash.h"

static uint64_t row_key(const sc_name *method, sc_str path, const sc_name *node) {
    const uint64_t key = sc_hash64_mix(SC_PTR_KEY(method), SC_PTR_KEY(node));
    return path.size ? sc_hash64_mix(key, sc_hash64(path.data, path.size)) : key;
}

// Names are interned, so their addresses make good keys within one context. A comparison tells rows
// with the same key apart.
sc_delegation_row *sc_rows_find(sc_rows *rows, const sc_name *method, sc_str path,
                                const sc_name *node) {
    const uint64_t *at = sc_imap_find(&rows->by_key, row_key(method, path, node));
    sc_delegation_row *row = at ? &rows->delegation->rows.data[*at] : NULL;
    bool is_it = row && row->method == method && row->node == node;
    return is_it && sc_str_equal(row->graph, path) ? row : NULL;
}

static void index_row(sc_rows *rows, uint32_t index) {
    const sc_delegation_row *row = &rows->delegation->rows.data[index];
    sc_imap_set(&rows->by_key, row_key(row->method, row->graph, row->node), index);
}

void sc_rows_begin(sc_rows *rows, sc_ctx *ctx, sc_delegation *delegation) {
    *rows = (sc_rows){.ctx = ctx, .delegation = delegation};
    sc_imap_init(&rows->by_key, ctx->arena);
    for (uint32_t i = 0; i < delegation->rows.count; i++) index_row(rows, i);
}

sc_delegation_row *sc_rows_of(sc_rows *rows, const sc_node *node, sc_str path) {
    const sc_name *method = node->graph->method->name;
    sc_delegation_row *known = sc_rows_find(rows, method, path, node->name);
    if (known) return known;
    sc_delegation_row row = {.method = method,
                             .graph = sc_str_copy(rows->ctx->arena, path),
                             .node = node->name,
                             .op = node->op,
                             .meta = node->meta};
    sc_node_work(node, &row.macs, &row.bytes);
    sc_vec_push(rows->ctx->arena, &rows->delegation->rows, row);
    index_row(rows, rows->delegation->rows.count - 1);
    return &sc_vec_last(&rows->delegation->rows);
}

bool sc_rows_have_method(const sc_rows *rows, const sc_name *method) {
    for (uint32_t i = 0; i < rows->delegation->rows.count; i++)
        if (rows->delegation->rows.data[i].method == method) return true;
    return false;
}

// --- Bodies --------------------------------------------------------------------------------------

typedef struct body_work {
    sc_rows *rows;
    double macs;
} body_work;

static sc_status add_body_work(sc_ctx *ctx, sc_graph *body, void *user) {
    body_work *w = user;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const sc_str path = sc_graph_path(ctx->scratch, body);
    for (const sc_node *node = body->first; node; node = node->next) {
        double macs = 0, bytes = 0;
        if (sc_node_part(node) || sc_rows_find(w->rows, body->method->name, path, node->name))
            continue;
        sc_node_work(node, &macs, &bytes);
        w->macs += macs;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

double sc_rows_work_of_bodies(sc_rows *rows, const sc_node *node) {
    body_work w = {.rows = rows};
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (node->args[i].kind == SC_ARG_GRAPH)
            (void)sc_graphs_visit(rows->ctx, node->args[i].graph, add_body_work, &w);
    return w.macs;
}

// --- Nodes that no backend saw -------------------------------------------------------------------

static sc_status report_unasked(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_rows *rows = user;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_str path = sc_graph_path(ctx->scratch, graph);
    for (const sc_node *node = graph->first; node; node = node->next) {
        if (sc_node_part(node) || sc_rows_find(rows, graph->method->name, path, node->name))
            continue;
        sc_delegation_row *row = sc_rows_of(rows, node, path);
        row->reason = SC_STR("no backend is named for this method");
        row->hint = SC_STR("Name a backend for this method.");
    }
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

sc_status sc_rows_report_unasked(sc_rows *rows, const sc_method *method) {
    return sc_graphs_visit(rows->ctx, method->graph, report_unasked, rows);
}
