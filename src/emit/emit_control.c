// Control flow, inlined into the method's one chain of instructions with jumps.
//
//   cond:   jump_false pred -> F; true body; jump_false False -> E; F: false body; E:
//   map:    it = 0; n = size(xs, 0); L: slices = xs[it]; body; results[it] = outputs;
//           it = it + 1; jump_false (it == n) -> L
//   scan:   the same, with carries copied in before L and updated at the end of each round
//   while:  carries copied in; L: condition; jump_false condition -> E; body; carries updated;
//           jump_false False -> L; E:
//
// A branch writes its results straight into the cond's (plan/storage.h); carried values live in the
// node's results. Counters start from a move, not from their initial value, so that a run that
// failed half-way does not spoil the next one.
#include "emit/emit_state.h"

static sc_status unsupported(sc_emit_method *m, const char *hint, const char *what) {
    return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED, hint, "%s", what);
}

static const sc_arg *list_arg(const sc_node *node, uint32_t list) {
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (node->args[i].kind == SC_ARG_LIST && list-- == 0) return &node->args[i];
    return NULL;
}

// Number inputs of a body are the operands' own EValues; tensors follow from their storage.
static sc_status bind_numbers(sc_emit_method *m, const sc_node *node, const sc_graph *body) {
    uint32_t input = 0, list = 0;
    const sc_arg *operands;
    for (; (operands = list_arg(node, list)) != NULL; list++) {
        bool is_carry = sc_storage_operand_role(node->op, list) == SC_OPERAND_CARRY;
        for (uint32_t k = 0; k < operands->count; k++, input++) {
            if (input >= body->inputs.count)
                return sc_fail(m->state->ctx, SC_ERR_CORRUPT, NULL,
                               "a body takes fewer inputs than it is given");
            const sc_value *value = body->inputs.data[input];
            if (value->type == SC_VALUE_TENSOR) continue;
            if (is_carry && k < node->out_count)
                SC_TRY(sc_emit_value(m, node->outs[k], &m->ids[value->mark]));
            else
                SC_TRY(sc_emit_plain(m, &operands->items[k], &m->ids[value->mark]));
        }
    }
    return SC_OK;
}

static const sc_graph *graph_arg(const sc_node *node, uint32_t index) {
    return index < node->arg_count && node->args[index].kind == SC_ARG_GRAPH
               ? node->args[index].graph
               : NULL;
}

// --- Cond ----------------------------------------------------------------------------------------

// Copies `from` over the tensor `to`, which takes its shape.
static sc_status emit_clone(sc_emit_method *m, const sc_node *node, int32_t from, int32_t to) {
    int32_t args[] = {from, sc_emit_bool(m, false), sc_emit_null(m), to, to};
    return sc_emit_call(m, sc_op_get(SC_OP_dim_order_ops__clone_dim_order), args, 5, node);
}

static bool is_alike(const sc_arg *from, const sc_value *to) {
    return from->kind == SC_ARG_VALUE && from->value->type == SC_VALUE_TENSOR &&
           from->value->spec.dtype == to->spec.dtype;
}

static sc_status emit_branch_result(sc_emit_method *m, const sc_arg *from, const sc_value *to) {
    int32_t from_id = 0, to_id = 0;
    if (to->use_count == 0) return SC_OK;
    SC_TRY(sc_emit_value(m, to, &to_id));
    SC_TRY(sc_emit_plain(m, from, &from_id));
    if (from_id == to_id || to->type == SC_VALUE_NONE) return SC_OK;
    if (to->type != SC_VALUE_TENSOR) {
        sc_emit_move(m, from_id, to_id);
        return SC_OK;
    }
    if (!is_alike(from, to))
        return unsupported(m, "Return tensors of the same kind from both branches.",
                           "the branches of a cond return results of different kinds");
    return emit_clone(m, to->node, from_id, to_id);
}

static sc_status emit_branch(sc_emit_method *m, const sc_node *node, const sc_graph *branch) {
    if (branch->ret->arg_count != node->out_count)
        return sc_fail(m->state->ctx, SC_ERR_CORRUPT, NULL,
                       "a branch returns %u results, but %u are expected", branch->ret->arg_count,
                       node->out_count);
    SC_TRY(bind_numbers(m, node, branch));
    SC_TRY(m->emit_body(m, branch));
    sc_where_set_node(m->state->ctx, node);
    for (uint32_t i = 0; i < node->out_count; i++)
        SC_TRY(emit_branch_result(m, &branch->ret->args[i], node->outs[i]));
    return SC_OK;
}

