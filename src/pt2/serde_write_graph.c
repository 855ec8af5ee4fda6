// Graphs: inputs and outputs, nodes, and tables of the types of all values.
#include "pt2/serde_write.h"

enum { LAYOUT_STRIDED = 7 };

// --- Kinds of values -----------------------------------------------------------------------------

static void put_expression(sc_serde_writer *w, sc_str text, const int64_t *hint) {
    sc_json_begin_object(&w->json);
    sc_json_put_object(&w->json, "as_expr");
    sc_json_put_str(&w->json, "expr_str", text);
    if (hint) {
        sc_json_key(&w->json, "hint");
        sc_serde_put_number(w, "as_int", *hint);
    }
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
}

static void put_dim(sc_serde_writer *w, sc_dim dim) {
    if (sc_dim_is_int(dim)) {
        sc_serde_put_number(w, "as_int", dim.value);
        return;
    }
    sc_sb text;
    int64_t hint;
    sc_sb_init(&text, w->ctx->scratch);
    sc_dim_print(&text, dim);
    put_expression(w, sc_sb_str(&text), sc_dim_hint(dim, &hint) ? &hint : NULL);
}

static void put_dims(sc_serde_writer *w, const char *key, const sc_dim *dims, uint32_t count) {
    sc_json_put_array(&w->json, key);
    for (uint32_t i = 0; i < count; i++) put_dim(w, dims[i]);
    sc_json_end_array(&w->json);
}

static sc_status put_tensor(sc_serde_writer *w, const sc_spec *spec) {
    const uint8_t dtype = sc_dtype_to_serde((sc_dtype)spec->dtype);
    if (!dtype)
        return sc_fail(w->ctx, SC_ERR_DTYPE, "Leave the program out of the record.",
                       "records of programs cannot hold tensors of %s",
                       sc_dtype_name((sc_dtype)spec->dtype));
    sc_json_begin_object(&w->json);
    sc_json_put_u64(&w->json, "dtype", dtype);
    put_dims(w, "sizes", spec->sizes, spec->rank);
    sc_json_put_bool(&w->json, "requires_grad", spec->requires_grad);
    sc_json_put_object(&w->json, "device");
    sc_json_put_text(&w->json, "type", "cpu");
    sc_json_end_object(&w->json);
    put_dims(w, "strides", spec->strides, spec->rank);
    sc_json_key(&w->json, "storage_offset");
    put_dim(w, spec->offset);
    sc_json_put_u64(&w->json, "layout", LAYOUT_STRIDED);
    sc_json_end_object(&w->json);
    return SC_OK;
}

// Only the name of the number is known.
static void put_unknown(sc_serde_writer *w, const sc_value *value) {
    put_expression(w, sc_str_format(w->ctx->scratch, "unknown_%s", value->name->text), NULL);
}

// The format writes a bool as a comparison.
static void put_bool(sc_serde_writer *w, const sc_value *value) {
    sc_sb text;
    if (sc_dim_is_int(value->dim)) {
        sc_json_begin_object(&w->json);
        sc_json_put_bool(&w->json, "as_bool", value->dim.value != 0);
        sc_json_end_object(&w->json);
        return;
    }
    const bool compares = sc_dim_view(w->method->exprs, value->dim).op == SC_EXPR_COMPARE;
    sc_sb_init(&text, w->ctx->scratch);
    sc_sb_add_text(&text, compares ? "" : "Ne(");
    sc_dim_print(&text, value->dim);
    sc_sb_add_text(&text, compares ? "" : ", 0)");
    put_expression(w, sc_sb_str(&text), NULL);
}

static void put_unknown_bool(sc_serde_writer *w, const sc_value *value) {
    put_expression(w, sc_str_format(w->ctx->scratch, "Ne(unknown_%s, 0)", value->name->text), NULL);
}

