// Graphs: value tables, inputs, nodes in the file's order, outputs. A use must follow its
// definition: the name map finds no later ones. Subgraphs have their own names and tables.
#include "pt2/pt2.h"

enum {
    GRAPH_INPUTS,
    GRAPH_OUTPUTS,
    GRAPH_NODES,
    GRAPH_TENSORS,
    GRAPH_INTS,
    GRAPH_BOOLS,
    GRAPH_FIELD_COUNT
};

static sc_status read_table(sc_pt2_importer *imp, const sc_json *json, sc_map *out) {
    sc_map_init(out, imp->work);
    if (!json) return SC_OK;
    if (json->kind != SC_JSON_OBJECT)
        return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "a value table is not a JSON object");
    const sc_json *key = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, key = sc_json_next(key + 1)) {
        sc_str name = sc_json_str(imp->work, key);
        if (!sc_map_add(out, name, (void *)(uintptr_t)(key + 1)))
            return sc_fail(imp->ctx, SC_ERR_CORRUPT, NULL,
                           "the value '" SC_STR_FMT "' is described twice", SC_STR_ARG(name));
    }
    return SC_OK;
}

static bool is_array(const sc_json *json) { return json && json->kind == SC_JSON_ARRAY; }

sc_status sc_pt2_scope_init(sc_pt2_scope *scope, sc_pt2_importer *imp, sc_graph *graph,
                            const sc_json *json, sc_pt2_graph_parts *parts) {
    sc_json_field f[GRAPH_FIELD_COUNT] = {{.name = "inputs"},         {.name = "outputs"},
                                          {.name = "nodes"},          {.name = "tensor_values"},
                                          {.name = "sym_int_values"}, {.name = "sym_bool_values"}};
    *scope = (sc_pt2_scope){.imp = imp, .graph = graph};
    SC_TRY(sc_json_pick(imp->ctx, json, "graph", f, GRAPH_FIELD_COUNT));
    if (!is_array(f[GRAPH_INPUTS].value) || !is_array(f[GRAPH_OUTPUTS].value) ||
        !is_array(f[GRAPH_NODES].value))
        return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "a graph has no inputs, outputs or nodes");
    sc_map_init(&scope->values, imp->work);
    SC_TRY(read_table(imp, f[GRAPH_TENSORS].value, &scope->tensors));
    SC_TRY(read_table(imp, f[GRAPH_INTS].value, &scope->ints));
    SC_TRY(read_table(imp, f[GRAPH_BOOLS].value, &scope->bools));
    *parts =
        (sc_pt2_graph_parts){f[GRAPH_INPUTS].value, f[GRAPH_OUTPUTS].value, f[GRAPH_NODES].value};
    return SC_OK;
}

sc_status sc_pt2_add_input(sc_pt2_scope *scope, const sc_pt2_slot *slot, sc_value **out) {
    sc_ctx *ctx = scope->imp->ctx;
    bool known;
    sc_value *value = *out = sc_graph_add_input(scope->graph, slot->name, slot->type);
    ctx->where.node = sc_name_str(value->name);
    if (!slot->constant) {
        SC_TRY(sc_pt2_describe(scope, slot->type, slot->name, value, &known));
        if (!known)
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "the input '%s' has no description",
                           value->name->text);
        SC_TRY(sc_pt2_define(scope, slot->name, value));
    }
    ctx->where.node = (sc_str){0};
    return SC_OK;
}

sc_status sc_pt2_read_nodes(sc_pt2_scope *scope, const sc_json *nodes) {
    sc_ctx *ctx = scope->imp->ctx;
    sc_where outer = ctx->where;
    const sc_json *node = sc_json_first(nodes);
    for (uint32_t i = 0; i < nodes->size; i++, node = sc_json_next(node)) {
        sc_mark mark = sc_arena_mark(ctx->scratch);
        SC_TRY(sc_pt2_read_node(scope, node));
        sc_arena_rewind(ctx->scratch, mark);
        ctx->where = outer;
        if (scope->depth == 0 && i % 1024 == 0)
            SC_TRY(sc_progress(ctx, SC_PHASE_import, i, nodes->size));
    }
    return SC_OK;
}

static sc_status read_subgraph_inputs(sc_pt2_scope *scope, const sc_json *inputs) {
    const sc_json *item = sc_json_first(inputs);
    for (uint32_t i = 0; i < inputs->size; i++, item = sc_json_next(item)) {
        sc_pt2_slot slot;
        sc_value *value;
        SC_TRY(sc_pt2_read_slot(scope, item, &slot));
        SC_TRY(sc_pt2_add_input(scope, &slot, &value));
    }
    return SC_OK;
}

static sc_status read_subgraph_outputs(sc_pt2_scope *scope, const sc_json *outputs) {
    sc_ctx *ctx = scope->imp->ctx;
    sc_arg *args = sc_new_array(ctx->scratch, sc_arg, outputs->size);
    const sc_json *item = sc_json_first(outputs);
    for (uint32_t i = 0; i < outputs->size; i++, item = sc_json_next(item))
        SC_TRY(sc_pt2_read_arg(scope, item, &args[i]));
    sc_graph_set_outputs(scope->graph, args, outputs->size);
    return SC_OK;
}

sc_status sc_pt2_read_subgraph(sc_pt2_scope *parent, const sc_json *json, sc_graph **out) {
    sc_pt2_importer *imp = parent->imp;
    sc_pt2_scope scope;
    sc_pt2_graph_parts parts;
    sc_json_field f[2] = {{.name = "name"}, {.name = "graph"}};
    SC_TRY(sc_json_pick(imp->ctx, json, "subgraph", f, 2));
    if (parent->depth + 1 >= imp->ctx->limits.graph_depth_max)
        return sc_fail(imp->ctx, SC_ERR_LIMIT, NULL, "graphs are nested too deeply");
    sc_where outer = imp->ctx->where;
    sc_str name = sc_json_str(imp->work, f[0].value);
    *out = sc_graph_new(imp->method, parent->graph, name);
    SC_TRY(sc_pt2_scope_init(&scope, imp, *out, f[1].value, &parts));
    scope.depth = parent->depth + 1;
    SC_TRY(read_subgraph_inputs(&scope, parts.inputs));
    SC_TRY(sc_pt2_read_nodes(&scope, parts.nodes));
    SC_TRY(read_subgraph_outputs(&scope, parts.outputs));
    imp->ctx->where = outer;
    return SC_OK;
}
