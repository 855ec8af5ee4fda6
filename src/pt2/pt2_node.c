// One node: operator, arguments in schema order with defaults filled in, results. Operators that
// the table does not know become foreign nodes, with their arguments as in the file. So do calls
// with arguments that the IR cannot represent. In the end, everything unsupported is reported at
// once.
#include "ir/verify.h"
#include "ops/library.h"
#include "pt2/pt2.h"

enum { NODE_TARGET, NODE_INPUTS, NODE_OUTPUTS, NODE_METADATA, NODE_NAME, NODE_FIELD_COUNT };

// An argument as the file has it.
typedef struct named_arg {
    sc_str name;  // empty: positional
    const sc_json *json;
} named_arg;

typedef struct node_parts {
    sc_str target;
    const sc_op *op;
    named_arg *args;
    uint32_t arg_count;
    sc_pt2_slots outs;
    bool returns_list;  // of tensors
    sc_str name;
    sc_meta meta;
} node_parts;

// --- Operators -----------------------------------------------------------------------------------

static const sc_op *foreign_op(sc_pt2_importer *imp, sc_str name) {
    if (sc_str_ends_with(name, ".default")) name.size -= 8;
    sc_op *op = sc_map_get(&imp->foreign, name);
    if (op) return op;
    sc_schema *schema = sc_new(imp->ctx->arena, sc_schema);
    schema->name = sc_str_copy(imp->ctx->arena, name);
    op = sc_new(imp->ctx->arena, sc_op);
    *op = (sc_op){.id = SC_OP_FOREIGN, .traits = SC_FOREIGN, .schema = schema};
    op->name = schema->name.data;
    sc_map_set(&imp->foreign, schema->name, op);
    return op;
}

// The bytes before the namespace, name and overload of an operator; 0 for functions. ExecuTorch
// writes its dialects as ops, and torch.export.save names the Python module _ops.
static size_t space_bytes(sc_str target) {
    static const char *const spaces[] = {
        "torch.ops.", "executorch.exir.dialects.edge.ops.", "executorch.exir.dialects.edge._ops.",
        "executorch.exir.dialects.backend.ops.", "executorch.exir.dialects.backend._ops."};
    for (size_t i = 0; i < SC_COUNT_OF(spaces); i++)
        if (sc_str_starts_with(target, spaces[i])) return strlen(spaces[i]);
    return 0;
}

// Name in the table of a target:
//   torch.ops.aten.add.Tensor, or the same in the edge dialect -> aten::add.Tensor,
//   torch.ops.higher_order.cond -> higher_order::cond, _operator.add, math.trunc, torch.sym_max,
//   torch._sym_sqrt -> sym::add, trunc, sym_max, sym_sqrt,
//   torch._functorch.predispatch._add_batch_dim -> functorch::_add_batch_dim
static sc_str table_name(sc_arena *arena, sc_str target) {
    static const char *const functions[] = {"_operator.", "math.",
                                            "builtins.",  "torch._sym_",
                                            "torch.sym_", "torch._functorch.predispatch."};
    const size_t skip = space_bytes(target);
    if (skip) {
        sc_str rest = sc_str_slice(target, skip, target.size);
        ptrdiff_t dot = sc_str_find(rest, '.');
        size_t space = dot < 0 ? rest.size : (size_t)dot;
        return sc_str_format(arena, SC_STR_FMT "::" SC_STR_FMT,
                             SC_STR_ARG(sc_str_slice(rest, 0, space)),
                             SC_STR_ARG(sc_str_slice(rest, space + 1, rest.size)));
    }
    for (size_t i = 0; i < SC_COUNT_OF(functions); i++) {
        if (!sc_str_starts_with(target, functions[i])) continue;
        const char *prefix = i == 5 ? "functorch::" : i >= 3 ? "sym::sym_" : "sym::";
        sc_str rest = sc_str_slice(target, strlen(functions[i]), target.size);
        return sc_str_format(arena, "%s" SC_STR_FMT, prefix, SC_STR_ARG(rest));
    }
    return target;
}

// Only lowering makes calls of delegated parts, and only records contain them.
static bool takes_part(const sc_op *op) {
    return op->schema->param_count > 0 && op->schema->params[0].type == SC_PARAM_PART;
}

