// Nodes of a layer whose weight alone is quantized. They are the nodes that torchao's quantize_ and
// a later export leave in a graph. Layers of halves compute in float32, as ExecuTorch's own layers
// of 8da4w do, with integers made of the widened weights: the runtimes multiply no other floats
// with integers. Nodes of embeddings are ExecuTorch's, which look up rows of integers. Constants
// have the names that parametrizations of the module would have.
#include "base/nibbles.h"
#include "passes/passes.h"
#include "quant/layer.h"

// --- Nodes ---------------------------------------------------------------------------------------

static sc_spec like(const quant_layer *l, const sc_spec *from, uint32_t rank, sc_dtype dtype) {
    sc_spec spec = sc_spec_new(l->plan->ctx->arena, dtype, rank);
    for (uint32_t i = 0; i < rank; i++) spec.sizes[i] = from->sizes[i];
    sc_spec_set_contiguous(l->plan->method->exprs, &spec);
    return spec;
}

// The shapes of torchao's operators, which have no shape rule here: their expansions define them.
static sc_status add_node(const quant_layer *l, sc_op_id id, const sc_arg *args, uint32_t count,
                          const sc_spec *specs, uint32_t spec_count, sc_node **out) {
    sc_ctx *ctx = l->plan->ctx;
    sc_graph *graph = l->plan->method->graph;
    const sc_op *op = sc_op_get(id);
    sc_arg *all;
    SC_TRY(sc_args_complete(ctx, ctx->scratch, op, args, count, &all));
    sc_node *node = sc_node_new(graph, op, all, op->schema->param_count, spec_count, NULL);
    for (uint32_t i = 0; i < spec_count; i++) {
        sc_value *value = node->outs[i];
        if (spec_count > 1) value->name = sc_graph_take_name(graph, node->name);
        value->type = SC_VALUE_TENSOR;
        value->spec = specs[i];
    }
    node->meta = l->meta;
    sc_graph_insert_before(l->node, node);
    *out = node;
    return SC_OK;
}

static sc_arg block(const quant_layer *l, uint32_t rank, int64_t last) {
    int64_t *sizes = sc_new_array(l->plan->ctx->arena, int64_t, (size_t)rank + 1);
    for (uint32_t i = 0; i + 1 < rank; i++) sizes[i] = 1;
    sizes[rank - 1] = last;
    return sc_arg_ints(l->plan->ctx->arena, sizes, rank);
}

// Parts of "fc.weight" are named "fc.parametrizations.weight.original0" and so on.
static sc_str part_name(const quant_layer *l, int part) {
    sc_quant_plan *plan = l->plan;
    sc_arena *arena = plan->ctx->arena;
    const sc_str target = plan->method->inputs.data[l->weight->index].target;
    const ptrdiff_t dot = sc_str_find_last(target, '.');
    const sc_str module = sc_str_slice(target, 0, (size_t)(dot + 1));
    const sc_str own = sc_str_slice(target, (size_t)(dot + 1), target.size);
    const sc_str name =
        sc_str_format(arena, SC_STR_FMT "parametrizations." SC_STR_FMT ".original%d",
                      SC_STR_ARG(module), SC_STR_ARG(own), part);
    if (!sc_map_find(&plan->names, name)) return name;
    return sc_quant_free_name(
        plan, sc_str_dup(arena, sc_str_format(arena, SC_STR_FMT "_", SC_STR_ARG(name))));
}

// Layers that share a weight share its parts, like one parametrization of a module.
static sc_value *take_part(const quant_layer *l, quant_part part, sc_spec spec, sc_extent data) {
    static const int NUMBERS[QUANT_PART_COUNT] = {
        [QUANT_SCALES] = 1, [QUANT_ROW_SCALES] = 1, [QUANT_ZERO_POINTS] = 2};
    if (!l->parts[part])
        l->parts[part] = sc_quant_add_constant(l->plan, SC_INPUT_PARAMETER,
                                               part_name(l, NUMBERS[part]), spec, data);
    return l->parts[part];
}

// --- Weights -------------------------------------------------------------------------------------

sc_weight sc_quant_layer_weight(const quant_layer *l) {
    return (sc_weight){
        .data = sc_quant_row_major(l->plan->ctx->arena, l->plan->method->exprs, l->constant),
        .dtype = (sc_dtype)l->weight->spec.dtype,
        .elements = l->elements};
}

