// Nodes: targets, arguments by the names of the operator's schema, results. The deserializer puts
// arguments without default in their places and passes the rest by name, so defaults are left out.
// Elements of tuples and lists are named at once; the nodes that take them out are made on reading.
#include "ops/library.h"
#include "pt2/serde_write.h"

static sc_status fail_op(sc_serde_writer *w, const sc_node *node, const char *why) {
    return sc_fail(w->ctx, SC_ERR_UNSUPPORTED_OP, "Leave the program out of the record.",
                   "%s cannot be written to a record: %s", node->op->name, why);
}

// --- Targets -------------------------------------------------------------------------------------

// Python's functions on numbers that the deserializer accepts, by its own names for them.
static const char *const number_functions[][2] = {
    {"add", "_operator.add"},     {"sub", "_operator.sub"},
    {"mul", "_operator.mul"},     {"floordiv", "_operator.floordiv"},
    {"mod", "_operator.mod"},     {"eq", "_operator.eq"},
    {"ne", "_operator.ne"},       {"le", "_operator.le"},
    {"ge", "_operator.ge"},       {"lt", "_operator.lt"},
    {"gt", "_operator.gt"},       {"sym_int", "torch.sym_int"},
    {"sym_ite", "torch.sym_ite"}, {"sym_max", "torch.sym_max"},
    {"sym_min", "torch.sym_min"}, {"sym_not", "torch.sym_not"},
};

static bool is_in(const sc_op *op, const char *space) {
    const sc_str name = op->schema->name;
    return sc_str_starts_with(name, space) && name.data[strlen(space)] == ':';
}

static sc_status put_number_function(sc_serde_writer *w, const sc_node *node) {
    const sc_str name = sc_str_slice(node->op->schema->name, 5, node->op->schema->name.size);
    for (size_t i = 0; i < SC_COUNT_OF(number_functions); i++)
        if (sc_str_is(name, number_functions[i][0])) {
            sc_json_put_text(&w->json, "target", number_functions[i][1]);
            return SC_OK;
        }
    return fail_op(w, node, "the format has no such function on numbers");
}

static sc_status put_target(sc_serde_writer *w, const sc_node *node) {
    const sc_op *op = node->op;
    if (is_in(op, "sym")) return put_number_function(w, node);
    if (is_in(op, "functorch")) {
        const sc_str name = sc_str_slice(op->schema->name, 11, op->schema->name.size);
        sc_json_put_str(
            &w->json, "target",
            sc_str_format(w->work, "torch._functorch.predispatch." SC_STR_FMT, SC_STR_ARG(name)));
        return SC_OK;
    }
    const sc_str path = sc_serde_op_path(w->work, op);
    const bool is_edge = w->options->dialect == SC_SERDE_EDGE && !is_in(op, "higher_order");
    const char *prefix = is_edge ? "executorch.exir.dialects.edge.ops." : "torch.ops.";
    if (sc_str_find(op->schema->name, ':') < 0) prefix = "";  // a function that no table knows
    sc_json_put_str(&w->json, "target",
                    sc_str_format(w->work, "%s" SC_STR_FMT, prefix, SC_STR_ARG(path)));
    return SC_OK;
}

// --- Arguments -----------------------------------------------------------------------------------

static sc_status put_named_arg(sc_serde_writer *w, sc_str name, const sc_arg *arg,
                               const sc_param *param) {
    sc_json_begin_object(&w->json);
    sc_json_put_str(&w->json, "name", name);
    sc_json_key(&w->json, "arg");
    SC_TRY(sc_serde_put_arg(w, arg, param));
    sc_json_end_object(&w->json);
    return SC_OK;
}

static bool is_default(sc_serde_writer *w, const sc_param *param, const sc_arg *arg) {
    if (param->default_kind == SC_DEFAULT_REQUIRED) return false;
    const sc_arg value = sc_arg_default(w->work, param);
    return sc_arg_equal(&value, arg);
}

// Bodies of these operators take their operands one by one, others as lists.
static sc_status put_positional(sc_serde_writer *w, const sc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const sc_arg *arg = &node->args[i];
        const bool spread = sc_op_has(node->op, SC_INLINED) && i + 1 == node->arg_count;
        for (uint32_t k = 0; spread && k < arg->count; k++)
            SC_TRY(put_named_arg(w, SC_STR(""), &arg->items[k], NULL));
        if (!spread) SC_TRY(put_named_arg(w, SC_STR(""), arg, &node->op->schema->params[i]));
    }
    return SC_OK;
}

static sc_status put_call(sc_serde_writer *w, const sc_node *node) {
    const sc_part *part = sc_node_part(node);
    sc_json_begin_object(&w->json);
    sc_json_put_str(&w->json, "name", sc_name_str(part->method->name));
    sc_json_key(&w->json, "arg");
    SC_TRY(sc_serde_put_part(w, part));
    sc_json_end_object(&w->json);
    const sc_arg *operands = &node->args[1];
    for (uint32_t i = 0; i < operands->count; i++)
        SC_TRY(put_named_arg(w, sc_str_format(w->work, "delegate_arg_%u", i), &operands->items[i],
                             NULL));
    return SC_OK;
}

