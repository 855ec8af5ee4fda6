// Lowers arithmetic of run-time numbers to the runtime's primitives. Known results become
// constants, and operators without a primitive are built from others. Operators that cannot be
// built (a square root, an exponent that varies) were reported after decomposition.
#include "passes/passes.h"

typedef struct builder {
    sc_ctx *ctx;
    sc_node *node;  // the node that is being replaced
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

static sc_arg keep(builder *b, const sc_arg *args) {
    (void)b;
    return args[0];
}

static sc_arg not_equal(builder *b, const sc_arg *args) {
    return emit1(b, SC_OP_sym_sym_not, emit2(b, SC_OP_sym_eq, args[0], args[1]));
}

static sc_arg both(builder *b, const sc_arg *args) {
    sc_arg x = one_or_zero(b, args[0]), y = one_or_zero(b, args[1]);
    return emit2(b, SC_OP_sym_eq, emit2(b, SC_OP_sym_mul, x, y), sc_arg_int(1));
}

static sc_arg either(builder *b, const sc_arg *args) {
    sc_arg x = one_or_zero(b, args[0]), y = one_or_zero(b, args[1]);
    return emit2(b, SC_OP_sym_gt, emit2(b, SC_OP_sym_add, x, y), sc_arg_int(0));
}

static sc_arg power(builder *b, const sc_arg *args) {
    sc_arg base = args[0], result = sc_arg_int(1);
    bool first = true;
    for (int64_t exponent = args[1].i; exponent > 0; exponent >>= 1) {
        if (exponent & 1) {
            result = first ? base : emit2(b, SC_OP_sym_mul, result, base);
            first = false;
        }
        if (exponent > 1) base = emit2(b, SC_OP_sym_mul, base, base);
    }
    return result;
}

static sc_arg shift_left(builder *b, const sc_arg *args) {
    return emit2(b, SC_OP_sym_mul, args[0], sc_arg_int((int64_t)1 << args[1].i));
}

static sc_arg shift_right(builder *b, const sc_arg *args) {
    return emit2(b, SC_OP_sym_floordiv, args[0], sc_arg_int((int64_t)1 << args[1].i));
}

static sc_arg round_down(builder *b, const sc_arg *args) {
    if (is_integer(&args[0])) return args[0];
    return emit1(b, SC_OP_sym_trunc, emit2(b, SC_OP_sym_floordiv, args[0], sc_arg_float(1.0)));
}

// Row-major strides are products of the sizes of later dims.
static sc_arg stride(builder *b, const sc_arg *args) {
    const sc_value *tensor = args[0].value;
    int64_t dim = args[1].i < 0 ? args[1].i + tensor->spec.rank : args[1].i;
    sc_arg result = sc_arg_int(1);
    for (int64_t i = dim + 1; i < tensor->spec.rank; i++) {
        sc_arg size = emit2(b, SC_OP_sym_size_int, args[0], sc_arg_int(i));
        result = i == dim + 1 ? size : emit2(b, SC_OP_sym_mul, result, size);
    }
    return result;
}

// The primitive's result has the sign of x, as in C.
static sc_arg remainder_of(builder *b, const sc_arg *args) {
    sc_arg whole = emit2(b, SC_OP_sym_floordiv, args[0], args[1]);
    return emit2(b, SC_OP_sym_sub, args[0], emit2(b, SC_OP_sym_mul, whole, args[1]));
}

// --- Floats --------------------------------------------------------------------------------------

// The runtime accepts no integer for a float.
static sc_arg float_of(builder *b, sc_arg x) {
    if (x.kind == SC_ARG_INT) return sc_arg_float((double)x.i);
    return is_integer(&x) ? emit1(b, SC_OP_sym_sym_float, x) : x;
}

// No primitive is exact here, but fmod of tensors is. Its result has the sign of x, while Python's
// has the sign of y, also for zeros.
static sc_arg remainder_of_floats(builder *b, const sc_arg *args) {
    const sc_arg x = float_of(b, args[0]), y = float_of(b, args[1]), zero = sc_arg_float(0);
    sc_arg wide = emit2(b, SC_OP_scalar_tensor, x, sc_arg_dtype(SC_DTYPE_F64));
    sc_arg rest = emit1(b, SC_OP__local_scalar_dense, emit2(b, SC_OP_fmod_Scalar, wide, y));
    sc_arg rest_is_negative = emit2(b, SC_OP_sym_lt, rest, zero);
    sc_arg y_is_negative = emit2(b, SC_OP_sym_lt, y, zero);
    sc_arg is_alike = emit2(b, SC_OP_sym_eq, rest_is_negative, y_is_negative);
    sc_arg moved = emit2(b, SC_OP_sym_add, rest, y);
    sc_arg signed_zero = emit2(b, SC_OP_sym_truediv, zero, y);
    sc_arg other = emit(b, SC_OP_sym_sym_ite, 3, is_alike, rest, moved);
    return emit(b, SC_OP_sym_sym_ite, 3, emit2(b, SC_OP_sym_eq, rest, zero), signed_zero, other);
}

// The official primitives take integers only. Python returns the first number unless the other one
// is beyond it. No number is beyond a NaN.
static sc_arg chosen(builder *b, const sc_arg *args, sc_op_id is_beyond) {
    const sc_arg x = float_of(b, args[0]), y = float_of(b, args[1]);
    return emit(b, SC_OP_sym_sym_ite, 3, emit2(b, is_beyond, y, x), y, x);
}

static sc_arg larger(builder *b, const sc_arg *args) { return chosen(b, args, SC_OP_sym_gt); }
static sc_arg smaller(builder *b, const sc_arg *args) { return chosen(b, args, SC_OP_sym_lt); }

// --- Which is for what ---------------------------------------------------------------------------

static bool is_float(const sc_arg *arg) {
    return arg->kind == SC_ARG_FLOAT ||
           (arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_FLOAT);
}

static bool any_float(const sc_arg *args) { return is_float(&args[0]) || is_float(&args[1]); }

static bool may_be_negative(const sc_arg *arg) {
    if (arg->kind == SC_ARG_INT) return arg->i < 0;
    return arg->kind != SC_ARG_VALUE || !arg->value->has_dim ||
           sc_dim_range(arg->value->dim).min < 0;
}

static bool of_any_sign(const sc_arg *args) {
    return may_be_negative(&args[0]) || may_be_negative(&args[1]);
}

static bool always(const sc_arg *args) {
    (void)args;
    return true;
}

static bool of_flags(const sc_arg *args) { return is_flag(&args[0]) && is_flag(&args[1]); }

static bool by_count(const sc_arg *args) {
    return args[1].kind == SC_ARG_INT && args[1].i >= 0 && args[1].i < 62;
}

static bool of_row_major(const sc_arg *args) {
    const sc_value *tensor = args[0].value;
    return args[1].kind == SC_ARG_INT &&
           sc_spec_is_contiguous(tensor->graph->method->exprs, &tensor->spec);
}

static const struct expansion {
    sc_op_id id;
    bool (*fits)(const sc_arg *args);
    sc_arg (*build)(builder *b, const sc_arg *args);
} expansions[] = {
    {SC_OP_sym_pos, always, keep},
    {SC_OP_sym_ne, always, not_equal},
    {SC_OP_sym_and_, of_flags, both},
    {SC_OP_sym_or_, of_flags, either},
    {SC_OP_sym_xor, of_flags, not_equal},
    {SC_OP_sym_mod, any_float, remainder_of_floats},
    {SC_OP_sym_mod, of_any_sign, remainder_of},
    {SC_OP_sym_sym_max, any_float, larger},
    {SC_OP_sym_sym_min, any_float, smaller},
    {SC_OP_sym_pow, by_count, power},
    {SC_OP_sym_lshift, by_count, shift_left},
    {SC_OP_sym_rshift, by_count, shift_right},
    {SC_OP_sym_floor, always, round_down},
    {SC_OP_sym_ceil, is_integer, keep},  // the primitives of these operators take floats only
    {SC_OP_sym_trunc, is_integer, keep},
    {SC_OP_sym_round, is_integer, keep},
    {SC_OP_sym_stride_int, of_row_major, stride},
};

static const struct expansion *expansion_of(const sc_node *node) {
    for (size_t i = 0; i < SC_COUNT_OF(expansions); i++)
        if (expansions[i].id == node->op->id && expansions[i].fits(node->args))
            return &expansions[i];
    return NULL;
}

bool sc_node_has_primitives(const sc_node *node) {
    sc_arg number;
    return node->op->out_name || expansion_of(node) ||
           (node->out_count == 1 && known_number(node->outs[0], &number));
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
        const struct expansion *how = expansion_of(node);
        if (!how) continue;
        builder b = {.ctx = ctx, .node = node};
        sc_arg result = how->build(&b, node->args);
        SC_TRY(b.status);
        replace_uses(node->outs[0], result);
        sc_node_erase(node);
    }
    return SC_OK;
}

sc_status sc_pass_sym_prims(sc_ctx *ctx, sc_method *method) {
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