// A foreign operator with a reason of its own why it cannot be lowered.
static const sc_op *foreign_refused(sc_pt2_importer *imp, const sc_op *op, const char *what,
                                    const char *hint) {
    sc_refused_op *refused = sc_new(imp->ctx->arena, sc_refused_op);
    *refused = (sc_refused_op){.op = *op, .what = what, .hint = hint};
    refused->op.traits |= SC_REFUSED;
    return &refused->op;
}

// Its text is an ordinary argument here, but a record would read it as a part.
static const sc_op *call_without_part(sc_pt2_importer *imp, sc_str name) {
    return foreign_refused(imp, foreign_op(imp, name),
                           "cannot be imported: only records hold calls of delegates",
                           "Export the model before parts of it go to a backend.");
}

// The operator that a target names; a foreign one if the table has none for it.
static const sc_op *find_op(sc_pt2_importer *imp, sc_str target) {
    sc_mark mark = sc_arena_mark(imp->ctx->scratch);
    sc_str name = table_name(imp->ctx->scratch, target);
    const sc_op *op = sc_op_find(name);
    if (!op) op = foreign_op(imp, space_bytes(target) ? name : target);
    if (takes_part(op) && !imp->is_serde) op = call_without_part(imp, name);
    imp->is_edge |= sc_str_starts_with(target, "executorch.");
    sc_arena_rewind(imp->ctx->scratch, mark);
    return op;
}

// --- Arguments -----------------------------------------------------------------------------------

static sc_status read_named_args(sc_pt2_scope *scope, const sc_json *inputs, node_parts *node) {
    sc_ctx *ctx = scope->imp->ctx;
    if (!inputs || inputs->kind != SC_JSON_ARRAY)
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "a node has no inputs");
    node->args = sc_new_array(ctx->scratch, named_arg, inputs->size);
    node->arg_count = inputs->size;
    const sc_json *item = sc_json_first(inputs);
    for (uint32_t i = 0; i < inputs->size; i++, item = sc_json_next(item)) {
        sc_json_field f[2] = {{.name = "name"}, {.name = "arg"}};
        SC_TRY(sc_json_pick(ctx, item, "input", f, 2));
        if (!f[1].value) return sc_fail(ctx, SC_ERR_FORMAT, NULL, "an input has no argument");
        node->args[i] = (named_arg){sc_json_str(scope->imp->work, f[0].value), f[1].value};
    }
    return SC_OK;
}

// The index of the parameter for argument `index`: by name, looked for from there on, or by
// position. Functions on numbers have Python's parameter names, which vary.
static int64_t find_param(const sc_op *op, const named_arg *arg, uint32_t index) {
    uint32_t count = op->schema->param_count;
    if (arg->name.size == 0 || sc_str_starts_with(op->schema->name, "sym::"))
        return index < count ? (int64_t)index : -1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (index + i) % count;
        if (sc_str_equal(op->schema->params[at].name, arg->name)) return at;
    }
    return -1;
}

static sc_status place_args(sc_pt2_scope *scope, const node_parts *node, sc_arg *full) {
    sc_ctx *ctx = scope->imp->ctx;
    const sc_schema *schema = node->op->schema;
    bool *given = sc_new_array(ctx->scratch, bool, schema->param_count);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        int64_t at = find_param(node->op, &node->args[i], i);
        if (at < 0)
            return sc_fail(ctx, SC_ERR_ARGUMENT, "Export the model with another PyTorch release.",
                           "%s has no argument '" SC_STR_FMT "'", node->op->name,
                           SC_STR_ARG(node->args[i].name));
        if (given[at])
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "argument '" SC_STR_FMT "' is given twice",
                           SC_STR_ARG(schema->params[at].name));
        given[at] = true;
        SC_TRY(sc_pt2_read_arg(scope, node->args[i].json, &full[at]));
    }
    for (uint32_t i = 0; i < schema->param_count; i++) {
        if (!given[i] && schema->params[i].default_kind == SC_DEFAULT_REQUIRED)
            return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "%s needs the argument '" SC_STR_FMT "'",
                           node->op->name, SC_STR_ARG(schema->params[i].name));
        if (!given[i]) full[i] = sc_arg_default(ctx->scratch, &schema->params[i]);
    }
    return SC_OK;
}

