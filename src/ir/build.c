// Builds nodes from operators and arguments: schema checks, defaults, shape inference, result
// names. It connects the IR and the inference rules, which see sc_iarg and never a node.
#include "ir/part.h"

// --- Arguments against the schema ----------------------------------------------------------------

static bool value_fits(sc_param_type type, const sc_value *value) {
    switch (value->type) {
    case SC_VALUE_TENSOR: return type == SC_PARAM_TENSOR;
    case SC_VALUE_INT:
    case SC_VALUE_BOOL:
        return type == SC_PARAM_INT || type == SC_PARAM_FLOAT || type == SC_PARAM_BOOL ||
               type == SC_PARAM_SCALAR || type == SC_PARAM_TENSOR;
    case SC_VALUE_FLOAT:
        return type == SC_PARAM_FLOAT || type == SC_PARAM_SCALAR || type == SC_PARAM_TENSOR;
    case SC_VALUE_NONE:
    case SC_VALUE_OPAQUE: return false;
    }
    return false;
}

static bool item_fits(sc_param_type type, const sc_arg *arg) {
    bool is_int = arg->kind == SC_ARG_INT || arg->kind == SC_ARG_BOOL;
    bool is_number = is_int || arg->kind == SC_ARG_FLOAT;
    if (arg->kind == SC_ARG_VALUE) return value_fits(type, arg->value);
    switch (type) {
    case SC_PARAM_TENSOR:
    case SC_PARAM_FLOAT:
    case SC_PARAM_SCALAR: return is_number;
    case SC_PARAM_INT: return is_int;
    case SC_PARAM_BOOL: return arg->kind == SC_ARG_BOOL;
    case SC_PARAM_STR: return arg->kind == SC_ARG_STR;
    case SC_PARAM_DTYPE: return arg->kind == SC_ARG_DTYPE;
    case SC_PARAM_LAYOUT: return arg->kind == SC_ARG_LAYOUT;
    case SC_PARAM_DEVICE: return arg->kind == SC_ARG_DEVICE;
    case SC_PARAM_MEMORY_FORMAT: return arg->kind == SC_ARG_MEMORY_FORMAT;
    case SC_PARAM_GENERATOR: return false;
    case SC_PARAM_GRAPH: return arg->kind == SC_ARG_GRAPH;
    case SC_PARAM_PART: return arg->kind == SC_ARG_PART;
    }
    return false;
}

bool sc_arg_fits(const sc_param *param, const sc_arg *arg) {
    if (arg->kind == SC_ARG_NONE)
        return param->is_optional || param->default_kind == SC_DEFAULT_NONE;
    if (!param->is_list) return item_fits(param->type, arg);
    if (arg->kind != SC_ARG_LIST) return param->list_size > 0 && item_fits(param->type, arg);
    for (uint32_t i = 0; i < arg->count; i++) {
        const sc_arg *item = &arg->items[i];
        if (item->kind == SC_ARG_NONE ? !param->item_is_optional : !item_fits(param->type, item))
            return false;
    }
    return true;
}

sc_arg sc_arg_default(sc_arena *arena, const sc_param *param) {
    switch (param->default_kind) {
    case SC_DEFAULT_INT:
        if (param->type == SC_PARAM_DTYPE) return sc_arg_dtype((sc_dtype)param->default_int);
        if (param->type == SC_PARAM_FLOAT) return sc_arg_float((double)param->default_int);
        return sc_arg_int(param->default_int);
    case SC_DEFAULT_FLOAT: return sc_arg_float(param->default_float);
    case SC_DEFAULT_BOOL: return sc_arg_bool(param->default_int != 0);
    case SC_DEFAULT_STR: return sc_arg_str(param->default_str);
    case SC_DEFAULT_INTS: return sc_arg_ints(arena, param->default_ints, param->default_ints_count);
    case SC_DEFAULT_MEMORY_FORMAT: return sc_arg_format((sc_memory_format)param->default_int);
    case SC_DEFAULT_REQUIRED:
    case SC_DEFAULT_NONE: break;
    }
    return sc_arg_none();
}

static sc_arg normalise(sc_arena *arena, const sc_param *param, sc_arg arg) {
    if (param->is_list && arg.kind != SC_ARG_LIST && arg.kind != SC_ARG_NONE) {
        uint32_t count = (uint32_t)param->list_size;
        sc_arg *items = sc_new_array(arena, sc_arg, count);
        for (uint32_t i = 0; i < count; i++) items[i] = arg;
        return sc_arg_list(items, count);
    }
    if (param->type == SC_PARAM_FLOAT && arg.kind == SC_ARG_INT) return sc_arg_float((double)arg.i);
    if (param->type == SC_PARAM_INT && arg.kind == SC_ARG_BOOL) return sc_arg_int(arg.b);
    return arg;
}

