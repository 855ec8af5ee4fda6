// Invariants of programs as named checks. Each failure says which check failed, where, and on what.
// The work is linear in the size of the graph. It runs after every pass in checked builds, and in
// tests.
#include "ir/verify.h"

#include "ir/part.h"

typedef struct verifier {
    sc_ctx *ctx;
    const sc_graph *graph;
    bool in_part;        // delegated: its nodes are not delegated again
    sc_imap seen_names;  // name -> 1
    sc_imap defined;     // value -> 1, in order
    uint64_t attached;   // arguments that name values
} verifier;

#define FAIL_CHECK(v, ...) SC_FAIL_CHECK((v)->ctx, __VA_ARGS__)

// --- Names ---------------------------------------------------------------------------------------

static sc_status check_name(verifier *v, const sc_name *name) {
    if (!name) return FAIL_CHECK(v, "names", "a value or node has no name");
    if (!sc_imap_add(&v->seen_names, SC_PTR_KEY(name), 1))
        return FAIL_CHECK(v, "names", "'%s' is used twice", name->text);
    if (!sc_graph_has_name(v->graph, sc_name_str(name)))
        return FAIL_CHECK(v, "names", "'%s' is not registered with its graph", name->text);
    return SC_OK;
}

// --- Specs ---------------------------------------------------------------------------------------

static sc_status check_spec(verifier *v, const sc_value *value) {
    const sc_spec *spec = &value->spec;
    if (!sc_dtype_is_known(spec->dtype))
        return FAIL_CHECK(v, "specs", "%%%s has no known dtype", value->name->text);
    if (spec->rank > SC_RANK_MAX || spec->rank > v->ctx->limits.rank_max)
        return FAIL_CHECK(v, "specs", "%%%s has rank %u", value->name->text, spec->rank);
    if (spec->rank > 0 && (!spec->sizes || !spec->strides))
        return FAIL_CHECK(v, "specs", "%%%s has no sizes or strides", value->name->text);
    for (uint32_t i = 0; i < spec->rank; i++)
        if (sc_dim_is_int(spec->sizes[i]) && spec->sizes[i].value < 0)
            return FAIL_CHECK(v, "specs", "%%%s has a negative size", value->name->text);
    return SC_OK;
}

// --- Results -------------------------------------------------------------------------------------

static sc_status check_value(verifier *v, const sc_value *value, const sc_node *node,
                             uint32_t index) {
    if (value->graph != v->graph || value->node != node || value->index != index)
        return FAIL_CHECK(v, "results", "%%%s has a wrong place of definition",
                          value->name ? value->name->text : "?");
    if (!node || node->out_count != 1 || value->name != node->name)
        SC_TRY(check_name(v, value->name));
    if (value->type == SC_VALUE_TENSOR) SC_TRY(check_spec(v, value));
    sc_imap_set(&v->defined, SC_PTR_KEY(value), 1);
    return SC_OK;
}

// The number of values that a node of this operator defines; -1 if the schema does not say.
static int64_t result_count(const sc_op *op) {
    if (sc_op_has(op, SC_FOREIGN) || sc_op_has(op, SC_HIGHER_ORDER) || !op->schema) return -1;
    for (uint32_t i = 0; i < op->schema->return_count; i++)
        if (op->schema->returns[i].is_list) return -1;
    return op->schema->return_count;
}

static sc_status check_results(verifier *v, const sc_node *node) {
    int64_t expected = result_count(node->op);
    if (expected >= 0 && expected != node->out_count)
        return FAIL_CHECK(v, "results", "%s defines %u values, its operator %lld", node->name->text,
                          node->out_count, (long long)expected);
    for (uint32_t i = 0; i < node->out_count; i++) SC_TRY(check_value(v, node->outs[i], node, i));
    return SC_OK;
}

// --- Order, uses, bodies -------------------------------------------------------------------------

