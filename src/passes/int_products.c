// Joins linear layers that torchao's Int8DynamicActivationInt8WeightConfig has written out:
// integers of the activations, a product of integers (_int_mm), and scales of its rows and columns.
// A backend knows such a layer as linear over dequantized operands. So the pass writes it in that
// form if a backend keeps it whole. Otherwise the product of integers stays, as PyTorch computes
// it.
//
// The old nodes would be further readers of values that the backend quantizes. So backends are
// asked about a copy of the method without them, again and again, until they keep every layer that
// remains joined.
#include "passes/passes.h"

typedef struct product {
    sc_node *mm, *quantize, *choose;
    sc_value *integers, *weight;     // [..., inputs] and [outputs, inputs], int8
    sc_value *scale, *weight_scale;  // scales of rows, [..., 1], and of outputs, [outputs, 1] or
                                     // [1, 1]
    sc_value *bias;                  // NULL: no bias
    sc_value *result;                // [..., outputs]
    const sc_node *written;          // subtracts the shift, perhaps in place
} product;

// --- Deeds of nodes ------------------------------------------------------------------------------

typedef enum deed {
    OTHER,
    CAST,
    RESHAPE,
    FLIP,
    ADD,
    SUB,
    MUL,
    SUM,
    QUANTIZE,
    CHOOSE,
    PRODUCT
} deed;

static deed deed_of(const sc_node *node) {
    const bool is_inplace = node->op && sc_op_has(node->op, SC_INPLACE);
    const sc_op *op = is_inplace ? node->op->functional : node->op;
    switch (op ? (sc_op_id)op->id : SC_OP_FOREIGN) {
    case SC_OP_to_dtype:
    case SC_OP__to_copy: return CAST;
    case SC_OP_reshape:
    case SC_OP_view:
    case SC_OP__unsafe_view:
    case SC_OP_flatten_using_ints: return RESHAPE;
    case SC_OP_t: return FLIP;
    case SC_OP_add_Tensor: return ADD;
    case SC_OP_sub_Tensor: return SUB;
    case SC_OP_mul_Tensor: return MUL;
    case SC_OP_sum_dim_IntList: return SUM;
    case SC_OP_torchao_quantize_affine: return QUANTIZE;
    case SC_OP_torchao_choose_qparams_affine: return CHOOSE;
    case SC_OP__int_mm: return PRODUCT;
    default: return OTHER;
    }
}

static bool is_int(const sc_arg *arg, int64_t i) { return arg->kind == SC_ARG_INT && arg->i == i; }

// Sums and differences multiply their second operand by a factor.
static bool does(const sc_node *node, deed wanted) {
    if (!node || deed_of(node) != wanted) return false;
    return (wanted != ADD && wanted != SUB) || is_int(sc_node_arg(node, "alpha"), 1);
}

static sc_value *operand(const sc_node *node, uint32_t index) {
    return node->args[index].kind == SC_ARG_VALUE ? node->args[index].value : NULL;
}

static bool is_of(const sc_value *value, sc_dtype dtype) {
    return value->type == SC_VALUE_TENSOR && value->spec.dtype == dtype;
}

// --- Upwards -------------------------------------------------------------------------------------

// The value that was cast from one dtype to the other; NULL if the node is no such cast.
static sc_value *cast_from(sc_value *value, sc_dtype from, sc_dtype to) {
    if (!value || !is_of(value, to) || !does(value->node, CAST)) return NULL;
    sc_value *source = operand(value->node, 0);
    return source && is_of(source, from) ? source : NULL;
}

// The first value with the same elements, in the same or other sizes. Each step goes to an earlier
// node, so the loop ends.
static sc_value *reshaped_from(sc_value *value) {
    while (value->node && value->index == 0) {
        sc_value *source = operand(value->node, 0);
        const deed did = deed_of(value->node);
        if (!source || source->type != SC_VALUE_TENSOR || (did != RESHAPE && did != CAST)) break;
        if (source->spec.dtype != value->spec.dtype) break;
        value = source;
    }
    return value;
}

