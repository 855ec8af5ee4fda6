// Operators that the table lacks become calls that a .pte stores. One that the host has registered
// since the program was opened gets its schema. One that was never registered gets the schema that
// its calls state: the names and kinds of their arguments, and tensors as results.
//
// A .pt2 does not contain the defaults of arguments that a call leaves out. So two calls that name
// different arguments prove that the schema has more parameters than one of them, and then it is
// needed. Kernels are looked up at load, so an operator without one is a warning here.
#include "base/map.h"
#include "ops/library.h"
#include "ops/own.h"
#include "passes/passes.h"

#define REGISTER "Register its schema before lowering: engine.registerOperator({ schema })."

static const char without_kernel[] =
    "Register its kernel before the file is loaded: engine.registerOperator({ schema, run }). If "
    "its schema has parameters that this call leaves out, register it before lowering, too.";

typedef struct writer {
    sc_ctx *ctx;
    sc_map first;   // name -> the first node of the program that calls it
    sc_map torn;    // names of which calls differ in their arguments
    sc_map warned;  // names
} writer;

// --- Schemas that calls state --------------------------------------------------------------------

static sc_str name_of_arg(const sc_node *node, uint32_t index) {
    if (node->arg_names) return node->arg_names[index];
    return sc_op_has(node->op, SC_OWN) ? node->op->schema->params[index].name : SC_STR("");
}

static bool have_same_args(const sc_node *a, const sc_node *b) {
    if (a->arg_count != b->arg_count || a->out_count != b->out_count) return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!sc_str_equal(name_of_arg(a, i), name_of_arg(b, i))) return false;
    return true;
}

static bool type_of_value(const sc_value *value, sc_param_type *type) {
    switch (value->type) {
    case SC_VALUE_TENSOR: *type = SC_PARAM_TENSOR; return true;
    case SC_VALUE_INT: *type = SC_PARAM_INT; return true;
    case SC_VALUE_FLOAT: *type = SC_PARAM_FLOAT; return true;
    case SC_VALUE_BOOL: *type = SC_PARAM_BOOL; return true;
    default: return false;
    }
}

static bool type_of_item(const sc_arg *arg, sc_param_type *type) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_VALUE: return type_of_value(arg->value, type);
    case SC_ARG_INT: *type = SC_PARAM_INT; return true;
    case SC_ARG_FLOAT: *type = SC_PARAM_FLOAT; return true;
    case SC_ARG_BOOL: *type = SC_PARAM_BOOL; return true;
    default: return false;
    }
}

// A list whose items are of one type; those of a list of tensors may be absent.
static bool type_of_list(const sc_arg *list, sc_param *param) {
    bool is_known = false;
    param->is_list = true;
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_arg *item = &list->items[i];
        sc_param_type type = SC_PARAM_TENSOR;
        if (item->kind == SC_ARG_NONE)
            param->item_is_optional = true;
        else if (!type_of_item(item, &type))
            return false;
        if (is_known && type != param->type) return false;
        param->type = type;
        is_known = true;
    }
    return is_known;
}

// False if the argument does not say which type the schema has.
static bool type_of_arg(const sc_arg *arg, sc_param *param) {
    if (arg->kind == SC_ARG_LIST) return type_of_list(arg, param);
    param->is_optional = arg->kind == SC_ARG_NONE;
    param->type = arg->kind == SC_ARG_STR     ? SC_PARAM_STR
                  : arg->kind == SC_ARG_DTYPE ? SC_PARAM_DTYPE
                                              : SC_PARAM_TENSOR;
    return arg->kind == SC_ARG_NONE || arg->kind == SC_ARG_STR || arg->kind == SC_ARG_DTYPE ||
           type_of_item(arg, &param->type);
}

// --- Operators -----------------------------------------------------------------------------------

static const char *why_not(writer *w, const sc_node *node) {
    sc_param param = {0};
    if (!node->out_count) return "cannot be written: it has no result, so it must write an operand";
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->type != SC_VALUE_TENSOR)
            return "cannot be written: one of its results is not a tensor";
    if (sc_map_get(&w->torn, sc_own_key(node->op)))
        return "cannot be written: its calls name different arguments, so defaults are missing";
    for (uint32_t i = 0; i < node->arg_count; i++) {
        param = (sc_param){0};
        if (!type_of_arg(&node->args[i], &param))
            return sc_str_format(
                       w->ctx->arena,
                       "cannot be written: the file does not say of which type '" SC_STR_FMT "' is",
                       SC_STR_ARG(name_of_arg(node, i)))
                .data;
    }
    return NULL;
}

// The schema of this one call.
static const sc_op *stated_op(writer *w, const sc_node *node) {
    sc_arena *arena = w->ctx->arena;
    sc_schema *schema = sc_new(arena, sc_schema);
    *schema = (sc_schema){.param_count = node->arg_count, .return_count = node->out_count};
    schema->params = sc_new_array(arena, sc_param, node->arg_count + 1);
    schema->returns = sc_new_array(arena, sc_return, node->out_count);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        sc_str name = name_of_arg(node, i);
        if (!name.size) name = sc_str_format(arena, "arg%u", i);
        schema->params[i].name = name;
        (void)type_of_arg(&node->args[i], &schema->params[i]);
    }
    for (uint32_t i = 0; i < node->out_count; i++)
        schema->returns[i] = (sc_return){.type = SC_PARAM_TENSOR};
    return sc_own_stated(arena, node->op, schema);
}