sc_status sc_args_complete(sc_ctx *ctx, sc_arena *arena, const sc_op *op, const sc_arg *args,
                           uint32_t arg_count, sc_arg **out) {
    const sc_schema *schema = op->schema;
    if (arg_count > schema->param_count)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "%s takes %u arguments, not %u", op->name,
                       schema->param_count, arg_count);
    sc_arg *full = schema->param_count ? sc_new_array(arena, sc_arg, schema->param_count) : NULL;
    for (uint32_t i = 0; i < schema->param_count; i++) {
        const sc_param *param = &schema->params[i];
        if (i >= arg_count) {
            if (param->default_kind == SC_DEFAULT_REQUIRED)
                return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "%s needs the argument '" SC_STR_FMT "'",
                               op->name, SC_STR_ARG(param->name));
            full[i] = sc_arg_default(arena, param);
        } else if (!sc_arg_fits(param, &args[i])) {
            return sc_fail(ctx, SC_ERR_ARGUMENT, NULL,
                           "argument '" SC_STR_FMT "' of %s has the wrong type",
                           SC_STR_ARG(param->name), op->name);
        } else {
            full[i] = normalise(arena, param, args[i]);
        }
    }
    *out = full;
    return SC_OK;
}

bool sc_arg_equal(const sc_arg *a, const sc_arg *b) {
    if (a->kind != b->kind) return false;
    switch ((sc_arg_kind)a->kind) {
    case SC_ARG_NONE: return true;
    case SC_ARG_VALUE: return a->value == b->value;
    case SC_ARG_INT: return a->i == b->i;
    case SC_ARG_FLOAT: return memcmp(&a->f, &b->f, sizeof(double)) == 0;
    case SC_ARG_BOOL: return a->b == b->b;
    case SC_ARG_STR:
    case SC_ARG_DEVICE: return sc_str_equal(a->str, b->str);
    case SC_ARG_DTYPE:
    case SC_ARG_LAYOUT:
    case SC_ARG_MEMORY_FORMAT: return a->code == b->code;
    case SC_ARG_GRAPH: return a->graph == b->graph;
    case SC_ARG_PART: return a->part == b->part;
    case SC_ARG_LIST: break;
    }
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!sc_arg_equal(&a->items[i], &b->items[i])) return false;
    return true;
}

sc_arg sc_arg_ints(sc_arena *arena, const int64_t *values, uint32_t count) {
    sc_arg *items = count ? sc_new_array(arena, sc_arg, count) : NULL;
    for (uint32_t i = 0; i < count; i++) items[i] = sc_arg_int(values[i]);
    return sc_arg_list(items, count);
}

int32_t sc_op_param_index(const sc_op *op, const char *name) {
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        if (sc_str_is(op->schema->params[i].name, name)) return (int32_t)i;
    return -1;
}

sc_arg *sc_node_arg(const sc_node *node, const char *param) {
    int32_t index = sc_op_param_index(node->op, param);
    SC_ASSERT(index >= 0 && (uint32_t)index < node->arg_count);
    return &node->args[index];
}

// --- Inference -----------------------------------------------------------------------------------

// An integer that no expression describes is a fresh symbol: sizes made of it stay consistent.
static sc_dim dim_of(sc_value *value) {
    if (!value->has_dim) {
        sc_range range = {SC_DIM_NEG_INF, SC_DIM_INF};
        if (value->type == SC_VALUE_BOOL) range = (sc_range){0, 1};
        value->dim = sc_exprs_fresh(value->graph->method->exprs, range);
        value->has_dim = true;
    }
    return value->dim;
}

static void view_value(sc_value *value, sc_iarg *out) {
    switch (value->type) {
    case SC_VALUE_TENSOR: *out = (sc_iarg){.kind = SC_IARG_TENSOR, .tensor = &value->spec}; break;
    case SC_VALUE_INT:
    case SC_VALUE_BOOL: *out = (sc_iarg){.kind = SC_IARG_INT, .dim = dim_of(value)}; break;
    case SC_VALUE_FLOAT:
        *out = (sc_iarg){.kind = SC_IARG_FLOAT, .f = 0.0};  // rules use only that it is a float
        break;
    case SC_VALUE_NONE:
    case SC_VALUE_OPAQUE: *out = (sc_iarg){.kind = SC_IARG_NONE}; break;
    }
}

