// One model: the document around the graph. One order matters: ranges are read before the
// expressions whose simplification they decide.
#include "pt2/pt2.h"

enum { SCHEMA_MAJOR_MIN = 5, SCHEMA_MAJOR = 8, SERDE_MAJOR = 5 };

enum {
    PROGRAM_MODULE,
    PROGRAM_RANGES,
    PROGRAM_VERSION,
    PROGRAM_VERIFIERS,
    PROGRAM_DIALECT,
    PROGRAM_TORCH,
    PROGRAM_FIELD_COUNT
};

// exir.serde split off when schema 5 was current, and got verifiers later; PyTorch's own files of
// that time have none. Records contain programs without a version, too.
static bool is_serde(const sc_pt2_importer *imp, const sc_json *verifiers) {
    const sc_method *method = imp->method;
    if (method->schema_major == 0 && method->schema_minor == 0) return imp->is_record;
    return method->schema_major == SERDE_MAJOR &&
           (imp->is_record || (verifiers && verifiers->kind == SC_JSON_ARRAY));
}

static sc_status read_version(sc_pt2_importer *imp, const sc_json *json, const sc_json *verifiers) {
    sc_ctx *ctx = imp->ctx;
    sc_method *method = imp->method;
    if (!sc_json_i64(sc_json_get(json, "major"), &method->schema_major) ||
        !sc_json_i64(sc_json_get(json, "minor"), &method->schema_minor))
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "the model has no schema version");
    imp->is_serde = is_serde(imp, verifiers);
    if (imp->is_serde) return SC_OK;
    if (method->schema_major < SCHEMA_MAJOR_MIN || method->schema_major > SCHEMA_MAJOR)
        return sc_fail(ctx, SC_ERR_VERSION, "Export the model again with PyTorch 2.6 to 2.14.",
                       "the model has schema version %lld.%lld, which is not supported",
                       (long long)method->schema_major, (long long)method->schema_minor);
    if (method->schema_major < SCHEMA_MAJOR)
        sc_report(ctx, SC_WARNING, SC_ERR_VERSION, "Export the model again with a newer PyTorch.",
                  "the model has the old schema version %lld.%lld and is read as far as possible",
                  (long long)method->schema_major, (long long)method->schema_minor);
    return SC_OK;
}

// Older files have one string, "dialect", instead of today's list.
static bool has_verifier(const sc_json *verifiers, const sc_json *dialect, const char *name) {
    if (sc_json_is_str(dialect, name)) return true;
    if (!verifiers || verifiers->kind != SC_JSON_ARRAY) return false;
    const sc_json *item = sc_json_first(verifiers);
    for (uint32_t i = 0; i < verifiers->size; i++, item = sc_json_next(item))
        if (sc_json_is_str(item, name)) return true;
    return false;
}

static sc_status read_ranges(sc_pt2_importer *imp, const sc_json *json) {
    if (!json) return SC_OK;
    if (json->kind != SC_JSON_OBJECT)
        return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "range_constraints is not a JSON object");
    const sc_json *key = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, key = sc_json_next(key + 1))
        SC_TRY(sc_pt2_read_range(imp, key, key + 1));
    return SC_OK;
}

// --- Names of arguments --------------------------------------------------------------------------

static const sc_json *children_of(const sc_json *tree) {
    const sc_json *list = sc_json_get(tree, "children_spec");
    return list && list->kind == SC_JSON_ARRAY ? list : NULL;
}

// The positional arguments, before those by name: "[1, (args, kwargs)]". NULL if the text is
// another tree.
static const sc_json *arguments_of(sc_pt2_importer *imp) {
    const sc_json *root = NULL;
    const sc_diag_mark mark = sc_diags_mark(imp->ctx);
    if (sc_json_parse(imp->ctx, imp->work, imp->method->in_spec, &root) != SC_OK) {
        sc_diags_rewind(imp->ctx, mark);
        return NULL;
    }
    if (root->kind != SC_JSON_ARRAY || root->size != 2) return NULL;
    const sc_json *call = children_of(sc_json_next(sc_json_first(root)));
    return call && call->size == 2 ? children_of(sc_json_first(call)) : NULL;
}

static bool are_leaves(const sc_json *trees) {
    const sc_json *tree = sc_json_first(trees);
    for (uint32_t i = 0; i < trees->size; i++, tree = sc_json_next(tree)) {
        const sc_json *type = sc_json_get(tree, "type"), *children = children_of(tree);
        if (!type || type->kind != SC_JSON_NULL || !children || children->size) return false;
    }
    return true;
}

// Older files lack the names. If every argument is one value, the values' names are used.
static bool add_value_names(sc_pt2_importer *imp, sc_json_writer *json) {
    const sc_method *method = imp->method;
    const sc_json *trees = arguments_of(imp);
    if (!trees || !are_leaves(trees)) return false;
    uint32_t left = trees->size;
    for (uint32_t i = 0; i < method->inputs.count && left; i++) {
        const sc_input_kind kind = method->inputs.data[i].kind;
        if (kind != SC_INPUT_USER && kind != SC_INPUT_CONSTANT) continue;
        sc_json_add_str(json, sc_name_str(method->graph->inputs.data[i]->name));
        left--;
    }
    return left == 0;
}