static sc_status check_attached(verifier *v, const sc_node *node, const sc_arg *arg) {
    if (arg->user != node)
        return FAIL_CHECK(v, "uses", "an argument of %s is not attached to it",
                          node->name ? node->name->text : "the return");
    if (arg->kind == SC_ARG_VALUE) {
        v->attached++;
        if (!sc_imap_find(&v->defined, SC_PTR_KEY(arg->value)))
            return FAIL_CHECK(v, "order", "%s uses %%%s, which is not defined before it",
                              node->name ? node->name->text : "the return",
                              arg->value->name ? arg->value->name->text : "?");
    } else if (arg->kind == SC_ARG_GRAPH) {
        if (!arg->graph || arg->graph->parent != v->graph || arg->graph->method != v->graph->method)
            return FAIL_CHECK(v, "bodies", "a body of %s belongs to another graph",
                              node->name ? node->name->text : "the return");
    } else if (arg->kind == SC_ARG_PART) {
        if (v->in_part || !node->op || sc_op_has(node->op, SC_FOREIGN) || arg != &node->args[0])
            return FAIL_CHECK(v, "parts", "%s calls a part where no part can be called",
                              node->name ? node->name->text : "the return");
    } else if (arg->kind == SC_ARG_LIST) {
        for (uint32_t i = 0; i < arg->count; i++) SC_TRY(check_attached(v, node, &arg->items[i]));
    }
    return SC_OK;
}

static sc_status check_use_list(verifier *v, const sc_value *value) {
    uint32_t count = 0;
    const sc_arg *last = NULL;
    for (const sc_arg *use = value->first_use; use; last = use, use = use->next_use) {
        bool linked = use->kind == SC_ARG_VALUE && use->value == value && use->prev_use == last;
        if (!linked || !use->user || use->user->graph != v->graph)
            return FAIL_CHECK(v, "uses", "the use list of %%%s is broken", value->name->text);
        if (++count > value->use_count) break;
    }
    if (count != value->use_count || last != value->last_use)
        return FAIL_CHECK(v, "uses", "%%%s counts %u uses and lists %u", value->name->text,
                          value->use_count, count);
    if (count > v->attached)
        return FAIL_CHECK(v, "uses", "%%%s is used by arguments that are not in the graph",
                          value->name->text);
    v->attached -= count;
    return SC_OK;
}

static sc_status check_use_lists(verifier *v) {
    for (uint32_t i = 0; i < v->graph->inputs.count; i++)
        SC_TRY(check_use_list(v, v->graph->inputs.data[i]));
    for (const sc_node *node = v->graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->out_count; i++) SC_TRY(check_use_list(v, node->outs[i]));
    if (v->attached)
        return FAIL_CHECK(v, "uses", "%llu arguments are in no use list",
                          (unsigned long long)v->attached);
    return SC_OK;
}

// --- Arguments -----------------------------------------------------------------------------------

static sc_status check_args(verifier *v, const sc_node *node) {
    const sc_op *op = node->op;
    for (uint32_t i = 0; i < node->arg_count; i++) SC_TRY(check_attached(v, node, &node->args[i]));
    if (sc_op_has(op, SC_FOREIGN)) return SC_OK;
    if (node->arg_count != op->schema->param_count)
        return FAIL_CHECK(v, "arity", "%s has %u arguments, %s takes %u", node->name->text,
                          node->arg_count, op->name, op->schema->param_count);
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (!sc_arg_fits(&op->schema->params[i], &node->args[i]))
            return FAIL_CHECK(v, "kinds", "argument '" SC_STR_FMT "' of %s does not suit %s",
                              SC_STR_ARG(op->schema->params[i].name), node->name->text, op->name);
    return SC_OK;
}

static sc_status check_node(verifier *v, const sc_node *node) {
    if (!node->op || node->graph != v->graph)
        return FAIL_CHECK(v, "nodes", "a node has no operator, or belongs to another graph");
    if ((node->prev ? node->prev->next : v->graph->first) != node)
        return FAIL_CHECK(v, "nodes", "the node list is broken at %s", node->name->text);
    SC_TRY(check_name(v, node->name));
    SC_TRY(check_args(v, node));
    SC_TRY(check_results(v, node));
    return sc_node_part(node) ? sc_verify_call(v->ctx, node) : SC_OK;
}

// --- Signature -----------------------------------------------------------------------------------

