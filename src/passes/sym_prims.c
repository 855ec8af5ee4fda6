// Integer arithmetic at run time, in terms of what the runtime has: results that are known become
// constants, and operators without a primitive are built from those that have one. What cannot be
// built (a square root, an exponent that varies) is left for check_kernels to report.
#include "passes/passes.h"

typedef struct builder {
    sc_ctx *ctx;
    sc_node *node;  // the one being replaced
    sc_status status;
} builder;

// --- Known results -------------------------------------------------------------------------------

static bool known_number(const sc_value *value, sc_arg *out) {
    if (!value->has_dim || !sc_dim_is_int(value->dim)) return false;
    if (value->type == SC_VALUE_INT)
        *out = sc_arg_int(value->dim.value);
    else if (value->type == SC_VALUE_BOOL)
        *out = sc_arg_bool(value->dim.value != 0);
    else
        return false;
    return true;
}

// Control flow keeps its operands: they are values there, not numbers.
static void replace_by_number(sc_value *value, sc_arg number) {
    for (sc_arg *use = value->first_use, *next; use; use = next) {
        next = use->next_use;
        if (!use->user->op || !sc_op_has(use->user->op, SC_HIGHER_ORDER)) sc_arg_set(use, number);
    }
}

// --- Expansions ----------------------------------------------------------------------------------

static sc_arg emit(builder *b, sc_op_id id, uint32_t count, sc_arg x, sc_arg y, sc_arg z) {
    sc_arg args[3] = {x, y, z};
    sc_node *made;
    if (b->status != SC_OK) return sc_arg_none();
    b->status =
        sc_build(b->node->graph, b->node, sc_op_get(id), args, count, &b->node->meta, &made);
    return b->status == SC_OK ? sc_arg_value(made->outs[0]) : sc_arg_none();
}

static sc_arg emit1(builder *b, sc_op_id id, sc_arg x) {
    return emit(b, id, 1, x, sc_arg_none(), sc_arg_none());
}

static sc_arg emit2(builder *b, sc_op_id id, sc_arg x, sc_arg y) {
    return emit(b, id, 2, x, y, sc_arg_none());
}

static sc_arg one_or_zero(builder *b, sc_arg flag) {
    if (flag.kind == SC_ARG_BOOL) return sc_arg_int(flag.b);
    return emit(b, SC_OP_sym_sym_ite, 3, flag, sc_arg_int(1), sc_arg_int(0));
}

static bool is_flag(const sc_arg *arg) {
    return arg->kind == SC_ARG_BOOL ||
           (arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_BOOL);
}

static bool is_integer(const sc_arg *arg) {
    return arg->kind == SC_ARG_INT ||
           (arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_INT);
}

static sc_arg power(builder *b, sc_arg base, int64_t exponent) {
    sc_arg result = sc_arg_int(1);
    for (bool first = true; exponent > 0; exponent >>= 1) {
        if (exponent & 1) {
            result = first ? base : emit2(b, SC_OP_sym_mul, result, base);
            first = false;
        }
        if (exponent > 1) base = emit2(b, SC_OP_sym_mul, base, base);
    }
    return result;
}

static sc_arg logic(builder *b, const sc_node *node) {
    sc_arg x = node->args[0], y = node->args[1];
    if (!is_flag(&x) || !is_flag(&y)) return sc_arg_none();
    if (node->op->id == SC_OP_sym_xor)
        return emit1(b, SC_OP_sym_sym_not, emit2(b, SC_OP_sym_eq, x, y));
    x = one_or_zero(b, x);
    y = one_or_zero(b, y);
    if (node->op->id == SC_OP_sym_and_)
        return emit2(b, SC_OP_sym_eq, emit2(b, SC_OP_sym_mul, x, y), sc_arg_int(1));
    return emit2(b, SC_OP_sym_gt, emit2(b, SC_OP_sym_add, x, y), sc_arg_int(0));
}

// Row-major strides are products of the sizes further in.
static sc_arg stride(builder *b, const sc_node *node) {
    const sc_value *tensor = node->args[0].value;
    int64_t dim = node->args[1].kind == SC_ARG_INT ? node->args[1].i : INT64_MIN;
    if (dim < 0) dim += tensor->spec.rank;
    if (dim < 0 || dim >= tensor->spec.rank) return sc_arg_none();
    if (!sc_spec_is_contiguous(node->graph->method->exprs, &tensor->spec)) return sc_arg_none();
    sc_arg result = sc_arg_int(1);
    for (int64_t i = dim + 1; i < tensor->spec.rank; i++) {
        sc_arg size = emit2(b, SC_OP_sym_size_int, node->args[0], sc_arg_int(i));
        result = i == dim + 1 ? size : emit2(b, SC_OP_sym_mul, result, size);
    }
    return result;
}

// None: stays as it is.
static sc_arg expand(builder *b, const sc_node *node) {
    const sc_arg *args = node->args;
    bool small = node->arg_count > 1 && args[1].kind == SC_ARG_INT && args[1].i >= 0;
    switch (node->op->id) {
    case SC_OP_sym_pos: return args[0];
    case SC_OP_sym_ne: return emit1(b, SC_OP_sym_sym_not, emit2(b, SC_OP_sym_eq, args[0], args[1]));
    case SC_OP_sym_and_:
    case SC_OP_sym_or_:
    case SC_OP_sym_xor: return logic(b, node);
    case SC_OP_sym_pow:
        return small && args[1].i <= 64 ? power(b, args[0], args[1].i) : sc_arg_none();
    case SC_OP_sym_lshift:
        return small && args[1].i < 62
                   ? emit2(b, SC_OP_sym_mul, args[0], sc_arg_int((int64_t)1 << args[1].i))
                   : sc_arg_none();
    case SC_OP_sym_rshift:
        return small && args[1].i < 62
                   ? emit2(b, SC_OP_sym_floordiv, args[0], sc_arg_int((int64_t)1 << args[1].i))
                   : sc_arg_none();
    case SC_OP_sym_floor:
        if (is_integer(&args[0])) return args[0];
        return emit1(b, SC_OP_sym_trunc, emit2(b, SC_OP_sym_floordiv, args[0], sc_arg_float(1.0)));
    case SC_OP_sym_ceil:
    case SC_OP_sym_trunc:
    case SC_OP_sym_round:  // their primitives take floats only
        return is_integer(&args[0]) ? args[0] : sc_arg_none();
    case SC_OP_sym_stride_int: return stride(b, node);
    default: return sc_arg_none();
    }
}

static void replace_uses(sc_value *value, sc_arg with) {
    while (value->first_use) sc_arg_set(value->first_use, with);
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    for (sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (!sc_op_has(node->op, SC_SYMBOLIC) || node->out_count != 1) continue;
        sc_arg number;
        sc_where_set_node(ctx, node);
        if (known_number(node->outs[0], &number)) {
            replace_by_number(node->outs[0], number);
            continue;
        }
        builder b = {.ctx = ctx, .node = node};
        sc_arg result = expand(&b, node);
        SC_TRY(b.status);
        if (result.kind == SC_ARG_NONE) continue;
        replace_uses(node->outs[0], result);
        sc_node_erase(node);
    }
    return SC_OK;
}

sc_status sc_pass_sym_prims(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
