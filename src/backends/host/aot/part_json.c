#include "backends/host/aot/part_json.h"

#include "backend/node_json.h"
#include "backends/host/answer.h"
#include "ir/text.h"

void sc_host_put_nodes(sc_json_writer *w, sc_arena *scratch, const sc_graph *graph) {
    sc_json_put_array(w, "nodes");
    for (const sc_node *node = graph->first; node; node = node->next)
        sc_node_add_full_json(w, scratch, node);
    sc_json_end_array(w);
}

void sc_host_put_specs(sc_json_writer *w, const sc_compile_spec *specs, uint32_t count) {
    sc_json_put_array(w, "specs");
    for (uint32_t i = 0; i < count; i++) sc_host_put_spec(w, specs[i].key, specs[i].value);
    sc_json_end_array(w);
}

// --- Values and constants ------------------------------------------------------------------------

static void add_value(sc_json_writer *w, sc_arena *scratch, const sc_value *value) {
    sc_json_begin_object(w);
    sc_value_put_json(w, scratch, value);
    sc_json_end_object(w);
}

// The value that a state has after a call; NULL for what is no state of the part.
static const sc_value *written_to(const sc_method *method, const sc_input_sig *sig) {
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *out = &method->outputs.data[i];
        if (out->kind == SC_OUTPUT_BUFFER_MUTATION && sc_str_equal(out->target, sig->target))
            return method->graph->ret->args[i].value;
    }
    return NULL;
}

static void add_constant(sc_json_writer *w, sc_arena *scratch, const sc_method *method,
                         uint32_t index) {
    const sc_value *value = method->graph->inputs.data[index];
    const sc_input_sig *sig = &method->inputs.data[index];
    const sc_value *result = written_to(method, sig);
    sc_json_begin_object(w);
    if (result) sc_json_put_str(w, "result", sc_name_str(result->name));
    sc_json_put_str(w, "value", sc_name_str(value->name));
    sc_json_put_str(w, "target", sig->target);
    sc_json_put_u64(w, "size", sig->constant->data.size);
    sc_json_key(w, "of");
    add_value(w, scratch, value);
    sc_json_end_object(w);
}

static void add_inputs(sc_json_writer *w, sc_arena *scratch, const sc_method *method,
                       bool are_constants) {
    sc_json_put_array(w, are_constants ? "constants" : "inputs");
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_input_sig *sig = &method->inputs.data[i];
        if ((sig->constant != NULL) != are_constants) continue;
        if (are_constants)
            add_constant(w, scratch, method, i);
        else
            add_value(w, scratch, method->graph->inputs.data[i]);
    }
    sc_json_end_array(w);
}

static void add_row(sc_json_writer *w, const sc_arg *arg, const char *kind, sc_str target) {
    sc_json_begin_object(w);
    if (arg->kind == SC_ARG_VALUE)
        sc_json_put_str(w, "name", sc_name_str(arg->value->name));
    else
        sc_json_put_null(w, "name");
    sc_json_put_text(w, "kind", kind);
    sc_json_put_str(w, "target", target);
    sc_json_end_object(w);
}

static void put_signature(sc_json_writer *w, const sc_method *method) {
    sc_json_put_object(w, "signature");
    sc_json_put_array(w, "inputs");
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_input_sig *sig = &method->inputs.data[i];
        const sc_arg arg = sc_arg_value(method->graph->inputs.data[i]);
        add_row(w, &arg, sc_text_input_kinds[sig->kind], sig->target);
    }
    sc_json_end_array(w);
    sc_json_put_array(w, "outputs");
    for (uint32_t i = 0; i < method->outputs.count; i++)
        add_row(w, &method->graph->ret->args[i], sc_text_output_kinds[method->outputs.data[i].kind],
                method->outputs.data[i].target);
    sc_json_end_array(w);
    sc_json_end_object(w);
}

typedef struct noting {
    bool *is_used;  // by number of a symbol
    uint32_t count;
} noting;

static void note_symbol(void *user, sc_symbol *symbol) {
    const noting *n = user;
    if (sc_symbol_index(symbol) < n->count) n->is_used[sc_symbol_index(symbol)] = true;
}

static void note_value(noting *n, const sc_value *value) {
    for (uint32_t d = 0; value->type == SC_VALUE_TENSOR && d < value->spec.rank; d++)
        sc_dim_visit_symbols(value->spec.sizes[d], note_symbol, n);
    if (value->has_dim) sc_dim_visit_symbols(value->dim, note_symbol, n);
}

static sc_status note_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (uint32_t i = 0; i < graph->inputs.count; i++) note_value(user, graph->inputs.data[i]);
    for (const sc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->out_count; i++) note_value(user, node->outs[i]);
    return SC_OK;
}

// The symbols that the part speaks of, in the order of its method.
static void put_ranges(sc_json_writer *w, const sc_method *method) {
    sc_ctx *ctx = method->program->ctx;
    noting n = {.count = sc_exprs_symbol_count(method->exprs)};
    n.is_used = sc_new_array(ctx->scratch, bool, (size_t)n.count + 1);
    (void)sc_graphs_visit(ctx, method->graph, note_graph, &n);
    sc_json_put_array(w, "ranges");
    for (uint32_t i = 0; i < n.count; i++) {
        const sc_symbol *symbol = sc_exprs_symbol_at(method->exprs, i);
        if (!n.is_used[i]) continue;
        sc_json_begin_object(w);
        sc_json_put_str(w, "symbol", sc_name_str(symbol->name));
        sc_symbol_put_range_json(w, symbol);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

// A number names a part within its graph; with the path of the body it names one of the method.
static void put_name(sc_json_writer *w, sc_arena *scratch, const sc_part *part, sc_str path) {
    const sc_str name = sc_name_str(part->method->name);
    sc_json_put_str(w, "name",
                    path.size ? sc_str_format(scratch, SC_STR_FMT "/" SC_STR_FMT, SC_STR_ARG(path),
                                              SC_STR_ARG(name))
                              : name);
}

static void add_part(sc_json_writer *w, sc_arena *scratch, const sc_part *part, sc_str path) {
    const sc_method *method = part->method;
    sc_json_begin_object(w);
    put_name(w, scratch, part, path);
    put_signature(w, method);
    put_ranges(w, method);
    add_inputs(w, scratch, method, false);
    add_inputs(w, scratch, method, true);
    sc_json_put_array(w, "outputs");
    for (uint32_t i = 0; i < method->outputs.count; i++)
        if (method->outputs.data[i].kind == SC_OUTPUT_USER)
            add_value(w, scratch, method->graph->ret->args[i].value);
    sc_json_end_array(w);
    sc_host_put_specs(w, part->specs.data, part->specs.count);
    sc_host_put_nodes(w, scratch, method->graph);
    sc_json_end_object(w);
}

void sc_host_add_methods(sc_json_writer *w, sc_arena *scratch, const sc_method_parts *methods,
                         uint32_t count) {
    sc_json_begin_array(w);
    for (uint32_t m = 0; m < count; m++) {
        sc_json_begin_object(w);
        sc_json_put_str(w, "method", sc_name_str(methods[m].method));
        sc_json_put_array(w, "parts");
        for (uint32_t i = 0; i < methods[m].count; i++)
            add_part(w, scratch, methods[m].parts[i], methods[m].paths[i]);
        sc_json_end_array(w);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}