static sc_status emit_cond(sc_emit_method *m, const sc_node *node) {
    const sc_graph *if_true = graph_arg(node, 1), *if_false = graph_arg(node, 2);
    if (!if_true || !if_false) return unsupported(m, NULL, "a cond does not have two branches");
    int32_t predicate = 0;
    SC_TRY(sc_emit_plain(m, &node->args[0], &predicate));
    uint32_t to_false = sc_emit_jump_false(m, predicate);
    SC_TRY(emit_branch(m, node, if_true));
    uint32_t to_end = sc_emit_jump_false(m, sc_emit_bool(m, false));
    sc_emit_land(m, to_false);
    SC_TRY(emit_branch(m, node, if_false));
    sc_emit_land(m, to_end);
    return SC_OK;
}

// --- Loops ---------------------------------------------------------------------------------------

static bool has_open_size(const sc_spec *spec) {
    for (uint32_t d = 0; d < spec->rank; d++)
        if (spec->sizes[d].expr) return true;
    return false;
}

// copy_ does not change the shape, and a clone cannot change the dtype.
static sc_status emit_copy(sc_emit_method *m, const sc_value *to, const sc_arg *from) {
    int32_t from_id = 0, to_id = 0;
    SC_TRY(sc_emit_plain(m, from, &from_id));
    SC_TRY(sc_emit_value(m, to, &to_id));
    if (from_id == to_id) return SC_OK;
    if (to->type != SC_VALUE_TENSOR) {
        sc_emit_move(m, from_id, to_id);
        return SC_OK;
    }
    const bool is_open = has_open_size(&to->spec);
    if (is_open && !is_alike(from, to))
        return unsupported(
            m, "Cast the values that the loop carries to one dtype before it, and in its body.",
            "a loop carries values of different kinds");
    if (is_open) return emit_clone(m, to->node, from_id, to_id);
    int32_t args[] = {to_id, from_id, sc_emit_bool(m, false), to_id};
    return sc_emit_call(m, sc_op_get(SC_OP_copy_), args, 4, to->node);
}

static sc_status emit_carries(sc_emit_method *m, const sc_node *node, const sc_arg *from,
                              uint32_t count) {
    if (count > node->out_count)
        return sc_fail(m->state->ctx, SC_ERR_CORRUPT, NULL,
                       "a loop carries more values than its body returns");
    for (uint32_t i = 0; i < count; i++) SC_TRY(emit_copy(m, node->outs[i], &from[i]));
    return SC_OK;
}

// Carries are updated one after the other, so a later one must not read the old value of an earlier
// one.
static sc_status check_carries(sc_emit_method *m, const sc_node *node, const sc_graph *body,
                               uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        int32_t from = 0, earlier = 0;
        SC_TRY(sc_emit_plain(m, &body->ret->args[i], &from));
        for (uint32_t j = 0; j < i; j++) {
            SC_TRY(sc_emit_value(m, node->outs[j], &earlier));
            if (from == earlier)
                return unsupported(m, "Return x.clone() instead of the carried value itself.",
                                   "a loop returns a carried value in another position");
        }
    }
    return SC_OK;
}

typedef struct loop {
    const sc_node *node;
    int32_t counter, length;
    uint32_t start;
} loop;

// counter = 0; length = size(sliced, 0); everything after this is repeated.
static sc_status begin_loop(sc_emit_method *m, const sc_node *node, const sc_arg *sliced,
                            loop *out) {
    int32_t zero = sc_emit_int(m, 0), first = 0;
    out->counter = sc_emit_variable(m, 0);
    out->length = sc_emit_variable(m, 0);
    SC_TRY(sc_emit_plain(m, &sliced->items[0], &first));
    sc_emit_move(m, zero, out->counter);
    int32_t args[] = {first, zero, out->length};
    SC_TRY(sc_emit_scaffold(m, sc_op_get(SC_OP_sym_size_int), args, 3, node));
    out->node = node;
    out->start = m->code.count;
    return SC_OK;
}

static sc_status emit_slices(sc_emit_method *m, const loop *l, const sc_arg *sliced,
                             sc_value *const *slices) {
    for (uint32_t i = 0; i < sliced->count; i++) {
        int32_t whole = 0, slice = 0;
        SC_TRY(sc_emit_plain(m, &sliced->items[i], &whole));
        SC_TRY(sc_emit_value(m, slices[i], &slice));
        int32_t args[] = {whole, sc_emit_int(m, 0), l->counter, slice, slice};
        SC_TRY(sc_emit_scaffold(m, sc_op_get(SC_OP_select_copy_int), args, 5, l->node));
    }
    return SC_OK;
}