static bool is_last(const sc_value *value, sc_dim size) {
    const uint32_t rank = value->spec.rank;
    return rank > 0 && sc_dim_equal(value->spec.sizes[rank - 1], size);
}

static bool is_matrix(const sc_value *value, sc_dim rows, sc_dim columns) {
    return value->spec.rank == 2 && sc_dim_equal(value->spec.sizes[0], rows) &&
           is_last(value, columns);
}

// A number for each row of the product.
static bool is_column(const sc_value *value, const product *p) {
    return is_matrix(value, p->mm->outs[0]->spec.sizes[0], sc_dim_int(1));
}

// Processors without products of signed integers get unsigned ones, shifted by 128.
static sc_value *signed_rows(sc_value *rows, bool *is_shifted) {
    sc_value *sum = cast_from(rows, SC_DTYPE_I32, SC_DTYPE_U8);
    *is_shifted = sum != NULL;
    if (!sum) return rows;
    if (!does(sum->node, ADD) || !is_int(&sum->node->args[1], 128)) return NULL;
    return cast_from(operand(sum->node, 0), SC_DTYPE_I8, SC_DTYPE_I32);
}

static bool flips(const sc_node *node) {
    uint32_t order[SC_RANK_MAX];
    return node && (does(node, FLIP) || (sc_node_permutation(node, order) && order[0] == 1));
}

static bool find_weight(product *p) {
    const sc_value *flipped = operand(p->mm, 1);
    if (!flipped || !flips(flipped->node)) return false;
    p->weight = operand(flipped->node, 0);
    return is_of(p->weight, SC_DTYPE_I8) && p->weight->spec.rank == 2 &&
           sc_dim_is_int(p->weight->spec.sizes[0]) && sc_dim_is_int(p->weight->spec.sizes[1]);
}

static bool find_integers(product *p, bool *is_shifted) {
    sc_value *rows = operand(p->mm, 0);
    if (rows) rows = signed_rows(rows, is_shifted);
    if (!rows || !is_of(rows, SC_DTYPE_I8)) return false;
    p->integers = reshaped_from(rows);
    p->quantize = p->integers->node;
    if (!does(p->quantize, QUANTIZE) || !is_last(rows, p->weight->spec.sizes[1]) ||
        !is_last(p->integers, p->weight->spec.sizes[1]))
        return false;
    p->scale = operand(p->quantize, 2);
    p->choose = p->scale ? p->scale->node : NULL;
    return does(p->choose, CHOOSE) && p->scale->index == 0 && is_of(p->scale, SC_DTYPE_F32) &&
           p->choose->args[1].kind == SC_ARG_STR;
}

// --- Downwards -----------------------------------------------------------------------------------

static bool is_assertion(const sc_arg *use) {
    return use->user->op && sc_op_has(use->user->op, SC_ASSERTION);
}

// The only node that reads the value, apart from assertions. NULL if there are several, or if it is
// returned.
static sc_node *reader_of(const sc_value *value) {
    sc_node *reader = NULL;
    for (const sc_arg *use = value->first_use; use; use = use->next_use) {
        if (is_assertion(use)) continue;
        if (reader || !use->user->op) return NULL;
        reader = use->user;
    }
    return reader;
}

// The value after casts to its own dtype.
static sc_value *past_casts(sc_value *value) {
    for (sc_node *node = reader_of(value); does(node, CAST); node = reader_of(value)) {
        if (node->outs[0]->spec.dtype != value->spec.dtype) break;
        value = node->outs[0];
    }
    return value;
}

// The other operand of the only reader, if that reader combines it with the value in this way.
// `*value` becomes the result.
static sc_value *combined(sc_value **value, deed how) {
    sc_node *node = reader_of(*value);
    if (!does(node, how) || !is_of(node->outs[0], (sc_dtype)(*value)->spec.dtype)) return NULL;
    const uint32_t own = operand(node, 0) == *value ? 0 : 1;
    sc_value *other = operand(node, 1 - own);
    if (operand(node, own) != *value || !other || other == *value || (how == SUB && own))
        return NULL;
    *value = node->outs[0];
    return other;
}