static int32_t largest_of(const quant_layer *l) {
    return sc_quant_weight_bits(l->plan) == 4 ? 7 : 127;
}

static sc_spec matrix(const quant_layer *l, sc_dtype dtype, int64_t columns) {
    sc_spec spec = sc_spec_new(l->plan->ctx->arena, dtype, 2);
    spec.sizes[0] = sc_dim_int(l->sizes[0]);
    spec.sizes[1] = sc_dim_int(columns);
    sc_spec_set_contiguous(l->plan->method->exprs, &spec);
    return spec;
}

static sc_extent integers_of(const quant_layer *l, const float *scales) {
    const int32_t largest = largest_of(l);
    const sc_weight weight = sc_quant_layer_weight(l);
    const sc_weight_grid grid = {.slices = sc_slices_groups(l->elements, (uint64_t)l->group),
                                 .scales = scales,
                                 .quant_min = (int8_t)(-largest - 1),
                                 .quant_max = (int8_t)largest};
    return sc_weight_quantized(l->plan->ctx->arena, &weight, &grid);
}

static int64_t groups_of(const quant_layer *l) { return l->sizes[1] / l->group; }

static sc_value *take_scales(const quant_layer *l, quant_part part, sc_spec spec,
                             const float *scales) {
    const uint64_t bytes = (uint64_t)l->sizes[0] * (uint64_t)groups_of(l) * sizeof *scales;
    sc_source *source = sc_source_from_memory(l->plan->ctx->arena, scales, bytes);
    return take_part(l, part, spec, sc_extent_whole(source));
}

static sc_status dequantize_weight(const quant_layer *l, const float *scales, sc_value **out) {
    const int32_t largest = largest_of(l);
    const int64_t groups = groups_of(l);
    const sc_spec wide = matrix(l, SC_DTYPE_F32, l->sizes[1]);
    const uint64_t count = (uint64_t)l->sizes[0] * (uint64_t)groups;
    if (!l->parts[QUANT_ZERO_POINTS] && largest == 7 && l->sizes[1] % 2 == 0)
        l->plan->loose_bytes += l->elements / 2 + count;
    sc_value *q =
        take_part(l, QUANT_INTEGERS, matrix(l, SC_DTYPE_I8, l->sizes[1]), integers_of(l, scales));
    sc_value *scale = take_scales(l, QUANT_SCALES, matrix(l, SC_DTYPE_F32, groups), scales);
    sc_value *zero = take_part(l, QUANT_ZERO_POINTS, matrix(l, SC_DTYPE_I8, groups),
                               sc_extent_whole(sc_source_zeros(l->plan->ctx->arena, count)));
    sc_node *node;
    const sc_arg args[] = {sc_arg_value(q),    block(l, 2, l->group),     sc_arg_value(scale),
                           sc_arg_value(zero), sc_arg_dtype(SC_DTYPE_I8), sc_arg_int(-largest - 1),
                           sc_arg_int(largest)};
    SC_TRY(add_node(l, SC_OP_torchao_dequantize_affine, args, 7, &wide, 1, &node));
    *out = node->outs[0];
    return SC_OK;
}

// --- Halves around a layer -----------------------------------------------------------------------

static sc_status cast(const quant_layer *l, sc_value *value, sc_dtype dtype, sc_value **out) {
    const sc_arg args[] = {sc_arg_value(value), sc_arg_dtype(dtype)};
    sc_node *node;
    *out = value;
    if (value->spec.dtype == dtype) return SC_OK;
    SC_TRY(sc_build(l->plan->method->graph, l->node, sc_op_get(SC_OP__to_copy), args, 2, &l->meta,
                    &node));
    *out = node->outs[0];
    return SC_OK;
}

