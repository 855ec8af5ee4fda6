// Classifies values by the signature and control flow, before any value is placed.
//
// Branch results: both branches of a cond write straight into the cond's own result, whose storage
// lies in the surrounding method's plan. Moving a branch's tensor there instead would make the
// result an alias of memory that other branches reuse. Loops carry their values in their results.
#include "plan/storage.h"

typedef struct builder {
    sc_ctx *ctx;
    sc_storage_table *table;
    uint32_t depth;
} builder;

static sc_storage *add_value(builder *b, sc_value *value) {
    value->mark = b->table->items.count;
    sc_storage storage = {.value = value};
    if (value->type == SC_VALUE_TENSOR) storage.kind = SC_STORAGE_PLANNED;
    sc_vec_push(b->ctx->arena, &b->table->items, storage);
    return &sc_vec_last(&b->table->items);
}

// The argument that is result `index` of an op with SC_MUTATES: the last results are those written
// to, in their order.
static sc_value *written_arg(const sc_node *node, uint32_t index) {
    const sc_schema *schema = node->op->schema;
    index -= sc_op_out_count(node->op);
    for (uint32_t i = 0; i < schema->param_count && i < node->arg_count; i++) {
        if (!schema->params[i].is_written || index-- > 0) continue;
        return node->args[i].kind == SC_ARG_VALUE ? node->args[i].value : NULL;
    }
    return NULL;
}

static bool is_order(const uint8_t *order, uint32_t rank, bool channels_last) {
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t wanted = !channels_last || i == 0 ? i : i + 1 < rank ? i + 1 : 1;
        if (order[i] != wanted) return false;
    }
    return true;
}

static void set_order(uint8_t *order, uint32_t rank, bool channels_last) {
    for (uint32_t i = 0; i < rank; i++)
        order[i] = (uint8_t)(!channels_last || i == 0 ? i : i + 1 < rank ? i + 1 : 1);
}

bool sc_storage_dim_order(const sc_value *value, uint8_t *order) {
    return sc_storage_spec_order(value->graph->method->exprs, &value->spec, order);
}

bool sc_storage_spec_order(sc_exprs *exprs, const sc_spec *spec, uint8_t *order) {
    bool sorted = sc_spec_dim_order(exprs, spec, order);
    bool may_be_last = spec->rank == 4 || spec->rank == 5;
    if (sorted &&
        (is_order(order, spec->rank, false) || (may_be_last && is_order(order, spec->rank, true))))
        return true;
    bool is_last = sorted && may_be_last &&
                   (spec->rank == 4 ? sc_spec_is_channels_last(exprs, spec)
                                    : sc_spec_is_channels_last_3d(exprs, spec));
    if (!is_last && !sc_spec_is_contiguous(exprs, spec)) return sorted;
    set_order(order, spec->rank, is_last);
    return true;
}

static bool same_layout(const sc_value *a, const sc_value *b) {
    const sc_spec *x = &a->spec, *y = &b->spec;
    uint8_t order_x[SC_RANK_MAX], order_y[SC_RANK_MAX];
    if (x->dtype != y->dtype || x->rank != y->rank || !sc_storage_dim_order(a, order_x) ||
        !sc_storage_dim_order(b, order_y) || memcmp(order_x, order_y, x->rank) != 0)
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t max_x = 0, max_y = 0;
        if (!sc_spec_size_max(x, i, &max_x) || !sc_spec_size_max(y, i, &max_y) || max_x != max_y)
            return false;
    }
    return true;
}

// --- Control flow --------------------------------------------------------------------------------

sc_operand_role sc_storage_operand_role(const sc_op *op, uint32_t list) {
    if (op->id == SC_OP_higher_order_map_impl && list == 0) return SC_OPERAND_SLICE;
    if (op->id == SC_OP_higher_order_while_loop && list == 0) return SC_OPERAND_CARRY;
    if (op->id == SC_OP_higher_order_scan && list < 2)
        return list == 0 ? SC_OPERAND_CARRY : SC_OPERAND_SLICE;
    return SC_OPERAND_READ;
}

// Operands share their storage with the body's inputs; carried values are the node's results, and
// slices are the body's own.
static void bind_inputs(builder *b, const sc_node *node, const sc_graph *body) {
    uint32_t input = 0, list = 0;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (node->args[i].kind != SC_ARG_LIST) continue;
        sc_operand_role role = sc_storage_operand_role(node->op, list++);
        for (uint32_t k = 0; k < node->args[i].count && input < body->inputs.count; k++) {
            sc_storage *storage = sc_storage_of(b->table, body->inputs.data[input++]);
            const sc_arg *operand = &node->args[i].items[k];
            if (storage->kind != SC_STORAGE_PLANNED || role == SC_OPERAND_SLICE) continue;
            sc_value *base = role == SC_OPERAND_CARRY && k < node->out_count ? node->outs[k]
                             : operand->kind == SC_ARG_VALUE                 ? operand->value
                                                                             : NULL;
            if (!base) continue;
            storage->kind = SC_STORAGE_SAME;
            storage->base = base;
        }
    }
}

