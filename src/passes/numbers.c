// Makes tensors of numbers where a schema says Tensor. Python numbers become rank-0 constants of
// the method, symbolic ones become scalar_tensor. Both get the dtype in which the operator
// computes, so that no cast is left to run time.
#include <math.h>

#include "passes/promote.h"

typedef struct lifter {
    sc_ctx *ctx;
    sc_method *method;
    uint32_t count;
    sc_map known;  // dtype and bytes -> sc_value, so that equal numbers are one constant
} lifter;

// --- Which dtype ---------------------------------------------------------------------------------

static sc_dtype own_dtype(const sc_arg *arg) {
    if (arg->kind == SC_ARG_FLOAT ||
        (arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_FLOAT))
        return SC_DTYPE_F32;
    bool is_bool = arg->kind == SC_ARG_BOOL ||
                   (arg->kind == SC_ARG_VALUE && arg->value->type == SC_VALUE_BOOL);
    return is_bool ? SC_DTYPE_BOOL : SC_DTYPE_I64;
}

static sc_dtype chosen_dtype(const sc_node *node, const sc_arg *arg) {
    bool casts = sc_op_has(node->op, SC_UNIFORM);
    if (!casts && !sc_op_has(node->op, SC_POINTWISE)) return own_dtype(arg);
    sc_dtype dtype = sc_node_operand_dtype(node);
    if (dtype == SC_DTYPE_NONE) return own_dtype(arg);
    return sc_node_number_dtype(node, arg, dtype);
}

// --- Bytes ---------------------------------------------------------------------------------------

static double as_float(const sc_arg *arg) {
    if (arg->kind == SC_ARG_FLOAT) return arg->f;
    return arg->kind == SC_ARG_BOOL ? (double)arg->b : (double)arg->i;
}

static bool fits_int64(double number) { return number >= -0x1p63 && number < 0x1p63; }

// A float outside the range of int64 has no integer meaning, so zero replaces it.
static int64_t as_int(const sc_arg *arg) {
    if (arg->kind == SC_ARG_FLOAT) return fits_int64(arg->f) ? (int64_t)arg->f : 0;
    return arg->kind == SC_ARG_BOOL ? arg->b : arg->i;
}

static void put_little_endian(uint8_t *bytes, uint64_t bits, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) bytes[i] = (uint8_t)(bits >> (8 * i));
}

void sc_number_encode(const sc_arg *arg, sc_dtype dtype, uint8_t *bytes) {
    double wide = as_float(arg);
    float narrow = (float)wide;
    uint64_t bits = 0;
    uint32_t word;
    switch (dtype) {
    case SC_DTYPE_F64: memcpy(&bits, &wide, sizeof(bits)); break;
    case SC_DTYPE_F32:
        memcpy(&word, &narrow, sizeof(word));
        bits = word;
        break;
    case SC_DTYPE_F16: bits = sc_f32_to_f16(narrow); break;
    case SC_DTYPE_BF16: bits = sc_f32_to_bf16(narrow); break;
    case SC_DTYPE_BOOL: bits = wide != 0.0; break;
    default: bits = (uint64_t)as_int(arg); break;
    }
    put_little_endian(bytes, bits, sc_dtype_bytes(dtype));
}

static bool can_encode(sc_dtype dtype) {
    return sc_dtype_is_float(dtype) || sc_dtype_is_integral(dtype, true) ||
           sc_dtype_category(dtype) == SC_CATEGORY_UINT;
}

// --- Making them ---------------------------------------------------------------------------------

static sc_value *add_constant(lifter *l, sc_dtype dtype, const uint8_t *bytes) {
    sc_arena *arena = l->ctx->arena;
    sc_graph *graph = l->method->graph;
    uint32_t size = sc_dtype_bytes(dtype);
    uint8_t *kept = sc_new_array(arena, uint8_t, size);
    memcpy(kept, bytes, size);
    sc_str name = sc_str_format(l->ctx->scratch, "_lifted_tensor_constant%u", l->count++);
    sc_value *value = sc_graph_add_input(graph, name, SC_VALUE_TENSOR);
    sc_constant *constant = sc_new(arena, sc_constant);
    constant->name = sc_name_str(value->name);
    constant->spec = value->spec = sc_spec_new(arena, dtype, 0);
    constant->data = sc_extent_whole(sc_source_from_memory(arena, kept, size));
    constant->lifted_scalar = true;
    sc_input_sig sig = {
        .kind = SC_INPUT_CONSTANT_TENSOR, .target = constant->name, .constant = constant};
    sc_vec_push(arena, &l->method->inputs, sig);
    return value;
}

static sc_value *find_constant(lifter *l, const sc_arg *arg, sc_dtype dtype) {
    uint8_t key[9] = {(uint8_t)dtype};
    sc_number_encode(arg, dtype, key + 1);
    sc_str name = {(const char *)key, 1 + sc_dtype_bytes(dtype)};
    sc_value *value = sc_map_get(&l->known, name);
    if (!value) {
        value = add_constant(l, dtype, key + 1);
        sc_map_add(&l->known, sc_str_copy(l->ctx->scratch, name), value);
    }
    return value;
}

// Bodies cannot reach the method's constants, and symbols are only known at run time.
static sc_status build_scalar(lifter *l, sc_node *node, const sc_arg *number, sc_dtype dtype,
                              sc_value **out) {
    sc_node *made;
    sc_arg args[2] = {*number, sc_arg_dtype(dtype)};
    sc_where_set_node(l->ctx, node);
    SC_TRY(
        sc_build(node->graph, node, sc_op_get(SC_OP_scalar_tensor), args, 2, &node->meta, &made));
    *out = made->outs[0];
    return SC_OK;
}