// Higher-order operators have positional arguments. If the schema ends in a list and the file has
// no list there, the remaining arguments are its items.
static sc_status place_higher_order(sc_pt2_scope *scope, const node_parts *node, sc_arg *full) {
    sc_ctx *ctx = scope->imp->ctx;
    const sc_schema *schema = node->op->schema;
    sc_arg *given = sc_new_array(ctx->scratch, sc_arg, node->arg_count);
    for (uint32_t i = 0; i < node->arg_count; i++)
        SC_TRY(sc_pt2_read_arg(scope, node->args[i].json, &given[i]));
    uint32_t last = schema->param_count - 1;
    bool spread = schema->params[last].is_list &&
                  (node->arg_count != last + 1 || given[last].kind != SC_ARG_LIST);
    if (node->arg_count < last || (!spread && node->arg_count != last + 1))
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Export the model with a newer PyTorch release.",
                       "%s has %u arguments instead of %u", node->op->name, node->arg_count,
                       last + 1);
    memcpy(full, given, last * sizeof(sc_arg));
    full[last] = spread ? sc_arg_list(given + last, node->arg_count - last) : given[last];
    return SC_OK;
}

// Reads the part and its operands.
static sc_status place_call(sc_pt2_scope *scope, const node_parts *node, sc_arg *full) {
    sc_ctx *ctx = scope->imp->ctx;
    if (node->arg_count == 0)
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "a call of a delegate does not name its delegate");
    const uint32_t count = node->arg_count - 1;
    sc_arg *operands = sc_new_array(ctx->scratch, sc_arg, count);
    SC_TRY(sc_pt2_read_part(scope, node->args[0].name, node->args[0].json, &full[0]));
    for (uint32_t i = 0; i < count; i++)
        SC_TRY(sc_pt2_read_arg(scope, node->args[i + 1].json, &operands[i]));
    full[1] = sc_arg_list(operands, count);
    return SC_OK;
}

static sc_status read_foreign_args(sc_pt2_scope *scope, const node_parts *node, sc_arg *full,
                                   sc_str **names) {
    *names = sc_new_array(scope->imp->ctx->arena, sc_str, node->arg_count);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        (*names)[i] = sc_str_copy(scope->imp->ctx->arena, node->args[i].name);
        SC_TRY(sc_pt2_read_arg(scope, node->args[i].json, &full[i]));
    }
    return SC_OK;
}

static sc_status read_args(sc_pt2_scope *scope, const node_parts *node, sc_arg *full,
                           sc_str **names) {
    if (sc_op_has(node->op, SC_FOREIGN)) return read_foreign_args(scope, node, full, names);
    if (takes_part(node->op)) return place_call(scope, node, full);
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) return place_higher_order(scope, node, full);
    return place_args(scope, node, full);
}

// Turns the last recorded failure into a foreign operator with that failure as its reason.
static const sc_op *refused_op(sc_ctx *ctx, const sc_op *op, sc_diag_mark mark) {
    const sc_diag *diag = &sc_vec_last(&ctx->diags);
    sc_diags_rewind(ctx, mark);
    if (sc_op_has(op, SC_FOREIGN)) return op;  // reason enough
    sc_refused_op *refused = sc_new(ctx->arena, sc_refused_op);
    refused->op = (sc_op){.id = SC_OP_FOREIGN,
                          .traits = SC_FOREIGN | SC_REFUSED,
                          .name = op->name,
                          .schema = op->schema};
    refused->what =
        sc_str_format(ctx->arena, "cannot be imported: " SC_STR_FMT, SC_STR_ARG(diag->message))
            .data;
    refused->hint = sc_str_dup(ctx->arena, diag->hint);
    return &refused->op;
}

// As many results as the operator has, unless they are lists.
static sc_status check_count(sc_ctx *ctx, const sc_op *op, uint32_t count) {
    const sc_schema *schema = op->schema;
    if (sc_op_has(op, SC_FOREIGN) || sc_op_has(op, SC_HIGHER_ORDER)) return SC_OK;
    for (uint32_t i = 0; i < schema->return_count; i++)
        if (schema->returns[i].is_list) return SC_OK;
    if (count == schema->return_count) return SC_OK;
    return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Export the model with another PyTorch release.",
                   "%s has %u results instead of %u", op->name, count, schema->return_count);
}

