// One change to a graph: reads {"do": name, ...}, and writes the changed nodes.
#include "api/edit/edit.h"
#include "ops/suggest.h"

// A change, and the writer of the answer to it.
typedef struct change {
    sc_edit *edit;
    const sc_json *json;
    sc_json_writer *w;
} change;

static const sc_json *member(const change *c, const char *name) {
    return sc_json_get(c->json, name);
}

// --- Insert --------------------------------------------------------------------------------------

static sc_status find_operator(const change *c, const sc_op **out) {
    sc_ctx *ctx = &c->edit->job->ctx;
    const sc_str target = sc_json_str(ctx->scratch, member(c, "target"));
    const sc_op *op = *out = sc_op_find(target);
    ctx->where.op = sc_str_copy(ctx->arena, target);
    if (!op || !op->schema)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, sc_op_suggest(ctx->arena, target),
                       "there is no operator '" SC_STR_FMT "'", SC_STR_ARG(target));
    if (sc_op_has(op, SC_HIGHER_ORDER))
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Change the bodies of the existing calls instead.",
                       "a pass cannot make a call of %s", op->name);
    return SC_OK;
}

// A pass that inserts the operator that it looks for, behind the node that it has reached, would go
// on until memory ends.
enum { INSERTS_MAX = 100000 };

static sc_status check_insert_count(sc_edit *edit) {
    if (edit->insert_count++ < INSERTS_MAX) return SC_OK;
    return sc_fail(&edit->job->ctx, SC_ERR_LIMIT,
                   "If the pass looks for the operator that it inserts, walk over a copy of the "
                   "list: [...graph.nodes].",
                   "a pass cannot insert more than %d calls", INSERTS_MAX);
}

// Does the value exist where the new call will stand? Errors name the new call by its operator.
static sc_status check_operand(const change *c, const sc_arg *arg, const sc_node *position) {
    for (uint32_t i = 0; arg->kind == SC_ARG_LIST && i < arg->count; i++)
        SC_TRY(check_operand(c, &arg->items[i], position));
    if (arg->kind != SC_ARG_VALUE || sc_edit_is_defined_before(c->edit, arg->value, position))
        return SC_OK;
    const sc_str op = c->edit->job->ctx.where.op;
    if (arg->value->graph != position->graph)
        return sc_fail(&c->edit->job->ctx, SC_ERR_ARGUMENT,
                       "A body can use its own inputs and nodes only.",
                       "'%s' is in another graph than the new call of " SC_STR_FMT,
                       arg->value->name->text, SC_STR_ARG(op));
    return sc_fail(&c->edit->job->ctx, SC_ERR_ARGUMENT, "Insert the call behind its operands.",
                   "'%s' is not defined where the new call of " SC_STR_FMT " would use it",
                   arg->value->name->text, SC_STR_ARG(op));
}

// {"graph", "before": node or null, "like": node or null, "target", "args", "kwargs"}
static sc_status do_insert(change *c) {
    sc_graph *graph;
    sc_node *position = NULL, *like = NULL, *made = NULL;
    const sc_op *op;
    sc_arg *args;
    const sc_json *before = member(c, "before"), *origin = member(c, "like");
    SC_TRY(sc_edit_graph(c->edit, member(c, "graph"), &graph));
    if (before && before->kind != SC_JSON_NULL) SC_TRY(sc_edit_node(c->edit, before, &position));
    if (origin && origin->kind != SC_JSON_NULL) SC_TRY(sc_edit_node(c->edit, origin, &like));
    SC_TRY(check_insert_count(c->edit));
    SC_TRY(find_operator(c, &op));
    SC_TRY(sc_edit_read_args(c->edit, op, member(c, "args"), member(c, "kwargs"), &args));
    sc_meta meta = {0};
    if (like) {
        meta = like->meta;
        meta.origin = sc_node_origin(like);
    }
    if (!position) position = graph->ret;
    if (position->graph != graph)
        return sc_fail(&c->edit->job->ctx, SC_ERR_ARGUMENT,
                       "Insert it into the graph of that node.",
                       "'%s' is in another graph than the new call", position->name->text);
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        SC_TRY(check_operand(c, &args[i], position));
    SC_TRY(sc_edit_make_node(c->edit, graph, position, op, args, &meta, &made));
    sc_json_key(c->w, "node");
    sc_edit_add_node(c->edit, c->w, made);
    return SC_OK;
}

// --- Arguments and uses --------------------------------------------------------------------------

// The number of a node, or {"outputs": graph}.
static sc_status find_user(const change *c, sc_node **out) {
    const sc_json *node = member(c, "node"), *graph = sc_json_get(node, "outputs");
    sc_graph *found;
    if (!graph) return sc_edit_node(c->edit, node, out);
    SC_TRY(sc_edit_graph(c->edit, graph, &found));
    *out = found->ret;
    return SC_OK;
}

