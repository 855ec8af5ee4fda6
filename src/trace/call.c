// Calls of source programs and of expansions. Here the arguments are checked against the schema and
// completed with its defaults, so that expansions only see complete values.
// In wasm: -Os
#include "trace/trace.h"

static sc_x default_value(sc_trace *t, const sc_param *param) {
    switch (param->default_kind) {
    case SC_DEFAULT_INT:
        return param->type == SC_PARAM_DTYPE ? sc_x_dtype(t, (sc_dtype)param->default_int)
                                             : sc_x_int(t, param->default_int);
    case SC_DEFAULT_FLOAT: return sc_x_float(t, param->default_float);
    case SC_DEFAULT_BOOL: return sc_x_bool(param->default_int != 0);
    case SC_DEFAULT_STR:
        return sc_x_new(t, (sc_x_data){.kind = SC_X_STR, .str = param->default_str});
    case SC_DEFAULT_MEMORY_FORMAT: return sc_x_format(t, (sc_memory_format)param->default_int);
    case SC_DEFAULT_INTS: return sc_x_ints(t, param->default_ints, param->default_ints_count);
    case SC_DEFAULT_REQUIRED:
    case SC_DEFAULT_NONE: break;
    }
    return X_NONE;
}

static bool item_fits(sc_param_type type, sc_x x) {
    bool is_int = x->kind == SC_X_INT || x->kind == SC_X_BOOL;
    bool is_number = is_int || x->kind == SC_X_FLOAT || x->kind == SC_X_VALUE;
    switch (type) {
    case SC_PARAM_TENSOR: return x->kind == SC_X_TENSOR || is_number;
    case SC_PARAM_INT: return is_int;
    case SC_PARAM_FLOAT:
    case SC_PARAM_SCALAR: return is_number;
    case SC_PARAM_BOOL: return x->kind == SC_X_BOOL || x->kind == SC_X_VALUE;
    case SC_PARAM_STR: return x->kind == SC_X_STR;
    case SC_PARAM_DTYPE: return x->kind == SC_X_DTYPE;
    case SC_PARAM_LAYOUT: return x->kind == SC_X_LAYOUT;
    case SC_PARAM_DEVICE: return x->kind == SC_X_DEVICE;
    case SC_PARAM_MEMORY_FORMAT: return x->kind == SC_X_FORMAT;
    case SC_PARAM_GRAPH: return x->kind == SC_X_GRAPH;
    case SC_PARAM_PART: return x->kind == SC_X_PART;
    case SC_PARAM_GENERATOR: break;
    }
    return false;
}

// As sc_arg_fits, which guards the nodes: expansions read arguments without looking at kinds.
static bool fits(const sc_param *param, sc_x x) {
    if (x->kind == SC_X_NONE) return param->is_optional || param->default_kind == SC_DEFAULT_NONE;
    if (!param->is_list) return item_fits(param->type, x);
    if (x->kind != SC_X_LIST) return param->list_size > 0 && item_fits(param->type, x);
    for (uint32_t i = 0; i < x->count; i++)
        if (x->items[i]->kind == SC_X_NONE ? !param->item_is_optional
                                           : !item_fits(param->type, x->items[i]))
            return false;
    return true;
}

// One integer stands for a whole int[2]; an integer for a float is a float, as in sc_args_complete.
static sc_x normal(sc_trace *t, const sc_param *param, sc_x x) {
    if (param->is_list && param->list_size > 0 && x->kind == SC_X_INT) {
        sc_x same[SC_RANK_MAX];
        uint32_t count = param->list_size > SC_RANK_MAX ? SC_RANK_MAX : (uint32_t)param->list_size;
        for (uint32_t i = 0; i < count; i++) same[i] = x;
        return sc_x_list(t, same, count);
    }
    if (param->type == SC_PARAM_INT && x->kind == SC_X_BOOL) return sc_x_int(t, x->b);
    if (param->type == SC_PARAM_FLOAT && !param->is_list && x->kind == SC_X_INT && !x->dim.expr)
        return sc_x_float(t, (double)x->dim.value);
    return x;
}

static bool complete_args(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count,
                          sc_x **out) {
    const sc_schema *schema = op->schema;
    if (t->status == SC_OK && count > schema->param_count)
        sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "%s takes %u arguments, not %u", op->name,
                      schema->param_count, count);
    if (t->status != SC_OK) return false;
    sc_x *full = sc_new_array(t->ctx->scratch, sc_x, schema->param_count + 1);
    for (uint32_t i = 0; i < schema->param_count; i++) {
        const sc_param *param = &schema->params[i];
        if (i < count && args[i]) {
            full[i] = normal(t, param, args[i]);
            if (!fits(param, full[i])) {
                sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                              "argument '" SC_STR_FMT "' of %s has the wrong type",
                              SC_STR_ARG(param->name), op->name);
                return false;
            }
        } else if (param->default_kind == SC_DEFAULT_REQUIRED) {
            sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "%s needs the argument '" SC_STR_FMT "'",
                          op->name, SC_STR_ARG(param->name));
            return false;
        } else {
            full[i] = default_value(t, param);
        }
    }
    *out = full;
    return true;
}

sc_x sc_trace_call(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count) {
    if (t->status != SC_OK) return &t->poisoned;
    sc_mark mark = sc_arena_mark(t->ctx->scratch);
    sc_x *full;
    sc_x result = &t->poisoned;
    if (complete_args(t, op, args, count, &full)) result = t->hooks.dispatch(t, op, full);
    sc_arena_rewind(t->ctx->scratch, mark);
    return result;
}

sc_x sc_trace_op(sc_trace *t, sc_op_id id, const sc_x *args) {
    uint32_t count = 0;
    while (args[count]) count++;
    return sc_trace_call(t, sc_op_get(id), args, count);
}