static bool has_complex(const sc_arg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (sc_pt2_is_complex(&args[i])) return true;
    return false;
}

// Complex numbers become tensors. If the operator takes numbers, its variant for tensors replaces
// it.
static sc_status place_complex(sc_pt2_scope *scope, const node_parts *node, const sc_op **op,
                               sc_arg *args, uint32_t *given) {
    const sc_op *own = *op;
    const uint32_t count = *given;
    bool is_number = false;
    for (uint32_t i = 0; i < count; i++)
        if (sc_pt2_is_complex(&args[i]))
            is_number = is_number || own->schema->params[i].type != SC_PARAM_TENSOR;
    sc_meta meta = node->meta;
    if (!meta.origin) meta.origin = sc_graph_origin(scope->graph, node->name);
    if (sc_pt2_fills(own)) return sc_pt2_fill_complex(scope, op, &meta, args, given);
    const sc_op *with_tensors = is_number ? sc_op_tensor_form(own) : NULL;
    if (with_tensors) *op = with_tensors;
    for (uint32_t i = 0; i < count; i++)
        if (sc_pt2_is_complex(&args[i]) &&
            (sc_op_has(*op, SC_FOREIGN) || (*op)->schema->param_count != count ||
             !sc_pt2_may_be_complex(*op, i)))
            return sc_fail(scope->imp->ctx, SC_ERR_UNSUPPORTED,
                           "Compute with real numbers, and put the results together with "
                           "torch.complex().",
                           "a complex number as '" SC_STR_FMT "' is not supported",
                           SC_STR_ARG(own->schema->params[i].name));
    return sc_pt2_place_complex(scope, *op, &meta, args, count);
}

static sc_status make_node(sc_pt2_scope *scope, const node_parts *node, uint32_t out_count,
                           const char *name, sc_node **out) {
    sc_ctx *ctx = scope->imp->ctx;
    const sc_op *op = node->op;
    bool foreign = sc_op_has(op, SC_FOREIGN);
    uint32_t count = foreign ? node->arg_count : op->schema->param_count;
    const uint32_t arg_depth = scope->arg_depth;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    sc_arg *args = sc_new_array(ctx->scratch, sc_arg, count);
    sc_str *names = NULL;
    sc_where where = ctx->where;
    sc_status status = read_args(scope, node, args, &names);
    if (status == SC_OK) status = check_count(ctx, op, out_count);
    if (status == SC_OK && !foreign && has_complex(args, count))
        status = place_complex(scope, node, &op, args, &count);
    if ((status == SC_ERR_UNSUPPORTED || status == SC_ERR_DTYPE) && ctx->diags.count > mark.count) {
        op = refused_op(ctx, node->op, mark);
        ctx->where = where;
        scope->arg_depth = arg_depth;
    } else {
        SC_TRY(status);
        if (!foreign) SC_TRY(sc_args_complete(ctx, ctx->scratch, op, args, count, &args));
    }
    *out = sc_node_new(scope->graph, op, args, count, out_count, name);
    (*out)->arg_names = names;
    return SC_OK;
}

// --- Effects -------------------------------------------------------------------------------------

// with_effects(token, operator, arguments...) -> (token, results...): becomes the operator itself,
// since the order of nodes is kept anyway.
static sc_status unwrap_effects(sc_pt2_scope *scope, node_parts *node) {
    sc_ctx *ctx = scope->imp->ctx;
    sc_str tag;
    const sc_json *target;
    if (node->arg_count < 2 || node->outs.count < 1 || node->outs.data[0].name.size == 0)
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "malformed with_effects");
    SC_TRY(sc_json_union(ctx, node->args[1].json, "argument", &tag, &target));
    if (!sc_str_is(tag, "as_operator"))
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "with_effects without an operator");
    SC_TRY(sc_pt2_define(scope, node->outs.data[0].name, NULL));
    node->target = sc_json_str(scope->imp->work, target);
    node->op = find_op(scope->imp, node->target);
    node->args += 2;
    node->arg_count -= 2;
    node->outs.data++;
    node->outs.count--;
    return SC_OK;
}