static void view_arg(sc_arena *arena, const sc_arg *arg, sc_iarg *out) {
    *out = (sc_iarg){.kind = SC_IARG_NONE};
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_NONE:
    case SC_ARG_PART: break;  // no rule reads it
    case SC_ARG_VALUE: view_value(arg->value, out); break;
    case SC_ARG_INT: *out = (sc_iarg){.kind = SC_IARG_INT, .dim = sc_dim_int(arg->i)}; break;
    case SC_ARG_FLOAT: *out = (sc_iarg){.kind = SC_IARG_FLOAT, .f = arg->f}; break;
    case SC_ARG_BOOL: *out = (sc_iarg){.kind = SC_IARG_BOOL, .b = arg->b}; break;
    case SC_ARG_STR: *out = (sc_iarg){.kind = SC_IARG_STR, .str = arg->str}; break;
    case SC_ARG_DEVICE: *out = (sc_iarg){.kind = SC_IARG_DEVICE, .str = arg->str}; break;
    case SC_ARG_DTYPE: *out = (sc_iarg){.kind = SC_IARG_DTYPE, .code = arg->code}; break;
    case SC_ARG_LAYOUT: *out = (sc_iarg){.kind = SC_IARG_LAYOUT, .code = arg->code}; break;
    case SC_ARG_MEMORY_FORMAT:
        *out = (sc_iarg){.kind = SC_IARG_MEMORY_FORMAT, .code = arg->code};
        break;
    case SC_ARG_GRAPH: *out = (sc_iarg){.kind = SC_IARG_GRAPH}; break;
    case SC_ARG_LIST: {
        sc_iarg *items = arg->count ? sc_new_array(arena, sc_iarg, arg->count) : NULL;
        for (uint32_t i = 0; i < arg->count; i++) view_arg(arena, &arg->items[i], &items[i]);
        *out = (sc_iarg){.kind = SC_IARG_LIST, .count = arg->count, .items = items};
        break;
    }
    }
}

static sc_iarg *view_args(sc_arena *arena, const sc_arg *args, uint32_t count) {
    sc_iarg *out = count ? sc_new_array(arena, sc_iarg, count) : NULL;
    for (uint32_t i = 0; i < count; i++) view_arg(arena, &args[i], &out[i]);
    return out;
}

sc_status sc_node_infer_args(sc_arena *arena, const sc_node *node, sc_iarg **out) {
    *out = view_args(arena, node->args, node->arg_count);
    return SC_OK;
}

static sc_status run_rule(sc_graph *graph, const sc_op *op, const sc_arg *args, uint32_t count,
                          sc_infer *infer) {
    sc_ctx *ctx = graph->ctx;
    *infer = (sc_infer){.ctx = ctx,
                        .arena = ctx->scratch,
                        .exprs = graph->method->exprs,
                        .op = op,
                        .args = view_args(ctx->scratch, args, count),
                        .arg_count = count};
    return sc_infer_run(infer);
}

static void store_result(sc_value *value, const sc_iout *out) {
    value->has_dim = false;
    switch (out->kind) {
    case SC_IOUT_NONE: value->type = SC_VALUE_NONE; break;
    case SC_IOUT_TENSOR:
        value->type = SC_VALUE_TENSOR;
        value->spec = out->spec;
        sc_spec_share(value->graph->method->exprs, &value->spec);
        break;
    case SC_IOUT_INT:
    case SC_IOUT_BOOL:
        value->type = out->kind == SC_IOUT_INT ? SC_VALUE_INT : SC_VALUE_BOOL;
        value->dim = out->dim;
        value->has_dim = true;
        break;
    case SC_IOUT_FLOAT: value->type = SC_VALUE_FLOAT; break;
    }
}