static sc_status end_loop(sc_emit_method *m, const loop *l) {
    int32_t done = sc_emit_variable(m, 0);
    int32_t add[] = {l->counter, sc_emit_int(m, 1), l->counter};
    int32_t compare[] = {l->counter, l->length, done};
    SC_TRY(sc_emit_scaffold(m, sc_op_get(SC_OP_sym_add), add, 3, l->node));
    SC_TRY(sc_emit_scaffold(m, sc_op_get(SC_OP_sym_eq), compare, 3, l->node));
    sc_emit_jump_back(m, done, l->start);
    return SC_OK;
}

// results[counter] = outputs, from `first` on.
static sc_status emit_stacking(sc_emit_method *m, const sc_node *node, const sc_graph *body,
                               const loop *l, uint32_t first) {
    for (uint32_t i = first; i < node->out_count; i++) {
        int32_t stack = 0, item = 0;
        SC_TRY(sc_emit_value(m, node->outs[i], &stack));
        SC_TRY(sc_emit_plain(m, &body->ret->args[i], &item));
        int32_t args[] = {stack, item, l->counter};
        SC_TRY(
            sc_emit_call(m, sc_op_get(SC_OP_executorch_prim_et_copy_index_tensor), args, 3, node));
    }
    return SC_OK;
}

// map is a scan without carries.
static sc_status emit_scan(sc_emit_method *m, const sc_node *node) {
    bool has_carries = node->op->id == SC_OP_higher_order_scan;
    const sc_graph *body = graph_arg(node, 0);
    const sc_arg *init = has_carries ? list_arg(node, 0) : NULL;
    const sc_arg *sliced = list_arg(node, has_carries ? 1 : 0);
    uint32_t carried = init ? init->count : 0;
    if (!body || !sliced || sliced->count == 0 || body->ret->arg_count != node->out_count ||
        carried > node->out_count || carried + sliced->count > body->inputs.count)
        return unsupported(m, NULL, "the body of a loop does not fit its operands");
    loop l;
    SC_TRY(bind_numbers(m, node, body));
    if (init) SC_TRY(emit_carries(m, node, init->items, carried));
    SC_TRY(begin_loop(m, node, sliced, &l));
    SC_TRY(emit_slices(m, &l, sliced, body->inputs.data + carried));
    SC_TRY(m->emit_body(m, body));
    sc_where_set_node(m->state->ctx, node);
    SC_TRY(check_carries(m, node, body, carried));
    // Results are stacked first: an output may be the carried value of this round.
    SC_TRY(emit_stacking(m, node, body, &l, carried));
    SC_TRY(emit_carries(m, node, body->ret->args, carried));
    return end_loop(m, &l);
}

static sc_status emit_while(sc_emit_method *m, const sc_node *node) {
    const sc_graph *condition = graph_arg(node, 0), *body = graph_arg(node, 1);
    const sc_arg *init = list_arg(node, 0);
    if (!condition || !body || !init || condition->ret->arg_count != 1 ||
        body->ret->arg_count != node->out_count || init->count != node->out_count)
        return unsupported(m, NULL, "the bodies of a loop do not fit its operands");
    SC_TRY(bind_numbers(m, node, condition));
    SC_TRY(bind_numbers(m, node, body));
    SC_TRY(emit_carries(m, node, init->items, init->count));
    uint32_t start = m->code.count;
    SC_TRY(m->emit_body(m, condition));
    int32_t go_on = 0;
    SC_TRY(sc_emit_plain(m, &condition->ret->args[0], &go_on));
    uint32_t to_end = sc_emit_jump_false(m, go_on);
    SC_TRY(m->emit_body(m, body));
    sc_where_set_node(m->state->ctx, node);
    SC_TRY(check_carries(m, node, body, init->count));
    SC_TRY(emit_carries(m, node, body->ret->args, init->count));
    sc_emit_jump_back(m, sc_emit_bool(m, false), start);
    sc_emit_land(m, to_end);
    return SC_OK;
}

sc_status sc_emit_control(sc_emit_method *m, const sc_node *node) {
    switch (node->op->id) {
    case SC_OP_higher_order_cond: return emit_cond(m, node);
    case SC_OP_higher_order_map_impl:
    case SC_OP_higher_order_scan: return emit_scan(m, node);
    case SC_OP_higher_order_while_loop: return emit_while(m, node);
    default: break;
    }
    return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED_OP, NULL, "a .pte has no form for %s",
                   node->op->name);
}