static sc_status put_entry(sc_serde_writer *w, const sc_value *value, sc_value_type type) {
    if (value->type != type) return SC_OK;
    sc_mark mark = sc_arena_mark(w->ctx->scratch);
    sc_status status = SC_OK;
    sc_json_key_str(&w->json, sc_serde_name(w, value));
    if (type == SC_VALUE_TENSOR)
        status = put_tensor(w, &value->spec);
    else if (type == SC_VALUE_INT)
        value->has_dim ? put_dim(w, value->dim) : put_unknown(w, value);
    else
        value->has_dim ? put_bool(w, value) : put_unknown_bool(w, value);
    sc_serde_flush(w, false);
    sc_arena_rewind(w->ctx->scratch, mark);
    return status;
}

// Inputs that are constants have no entry.
static bool is_named(const sc_serde_writer *w, const sc_graph *graph, uint32_t input) {
    return graph != w->method->graph || w->method->inputs.data[input].kind != SC_INPUT_CONSTANT;
}

static sc_status put_table(sc_serde_writer *w, const char *key, const sc_graph *graph,
                           sc_value_type type) {
    sc_json_put_object(&w->json, key);
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        if (is_named(w, graph, i)) SC_TRY(put_entry(w, graph->inputs.data[i], type));
    for (const sc_node *node = graph->first; node; node = node->next) {
        sc_where outer = w->ctx->where;
        sc_where_set_node(w->ctx, node);
        for (uint32_t i = 0; i < node->out_count; i++) SC_TRY(put_entry(w, node->outs[i], type));
        w->ctx->where = outer;
    }
    sc_json_end_object(&w->json);
    return SC_OK;
}

// --- Inputs and outputs --------------------------------------------------------------------------

sc_status sc_serde_put_input(sc_serde_writer *w, const sc_value *value, const sc_input_sig *sig) {
    if (sig && sig->kind == SC_INPUT_CONSTANT)
        return sc_serde_put_arg(w, &sig->constant_value, NULL);
    if (value->type == SC_VALUE_TENSOR || value->type == SC_VALUE_INT)
        return sc_serde_put_value(w, value);
    return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, "Leave the program out of the record.",
                   "the input '%s' is neither a tensor nor an integer: records cannot hold it",
                   value->name->text);
}

sc_status sc_serde_put_output(sc_serde_writer *w, const sc_arg *arg) {
    const bool taken =
        arg->kind == SC_ARG_NONE || arg->kind == SC_ARG_INT || arg->kind == SC_ARG_VALUE;
    if (taken) return sc_serde_put_arg(w, arg, NULL);
    return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, "Return tensors.",
                   "a graph returns a constant that is not an integer: records cannot hold it");
}

sc_status sc_serde_put_graph(sc_serde_writer *w, const sc_graph *graph) {
    const bool is_top = graph == w->method->graph;
    sc_json_begin_object(&w->json);
    sc_json_put_array(&w->json, "inputs");
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        SC_TRY(sc_serde_put_input(w, graph->inputs.data[i],
                                  is_top ? &w->method->inputs.data[i] : NULL));
    sc_json_end_array(&w->json);
    sc_json_put_array(&w->json, "outputs");
    for (uint32_t i = 0; i < graph->ret->arg_count; i++)
        SC_TRY(sc_serde_put_output(w, &graph->ret->args[i]));
    sc_json_end_array(&w->json);
    sc_json_put_array(&w->json, "nodes");
    for (const sc_node *node = graph->first; node; node = node->next)
        SC_TRY(sc_serde_put_node(w, node));
    sc_json_end_array(&w->json);
    SC_TRY(put_table(w, "tensor_values", graph, SC_VALUE_TENSOR));
    SC_TRY(put_table(w, "sym_int_values", graph, SC_VALUE_INT));
    SC_TRY(put_table(w, "sym_bool_values", graph, SC_VALUE_BOOL));
    sc_json_put_bool(&w->json, "is_single_tensor_return", false);
    sc_json_put_object(&w->json, "custom_obj_values");
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
    return SC_OK;
}