// auto_functionalized(operator, arguments...): named after the operator, which has no kernel.
static sc_status name_functionalized(sc_pt2_scope *scope, node_parts *node) {
    sc_str tag;
    const sc_json *target;
    if (node->arg_count == 0) return SC_OK;
    SC_TRY(sc_json_union(scope->imp->ctx, node->args[0].json, "argument", &tag, &target));
    if (!sc_str_is(tag, "as_operator")) return SC_OK;
    sc_mark mark = sc_arena_mark(scope->imp->ctx->scratch);
    sc_str name = table_name(scope->imp->ctx->scratch, sc_json_str(scope->imp->work, target));
    node->op = foreign_op(scope->imp, name);
    if (sc_op_may_be_own(node->op))
        node->op = foreign_refused(
            scope->imp, node->op, "cannot be lowered: it writes to its operands",
            "Write the operator so that it returns new tensors, and copies what it changes.");
    sc_arena_rewind(scope->imp->ctx->scratch, mark);
    return SC_OK;
}

static sc_status resolve_op(sc_pt2_scope *scope, node_parts *node) {
    node->op = find_op(scope->imp, node->target);
    if (node->returns_list && sc_op_may_be_own(node->op))
        node->op =
            foreign_refused(scope->imp, node->op, "cannot be lowered: it returns a list of tensors",
                            "Return one tensor, or several: -> (Tensor, Tensor).");
    if (!sc_str_starts_with(node->target, "torch.ops.higher_order.")) return SC_OK;
    sc_str name = sc_str_slice(node->target, 23, node->target.size);
    if (sc_str_is(name, "with_effects")) return unwrap_effects(scope, node);
    if (sc_str_is(name, "auto_functionalized") || sc_str_is(name, "auto_functionalized_v2"))
        return name_functionalized(scope, node);
    return SC_OK;
}

// --- Results -------------------------------------------------------------------------------------

// An operator without result has one as_none if effects made it a tuple.
static uint32_t result_count(const node_parts *node) {
    uint32_t count = node->outs.count;
    const sc_schema *schema = node->op->schema;
    if (sc_op_has(node->op, SC_FOREIGN) || sc_op_has(node->op, SC_HIGHER_ORDER)) return count;
    while (count > schema->return_count && node->outs.data[count - 1].type == SC_VALUE_NONE)
        count--;
    return count;
}

// A single result already has the name of its node.
static void name_result(sc_node *node, sc_value *value, sc_str wanted) {
    if (value->name) return;
    sc_mark mark = sc_arena_mark(node->graph->ctx->scratch);
    if (wanted.size == 0)
        wanted = sc_str_format(node->graph->ctx->scratch, "%s_unused_%u", node->name->text,
                               value->index);
    value->name = sc_graph_unique_name(node->graph, wanted);
    sc_arena_rewind(node->graph->ctx->scratch, mark);
}

// Unused results may have no description in the file; the shape rule gives it.
static void infer_unknown(sc_node *node, const bool *known) {
    sc_ctx *ctx = node->graph->ctx;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    sc_value *recorded = sc_new_array(ctx->scratch, sc_value, node->out_count);
    for (uint32_t i = 0; i < node->out_count; i++) recorded[i] = *node->outs[i];
    bool inferred = !sc_op_has(node->op, SC_FOREIGN) && !sc_op_has(node->op, SC_HIGHER_ORDER) &&
                    node->op->infer && sc_node_infer(node) == SC_OK;
    sc_diags_rewind(ctx, mark);
    for (uint32_t i = 0; i < node->out_count; i++) {
        if (known[i] || !inferred) *node->outs[i] = recorded[i];
        if (!known[i] && !inferred) node->outs[i]->type = SC_VALUE_NONE;
    }
}

static sc_status add_results(sc_pt2_scope *scope, const node_parts *parts, sc_node *node) {
    sc_ctx *ctx = scope->imp->ctx;
    bool *known = sc_new_array(ctx->scratch, bool, node->out_count);
    bool all_known = true;
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_pt2_slot *slot = &parts->outs.data[i];
        sc_value *value = node->outs[i];
        name_result(node, value, slot->name);
        SC_TRY(sc_pt2_describe(scope, slot->type, slot->name, value, &known[i]));
        all_known = all_known && known[i];
    }
    if (!all_known) infer_unknown(node, known);
    for (uint32_t i = 0; i < node->out_count; i++)
        if (parts->outs.data[i].name.size)
            SC_TRY(sc_pt2_define(scope, parts->outs.data[i].name, node->outs[i]));
    return SC_OK;
}