sc_status sc_node_infer(sc_node *node) {
    sc_ctx *ctx = node->graph->ctx;
    if (sc_op_has(node->op, SC_HIGHER_ORDER))
        return SC_OK;  // its results are those of its bodies or its part, set when it was made
    sc_where_set_node(ctx, node);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_infer infer;
    sc_status status = run_rule(node->graph, node->op, node->args, node->arg_count, &infer);
    if (status == SC_OK && infer.out_count != node->out_count)
        status = sc_fail(ctx, SC_ERR_MISMATCH, NULL, "%s has %u results here and %u by its rule",
                         node->op->name, node->out_count, infer.out_count);
    for (uint32_t i = 0; status == SC_OK && i < node->out_count; i++)
        store_result(node->outs[i], &infer.outs[i]);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// --- The builder ---------------------------------------------------------------------------------

void sc_node_name_results(sc_node *node) {
    sc_graph *graph = node->graph;
    for (uint32_t i = 0; node->out_count > 1 && i < node->out_count; i++) {
        sc_mark mark = sc_arena_mark(graph->ctx->scratch);
        sc_str wanted = sc_str_format(graph->ctx->scratch, "%s_%u", node->name->text, i);
        node->outs[i]->name = sc_graph_unique_name(graph, wanted);
        sc_arena_rewind(graph->ctx->scratch, mark);
    }
}

// A higher-order node returns the results of its last body, because a loop's first one is its
// condition.
static const sc_graph *last_body(const sc_arg *args, uint32_t count) {
    while (count-- > 0)
        if (args[count].kind == SC_ARG_GRAPH) return args[count].graph;
    return NULL;
}

static void result_from_body(sc_value *value, const sc_arg *output) {
    if (output->kind == SC_ARG_VALUE) {
        const sc_value *from = output->value;
        value->type = from->type;
        value->spec = from->spec;
        value->dim = from->dim;
        value->has_dim = from->has_dim;
    } else if (output->kind == SC_ARG_INT || output->kind == SC_ARG_BOOL) {
        value->type = output->kind == SC_ARG_INT ? SC_VALUE_INT : SC_VALUE_BOOL;
        value->dim = sc_dim_int(output->kind == SC_ARG_INT ? output->i : output->b);
        value->has_dim = true;
    } else if (output->kind == SC_ARG_FLOAT) {
        value->type = SC_VALUE_FLOAT;
    }
}

static sc_node *node_of_body(sc_graph *graph, const sc_op *op, const sc_arg *args, uint32_t count) {
    const sc_graph *body = last_body(args, count);
    SC_ASSERT(body);
    sc_node *node = sc_node_new(graph, op, args, count, body->ret->arg_count, NULL);
    for (uint32_t i = 0; i < node->out_count; i++)
        result_from_body(node->outs[i], &body->ret->args[i]);
    return node;
}

// A delegate call returns the results of its part, except state that the part keeps.
static sc_node *node_of_part(sc_graph *graph, const sc_op *op, const sc_arg *args, uint32_t count) {
    const sc_method *called = args[0].part->method;
    uint32_t out_count = 0, at = 0;
    for (uint32_t i = 0; i < called->outputs.count; i++)
        out_count += called->outputs.data[i].kind == SC_OUTPUT_USER;
    sc_node *node = sc_node_new(graph, op, args, count, out_count, NULL);
    for (uint32_t i = 0; i < called->outputs.count; i++)
        if (called->outputs.data[i].kind == SC_OUTPUT_USER)
            result_from_body(node->outs[at++], &called->graph->ret->args[i]);
    return node;
}

static sc_status make_node(sc_graph *graph, const sc_op *op, const sc_arg *args, uint32_t count,
                           sc_node **out) {
    if (sc_op_has(op, SC_HIGHER_ORDER)) {
        *out = args[0].kind == SC_ARG_PART ? node_of_part(graph, op, args, count)
                                           : node_of_body(graph, op, args, count);
        return SC_OK;
    }
    sc_infer infer;
    SC_TRY(run_rule(graph, op, args, count, &infer));
    *out = sc_node_new(graph, op, args, count, infer.out_count, NULL);
    for (uint32_t i = 0; i < infer.out_count; i++) store_result((*out)->outs[i], &infer.outs[i]);
    return SC_OK;
}

sc_status sc_build(sc_graph *graph, sc_node *position, const sc_op *op, const sc_arg *args,
                   uint32_t arg_count, const sc_meta *meta, sc_node **out) {
    sc_ctx *ctx = graph->ctx;
    SC_ASSERT(op && op->schema);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_arg *full = NULL;
    sc_node *node = NULL;
    sc_status status = sc_args_complete(ctx, ctx->scratch, op, args, arg_count, &full);
    if (status == SC_OK) status = make_node(graph, op, full, op->schema->param_count, &node);
    sc_arena_rewind(ctx->scratch, mark);
    SC_TRY(status);
    sc_node_name_results(node);
    if (meta) node->meta = *meta;
    sc_graph_insert_before(position ? position : graph->ret, node);
    if (out) *out = node;
    return SC_OK;
}

// --- Constants -----------------------------------------------------------------------------------

sc_extent sc_constant_row_major(sc_arena *arena, const sc_constant *constant) {
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    const sc_spec *spec = &constant->spec;
    for (uint32_t d = 0; d < spec->rank; d++) {
        sizes[d] = spec->sizes[d].value;
        strides[d] = spec->strides[d].value;
    }
    return sc_extent_strided(arena, constant->data, sc_dtype_bytes((sc_dtype)spec->dtype),
                             spec->rank, sizes, strides, 0);
}