static sc_status check_inputs_in_step(verifier *v, const sc_method *method) {
    if (method->inputs.count != v->graph->inputs.count)
        return FAIL_CHECK(v, "signature", "%u inputs are described, %u exist", method->inputs.count,
                          v->graph->inputs.count);
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_input_sig *sig = &method->inputs.data[i];
        const char *name = v->graph->inputs.data[i]->name->text;
        if (sc_input_has_constant(sig->kind) != (sig->constant != NULL))
            return FAIL_CHECK(v, "signature", "input %%%s and its constant do not agree", name);
        if (sig->constant && !sc_spec_is_static(&sig->constant->spec))
            return FAIL_CHECK(v, "signature", "the constant of %%%s has no fixed size", name);
    }
    return SC_OK;
}

static sc_status check_signature(verifier *v, const sc_method *method) {
    SC_TRY(check_inputs_in_step(v, method));
    if (method->outputs.count != v->graph->ret->arg_count)
        return FAIL_CHECK(v, "signature", "%u outputs are described, %u exist",
                          method->outputs.count, v->graph->ret->arg_count);
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *sig = &method->outputs.data[i];
        bool writes = sc_output_is_mutation(sig->kind);
        if (writes && sig->target.size == 0)
            return FAIL_CHECK(v, "signature", "output %u has no target to write to", i);
        if (writes && v->graph->ret->args[i].kind != SC_ARG_VALUE)
            return FAIL_CHECK(v, "signature", "output %u does not write a tensor", i);
    }
    return SC_OK;
}

// --- All of it -----------------------------------------------------------------------------------

static sc_status verify_depth(sc_ctx *ctx, const sc_graph *graph, uint32_t depth, bool in_part);

static sc_status verify_bodies(sc_ctx *ctx, const sc_arg *arg, uint32_t depth, bool in_part) {
    if (arg->kind == SC_ARG_GRAPH) return verify_depth(ctx, arg->graph, depth + 1, in_part);
    if (arg->kind == SC_ARG_PART)
        return verify_depth(ctx, arg->part->method->graph, depth + 1, true);
    if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            SC_TRY(verify_bodies(ctx, &arg->items[i], depth, in_part));
    return SC_OK;
}

static sc_status verify_one(verifier *v) {
    const sc_graph *graph = v->graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        SC_TRY(check_value(v, graph->inputs.data[i], NULL, i));
    for (const sc_node *node = graph->first; node; node = node->next, count++) {
        sc_where_set_node(v->ctx, node);
        SC_TRY(check_node(v, node));
    }
    sc_where_set_method(v->ctx, graph->method);
    if (count != graph->node_count)
        return FAIL_CHECK(v, "nodes", "%u nodes are counted, %u are there", graph->node_count,
                          count);
    for (uint32_t i = 0; i < graph->ret->arg_count; i++)
        SC_TRY(check_attached(v, graph->ret, &graph->ret->args[i]));
    SC_TRY(check_use_lists(v));
    return graph->parent ? SC_OK : check_signature(v, graph->method);
}

static sc_status verify_depth(sc_ctx *ctx, const sc_graph *graph, uint32_t depth, bool in_part) {
    if (depth >= ctx->limits.graph_depth_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "bodies are nested deeper than %u",
                       ctx->limits.graph_depth_max);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    verifier v = {.ctx = ctx, .graph = graph, .in_part = in_part};
    sc_imap_init(&v.seen_names, ctx->scratch);
    sc_imap_init(&v.defined, ctx->scratch);
    sc_status status = verify_one(&v);
    sc_arena_rewind(ctx->scratch, mark);
    SC_TRY(status);
    for (const sc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->arg_count; i++)
            SC_TRY(verify_bodies(ctx, &node->args[i], depth, in_part));
    return SC_OK;
}

sc_status sc_verify_graph(sc_ctx *ctx, const sc_graph *graph) {
    return verify_depth(ctx, graph, 0, false);
}

sc_status sc_verify(sc_ctx *ctx, const sc_program *program) {
    for (uint32_t i = 0; i < program->methods.count; i++) {
        sc_where_set_method(ctx, program->methods.data[i]);
        SC_TRY(verify_depth(ctx, program->methods.data[i]->graph, 0, false));
    }
    return SC_OK;
}
