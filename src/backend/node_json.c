#include "backend/node_json.h"

#include "base/print.h"
#include "core/stack_trace.h"
#include "ir/part.h"

static const char *const VALUE_KINDS[] = {"tensor", "int", "float", "bool", "none", "opaque"};

void sc_dim_add_json(sc_json_writer *w, sc_arena *arena, sc_dim dim) {
    if (sc_dim_is_int(dim)) {
        sc_json_add_i64(w, dim.value);
        return;
    }
    sc_sb text;
    sc_sb_init(&text, arena);
    sc_dim_print(&text, dim);
    sc_json_add_str(w, sc_sb_str(&text));
}

void sc_dim_put_bound_json(sc_json_writer *w, const char *key, int64_t bound) {
    if (bound == SC_DIM_INF || bound == SC_DIM_NEG_INF)
        sc_json_put_null(w, key);
    else
        sc_json_put_i64(w, key, bound);
}

void sc_symbol_put_range_json(sc_json_writer *w, const sc_symbol *symbol) {
    sc_dim_put_bound_json(w, "min", symbol->range.min);
    sc_dim_put_bound_json(w, "max", symbol->range.max);
}

void sc_value_put_json(sc_json_writer *w, sc_arena *scratch, const sc_value *value) {
    sc_json_put_str(w, "name", sc_name_str(value->name));
    sc_json_put_text(w, "kind", VALUE_KINDS[value->type]);
    if (value->type != SC_VALUE_TENSOR) return;
    sc_json_put_text(w, "dtype", sc_dtype_name((sc_dtype)value->spec.dtype));
    sc_json_put_array(w, "shape");
    for (uint32_t d = 0; d < value->spec.rank; d++)
        sc_dim_add_json(w, scratch, value->spec.sizes[d]);
    sc_json_end_array(w);
}

static bool add_name(void *user, sc_arg *arg) {
    sc_json_add_str(user, sc_name_str(arg->value->name));
    return true;
}

void sc_node_put_json(sc_json_writer *w, sc_arena *scratch, const sc_node *node) {
    sc_json_put_str(w, "name", sc_name_str(node->name));
    sc_json_put_text(w, "op", node->op->name);
    sc_json_put_array(w, "inputs");
    sc_node_visit_values(node, add_name, w);
    sc_json_end_array(w);
    sc_json_put_array(w, "outputs");
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_json_begin_object(w);
        sc_value_put_json(w, scratch, node->outs[i]);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    sc_json_put_str(w, "source", sc_stack_trace_source(scratch, node->meta.stack_trace));
    sc_json_put_str(w, "module", node->meta.module_stack);
    sc_json_put_u64(w, "debugHandle", node->meta.debug_handle);
}

// --- Arguments -----------------------------------------------------------------------------------

static void add_arg(sc_json_writer *w, const sc_arg *arg);

static void add_named(sc_json_writer *w, const char *what, const sc_name *name) {
    sc_json_begin_object(w);
    sc_json_put_str(w, what, name ? sc_name_str(name) : (sc_str){0});
    sc_json_end_object(w);
}

static void add_list(sc_json_writer *w, const sc_arg *arg) {
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < arg->count; i++) add_arg(w, &arg->items[i]);
    sc_json_end_array(w);
}

static void add_arg(sc_json_writer *w, const sc_arg *arg) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_VALUE: add_named(w, "value", arg->value->name); break;
    case SC_ARG_GRAPH: add_named(w, "graph", arg->graph->name); break;
    case SC_ARG_PART: add_named(w, "part", arg->part->method->name); break;
    case SC_ARG_INT: sc_json_add_i64(w, arg->i); break;
    case SC_ARG_FLOAT: sc_json_add_f64(w, arg->f); break;
    case SC_ARG_BOOL: sc_json_add_bool(w, arg->b); break;
    case SC_ARG_STR:
    case SC_ARG_DEVICE: sc_json_add_str(w, arg->str); break;
    case SC_ARG_DTYPE: sc_json_add_text(w, sc_dtype_name((sc_dtype)arg->code)); break;
    case SC_ARG_LAYOUT:
    case SC_ARG_MEMORY_FORMAT: sc_json_add_u64(w, arg->code); break;
    case SC_ARG_LIST: add_list(w, arg); break;
    case SC_ARG_NONE: sc_json_add_null(w); break;
    }
}

static void put_args(sc_json_writer *w, const sc_node *node) {
    const sc_schema *schema = sc_op_has(node->op, SC_FOREIGN) ? NULL : node->op->schema;
    sc_json_put_object(w, "args");
    for (uint32_t i = 0; i < node->arg_count; i++) {
        char place[16];
        sc_str name = {place, sc_print(place, sizeof place, "%u", i)};
        if (schema && i < schema->param_count) name = schema->params[i].name;
        sc_json_key_str(w, name);
        add_arg(w, &node->args[i]);
    }
    sc_json_end_object(w);
}

// --- Nodes ---------------------------------------------------------------------------------------

void sc_node_add_json(sc_json_writer *w, sc_arena *scratch, const sc_node *node) {
    sc_mark mark = sc_arena_mark(scratch);
    sc_json_begin_object(w);
    sc_node_put_json(w, scratch, node);
    sc_json_end_object(w);
    sc_arena_rewind(scratch, mark);
}

void sc_node_add_full_json(sc_json_writer *w, sc_arena *scratch, const sc_node *node) {
    sc_mark mark = sc_arena_mark(scratch);
    sc_json_begin_object(w);
    sc_node_put_json(w, scratch, node);
    put_args(w, node);
    sc_json_end_object(w);
    sc_arena_rewind(scratch, mark);
}
