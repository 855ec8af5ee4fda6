// Metadata of a node: the line where it was written, and in records its debug handle and the nodes
// that it was made from.
#include "pt2/pt2.h"

// A record is about the graph that most nodes outside of bodies name. Nodes that passes made
// without a source have histories of their own.
static void vote(sc_pt2_importer *imp, const sc_json *id) {
    int64_t graph;
    if (!sc_json_i64(id, &graph) || graph <= 0) return;
    if (imp->graph_votes == 0) imp->graph_id = (uint64_t)graph;
    if (imp->graph_id == (uint64_t)graph)
        imp->graph_votes++;
    else
        imp->graph_votes--;
}

// [{"name", "graph_id", "from_node": [...], ...}]: the last of the last is the oldest.
static const sc_json *oldest(const sc_json *list) {
    const sc_json *found = NULL;
    while (list && list->kind == SC_JSON_ARRAY && list->size > 0) {
        found = sc_json_first(list);
        for (uint32_t i = 1; i < list->size; i++) found = sc_json_next(found);
        list = sc_json_get(found, "from_node");
    }
    return found;
}

static sc_status read_history(sc_pt2_scope *scope, const sc_json *json, sc_meta *out) {
    sc_pt2_importer *imp = scope->imp;
    sc_ctx *ctx = imp->ctx;
    const sc_json *list;
    if (!json || json->kind != SC_JSON_STRING) return SC_OK;
    SC_TRY(sc_json_parse(ctx, ctx->scratch, sc_json_str(ctx->scratch, json), &list));
    const sc_json *ancestor = oldest(list);
    const sc_str name = sc_json_str(ctx->scratch, sc_json_get(ancestor, "name"));
    if (name.size == 0) return SC_OK;
    out->origin = sc_name_intern(ctx->names, name);
    if (scope->depth == 0) vote(imp, sc_json_get(ancestor, "graph_id"));
    return SC_OK;
}

sc_status sc_pt2_read_metadata(sc_pt2_scope *scope, const sc_json *json, sc_meta *out) {
    sc_pt2_importer *imp = scope->imp;
    const sc_json *handle = sc_json_get(json, "debug_handle");
    uint64_t number;
    out->stack_trace = sc_pt2_keep(imp, sc_json_get(json, "stack_trace"));
    out->module_stack = sc_pt2_keep(imp, sc_json_get(json, "nn_module_stack"));
    out->source_stack = sc_pt2_keep(imp, sc_json_get(json, "source_fn_stack"));
    if (!imp->is_serde) return SC_OK;
    if (handle && handle->kind == SC_JSON_STRING) {
        if (!sc_parse_u64(sc_json_raw(handle), &number) || number > UINT32_MAX)
            return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "a debug handle is not a number");
        out->debug_handle = (uint32_t)number;
    }
    return read_history(scope, sc_json_get(json, "from_node"), out);
}