// A fresh tensor of the branch becomes the cond's result; the emitter copies all others.
static void bind_branch_outputs(builder *b, const sc_node *cond, const sc_graph *branch) {
    for (uint32_t i = 0; i < branch->ret->arg_count && i < cond->out_count; i++) {
        const sc_arg *from = &branch->ret->args[i];
        if (from->kind != SC_ARG_VALUE || from->value->graph != branch || !from->value->node)
            continue;
        sc_storage *storage = sc_storage_of(b->table, from->value);
        if (storage->kind != SC_STORAGE_PLANNED || cond->outs[i]->type != SC_VALUE_TENSOR ||
            !same_layout(from->value, cond->outs[i]))
            continue;
        storage->kind = SC_STORAGE_SAME;
        storage->base = cond->outs[i];
    }
}

static sc_status build_graph(builder *b, sc_graph *graph);

static sc_status build_bodies(builder *b, sc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (node->args[i].kind != SC_ARG_GRAPH) continue;
        SC_TRY(build_graph(b, node->args[i].graph));
        bind_inputs(b, node, node->args[i].graph);
        if (node->op->id == SC_OP_higher_order_cond)
            bind_branch_outputs(b, node, node->args[i].graph);
    }
    return SC_OK;
}

static sc_status build_node(builder *b, sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_storage *storage = add_value(b, node->outs[i]);
        if (storage->kind != SC_STORAGE_PLANNED || !sc_op_has(node->op, SC_MUTATES) ||
            i < sc_op_out_count(node->op))
            continue;
        sc_value *base = written_arg(node, i);
        if (!base) {
            sc_where_set_node(b->ctx, node);
            return sc_fail(b->ctx, SC_ERR_INTERNAL, NULL, "%s writes to no argument",
                           node->op->name);
        }
        storage->kind = SC_STORAGE_SAME;
        storage->base = base;
    }
    return sc_op_has(node->op, SC_HIGHER_ORDER) ? build_bodies(b, node) : SC_OK;
}

static sc_status build_graph(builder *b, sc_graph *graph) {
    if (++b->depth > b->ctx->limits.graph_depth_max)
        return sc_fail(b->ctx, SC_ERR_LIMIT, NULL, "control flow is nested deeper than %u",
                       b->ctx->limits.graph_depth_max);
    for (uint32_t i = 0; i < graph->inputs.count; i++) add_value(b, graph->inputs.data[i]);
    for (sc_node *node = graph->first; node; node = node->next) SC_TRY(build_node(b, node));
    b->depth--;
    return SC_OK;
}

// --- The signature -------------------------------------------------------------------------------

static bool is_written(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use) {
        const sc_node *user = use->user;
        if (!user->op || !sc_op_has(user->op, SC_MUTATES)) continue;
        for (uint32_t i = 0; i < user->arg_count; i++)
            if (use == &user->args[i] && user->op->schema->params[i].is_written) return true;
    }
    return false;
}

// Buffers and parameters that the signature lists as mutated.
static void mutated_names(const sc_method *method, sc_map *names) {
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *sig = &method->outputs.data[i];
        if (sig->kind == SC_OUTPUT_BUFFER_MUTATION || sig->kind == SC_OUTPUT_PARAMETER_MUTATION)
            sc_map_set(names, sig->target, names);
    }
}

static void classify_inputs(builder *b, sc_method *method, bool plan_inputs) {
    sc_map mutated;
    sc_map_init(&mutated, b->ctx->arena);
    mutated_names(method, &mutated);
    for (uint32_t i = 0; i < method->graph->inputs.count; i++) {
        const sc_input_sig *sig = &method->inputs.data[i];
        sc_value *value = method->graph->inputs.data[i];
        sc_storage *storage = sc_storage_of(b->table, value);
        if (storage->kind != SC_STORAGE_PLANNED) continue;
        storage->constant = sig->constant;
        if (sig->kind == SC_INPUT_USER)
            storage->kind = plan_inputs ? SC_STORAGE_PLANNED : SC_STORAGE_UNPLANNED;
        else if (sig->is_trained || sc_map_get(&mutated, sig->target) || is_written(value))
            storage->kind = SC_STORAGE_MUTABLE;
        else
            storage->kind = SC_STORAGE_CONSTANT;
    }
}

static void free_outputs(builder *b, const sc_method *method) {
    const sc_node *ret = method->graph->ret;
    for (uint32_t i = 0; i < ret->arg_count; i++) {
        if (ret->args[i].kind != SC_ARG_VALUE || !ret->args[i].value->node) continue;
        sc_storage *storage = sc_storage_of(b->table, ret->args[i].value);
        if (storage->kind == SC_STORAGE_PLANNED) storage->kind = SC_STORAGE_UNPLANNED;
    }
}

sc_status sc_storage_build(sc_ctx *ctx, sc_method *method, bool plan_inputs, bool plan_outputs,
                           sc_storage_table *out) {
    *out = (sc_storage_table){.method = method};
    builder b = {ctx, out, 0};
    SC_ASSERT(method->inputs.count == method->graph->inputs.count);
    SC_TRY(build_graph(&b, method->graph));
    classify_inputs(&b, method, plan_inputs);
    if (!plan_outputs) free_outputs(&b, method);
    return SC_OK;
}

sc_storage *sc_storage_root(const sc_storage_table *table, const sc_value *value,
                            uint64_t *offset) {
    *offset = 0;
    sc_storage *storage = sc_storage_of(table, value);
    while (storage->base) {
        *offset += storage->offset;
        storage = sc_storage_of(table, storage->base);
    }
    return storage;
}