// A list with anything but texts is no list of names.
static bool add_names(sc_pt2_importer *imp, sc_json_writer *json, const sc_json *names) {
    if (names->kind != SC_JSON_ARRAY) return false;
    const sc_json *name = sc_json_first(names);
    for (uint32_t i = 0; i < names->size; i++, name = sc_json_next(name)) {
        if (name->kind != SC_JSON_STRING) return false;
        sc_json_add_str(json, sc_json_str(imp->work, name));
    }
    return true;
}

static sc_str read_names(sc_pt2_importer *imp, const sc_json *names) {
    sc_json_writer json;
    sc_sb text;
    sc_sb_init(&text, imp->ctx->arena);
    sc_json_writer_init(&json, &text, SC_JSON_PYTHON);
    sc_json_begin_array(&json);
    const bool is_absent = !names || names->kind == SC_JSON_NULL;
    if (is_absent ? !add_value_names(imp, &json) : !add_names(imp, &json, names))
        return (sc_str){0};
    sc_json_end_array(&json);
    return sc_sb_str(&text);
}

// --- The parts of the document -------------------------------------------------------------------

// The entry of the whole program has an empty name.
static void read_pytrees(sc_pt2_importer *imp, const sc_json *calls) {
    if (!calls || calls->kind != SC_JSON_ARRAY) return;
    const sc_json *call = sc_json_first(calls);
    for (uint32_t i = 0; i < calls->size; i++, call = sc_json_next(call)) {
        const sc_json *signature = sc_json_get(call, "signature");
        if (!sc_json_is_str(sc_json_get(call, "fqn"), "")) continue;
        imp->method->in_spec = sc_pt2_keep(imp, sc_json_get(signature, "in_spec"));
        imp->method->out_spec = sc_pt2_keep(imp, sc_json_get(signature, "out_spec"));
        imp->method->arg_names = read_names(imp, sc_json_get(signature, "forward_arg_names"));
        return;
    }
}

static sc_status read_module(sc_pt2_importer *imp, const sc_json *json) {
    sc_pt2_scope scope;
    sc_pt2_graph_parts parts;
    sc_json_field f[3] = {{.name = "graph"}, {.name = "signature"}, {.name = "module_call_graph"}};
    SC_TRY(sc_json_pick(imp->ctx, json, "graph_module", f, 3));
    SC_TRY(sc_pt2_scope_init(&scope, imp, imp->method->graph, f[0].value, &parts));
    SC_TRY(sc_pt2_read_inputs(&scope, parts.inputs, f[1].value));
    SC_TRY(sc_pt2_read_nodes(&scope, parts.nodes));
    SC_TRY(sc_pt2_read_outputs(&scope, parts.outputs, f[1].value));
    read_pytrees(imp, f[2].value);
    return SC_OK;
}

sc_status sc_pt2_read_document(sc_pt2_importer *imp, const sc_json *json) {
    sc_json_field f[PROGRAM_FIELD_COUNT] = {
        {.name = "graph_module"}, {.name = "range_constraints"}, {.name = "schema_version"},
        {.name = "verifiers"},    {.name = "dialect"},           {.name = "torch_version"}};
    SC_TRY(sc_json_pick(imp->ctx, json, "exported program", f, PROGRAM_FIELD_COUNT));
    const sc_json *verifiers = f[PROGRAM_VERIFIERS].value, *dialect = f[PROGRAM_DIALECT].value;
    SC_TRY(read_version(imp, f[PROGRAM_VERSION].value, verifiers));
    imp->method->decomposed = has_verifier(verifiers, dialect, "ATEN");
    imp->is_edge |= has_verifier(verifiers, dialect, "EDGE");
    imp->method->torch_version = sc_pt2_keep(imp, f[PROGRAM_TORCH].value);
    SC_TRY(read_ranges(imp, f[PROGRAM_RANGES].value));
    return read_module(imp, f[PROGRAM_MODULE].value);
}

// Finds the example inputs, which are read on demand.
static sc_status find_examples(sc_pt2_importer *imp, const sc_pt2_archive *archive, sc_str model) {
    const sc_zip_entry *entry =
        archive->legacy ? sc_zip_find(&archive->zip, SC_STR("serialized_example_inputs.pt"))
                        : sc_pt2_find(imp->ctx, archive, "data/sample_inputs/", model, ".pt");
    return entry ? sc_zip_extent(imp->ctx, entry, &imp->method->examples) : SC_OK;
}

sc_status sc_pt2_read_model(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                            sc_str model, sc_method *method) {
    sc_pt2_importer imp;
    sc_str text;
    const sc_json *json;
    sc_pt2_importer_init(&imp, ctx, work, method);
    SC_TRY(sc_pt2_model_text(ctx, work, archive, model, &text));
    SC_TRY(sc_json_parse(ctx, work, text, &json));
    SC_TRY(sc_pt2_read_payloads(ctx, work, archive, model, &imp.payloads));
    SC_TRY(find_examples(&imp, archive, model));
    return sc_pt2_read_document(&imp, json);
}
