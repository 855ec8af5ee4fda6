// A method in the host's form: graphs, nodes, values and arguments as JSON, with the numbers that
// changes use.
#include <inttypes.h>

#include "api/edit/edit.h"
#include "backend/node_json.h"
#include "ir/part.h"
#include "ir/text.h"

// --- Values --------------------------------------------------------------------------------------

// Row-major and of known sizes: the host computes strides and dim order.
static bool is_plain(const sc_spec *spec) {
    int64_t stride = 1;
    for (uint32_t d = spec->rank; d-- > 0;) {
        if (spec->sizes[d].expr || spec->strides[d].expr || spec->strides[d].value != stride)
            return false;
        if (spec->sizes[d].value > 1 && !sc_mul_i64(stride, spec->sizes[d].value, &stride))
            return false;
    }
    return true;
}

static void put_strides(sc_json_writer *w, sc_arena *scratch, const sc_spec *spec) {
    sc_json_key(w, "strides");
    sc_json_begin_array(w);
    for (uint32_t d = 0; d < spec->rank; d++) sc_dim_add_json(w, scratch, spec->strides[d]);
    sc_json_end_array(w);
}

// null if the strides do not determine it.
static void put_dim_order(sc_json_writer *w, sc_exprs *exprs, const sc_spec *spec) {
    uint8_t order[SC_RANK_MAX];
    sc_json_key(w, "dimOrder");
    if (!sc_spec_dim_order(exprs, spec, order)) {
        sc_json_add_null(w);
        return;
    }
    sc_json_begin_array(w);
    for (uint32_t d = 0; d < spec->rank; d++) sc_json_add_u64(w, order[d]);
    sc_json_end_array(w);
}

void sc_edit_add_value(sc_edit *edit, sc_json_writer *w, sc_value *value) {
    sc_arena *scratch = edit->job->ctx.scratch;
    sc_json_begin_object(w);
    sc_json_put_u64(w, "id", sc_edit_value_number(edit, value));
    sc_value_put_json(w, scratch, value);
    if (value->type == SC_VALUE_TENSOR && !is_plain(&value->spec)) {
        put_strides(w, scratch, &value->spec);
        put_dim_order(w, value->graph->method->exprs, &value->spec);
    }
    if (value->has_dim) {
        sc_json_key(w, "value");
        sc_dim_add_json(w, scratch, value->dim);
    }
    sc_json_end_object(w);
}

// --- Arguments -----------------------------------------------------------------------------------

static void add_tagged(sc_json_writer *w, const char *tag, uint32_t number) {
    sc_json_begin_object(w);
    sc_json_put_u64(w, tag, number);
    sc_json_end_object(w);
}

static void add_float(sc_json_writer *w, double f) {
    sc_json_begin_object(w);
    sc_json_put_f64(w, "f", f);
    sc_json_end_object(w);
}

// JavaScript rounds larger numbers of JSON to the nearest double.
static void add_int(sc_edit *edit, sc_json_writer *w, int64_t i) {
    const int64_t most = (INT64_C(1) << 53) - 1;
    if (i >= -most && i <= most) {
        sc_json_add_i64(w, i);
        return;
    }
    sc_json_begin_object(w);
    sc_json_put_str(w, "i", sc_str_format(edit->job->ctx.scratch, "%" PRId64, i));
    sc_json_end_object(w);
}

static void add_part(sc_json_writer *w, const sc_part *part) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "p", sc_name_str(part->method->name));
    sc_json_end_object(w);
}

static void add_arg(sc_edit *edit, sc_json_writer *w, const sc_arg *arg) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_NONE: sc_json_add_null(w); break;
    case SC_ARG_VALUE: add_tagged(w, "v", sc_edit_value_number(edit, arg->value)); break;
    case SC_ARG_GRAPH: add_tagged(w, "g", sc_edit_graph_number(edit, arg->graph)); break;
    case SC_ARG_PART: add_part(w, arg->part); break;
    case SC_ARG_INT: add_int(edit, w, arg->i); break;
    case SC_ARG_FLOAT: add_float(w, arg->f); break;
    case SC_ARG_BOOL: sc_json_add_bool(w, arg->b); break;
    case SC_ARG_STR:
    case SC_ARG_DEVICE: sc_json_add_str(w, arg->str); break;
    case SC_ARG_DTYPE: sc_json_add_text(w, sc_dtype_name((sc_dtype)arg->code)); break;
    case SC_ARG_LAYOUT: sc_json_add_text(w, "strided"); break;
    case SC_ARG_MEMORY_FORMAT: sc_json_add_text(w, sc_text_formats[arg->code]); break;
    case SC_ARG_LIST:
        sc_json_begin_array(w);
        for (uint32_t i = 0; i < arg->count; i++) add_arg(edit, w, &arg->items[i]);
        sc_json_end_array(w);
        break;
    }
}

// --- Nodes ---------------------------------------------------------------------------------------