static bool has_body(const sc_arg *arg) {
    bool has = arg->kind == SC_ARG_GRAPH;
    for (uint32_t i = 0; !has && arg->kind == SC_ARG_LIST && i < arg->count; i++)
        has = has_body(&arg->items[i]);
    return has;
}

// A body belongs to its call. Elsewhere it would be part of two calls, or of itself.
static sc_status check_bodies(const change *c, const sc_node *node, const sc_arg *from,
                              const sc_arg *to) {
    if ((!has_body(from) && !has_body(to)) || sc_arg_equal(from, to)) return SC_OK;
    return sc_fail(&c->edit->job->ctx, SC_ERR_UNSUPPORTED, "Change the nodes of the body instead.",
                   "a body of control flow cannot be put into '%s', nor taken out",
                   node->op ? node->name->text : "output");
}

// {"node", "index", "value"}
static sc_status do_set(change *c) {
    sc_ctx *ctx = &c->edit->job->ctx;
    sc_node *node;
    int64_t index = -1;
    sc_arg value;
    SC_TRY(find_user(c, &node));
    if (node->op) sc_where_set_node(ctx, node);
    if (!sc_json_i64(member(c, "index"), &index) || index < 0 || index >= node->arg_count)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "'%s' has %u arguments",
                       node->op ? node->name->text : "output", node->arg_count);
    const bool is_known = node->op && !sc_op_has(node->op, SC_FOREIGN);
    const sc_param *param = is_known ? &node->op->schema->params[index] : NULL;
    SC_TRY(sc_edit_read_arg(c->edit, node->op, param, member(c, "value"), &value));
    if (!node->op && value.kind == SC_ARG_LIST)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Set the outputs one by one.",
                       "an output cannot be a list");
    if (param && !sc_arg_fits(param, &value))
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL,
                       "argument '" SC_STR_FMT "' of %s has the wrong type",
                       SC_STR_ARG(param->name), node->op->name);
    SC_TRY(sc_edit_check_arg_order(c->edit, &value, node));
    sc_arg *slot = &node->args[index];
    SC_TRY(check_bodies(c, node, slot, &value));
    return sc_edit_exchange(c->edit, &slot, 1, value, c->w);
}

typedef struct replacing_input {
    const sc_value *from;
    sc_value *to;
    SC_VEC(sc_arg *) slots;
    sc_arena *arena;
} replacing_input;

static bool note_slot(void *user, sc_arg *arg) {
    replacing_input *r = user;
    if (arg->value == r->from) sc_vec_push(r->arena, &r->slots, arg);
    return true;
}

// {"node", "from": value, "to": value}: replaces it in one node only
static sc_status do_replace_input(change *c) {
    sc_node *node;
    sc_value *from;
    replacing_input r = {.arena = c->edit->job->ctx.scratch};
    SC_TRY(find_user(c, &node));
    SC_TRY(sc_edit_value(c->edit, member(c, "from"), &from));
    SC_TRY(sc_edit_value(c->edit, member(c, "to"), &r.to));
    if (node->op) sc_where_set_node(&c->edit->job->ctx, node);
    SC_TRY(sc_edit_check_order(c->edit, r.to, node));
    r.from = from;
    sc_node_visit_values(node, note_slot, &r);
    return sc_edit_exchange(c->edit, r.slots.data, r.slots.count, sc_arg_value(r.to), c->w);
}

// {"from": value, "to": value}: replaces it wherever it is used, except in the node that makes `to`
static sc_status do_replace_uses(change *c) {
    sc_value *from, *to;
    SC_TRY(sc_edit_value(c->edit, member(c, "from"), &from));
    SC_TRY(sc_edit_value(c->edit, member(c, "to"), &to));
    return sc_edit_replace_uses(c->edit, from, to, c->w);
}

// --- Erase ---------------------------------------------------------------------------------------

static const char *user_name(const sc_arg *use) {
    return use->user->op ? use->user->name->text : "output";
}

// {"node"}
static sc_status do_erase(change *c) {
    sc_node *node;
    SC_TRY(sc_edit_node(c->edit, member(c, "node"), &node));
    sc_where_set_node(&c->edit->job->ctx, node);
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->first_use)
            return sc_fail(&c->edit->job->ctx, SC_ERR_STATE,
                           "Replace its uses first, by replaceAllUsesWith().",
                           "'%s' cannot be erased: '%s' uses it", node->name->text,
                           user_name(node->outs[i]->first_use));
    sc_edit_forget(c->edit, node);
    sc_node_erase(node);
    return SC_OK;
}

// {"graph"}: erases nodes without use or effect
static sc_status do_erase_dead(change *c) {
    sc_graph *graph;
    SC_TRY(sc_edit_graph(c->edit, member(c, "graph"), &graph));
    sc_json_key(c->w, "erased");
    sc_json_begin_array(c->w);
    for (sc_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        if (sc_node_is_used(node) || sc_node_has_effect(node)) continue;
        sc_json_add_u64(c->w, sc_edit_node_number(c->edit, node));
        sc_edit_forget(c->edit, node);
        sc_node_erase(node);
    }
    sc_json_end_array(c->w);
    return SC_OK;
}