static sc_status put_by_schema(sc_serde_writer *w, const sc_node *node) {
    const sc_schema *schema = node->op->schema;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (!is_default(w, &schema->params[i], &node->args[i]))
            SC_TRY(put_named_arg(w, schema->params[i].name, &node->args[i], &schema->params[i]));
    return SC_OK;
}

static sc_status put_inputs(sc_serde_writer *w, const sc_node *node) {
    if (sc_node_part(node)) return put_call(w, node);
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) return put_positional(w, node);
    if (!sc_op_has(node->op, SC_FOREIGN)) return put_by_schema(w, node);
    const bool is_unread = sc_op_has(node->op, SC_REFUSED) && !sc_op_is_elsewhere(node->op);
    if (is_unread || (node->arg_count && !node->arg_names))
        return fail_op(w, node, "its arguments could not be imported");
    for (uint32_t i = 0; i < node->arg_count; i++)
        SC_TRY(put_named_arg(w, node->arg_names[i], &node->args[i], NULL));
    return SC_OK;
}

// --- Results -------------------------------------------------------------------------------------

static sc_status put_list_result(sc_serde_writer *w, sc_value *const *outs, uint32_t count) {
    sc_json_begin_object(&w->json);
    sc_json_put_array(&w->json, "as_tensors");
    for (uint32_t i = 0; i < count; i++) {
        if (outs[i]->type != SC_VALUE_TENSOR)
            return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, "Leave the program out of the record.",
                           "a result that is not a tensor cannot be written to a record here");
        sc_json_begin_object(&w->json);
        sc_json_put_str(&w->json, "name", sc_serde_name(w, outs[i]));
        sc_json_end_object(&w->json);
    }
    sc_json_end_array(&w->json);
    sc_json_end_object(&w->json);
    return SC_OK;
}

// Results that are lists: their elements are our results, as many as the other results leave.
static sc_status put_by_returns(sc_serde_writer *w, const sc_node *node) {
    const sc_schema *schema = node->op->schema;
    uint32_t lists = 0, at = 0;
    for (uint32_t i = 0; i < schema->return_count; i++) lists += schema->returns[i].is_list;
    if (lists > 1) return fail_op(w, node, "it returns several lists");
    if (lists == 0 && node->out_count != schema->return_count)
        return fail_op(w, node, "it has results that its schema does not have");
    const uint32_t items = node->out_count + lists - schema->return_count;
    for (uint32_t i = 0; i < schema->return_count; i++) {
        if (schema->returns[i].is_list) {
            SC_TRY(put_list_result(w, node->outs + at, items));
            at += items;
        } else {
            SC_TRY(sc_serde_put_value(w, node->outs[at++]));
        }
    }
    return SC_OK;
}

static sc_status put_outputs(sc_serde_writer *w, const sc_node *node) {
    const bool higher_order = sc_op_has(node->op, SC_HIGHER_ORDER);
    if (!higher_order && !sc_op_has(node->op, SC_FOREIGN)) return put_by_returns(w, node);
    // A call that returns a tuple of one does so as a list.
    if (higher_order && node->out_count == 1) return put_list_result(w, node->outs, 1);
    for (uint32_t i = 0; i < node->out_count; i++) SC_TRY(sc_serde_put_value(w, node->outs[i]));
    return SC_OK;
}

// Name of a node in the file. A node with one result has the result's name, unless that result is a
// tuple of one: then it has the name of the tuple in its source.
static sc_str written_name(sc_serde_writer *w, const sc_node *node) {
    const sc_name *origin = node->meta.origin;
    if (node->out_count != 1 || node->outs[0]->name != node->name) return sc_name_str(node->name);
    if (!sc_op_has(node->op, SC_HIGHER_ORDER)) return sc_serde_name(w, node->outs[0]);
    if (origin && !sc_graph_has_name(node->graph, sc_name_str(origin))) return sc_name_str(origin);
    return sc_str_format(w->work, "%s_tuple", node->name->text);
}

sc_status sc_serde_put_node(sc_serde_writer *w, const sc_node *node) {
    sc_mark mark = sc_arena_mark(w->ctx->scratch);
    sc_where outer = w->ctx->where;
    sc_where_set_node(w->ctx, node);
    sc_json_begin_object(&w->json);
    sc_json_put_str(&w->json, "name", written_name(w, node));
    SC_TRY(put_target(w, node));
    sc_json_put_array(&w->json, "inputs");
    SC_TRY(put_inputs(w, node));
    sc_json_end_array(&w->json);
    sc_json_put_array(&w->json, "outputs");
    SC_TRY(put_outputs(w, node));
    sc_json_end_array(&w->json);
    sc_serde_put_metadata(w, node);
    sc_json_end_object(&w->json);
    sc_serde_flush(w, false);
    w->ctx->where = outer;
    sc_arena_rewind(w->ctx->scratch, mark);
    return SC_OK;
}