// --- The node ------------------------------------------------------------------------------------

// The name that PyTorch's graph shows. Older files have no name for nodes with several results;
// their parts are named instead.
static sc_str node_name(const node_parts *node, const sc_json *name, sc_arena *work) {
    if (name && name->kind == SC_JSON_STRING && name->size) return sc_json_str(work, name);
    if (node->outs.count == 1 && node->outs.data[0].name.size) return node->outs.data[0].name;
    sc_str base = node->target;
    for (int parts = 0; parts < 3 && sc_str_find(base, '.') >= 0; parts++)
        base = sc_str_slice(base, (size_t)sc_str_find(base, '.') + 1, base.size);
    ptrdiff_t dot = sc_str_find(base, '.');
    return dot > 0 ? sc_str_slice(base, 0, (size_t)dot) : base;
}

static sc_status read_parts(sc_pt2_scope *scope, const sc_json *json, node_parts *out) {
    sc_pt2_importer *imp = scope->imp;
    sc_json_field f[NODE_FIELD_COUNT] = {{.name = "target"},
                                         {.name = "inputs"},
                                         {.name = "outputs"},
                                         {.name = "metadata"},
                                         {.name = "name"}};
    SC_TRY(sc_json_pick(imp->ctx, json, "node", f, NODE_FIELD_COUNT));
    out->target = sc_json_str(imp->work, f[NODE_TARGET].value);
    imp->ctx->where.op = out->target;
    SC_TRY(sc_pt2_read_metadata(scope, f[NODE_METADATA].value, &out->meta));
    imp->ctx->where.stack_trace = out->meta.stack_trace;
    const sc_json *outputs = f[NODE_OUTPUTS].value;
    if (out->target.size == 0 || !outputs || outputs->kind != SC_JSON_ARRAY)
        return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "a node has no target or no outputs");
    const sc_json *item = sc_json_first(outputs);
    for (uint32_t i = 0; i < outputs->size; i++, item = sc_json_next(item)) {
        out->returns_list |= sc_json_get(item, "as_tensors") != NULL;
        SC_TRY(sc_pt2_read_slots(scope, item, &out->outs));
    }
    out->name = node_name(out, f[NODE_NAME].value, imp->work);
    imp->ctx->where.node = out->name;
    SC_TRY(read_named_args(scope, f[NODE_INPUTS].value, out));
    return resolve_op(scope, out);
}

// Do the call's operands and results agree with the part?
static sc_status check_call(sc_ctx *ctx, const sc_node *node) {
    if (!sc_node_part(node)) return SC_OK;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    if (sc_verify_call(ctx, node) == SC_OK) return SC_OK;
    const sc_str why = sc_vec_last(&ctx->diags).message;
    sc_diags_rewind(ctx, mark);
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, SC_STR_FMT, SC_STR_ARG(why));
}

sc_status sc_pt2_read_node(sc_pt2_scope *scope, const sc_json *json) {
    sc_ctx *ctx = scope->imp->ctx;
    node_parts parts = {0};
    sc_node *node;
    if (++scope->imp->node_count > ctx->limits.node_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "the model has more than %llu nodes",
                       (unsigned long long)ctx->limits.node_max);
    SC_TRY(read_parts(scope, json, &parts));
    uint32_t out_count = result_count(&parts);
    // A single result and its node share their name; the result keeps it, because other nodes use
    // it.
    bool single = out_count == 1 && parts.outs.data[0].name.size > 0;
    const char *name = sc_str_dup(ctx->scratch, single ? parts.outs.data[0].name : parts.name);
    SC_TRY(make_node(scope, &parts, out_count, name, &node));
    node->meta = parts.meta;
    if (!node->meta.origin) node->meta.origin = sc_graph_origin(scope->graph, parts.name);
    SC_TRY(add_results(scope, &parts, node));
    SC_TRY(check_call(ctx, node));
    sc_graph_append(scope->graph, node);
    return SC_OK;
}
