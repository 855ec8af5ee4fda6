// Logits of the last position only. A runner of a language model reads no others, and a product
// with the whole vocabulary for each position is most of the memory of a plan. The last row of the
// product's operand is selected before the product. The result keeps its rank, with a size of 1.
//
// If there are several methods, those with the most logits are changed. Others, such as encoders,
// are left.
#include "passes/passes.h"

// The most calls between the product and the return, which change element by element.
enum { CHAIN_MAX = 16 };

typedef struct logits {
    uint32_t output;  // of the graph's return
    sc_node *product;
    uint32_t rows;  // the argument of the product whose rows are positions
    sc_node *chain[CHAIN_MAX];
    uint32_t count;
} logits;

// --- Looking -------------------------------------------------------------------------------------

static bool is_tensor(const sc_arg *arg) {
    return arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_TENSOR;
}

static uint32_t rank_of(const sc_node *node, uint32_t arg) {
    return node->args[arg].value->spec.rank;
}

// Does a row of the result depend on the same row of one operand only? If so, says which.
static bool is_product(const sc_node *node, uint32_t *rows) {
    *rows = 0;
    switch (node->op->id) {
    case SC_OP_linear:
    case SC_OP_mm: break;
    case SC_OP_matmul:
        if (!is_tensor(&node->args[1]) || rank_of(node, 1) != 2) return false;
        break;
    case SC_OP_addmm:
        *rows = 1;
        if (!is_tensor(&node->args[0]) || rank_of(node, 0) > 1) return false;
        break;
    default: return false;
    }
    return is_tensor(&node->args[*rows]) && rank_of(node, *rows) >= 2;
}

static bool same_sizes(const sc_spec *a, const sc_spec *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (!sc_dim_equal(a->sizes[d], b->sizes[d])) return false;
    return true;
}

// Is each element of the result made of the same one of its only operand?
static bool is_elementwise(const sc_node *node) {
    if (node->out_count != 1 || sc_op_has(node->op, SC_MUTATES | SC_RANDOM) ||
        !sc_op_has(node->op, SC_POINTWISE | SC_HANDS_ON) || !is_tensor(&node->args[0]) ||
        !same_sizes(&node->args[0].value->spec, &node->outs[0]->spec))
        return false;
    for (uint32_t i = 1; i < node->arg_count; i++)
        if (node->args[i].kind == SC_ARG_VALUE) return false;
    return true;
}

static bool find_user_output(const sc_method *method, uint32_t *output) {
    for (*output = 0; *output < method->outputs.count; ++*output)
        if (method->outputs.data[*output].kind == SC_OUTPUT_USER) return true;
    return false;
}

static bool find(const sc_method *method, logits *l) {
    *l = (logits){.count = 0};
    if (!find_user_output(method, &l->output)) return false;
    const sc_arg *arg = &method->graph->ret->args[l->output];
    sc_value *value = is_tensor(arg) ? arg->value : NULL;
    while (value && value->node) {
        sc_node *node = value->node;
        if (is_product(node, &l->rows)) {
            l->product = node;
            return value->spec.rank >= 2;
        }
        if (!is_elementwise(node) || l->count == CHAIN_MAX) return false;
        l->chain[l->count++] = node;
        value = node->args[0].value;
    }
    return false;
}

static int64_t width_of(const sc_method *method) {
    logits l;
    if (!find(method, &l)) return 0;
    const sc_spec *spec = &l.product->outs[0]->spec;
    const sc_dim width = spec->sizes[spec->rank - 1];
    return sc_dim_is_int(width) ? width.value : 0;
}

// Has no other method of the program more logits?
static bool has_most(const sc_method *method) {
    const int64_t width = width_of(method);
    const sc_program *program = method->program;
    for (uint32_t i = 0; program && i < program->methods.count; i++)
        if (width_of(program->methods.data[i]) > width) return false;
    return true;
}

// --- Changing ------------------------------------------------------------------------------------

// The last row of a tensor, as a dim of size 1.
static sc_status last_row(sc_graph *graph, sc_node *at, sc_value *from, sc_value **out) {
    const sc_arg pick[] = {sc_arg_value(from), sc_arg_int(-2), sc_arg_int(-1)};
    sc_node *row, *kept;
    SC_TRY(sc_build(graph, at, sc_op_get(SC_OP_select_int), pick, 3, &at->meta, &row));
    const sc_arg keep[] = {sc_arg_value(row->outs[0]), sc_arg_int(-2)};
    SC_TRY(sc_build(graph, at, sc_op_get(SC_OP_unsqueeze), keep, 2, &at->meta, &kept));
    *out = kept->outs[0];
    return SC_OK;
}

// The same call with one position of an operand, before it. Calls that are always expanded have no
// shape rule, but the result has the sizes that it had.
static sc_value *again(sc_ctx *ctx, sc_method *method, sc_node *node, uint32_t arg,
                       sc_value *value) {
    const sc_spec *all = &node->outs[0]->spec;
    sc_arg *args = sc_new_array(ctx->scratch, sc_arg, (size_t)node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = node->args[i];
    args[arg] = sc_arg_value(value);
    sc_node *made = sc_node_new(method->graph, node->op, args, node->arg_count, 1, NULL);
    sc_value *out = made->outs[0];
    out->type = SC_VALUE_TENSOR;
    out->spec = sc_spec_new(ctx->arena, (sc_dtype)all->dtype, all->rank);
    for (uint32_t d = 0; d < all->rank; d++)
        out->spec.sizes[d] = d == all->rank - 2u ? sc_dim_int(1) : all->sizes[d];
    sc_spec_set_contiguous(method->exprs, &out->spec);
    made->meta = node->meta;
    sc_graph_insert_before(node, made);
    return out;
}

// Erases the calls that gave all logits, from the last one back, as long as no one reads them.
static void erase(const logits *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->chain[i]->outs[0]->use_count) return;
        sc_node_erase(l->chain[i]);
    }
    if (!l->product->outs[0]->use_count) sc_node_erase(l->product);
}

static sc_status change(sc_ctx *ctx, sc_method *method, const logits *l) {
    sc_graph *graph = method->graph;
    sc_value *value;
    SC_TRY(last_row(graph, l->product, l->product->args[l->rows].value, &value));
    value = again(ctx, method, l->product, l->rows, value);
    for (uint32_t i = l->count; i > 0; i--) value = again(ctx, method, l->chain[i - 1], 0, value);
    sc_value *all = graph->ret->args[l->output].value;
    const sc_name *name = all->name;
    sc_arg_set(&graph->ret->args[l->output], sc_arg_value(value));
    all->name = all->node->name = value->name;
    value->name = value->node->name = name;
    erase(l);
    return SC_OK;
}

static sc_status refuse(sc_ctx *ctx, const sc_method *method) {
    return sc_fail(
        ctx, SC_ERR_UNSUPPORTED,
        "Lower the program without it, or return the logits as the first output.",
        "the first output of method '%s' is not [.., positions, logits] of a linear layer "
        "or matrix product, so there are no logits of a last position",
        method->name->text);
}

sc_status sc_pass_last_logits(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    logits l;
    if (!env->options || !env->options->last_logits) return SC_OK;
    const bool is_one = !method->program || method->program->methods.count == 1;
    if (!is_one && !has_most(method)) return SC_OK;
    if (!find(method, &l)) return refuse(ctx, method);
    const sc_spec *spec = &l.product->outs[0]->spec;
    return sc_dim_is(spec->sizes[spec->rank - 2], 1) ? SC_OK : change(ctx, method, &l);
}
