// Results that a pass may not give another type: those of bodies of control flow, which the call
// around them fixes, and those that are written to a buffer or an input.
#include "api/edit/edit.h"
#include "plan/storage.h"

static sc_str type_text(sc_ctx *ctx, sc_exprs *exprs, const sc_value *value) {
    sc_sb text;
    if (value->type != SC_VALUE_TENSOR) return SC_STR("a number");
    sc_sb_init(&text, ctx->scratch);
    sc_spec_print(&text, exprs, &value->spec);
    return sc_sb_str(&text);
}

// A size that depends on a symbol may have other symbols in a body, so only numbers are compared.
static bool is_size_equal(sc_dim a, sc_dim b) {
    return !sc_dim_is_int(a) || !sc_dim_is_int(b) || a.value == b.value;
}

// Has the value the type of `wanted`, leaving out its first `skipped` dims?
static bool has_type(const sc_value *value, const sc_value *wanted, uint32_t skipped) {
    const bool is_tensor = value->type == SC_VALUE_TENSOR;
    if (is_tensor != (wanted->type == SC_VALUE_TENSOR)) return false;
    if (!is_tensor) return true;
    const sc_spec *a = &value->spec, *b = &wanted->spec;
    bool is = a->dtype == b->dtype && a->rank + skipped == b->rank;
    for (uint32_t d = 0; is && d < a->rank; d++)
        is = is_size_equal(a->sizes[d], b->sizes[d + skipped]);
    return is;
}

// --- Bodies --------------------------------------------------------------------------------------

typedef struct call {
    const sc_node *node;
    uint32_t carries;  // the first results go from round to round
    bool has_slices;   // the others are stacked, one slice for each round
    bool is_until;     // the first body says whether another round follows
} call;

static call call_of(const sc_node *node) {
    call c = {.node = node};
    uint32_t list = 0;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (node->args[i].kind != SC_ARG_LIST) continue;
        const sc_operand_role role = sc_storage_operand_role(node->op, list++);
        if (role == SC_OPERAND_CARRY) c.carries = node->args[i].count;
        c.has_slices = c.has_slices || role == SC_OPERAND_SLICE;
        c.is_until = c.is_until || role == SC_OPERAND_CARRY;
    }
    c.is_until = c.is_until && !c.has_slices;
    return c;
}

static sc_status check_result(sc_ctx *ctx, const call *c, const sc_graph *body, uint32_t index) {
    const sc_arg *returned = &body->ret->args[index];
    const sc_value *wanted = c->node->outs[index];
    const uint32_t skipped = c->has_slices && index >= c->carries;
    sc_exprs *exprs = body->method->exprs;
    const bool is_value = returned->kind == SC_ARG_VALUE;
    if (is_value ? has_type(returned->value, wanted, skipped) : wanted->type != SC_VALUE_TENSOR)
        return SC_OK;
    sc_where_set_node(ctx, c->node);
    if (!is_value)
        return sc_fail(ctx, SC_ERR_SHAPE, "Return values of the types that the body had before.",
                       "result %u of '%s', a body of '%s', is not a tensor", index,
                       body->name->text, c->node->name->text);
    return sc_fail(ctx, SC_ERR_SHAPE, "Return values of the types that the body had before.",
                   "result %u of '%s', a body of '%s', is " SC_STR_FMT
                   ", which does not fit %s" SC_STR_FMT,
                   index, body->name->text, c->node->name->text,
                   SC_STR_ARG(type_text(ctx, exprs, returned->value)), skipped ? "a slice of " : "",
                   SC_STR_ARG(type_text(ctx, exprs, wanted)));
}