// A constant is widened now, because backends add constants only. Layers of float32 keep what they
// add.
static sc_status widen_bias(const quant_layer *l) {
    sc_arg *arg = &l->node->args[2];
    if (arg->kind != SC_ARG_VALUE || l->weight->spec.dtype == SC_DTYPE_F32) return SC_OK;
    const sc_constant *constant = sc_quant_constant(l->plan, arg->value);
    sc_value *wide;
    if (constant && sc_dtype_is_half((sc_dtype)constant->spec.dtype)) {
        sc_arena *arena = l->plan->ctx->arena;
        int64_t sizes[SC_RANK_MAX];
        const sc_weight bias = {.data = sc_quant_row_major(arena, l->plan->method->exprs, constant),
                                .dtype = (sc_dtype)constant->spec.dtype,
                                .elements = sc_quant_elements(&constant->spec, sizes)};
        const char *prefix = sc_str_dup(
            arena, sc_str_format(arena, SC_STR_FMT "_wide_", SC_STR_ARG(constant->name)));
        wide =
            sc_quant_add_constant(l->plan, SC_INPUT_PARAMETER, sc_quant_free_name(l->plan, prefix),
                                  like(l, &constant->spec, constant->spec.rank, SC_DTYPE_F32),
                                  sc_weight_converted(arena, &bias, SC_DTYPE_F32));
    } else {
        SC_TRY(cast(l, arg->value, SC_DTYPE_F32, &wide));
    }
    sc_arg_set(arg, sc_arg_value(wide));
    return SC_OK;
}

// The result of a layer that computes in float32, in the dtype that it had, for all who read it. It
// keeps its name, so that a comparison of the two programs finds it.
static sc_status narrow_result(const quant_layer *l, uint8_t dtype) {
    sc_value *wide = l->node->outs[0];
    const sc_arg args[] = {sc_arg_value(wide), sc_arg_dtype(dtype)};
    sc_node *node;
    if (dtype == SC_DTYPE_F32) return SC_OK;
    wide->spec.dtype = SC_DTYPE_F32;
    SC_TRY(sc_build(l->plan->method->graph, l->node->next, sc_op_get(SC_OP__to_copy), args, 2,
                    &l->meta, &node));
    sc_arg_set(&node->args[0], sc_arg_none());
    sc_replace_uses(wide, node->outs[0]);
    sc_arg_set(&node->args[0], sc_arg_value(wide));
    const sc_name *name = node->name;
    node->name = node->outs[0]->name = l->node->name;
    l->node->name = wide->name = name;
    return SC_OK;
}

// --- Activations ---------------------------------------------------------------------------------

static sc_status quantize_tokens(const quant_layer *l, sc_value *tokens, sc_value **out) {
    const sc_spec *x = &tokens->spec;
    const sc_arg sizes = block(l, x->rank, l->sizes[1]), dtype = sc_arg_dtype(SC_DTYPE_I8);
    const sc_spec chosen[] = {like(l, x, x->rank - 1u, SC_DTYPE_F32),
                              like(l, x, x->rank - 1u, SC_DTYPE_I8)};
    const sc_spec narrow = like(l, x, x->rank, SC_DTYPE_I8),
                  wide = like(l, x, x->rank, SC_DTYPE_F32);
    sc_node *p, *q, *dq;
    const sc_arg choose[] = {sc_arg_value(tokens),
                             sc_arg_str(SC_STR("ASYMMETRIC")),
                             sizes,
                             dtype,
                             sc_arg_int(-128),
                             sc_arg_int(127),
                             sc_arg_none(),
                             sc_arg_none(),
                             dtype};
    SC_TRY(add_node(l, SC_OP_torchao_choose_qparams_affine, choose, 9, chosen, 2, &p));
    const sc_arg s = sc_arg_value(p->outs[0]), z = sc_arg_value(p->outs[1]);
    const sc_arg to[] = {sc_arg_value(tokens), sizes,          s, z, dtype,
                         sc_arg_int(-128),     sc_arg_int(127)};
    SC_TRY(add_node(l, SC_OP_torchao_quantize_affine, to, 7, &narrow, 1, &q));
    const sc_arg from[] = {sc_arg_value(q->outs[0]), sizes,          s, z, dtype,
                           sc_arg_int(-128),         sc_arg_int(127)};
    SC_TRY(add_node(l, SC_OP_torchao_dequantize_affine, from, 7, &wide, 1, &dq));
    *out = dq->outs[0];
    return SC_OK;
}

// --- Embeddings ----------------------------------------------------------------------------------

// The result keeps its name, so that a comparison of the two programs finds it.
static void take_place(const quant_layer *l, sc_node *made) {
    sc_replace_uses(l->node->outs[0], made->outs[0]);
    made->name = made->outs[0]->name = l->node->name;
    sc_node_erase(l->node);
}