// --- Outputs -------------------------------------------------------------------------------------

// Gradients come last, where an optimizer looks for them. Results of the model come before.
static uint32_t place_of_output(const sc_method *method) {
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_kind kind = method->outputs.data[i].kind;
        if (kind == SC_OUTPUT_GRADIENT || kind == SC_OUTPUT_INPUT_GRADIENT) return i;
    }
    return method->outputs.count;
}

// {"value"}: adds one more output after the results of the model. The tree of the outputs does not
// contain it, so the tree is dropped, which leaves a flat list.
static sc_status do_output(change *c) {
    sc_method *method = c->edit->method;
    sc_node *ret = method->graph->ret;
    sc_value *value;
    SC_TRY(sc_edit_value(c->edit, member(c, "value"), &value));
    SC_TRY(sc_edit_check_order(c->edit, value, ret));
    const uint32_t at = place_of_output(method), count = ret->arg_count;
    sc_arg *args = sc_new_array(c->edit->job->ctx.scratch, sc_arg, count + 1);
    for (uint32_t i = 0; i < count; i++) args[i + (i >= at)] = ret->args[i];
    args[at] = sc_arg_value(value);
    sc_graph_set_outputs(method->graph, args, count + 1);
    sc_vec_push(&c->edit->job->arena, &method->outputs, (sc_output_sig){.kind = SC_OUTPUT_USER});
    for (uint32_t i = count; i > at; i--) method->outputs.data[i] = method->outputs.data[i - 1];
    method->outputs.data[at] = (sc_output_sig){.kind = SC_OUTPUT_USER};
    method->out_spec = (sc_str){0};
    sc_json_put_u64(c->w, "at", at);
    sc_edit_put_outputs(c->edit, c->w, method->graph);
    return SC_OK;
}

// --- The signature -------------------------------------------------------------------------------

static sc_status do_set_dtype(change *c) { return sc_edit_set_dtype(c->edit, c->json, c->w); }

static sc_status do_constant_method(change *c) {
    return sc_edit_add_constant_method(c->edit, c->json);
}

// --- Patterns ------------------------------------------------------------------------------------

// {"pattern", "replacement"}
static sc_status do_replace_pattern(change *c) {
    sc_arena *scratch = c->edit->job->ctx.scratch;
    sc_edit_replacing r = {.edit = c->edit,
                           .pattern = sc_json_str(scratch, member(c, "pattern")),
                           .replacement = sc_json_str(scratch, member(c, "replacement"))};
    SC_TRY(sc_edit_replace_pattern(&r));
    sc_json_put_array(c->w, "roots");
    for (uint32_t i = 0; i < r.roots.count; i++)
        sc_json_add_u64(c->w, sc_edit_value_number(c->edit, r.roots.data[i]));
    sc_json_end_array(c->w);
    return SC_OK;
}

// --- Origins -------------------------------------------------------------------------------------

// {"node"}
static sc_status do_origin(change *c) {
    sc_node *node;
    SC_TRY(sc_edit_node(c->edit, member(c, "node"), &node));
    sc_edit_put_origin(c->w, node);
    return SC_OK;
}

// --- By name -------------------------------------------------------------------------------------

static const struct {
    const char *name;
    sc_status (*run)(change *c);
} CHANGES[] = {{"insert", do_insert},
               {"set", do_set},
               {"origin", do_origin},
               {"replaceInput", do_replace_input},
               {"replaceUses", do_replace_uses},
               {"replacePattern", do_replace_pattern},
               {"output", do_output},
               {"setDType", do_set_dtype},
               {"constantMethod", do_constant_method},
               {"erase", do_erase},
               {"eraseDead", do_erase_dead}};

static sc_status run(change *c) {
    for (uint32_t i = 0; i < SC_COUNT_OF(CHANGES); i++)
        if (sc_json_is_str(member(c, "do"), CHANGES[i].name)) {
            if (CHANGES[i].run == do_origin) return do_origin(c);
            SC_TRY(sc_edit_begin_change(c->edit));
            return CHANGES[i].run(c);
        }
    return sc_fail(&c->edit->job->ctx, SC_ERR_ARGUMENT, NULL, "this change has an unknown name");
}

sc_status sc_edit_change(sc_job *job, sc_str change_json, sc_str *json) {
    sc_ctx *ctx = &job->ctx;
    const sc_json *parsed;
    sc_json_writer w;
    sc_edit *edit;
    SC_TRY(sc_edit_require(job, &edit));
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_sb text = sc_job_text(job);
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    change c = {.edit = edit, .w = &w};
    sc_status status = sc_json_parse(ctx, ctx->scratch, change_json, &parsed);
    sc_json_begin_object(&w);
    if (status == SC_OK) {
        c.json = parsed;
        status = run(&c);
    }
    sc_arena_rewind(ctx->scratch, mark);
    SC_TRY(status);
    sc_json_end_object(&w);
    *json = sc_sb_str(&text);
    return SC_OK;
}