static bool is_number(const sc_arg *arg) {
    if (arg->kind == SC_ARG_VALUE)
        return arg->value->type == SC_VALUE_INT || arg->value->type == SC_VALUE_FLOAT ||
               arg->value->type == SC_VALUE_BOOL;
    return sc_arg_is_number(arg);
}

static sc_status lift(lifter *l, sc_node *node, sc_arg *arg) {
    sc_value *value;
    if (!is_number(arg)) return SC_OK;
    sc_dtype dtype = chosen_dtype(node, arg);
    if (!can_encode(dtype)) dtype = own_dtype(arg);
    if (arg->kind == SC_ARG_VALUE || node->graph->parent)
        SC_TRY(build_scalar(l, node, arg, dtype, &value));
    else
        value = find_constant(l, arg, dtype);
    sc_arg_set(arg, sc_arg_value(value));
    return SC_OK;
}

// A higher-order node passes numbers on: the nodes of its body convert them.
static bool is_looked_at(const sc_op *op) {
    return !(op->traits & (SC_HIGHER_ORDER | SC_FOREIGN | SC_SYMBOLIC));
}

// --- Numbers that stay numbers -------------------------------------------------------------------

static void round_number(sc_arg *arg, sc_dtype dtype) {
    if (arg->kind != SC_ARG_FLOAT && arg->kind != SC_ARG_INT) return;
    const double was = as_float(arg), is = (double)sc_f32_as((float)was, dtype);
    if (is != was) sc_arg_set(arg, sc_arg_float(is));
}

// Rounds numbers that kernels compute with in float32.
static void round_numbers(sc_node *node) {
    if (!sc_op_has(node->op, SC_ROUNDS)) return;
    const sc_dtype dtype = sc_node_operand_dtype(node);
    if (!sc_dtype_is_half(dtype)) return;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (node->op->schema->params[i].type == SC_PARAM_SCALAR)
            round_number(&node->args[i], dtype);
}

static int64_t whole_bound(const sc_arg *arg) {
    if (arg->kind != SC_ARG_FLOAT || fits_int64(arg->f)) return as_int(arg);
    return arg->f > 0 ? INT64_MAX : INT64_MIN;
}

static void cut_number(sc_arg *arg, sc_dtype dtype, bool wraps) {
    const bool is_nan = arg->kind == SC_ARG_FLOAT && arg->f != arg->f;
    if (is_nan || (arg->kind != SC_ARG_FLOAT && arg->kind != SC_ARG_INT)) return;
    const int64_t was = whole_bound(arg);
    const int64_t is = wraps ? sc_dtype_bound(dtype, was) : sc_dtype_nearest(dtype, was);
    if (is != was) sc_arg_set(arg, sc_arg_int(is));
}

// Clamps bounds to the dtype of the integers that they bound: the official kernel refuses any bound
// outside it.
static void cut_numbers(sc_node *node) {
    if (!sc_op_has(node->op, SC_CUTS)) return;
    const sc_dtype dtype = (sc_dtype)node->outs[0]->spec.dtype;
    if (!sc_dtype_is_integral(dtype, false)) return;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (node->op->schema->params[i].type == SC_PARAM_SCALAR)
            cut_number(&node->args[i], dtype, sc_op_has(node->op, SC_WRAPS));
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (sc_node *node = graph->first; node; node = node->next) {
        round_numbers(node);
        cut_numbers(node);
        for (uint32_t i = 0; is_looked_at(node->op) && i < node->arg_count; i++) {
            sc_arg *arg = &node->args[i];
            if (node->op->schema->params[i].type != SC_PARAM_TENSOR) continue;
            SC_TRY(lift(user, node, arg));
            for (uint32_t k = 0; arg->kind == SC_ARG_LIST && k < arg->count; k++)
                SC_TRY(lift(user, node, &arg->items[k]));
        }
    }
    return SC_OK;
}

sc_status sc_pass_numbers(sc_ctx *ctx, sc_method *method) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    lifter l = {.ctx = ctx, .method = method};
    sc_map_init(&l.known, ctx->scratch);
    sc_status status = sc_graphs_visit(ctx, method->graph, visit, &l);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// --- Scalars that the program makes itself -------------------------------------------------------

static sc_dtype made_dtype(const sc_node *node) {
    const sc_arg *number = &node->args[0];
    if (node->op->id != SC_OP_scalar_tensor || !sc_arg_is_number(number) ||
        node->outs[0]->type != SC_VALUE_TENSOR)
        return SC_DTYPE_NONE;
    sc_dtype dtype = (sc_dtype)node->outs[0]->spec.dtype;
    return can_encode(dtype) && !sc_value_is_returned(node->outs[0]) ? dtype : SC_DTYPE_NONE;
}

// This works only in the method's own graph: bodies cannot reach its constants.
sc_status sc_pass_fixed_scalars(sc_ctx *ctx, sc_method *method) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    lifter l = {.ctx = ctx, .method = method, .count = method->inputs.count};
    sc_map_init(&l.known, ctx->scratch);
    for (sc_node *node = method->graph->first, *next; node; node = next) {
        next = node->next;
        sc_dtype dtype = made_dtype(node);
        if (dtype != SC_DTYPE_NONE) sc_node_replace(node, find_constant(&l, &node->args[0], dtype));
    }
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