static bool sums_over(const sc_node *node, const sc_value *what, int64_t dim) {
    return does(node, SUM) && operand(node, 0) == what && node->args[1].kind == SC_ARG_LIST &&
           node->args[1].count == 1 &&
           (is_int(&node->args[1].items[0], dim) || is_int(&node->args[1].items[0], dim - 2));
}

// Finds the difference that subtracts 128 from each of the activations' integers.
static bool takes_shift_back(product *p, sc_value **value) {
    sc_value *flipped = operand(p->mm, 1);
    sc_value *excess = combined(value, SUB);
    const sc_node *mul = excess ? excess->node : NULL;
    const sc_value *sum = does(mul, MUL) && is_int(&mul->args[1], 128) ? operand(mul, 0) : NULL;
    p->written = (*value)->node;
    return sum && sums_over(sum->node, flipped, 0) && is_of(sum, SC_DTYPE_I32) &&
           is_matrix(sum, sc_dim_int(1), p->weight->spec.sizes[0]);
}

enum { ZERO = 1, SCALE = 2, WEIGHTS = 4, PARTS = ZERO | SCALE | WEIGHTS };

// The term of the zero points' contribution that a factor is; 0 if it is not one of them.
static uint32_t part_of(const product *p, sc_value *factor) {
    sc_value *whole = cast_from(factor, SC_DTYPE_I64, SC_DTYPE_F32);
    if (whole) return whole->spec.rank == 1 && sums_over(whole->node, p->weight, 1) ? WEIGHTS : 0;
    if (!is_column(factor, p)) return 0;
    whole = cast_from(factor, SC_DTYPE_I8, SC_DTYPE_F32);
    if (whole) return reshaped_from(whole) == operand(p->quantize, 3) ? ZERO : 0;
    return reshaped_from(factor) == p->scale ? SCALE : 0;
}

// The value before casts to its own dtype.
static sc_value *before_casts(sc_value *value) {
    sc_value *source = value;
    while ((source = cast_from(value, (sc_dtype)value->spec.dtype, (sc_dtype)value->spec.dtype)))
        value = source;
    return value;
}

// Zero points times scales of rows, times the sums of the weight's rows.
static bool takes_zeros_back(product *p, sc_value **value) {
    sc_value *excess = combined(value, SUB);
    uint32_t found = 0;
    for (uint32_t i = 0; i < 2; i++) {
        excess = excess ? before_casts(excess) : NULL;
        if (!excess || !does(excess->node, MUL) || !operand(excess->node, 1)) return false;
        found |= part_of(p, operand(excess->node, 1));
        excess = operand(excess->node, 0);
    }
    return excess && (found | part_of(p, excess)) == PARTS;
}

static bool find_weight_scale(product *p, sc_value **value) {
    const sc_dim outputs = p->weight->spec.sizes[0], one = sc_dim_int(1);
    sc_value *factor = combined(value, MUL);
    if (!factor || !is_of(factor, SC_DTYPE_F32)) return false;
    p->weight_scale = reshaped_from(factor);
    const bool is_by_output = is_matrix(p->weight_scale, outputs, one);
    if (!is_by_output && !is_matrix(p->weight_scale, one, one)) return false;
    return factor->spec.rank == 1 || is_matrix(factor, one, is_by_output ? outputs : one);
}

// The sizes of the layer's result: those of its input except the last.
static bool has_result_sizes(const product *p, const sc_value *value) {
    const sc_spec *in = &p->integers->spec, *out = &value->spec;
    if (out->rank != in->rank || !is_last(value, p->weight->spec.sizes[0])) return false;
    for (uint32_t d = 0; d + 1 < in->rank; d++)
        if (!sc_dim_equal(in->sizes[d], out->sizes[d])) return false;
    return true;
}

// The last value with the same elements, before an operator that changes them.
static sc_value *past_reshapes(sc_value *value) {
    for (sc_node *node = reader_of(value); node; node = reader_of(value)) {
        const deed did = deed_of(node);
        if ((did != RESHAPE && did != CAST) || operand(node, 0) != value) break;
        if (node->outs[0]->spec.dtype != value->spec.dtype) break;
        value = node->outs[0];
    }
    return value;
}