// The parameters of an operator in the order of the arguments, and traits that passes ask for. They
// come with the first node of each operator of the table.
static void put_parameters(sc_edit *edit, sc_json_writer *w, const sc_node *node) {
    const sc_schema *schema = sc_op_has(node->op, SC_FOREIGN) ? NULL : node->op->schema;
    uint32_t positional = 0;
    if (schema && !sc_imap_add(&edit->shown, SC_PTR_KEY(node->op), 1)) return;
    sc_json_put_object(w, "parameters");
    sc_json_put_array(w, "names");
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const sc_param *param = schema && i < schema->param_count ? &schema->params[i] : NULL;
        const sc_str name = param ? param->name : node->arg_names ? node->arg_names[i] : SC_STR("");
        positional += !param || !param->keyword_only;
        sc_json_add_str(w, name);
    }
    sc_json_end_array(w);
    sc_json_put_u64(w, "positional", positional);
    if (sc_op_has(node->op, SC_MUTATES)) sc_json_put_bool(w, "mutates", true);
    if (sc_op_has(node->op, SC_RANDOM)) sc_json_put_bool(w, "isRandom", true);
    sc_json_end_object(w);
}

void sc_edit_add_node(sc_edit *edit, sc_json_writer *w, sc_node *node) {
    sc_ctx *ctx = &edit->job->ctx;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_json_begin_object(w);
    sc_json_put_u64(w, "id", sc_edit_node_number(edit, node));
    sc_json_put_str(w, "name", sc_name_str(node->name));
    sc_json_put_text(w, "target", node->op->name);
    put_parameters(edit, w, node);
    sc_json_key(w, "args");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < node->arg_count; i++) add_arg(edit, w, &node->args[i]);
    sc_json_end_array(w);
    sc_json_key(w, "outs");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < node->out_count; i++) sc_edit_add_value(edit, w, node->outs[i]);
    sc_json_end_array(w);
    sc_json_put_u64(w, "debugHandle", node->meta.debug_handle);
    sc_json_end_object(w);
    sc_arena_rewind(ctx->scratch, mark);
}

void sc_edit_put_origin(sc_json_writer *w, const sc_node *node) {
    sc_json_put_object(w, "origin");
    sc_json_put_str(w, "stackTrace", node->meta.stack_trace);
    sc_json_put_str(w, "module", node->meta.module_stack);
    sc_json_put_str(w, "fromNode", sc_name_str(sc_node_origin(node)));
    sc_json_end_object(w);
}

void sc_edit_put_outputs(sc_edit *edit, sc_json_writer *w, const sc_graph *graph) {
    sc_json_key(w, "outputs");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < graph->ret->arg_count; i++) add_arg(edit, w, &graph->ret->args[i]);
    sc_json_end_array(w);
}

// --- Methods -------------------------------------------------------------------------------------

typedef struct putting {
    sc_edit *edit;
    sc_json_writer *w;
} putting;

static sc_status put_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    const putting *p = user;
    sc_json_writer *w = p->w;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_json_begin_object(w);
    sc_json_put_u64(w, "id", sc_edit_graph_number(p->edit, graph));
    sc_json_put_str(w, "name", graph->name ? sc_name_str(graph->name) : (sc_str){0});
    sc_json_put_str(w, "path", sc_graph_path(ctx->scratch, graph));
    sc_json_key(w, "inputs");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        sc_edit_add_value(p->edit, w, graph->inputs.data[i]);
    sc_json_end_array(w);
    sc_json_key(w, "nodes");
    sc_json_begin_array(w);
    for (sc_node *node = graph->first; node; node = node->next) sc_edit_add_node(p->edit, w, node);
    sc_json_end_array(w);
    sc_edit_put_outputs(p->edit, w, graph);
    sc_json_end_object(w);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

void sc_edit_add_input_row(sc_json_writer *w, const sc_input_sig *sig) {
    sc_json_begin_object(w);
    sc_json_put_text(w, "kind", sc_text_input_kinds[sig->kind]);
    sc_json_put_str(w, "target", sig->target);
    sc_json_put_bool(w, "persistent", sig->persistent);
    if (sig->constant) sc_json_put_u64(w, "bytes", sig->constant->data.size);
    sc_json_end_object(w);
}

static void put_signature(sc_json_writer *w, const sc_method *method) {
    sc_json_key(w, "inputs");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < method->inputs.count; i++)
        sc_edit_add_input_row(w, &method->inputs.data[i]);
    sc_json_end_array(w);
    sc_json_key(w, "outputs");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *sig = &method->outputs.data[i];
        sc_json_begin_object(w);
        sc_json_put_text(w, "kind", sc_text_output_kinds[sig->kind]);
        sc_json_put_str(w, "target", sig->target);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static void put_ranges(sc_json_writer *w, const sc_method *method) {
    sc_json_put_array(w, "ranges");
    for (uint32_t i = 0; i < sc_exprs_symbol_count(method->exprs); i++) {
        const sc_symbol *symbol = sc_exprs_symbol_at(method->exprs, i);
        sc_json_begin_object(w);
        sc_json_put_str(w, "symbol", sc_name_str(symbol->name));
        sc_symbol_put_range_json(w, symbol);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

sc_status sc_edit_put_method(sc_edit *edit, sc_json_writer *w) {
    putting p = {edit, w};
    sc_json_begin_object(w);
    sc_json_put_str(w, "method", sc_name_str(edit->method->name));
    sc_json_key(w, "graphs");
    sc_json_begin_array(w);
    SC_TRY(sc_graphs_visit(&edit->job->ctx, edit->method->graph, put_graph, &p));
    sc_json_end_array(w);
    sc_json_key(w, "signature");
    sc_json_begin_object(w);
    put_signature(w, edit->method);
    sc_json_end_object(w);
    put_ranges(w, edit->method);
    sc_json_end_object(w);
    return SC_OK;
}