// The condition of a loop is one truth value.
static sc_status check_condition(sc_ctx *ctx, const sc_node *node, const sc_graph *body) {
    const sc_arg *returned = body->ret->arg_count ? &body->ret->args[0] : NULL;
    if (!returned || returned->kind != SC_ARG_VALUE || returned->value->type != SC_VALUE_TENSOR)
        return SC_OK;
    const sc_spec *spec = &returned->value->spec;
    bool is_one = spec->dtype == SC_DTYPE_BOOL;
    for (uint32_t d = 0; d < spec->rank; d++)
        is_one = is_one && (!sc_dim_is_int(spec->sizes[d]) || spec->sizes[d].value == 1);
    if (is_one) return SC_OK;
    sc_where_set_node(ctx, node);
    return sc_fail(ctx, SC_ERR_SHAPE, "Return one truth value: b8[].",
                   "the condition of '%s' is " SC_STR_FMT ", which is not a truth value",
                   node->name->text,
                   SC_STR_ARG(type_text(ctx, body->method->exprs, returned->value)));
}

static sc_status check_bodies(sc_ctx *ctx, const sc_node *node) {
    const call c = call_of(node);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (node->args[i].kind != SC_ARG_GRAPH) continue;
        const sc_graph *body = node->args[i].graph;
        if (c.is_until && i == 0) {
            SC_TRY(check_condition(ctx, node, body));
            continue;
        }
        const uint32_t count = sc_min_u32(body->ret->arg_count, node->out_count);
        for (uint32_t k = 0; k < count; k++) SC_TRY(check_result(ctx, &c, body, k));
    }
    return SC_OK;
}

static sc_status check_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        // Others are expanded, or replaced by their bodies.
        if (!sc_op_has(node->op, SC_HIGHER_ORDER) || !sc_op_has(node->op, SC_CORE)) continue;
        const sc_mark mark = sc_arena_mark(ctx->scratch);
        const sc_status status = sc_node_part(node) ? SC_OK : check_bodies(ctx, node);
        sc_arena_rewind(ctx->scratch, mark);
        SC_TRY(status);
    }
    return SC_OK;
}

// --- Writes --------------------------------------------------------------------------------------

// The input that the output is written to; NULL if there is none.
static const sc_value *target_of(const sc_method *method, const sc_output_sig *output) {
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_value *value = method->graph->inputs.data[i];
        const bool is_user = output->kind == SC_OUTPUT_INPUT_MUTATION;
        const sc_str name = is_user ? sc_name_str(value->name) : method->inputs.data[i].target;
        if (sc_str_equal(name, output->target)) return value;
    }
    return NULL;
}

static sc_status check_writes(sc_ctx *ctx, const sc_method *method) {
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *output = &method->outputs.data[i];
        const sc_arg *returned = &method->graph->ret->args[i];
        const bool is_gradient = output->kind == SC_OUTPUT_GRADIENT;
        if (!sc_output_is_mutation(output->kind) && !is_gradient) continue;
        const sc_value *target = target_of(method, output);
        if (is_gradient && returned->kind != SC_ARG_VALUE)
            return sc_fail(ctx, SC_ERR_ARGUMENT, "Return a tensor there.",
                           "output %u is the gradient of '" SC_STR_FMT "', but not a tensor", i,
                           SC_STR_ARG(output->target));
        if (returned->kind != SC_ARG_VALUE || !target || has_type(returned->value, target, 0))
            continue;
        if (returned->value->node) sc_where_set_node(ctx, returned->value->node);
        return sc_fail(
            ctx, SC_ERR_SHAPE, "Give it the type that the other one has.",
            "'%s' is " SC_STR_FMT ", but it is %s '" SC_STR_FMT "', which is " SC_STR_FMT,
            returned->value->name->text, SC_STR_ARG(type_text(ctx, method->exprs, returned->value)),
            is_gradient ? "the gradient of" : "written to", SC_STR_ARG(output->target),
            SC_STR_ARG(type_text(ctx, method->exprs, target)));
    }
    return SC_OK;
}

sc_status sc_edit_check_results(sc_edit *edit) {
    sc_ctx *ctx = &edit->job->ctx;
    SC_TRY(sc_graphs_visit(ctx, edit->method->graph, check_graph, NULL));
    return check_writes(ctx, edit->method);
}
