// Operators that give a tensor with some of its elements replaced write in place where they can, so
// that a step of a language model copies no cache. A state is written by its last value, which a
// chain of such operators computes from it: the chain writes the state, and the copy at the end
// goes. That is right if each value of the chain has its last reader before the next one is
// written.
//
// Calls that have no other form write to a copy if they cannot write in place. The operator table
// says which row writes the value of which (sc_op.writer).
#include "passes/passes.h"

// Does the node write a tensor from another one? Then all of the old content is lost.
static bool copies(const sc_node *node) {
    return sc_op_has(node->op, SC_MUTATES) && sc_op_has(node->op, SC_OVERWRITES) &&
           !sc_op_has(node->op, SC_SYMBOLIC) && node->arg_count >= 2 && node->out_count == 1 &&
           node->args[0].kind == SC_ARG_VALUE && node->args[1].kind == SC_ARG_VALUE;
}

static uint32_t written_operand(const sc_op *writer) {
    uint32_t i = 0;
    while (!writer->schema->params[i].is_written) i++;
    return i;
}

// The value of the chain before this one, or NULL.
static sc_value *before(const sc_value *value) {
    const sc_op *writer = value->node ? value->node->op->writer : NULL;
    const sc_arg *arg = writer ? &value->node->args[written_operand(writer)] : NULL;
    return arg && arg->kind == SC_ARG_VALUE ? arg->value : NULL;
}

// Has the value no reader after the node that writes over it, but for its own copy at the end?
static bool is_read_before(const sc_value *value, const sc_node *writer, const sc_node *copy) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use) {
        const sc_node *user = use->user;
        if (user->graph != writer->graph || user == writer->graph->ret) return false;
        const bool is_target = user == copy && use == &copy->args[0];
        const bool is_written =
            user == writer && use == &writer->args[written_operand(writer->op->writer)];
        if (!is_target && !is_written && user->mark >= writer->mark) return false;
    }
    return true;
}

// Does a chain that begins at the state end in the value that `copy` writes to it?
static bool can_write(const sc_node *copy) {
    const sc_value *state = copy->args[0].value, *value = copy->args[1].value;
    if (state->node || state->graph != copy->graph || value == state) return false;
    // The caller may change results, and it keeps them.
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user == copy->graph->ret) return false;
    while (value != state) {
        const sc_value *earlier = before(value);
        if (!earlier || earlier->graph != copy->graph ||
            !sc_spec_equal(&earlier->spec, &state->spec) ||
            !is_read_before(earlier, value->node, copy))
            return false;
        value = earlier;
    }
    return true;
}

static sc_status write(sc_node *node, sc_value **out) {
    sc_node *writer;
    const sc_op *op = node->op->writer;
    sc_where_set_node(node->graph->ctx, node);
    SC_TRY(sc_build(node->graph, node, op, node->args, node->arg_count, &node->meta, &writer));
    writer->mark = node->mark;
    *out = writer->outs[sc_op_out_count(op)];
    sc_node_replace(node, *out);
    return SC_OK;
}

static sc_status write_chain(sc_node *copy) {
    sc_value *state = copy->args[0].value, *value = copy->args[1].value, *last = NULL;
    while (value != state) {
        sc_value *earlier = before(value);
        sc_node *node = value->node;
        sc_value *written;
        SC_TRY(write(node, &written));
        if (!last) last = written;
        value = earlier;
    }
    sc_node_replace(copy, last);
    return SC_OK;
}

static sc_status write_copy(sc_node *node) {
    sc_node *clone;
    sc_value *written;
    sc_arg *operand = &node->args[written_operand(node->op->writer)];
    SC_TRY(sc_build(node->graph, node, sc_op_get(SC_OP_dim_order_ops__clone_dim_order), operand, 1,
                    &node->meta, &clone));
    sc_arg_set(operand, sc_arg_value(clone->outs[0]));
    return write(node, &written);
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    uint32_t position = 0;
    (void)ctx, (void)user;
    for (sc_node *node = graph->first; node; node = node->next) node->mark = ++position;
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (copies(node) && can_write(node)) SC_TRY(write_chain(node));
    }
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (sc_op_called(node->op) != node->op) SC_TRY(write_copy(node));
    }
    return SC_OK;
}

sc_status sc_pass_in_place(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