static sc_status look_up_integers(const quant_layer *l, const float *scales) {
    const int32_t largest = largest_of(l);
    const bool is_packed = largest == 7;
    const sc_extent integers = integers_of(l, scales);
    const int64_t columns = l->sizes[1], groups = groups_of(l);
    const sc_spec table =
        matrix(l, is_packed ? SC_DTYPE_U8 : SC_DTYPE_I8, is_packed ? columns / 2 : columns);
    sc_value *q =
        take_part(l, is_packed ? QUANT_NIBBLES : QUANT_INTEGERS, table,
                  is_packed ? sc_extent_nibbles(l->plan->ctx->arena, integers) : integers);
    sc_spec of_scales = matrix(l, SC_DTYPE_F32, groups);
    if (groups == 1) of_scales = like(l, &of_scales, 1, SC_DTYPE_F32);
    const quant_part part = groups == 1 ? QUANT_ROW_SCALES : QUANT_SCALES;
    sc_value *scale = take_scales(l, part, of_scales, scales);
    const sc_arg args[] = {sc_arg_value(q),          sc_arg_value(scale), sc_arg_none(),
                           sc_arg_int(-largest - 1), sc_arg_int(largest), sc_arg_value(l->x)};
    const sc_op_id op = is_packed ? SC_OP_quantized_decomposed_embedding_4bit
                                  : SC_OP_quantized_decomposed_embedding_byte;
    const sc_dtype dtype = (sc_dtype)l->node->outs[0]->spec.dtype;
    sc_node *node;
    sc_value *rows;
    SC_TRY(sc_build(l->plan->method->graph, l->node, sc_op_get(op), args, 6, &l->meta, &node));
    SC_TRY(cast(l, node->outs[0], dtype, &rows));
    take_place(l, rows->node);
    return SC_OK;
}

// --- Weights as halves ---------------------------------------------------------------------------

static sc_value *take_halves(const quant_layer *l) {
    sc_arena *arena = l->plan->ctx->arena;
    if (l->parts[QUANT_HALVES]) return l->parts[QUANT_HALVES];
    const sc_weight weight = sc_quant_layer_weight(l);
    const sc_spec spec = like(l, &l->weight->spec, l->weight->spec.rank, SC_DTYPE_F16);
    const sc_str target = l->plan->method->inputs.data[l->weight->index].target;
    const char *prefix =
        sc_str_dup(arena, sc_str_format(arena, SC_STR_FMT "_half_", SC_STR_ARG(target)));
    return l->parts[QUANT_HALVES] = sc_quant_add_constant(
               l->plan, SC_INPUT_PARAMETER, sc_quant_free_name(l->plan, prefix), spec,
               sc_weight_converted(arena, &weight, SC_DTYPE_F16));
}

static sc_status widen(const quant_layer *l, sc_value *halves, sc_node **out) {
    const sc_arg args[] = {sc_arg_value(halves), sc_arg_dtype(SC_DTYPE_F32)};
    return sc_build(l->plan->method->graph, l->node, sc_op_get(SC_OP__to_copy), args, 2, &l->meta,
                    out);
}

// Rows are widened after they are looked up, so that the table never is.
static sc_status look_up_halves(const quant_layer *l) {
    const sc_arg args[] = {sc_arg_value(take_halves(l)), sc_arg_value(l->x)};
    sc_node *rows, *wide;
    SC_TRY(sc_build(l->plan->method->graph, l->node, l->node->op, args, 2, &l->meta, &rows));
    SC_TRY(widen(l, rows->outs[0], &wide));
    take_place(l, wide);
    return SC_OK;
}

// --- Layers --------------------------------------------------------------------------------------

sc_status sc_quant_convert_layer(const quant_layer *l, const float *scales) {
    const bool is_half = sc_quant_is_half_mode(l->plan);
    sc_value *weight = NULL, *x = l->x;
    sc_node *wide = NULL;
    if (l->role == QUANT_EMBEDDING)
        return is_half ? look_up_halves(l) : look_up_integers(l, scales);
    if (is_half) {
        SC_TRY(widen(l, take_halves(l), &wide));
        weight = wide->outs[0];
    } else {
        SC_TRY(cast(l, l->x, SC_DTYPE_F32, &x));
        if (l->plan->config->mode == SC_QUANT_DYNAMIC_INT4) SC_TRY(quantize_tokens(l, x, &x));
        SC_TRY(dequantize_weight(l, scales, &weight));
        SC_TRY(widen_bias(l));
    }
    sc_arg_set(&l->node->args[0], sc_arg_value(x));
    sc_arg_set(&l->node->args[1], sc_arg_value(weight));
    return is_half ? SC_OK : narrow_result(l, l->node->outs[0]->spec.dtype);
}