// Stays in the graph, so that it is reported with everything else that cannot be executed.
static const sc_op *refused_op(writer *w, const sc_node *node, const char *what) {
    sc_refused_op *refused = sc_new(w->ctx->arena, sc_refused_op);
    *refused = (sc_refused_op){.op = *node->op, .what = what, .hint = REGISTER};
    refused->op.traits |= SC_REFUSED;
    return &refused->op;
}

// --- Nodes ---------------------------------------------------------------------------------------

static int64_t find_param(const sc_schema *schema, sc_str name, uint32_t index) {
    if (!name.size) return index < schema->param_count ? (int64_t)index : -1;
    for (uint32_t i = 0; i < schema->param_count; i++)
        if (sc_str_equal(schema->params[i].name, name)) return i;
    return -1;
}

static sc_status disagrees(writer *w, const sc_node *node, const char *what, sc_str name) {
    return sc_fail(w->ctx, SC_ERR_ARGUMENT,
                   "Register the schema with which the model was exported.",
                   "the schema that is registered for %s %s '" SC_STR_FMT "'", node->op->name, what,
                   SC_STR_ARG(name));
}

// The arguments by the schema that was registered after the program was opened.
static sc_status place_args(writer *w, const sc_node *node, const sc_op *op, sc_arg *args) {
    const sc_schema *schema = op->schema;
    bool *given = sc_new_array(w->ctx->scratch, bool, (size_t)schema->param_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const int64_t at = find_param(schema, name_of_arg(node, i), i);
        if (at < 0 || given[at])
            return disagrees(w, node, "has no parameter", name_of_arg(node, i));
        if (!sc_arg_fits(&schema->params[at], &node->args[i]))
            return disagrees(w, node, "has another type for", schema->params[at].name);
        given[at] = true;
        args[at] = node->args[i];
    }
    for (uint32_t i = 0; i < schema->param_count; i++) {
        if (!given[i] && schema->params[i].default_kind == SC_DEFAULT_REQUIRED)
            return disagrees(w, node, "needs the argument", schema->params[i].name);
        if (!given[i]) args[i] = sc_arg_default(w->ctx->scratch, &schema->params[i]);
    }
    if (node->out_count == schema->return_count) return SC_OK;
    return disagrees(w, node, "has another number of results than", sc_name_str(node->name));
}

static void warn(writer *w, const sc_node *node) {
    if (sc_op_has(node->op, SC_RUNS)) return;
    if (!sc_map_add(&w->warned, sc_own_key(node->op), w)) return;
    sc_where_set_origin(w->ctx, node);
    sc_report(w->ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP, without_kernel,
              "%s is written as it is called, but has no kernel here", node->op->name);
}

static sc_status follow_schema(writer *w, sc_node *node, const sc_op *op) {
    sc_arg *args = sc_new_array(w->ctx->scratch, sc_arg, (size_t)op->schema->param_count + 1);
    SC_TRY(place_args(w, node, op, args));
    sc_node *made = sc_node_new(node->graph, op, args, op->schema->param_count, node->out_count,
                                node->name->text);
    made->meta = node->meta;
    made->tag = node->tag;
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_value *from = node->outs[i], *to = made->outs[i];
        to->type = from->type;
        to->spec = from->spec;
        if (!to->name) to->name = sc_graph_unique_name(node->graph, sc_name_str(from->name));
    }
    sc_graph_insert_before(node, made);
    for (uint32_t i = 0; i < node->out_count; i++) sc_replace_uses(node->outs[i], made->outs[i]);
    sc_node_erase(node);
    warn(w, made);
    return SC_OK;
}

static sc_status treat(writer *w, sc_node *node) {
    if (sc_op_has(node->op, SC_OWN)) warn(w, node);
    if (!sc_op_has(node->op, SC_FOREIGN) || sc_op_has(node->op, SC_REFUSED)) return SC_OK;
    const sc_op *registered = sc_own_registered(node->op);
    sc_where_set_origin(w->ctx, node);
    if (registered) return follow_schema(w, node, registered);
    if (!sc_op_may_be_own(node->op)) return SC_OK;
    const char *what = why_not(w, node);
    node->op = what ? refused_op(w, node, what) : stated_op(w, node);
    if (!what) warn(w, node);
    return SC_OK;
}

// --- Graphs --------------------------------------------------------------------------------------

static sc_status find_first(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    writer *w = user;
    for (sc_node *node = graph->first; node; node = node->next) {
        if (!sc_op_has(node->op, SC_FOREIGN | SC_OWN)) continue;
        const sc_str key = sc_own_key(node->op);
        if (!sc_map_add(&w->first, key, node) && !have_same_args(node, sc_map_get(&w->first, key)))
            (void)sc_map_add(&w->torn, key, node);
    }
    return SC_OK;
}

static sc_status treat_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        SC_TRY(treat(user, node));
    }
    return SC_OK;
}

sc_status sc_pass_own_ops(sc_ctx *ctx, sc_method *method) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    writer w = {.ctx = ctx};
    sc_map_init(&w.first, ctx->scratch);
    sc_map_init(&w.torn, ctx->scratch);
    sc_map_init(&w.warned, ctx->scratch);
    sc_status status = SC_OK;
    for (uint32_t i = 0; i < method->program->methods.count && status == SC_OK; i++)
        status = sc_graphs_visit(ctx, method->program->methods.data[i]->graph, find_first, &w);
    if (status == SC_OK) status = sc_graphs_visit(ctx, method->graph, treat_graph, &w);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
