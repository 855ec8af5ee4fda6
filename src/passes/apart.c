#include "passes/apart.h"

sc_status sc_apart_begin(sc_apart *a, const sc_method *from, uint32_t facts) {
    *a = (sc_apart){.from = from};
    sc_arena_init(&a->arena);
    sc_arena_init(&a->scratch);
    sc_ctx_init(&a->ctx, &a->arena, &a->scratch);
    a->ctx.limits = from->program->ctx->limits;
    sc_imap_init(&a->twins, &a->arena);
    a->program = sc_program_new(&a->ctx);
    SC_TRY(sc_program_add_method(a->program, SC_STR("forward"), &a->method));
    a->method->facts = facts;
    return SC_OK;
}

void sc_apart_end(sc_apart *a) {
    sc_arena_deinit(&a->scratch);
    sc_arena_deinit(&a->arena);
}

// --- Building ------------------------------------------------------------------------------------

// A constant is an input.
sc_value *sc_apart_value(sc_apart *a, const sc_value *value) {
    const uint64_t *known = sc_imap_find(&a->twins, SC_PTR_KEY(value));
    if (known) return (sc_value *)(uintptr_t)*known;
    sc_value *twin =
        sc_graph_add_input(a->method->graph, sc_name_str(value->name), SC_VALUE_TENSOR);
    twin->spec = value->spec;
    sc_vec_push(&a->arena, &a->method->inputs, a->from->inputs.data[value->index]);
    sc_imap_set(&a->twins, SC_PTR_KEY(value), SC_PTR_KEY(twin));
    return twin;
}

// A list in an argument holds no list, since these nodes are not of higher order.
static sc_arg twin_arg(sc_apart *a, const sc_arg *arg) {
    if (arg->kind == SC_ARG_VALUE) return sc_arg_value(sc_apart_value(a, arg->value));
    if (arg->kind != SC_ARG_LIST || arg->count == 0) return *arg;
    sc_arg *items = sc_new_array(&a->scratch, sc_arg, arg->count);
    for (uint32_t i = 0; i < arg->count; i++) items[i] = twin_arg(a, &arg->items[i]);
    return sc_arg_list(items, arg->count);
}

void sc_apart_add(sc_apart *a, const sc_node *node) {
    sc_graph *graph = a->method->graph;
    sc_arg *args = sc_new_array(&a->scratch, sc_arg, (size_t)node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = twin_arg(a, &node->args[i]);
    // By text: the two contexts have names of their own.
    sc_node *twin =
        sc_node_new(graph, node->op, args, node->arg_count, node->out_count, node->name->text);
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_value *out = twin->outs[i];
        if (node->out_count > 1)
            out->name = sc_graph_unique_name(graph, sc_name_str(node->outs[i]->name));
        out->type = SC_VALUE_TENSOR;
        out->spec = node->outs[i]->spec;
        sc_imap_set(&a->twins, SC_PTR_KEY(node->outs[i]), SC_PTR_KEY(out));
    }
    sc_graph_append(graph, twin);
}

void sc_apart_return(sc_apart *a, sc_value *value) {
    sc_vec_push(&a->arena, &a->outputs, sc_arg_value(value));
    sc_vec_push(&a->arena, &a->method->outputs, (sc_output_sig){.kind = SC_OUTPUT_USER});
}

void sc_apart_close(sc_apart *a) {
    sc_graph_set_outputs(a->method->graph, a->outputs.data, a->outputs.count);
}

// --- Evaluating ----------------------------------------------------------------------------------

sc_status sc_apart_evaluate(sc_apart *a, const sc_evaluator *evaluator, sc_extent *results) {
    return evaluator->run(evaluator->user, a->program, a->from->program->ctx->arena, results);
}

static bool can_wait(sc_status status) {
    switch (status) {
    case SC_OK:
    case SC_ERR_UNSUPPORTED:
    case SC_ERR_UNSUPPORTED_OP:
    case SC_ERR_OPERATOR_MISSING:
    case SC_ERR_DTYPE:
    case SC_ERR_SHAPE:
    case SC_ERR_ARGUMENT:
    case SC_ERR_INDEX:
    case SC_ERR_NUMERIC:
    case SC_ERR_LIMIT:
    case SC_ERR_MEMORY: return true;
    default: return false;
    }
}

sc_status sc_apart_outcome(const sc_apart *a, sc_status status) {
    if (can_wait(status)) return SC_OK;
    const sc_diag *diag = a->ctx.diags.count ? &sc_vec_last(&a->ctx.diags) : NULL;
    return sc_fail(a->from->program->ctx, status, NULL, "constants cannot be computed: " SC_STR_FMT,
                   SC_STR_ARG(diag ? diag->message : (sc_str){0}));
}