static bool find_result(product *p, sc_value *value) {
    sc_value *last = past_reshapes(value);
    p->result = has_result_sizes(p, last) ? last : value;
    if (!has_result_sizes(p, p->result)) return false;
    sc_value *sum = p->result, *bias = combined(&sum, ADD);
    if (!bias || !is_of(bias, SC_DTYPE_F32) || bias->spec.rank != 1 || bias->node ||
        !sc_dim_equal(bias->spec.sizes[0], p->weight->spec.sizes[0]))
        return true;
    p->bias = bias;
    p->result = sum;
    return true;
}

// A write in between could change an operand that is read again.
static bool is_undisturbed(const product *p) {
    for (const sc_node *node = p->quantize; node != p->result->node; node = node->next)
        if (!node || (sc_op_has(node->op, SC_MUTATES) && node != p->written)) return false;
    return true;
}

static bool find_product(sc_node *mm, product *p) {
    bool is_shifted = false;
    *p = (product){.mm = mm};
    if (!does(mm, PRODUCT) || !find_weight(p) || !find_integers(p, &is_shifted)) return false;
    sc_value *value = mm->outs[0];
    if (is_shifted && !takes_shift_back(p, &value)) return false;
    const sc_node *cast = reader_of(value);
    if (!does(cast, CAST) || !is_of(cast->outs[0], SC_DTYPE_F32)) return false;
    value = past_casts(cast->outs[0]);
    sc_value *factor = combined(&value, MUL);
    if (!factor || !is_column(factor, p) || reshaped_from(factor) != p->scale) return false;
    value = past_casts(value);
    if (sc_str_is(p->choose->args[1].str, "ASYMMETRIC") && !takes_zeros_back(p, &value))
        return false;
    value = past_casts(value);
    return find_weight_scale(p, &value) && find_result(p, value) && is_undisturbed(p);
}

// --- One layer again -----------------------------------------------------------------------------

static sc_status add_call(const product *p, const sc_op *op, const sc_arg *args, uint32_t count,
                          const sc_spec *sizes, sc_node **out) {
    sc_graph *graph = p->mm->graph;
    sc_ctx *ctx = graph->ctx;
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_arg *full = NULL;
    SC_TRY(sc_args_complete(ctx, ctx->scratch, op, args, count, &full));
    sc_node *node = sc_node_new(graph, op, full, op->schema->param_count, 1, NULL);
    sc_arena_rewind(ctx->scratch, mark);
    node->outs[0]->type = SC_VALUE_TENSOR;
    node->outs[0]->spec = *sizes;
    node->outs[0]->spec.dtype = SC_DTYPE_F32;
    sc_spec_set_contiguous(graph->method->exprs, &node->outs[0]->spec);
    sc_node_name_results(node);
    node->meta = p->mm->meta;
    node->meta.origin = sc_node_origin(p->mm);
    sc_graph_insert_before(p->result->node, node);
    *out = node;
    return SC_OK;
}

static sc_status add_dequantize(const product *p, sc_value *integers, sc_arg block, sc_value *scale,
                                const sc_arg *zero, sc_node **out) {
    const bool is_input = integers == p->integers;
    const sc_arg args[] = {sc_arg_value(integers),
                           block,
                           sc_arg_value(scale),
                           zero ? *zero : sc_arg_none(),
                           sc_arg_dtype(SC_DTYPE_I8),
                           is_input ? p->quantize->args[5] : sc_arg_int(-128),
                           is_input ? p->quantize->args[6] : sc_arg_int(127)};
    return add_call(p, sc_op_get(SC_OP_torchao_dequantize_affine), args, SC_COUNT_OF(args),
                    &integers->spec, out);
}

static sc_status add_layer(const product *p, sc_node **linear) {
    sc_arg block[2] = {sc_arg_int(1), sc_arg_int(p->weight->spec.sizes[1].value)};
    sc_node *input = NULL, *weight = NULL;
    if (sc_dim_is(p->weight_scale->spec.sizes[0], 1))
        block[0] = sc_arg_int(p->weight->spec.sizes[0].value);
    SC_TRY(add_dequantize(p, p->integers, p->quantize->args[1], p->scale, &p->quantize->args[3],
                          &input));
    SC_TRY(add_dequantize(p, p->weight, sc_arg_list(block, 2), p->weight_scale, NULL, &weight));
    const sc_arg args[] = {sc_arg_value(input->outs[0]), sc_arg_value(weight->outs[0]),
                           p->bias ? sc_arg_value(p->bias) : sc_arg_none()};
    return add_call(p, sc_op_get(SC_OP_linear), args, SC_COUNT_OF(args), &p->result->spec, linear);
}

// --- Leftovers -----------------------------------------------------------------------------------

static bool is_read(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use; use = use->next_use)
            if (!is_assertion(use)) return true;
    return false;
}

// Also erases the assertions about its results.
static void erase(sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        while (node->outs[i]->first_use) sc_node_erase(node->outs[i]->first_use->user);
    sc_node_erase(node);
}

// Erases the nodes whose results are not read any more. Writes among them have no effect that
// another node sees.
static void erase_unread(const product *p) {
    const sc_node *const result = p->result->node;
    for (sc_node *node = p->result->node, *prev; node != p->quantize; node = prev) {
        const bool is_own = node == p->written || node == result;
        prev = node->prev;
        if (!is_read(node) && (is_own || !sc_node_has_effect(node))) erase(node);
    }
}

// --- The method ----------------------------------------------------------------------------------

typedef struct joining {
    sc_imap *left;             // names of products that stay -> themselves
    SC_VEC(sc_node *) layers;  // the layers that were made
    sc_arena *arena;
} joining;

static bool stays(const joining *j, const sc_node *mm) {
    return sc_imap_find(j->left, SC_PTR_KEY(sc_node_origin(mm))) != NULL;
}

static sc_status join_products(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    joining *j = user;
    for (sc_node *node = graph->first, *next; node; node = next) {
        product p;
        sc_node *linear = NULL;
        next = node->next;
        if (!does(node, PRODUCT) || stays(j, node) || !find_product(node, &p)) continue;
        SC_TRY(add_layer(&p, &linear));
        next = linear;
        sc_replace_uses(p.result, linear->outs[0]);
        erase_unread(&p);
        sc_vec_push(j->arena, &j->layers, linear);
    }
    return SC_OK;
}

static bool is_wanted(const sc_keep *keep, const sc_node *linear) {
    return keep->wants(keep->user, linear) &&
           keep->wants(keep->user, linear->args[0].value->node) &&
           keep->wants(keep->user, linear->args[1].value->node);
}

// Joins products in a copy of the method. Counts the layers that no backend keeps, which later
// rounds leave alone.
static sc_status try_copy(sc_ctx *ctx, const sc_method *method, const sc_keep *keep, joining *j,
                          uint32_t *refused) {
    sc_method *copy = NULL;
    j->layers.count = 0;
    *refused = 0;
    SC_TRY(sc_method_clone(method, method->exprs, &copy));
    SC_TRY(sc_graphs_visit(ctx, copy->graph, join_products, j));
    for (uint32_t i = 0; i < j->layers.count; i++) {
        if (is_wanted(keep, j->layers.data[i])) continue;
        sc_imap_set(j->left, SC_PTR_KEY(sc_node_origin(j->layers.data[i])), 1);
        ++*refused;
    }
    return SC_OK;
}

static sc_status find_any(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        *(bool *)user |= does(node, PRODUCT);
    return SC_OK;
}

enum { ATTEMPTS_MAX = 4 };

sc_status sc_pass_int_products(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    sc_imap left;
    joining j = {.left = &left, .arena = ctx->arena};
    bool has_any = false;
    uint32_t refused = 1;
    if (!env->keep) return SC_OK;
    SC_TRY(sc_graphs_visit(ctx, method->graph, find_any, &has_any));
    if (!has_any) return SC_OK;
    sc_imap_init(&left, ctx->arena);
    for (uint32_t i = 0; i < ATTEMPTS_MAX && refused; i++)
        SC_TRY(try_copy(ctx, method, env->keep, &j, &refused));
    return refused ? SC_OK : sc_graphs_visit(ctx, method->graph, join_products, &j);
}
