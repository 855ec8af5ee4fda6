// Weights of linear layers alone become integers, or halves: what torchao's quantize_ and an export
// after it leave in a graph. Nothing has to be observed: activations stay as they are, or get the
// scale of each token when the program runs (8da4w).
#include <float.h>

#include "observe/qparams.h"
#include "passes/passes.h"
#include "quant/plan.h"

typedef struct layer {
    sc_quant_plan *plan;
    const sc_quant_config *config;
    sc_node *node;
    sc_value *x, *weight;
    const sc_constant *constant;
    int64_t sizes[SC_RANK_MAX];
    uint64_t elements;
    int64_t group;  // neighbours that share a scale
    sc_meta meta;
} layer;

static bool is_half_mode(const sc_quant_config *config) {
    return config->mode == SC_QUANT_HALF_WEIGHTS;
}

static uint32_t bits_of(const sc_quant_config *config) {
    return config->mode == SC_QUANT_DYNAMIC_INT4 ? 4 : config->weight_bits;
}

static sc_value *operand(const sc_node *node, uint32_t index) {
    return node->args[index].kind == SC_ARG_VALUE ? node->args[index].value : NULL;
}

// --- Which layers --------------------------------------------------------------------------------

static const char *refusal(const layer *l) {
    if (!l->constant) return "its weight is no constant";
    if (l->weight->spec.dtype != SC_DTYPE_F32) return "its weight is not of float32";
    if (is_half_mode(l->config)) return NULL;
    if (sc_quant_role(l->node->op) != QUANT_LINEAR) return "only linear layers get integer weights";
    if (l->weight->spec.rank != 2 || l->sizes[0] == 0 || l->sizes[1] == 0)
        return "its weight is no matrix";
    if (!l->x || l->x->spec.dtype != SC_DTYPE_F32 || l->x->spec.rank == 0)
        return "its input is not of float32";
    return NULL;
}

static bool read_layer(sc_quant_plan *plan, sc_node *node, layer *l) {
    const quant_role role = sc_quant_role(node->op);
    if (role != QUANT_LINEAR && role != QUANT_CONV && role != QUANT_CONV_TRANSPOSE) return false;
    *l = (layer){.plan = plan,
                 .config = plan->config,
                 .node = node,
                 .x = operand(node, 0),
                 .weight = operand(node, 1)};
    l->constant = l->weight ? sc_quant_constant(plan, l->weight) : NULL;
    if (l->constant) l->elements = sc_quant_elements(&l->constant->spec, l->sizes);
    l->group = plan->config->group_size ? plan->config->group_size : l->sizes[1];
    l->meta = node->meta;
    l->meta.origin = sc_node_origin(node);
    const char *why =
        sc_quant_is_skipped(plan, node) ? "it was asked to stay as it is" : refusal(l);
    if (why) sc_quant_why_not(plan, node, "%s", why);
    return !why;
}

static sc_status check_groups(const layer *l) {
    const uint32_t size = l->config->group_size;
    if (!size || is_half_mode(l->config) || l->sizes[1] % size == 0) return SC_OK;
    sc_where_set_node(l->plan->ctx, l->node);
    return sc_fail(l->plan->ctx, SC_ERR_ARGUMENT,
                   "Take groups of a size that divides it, one scale for each channel (0), or let "
                   "the layer stay as it is (skip).",
                   "groups of %u do not divide the %lld inputs of this layer", size,
                   (long long)l->sizes[1]);
}

static sc_status check_config(const sc_quant_plan *plan, const sc_quant_config *config) {
    const uint32_t bits = bits_of(config);
    if (!is_half_mode(config) && bits != 4 && bits != 8)
        return sc_fail(plan->ctx, SC_ERR_ARGUMENT, NULL, "weights have 4 or 8 bits, not %u", bits);
    if (config->group_size > (1 << 20))
        return sc_fail(plan->ctx, SC_ERR_ARGUMENT, NULL, "groups of %u are too large",
                       config->group_size);
    return SC_OK;
}

static sc_status prepare_by(sc_quant_plan *plan, const sc_quant_config *config) {
    const uint32_t notes = plan->notes.count;
    plan->config = config;
    SC_TRY(check_config(plan, config));
    for (sc_node *node = plan->method->graph->first; node; node = node->next) {
        layer l;
        if (sc_quant_note(plan, node) || !read_layer(plan, node, &l)) continue;
        SC_TRY(check_groups(&l));
        sc_quant_take_note(plan, node)->weights = config;
    }
    sc_quant_remark_idle(plan, notes);
    return SC_OK;
}

sc_status sc_quant_prepare_weights(sc_quant_plan *plan) {
    for (uint32_t i = 0; i < plan->config_count; i++)
        if (!sc_quant_has_places(&plan->configs[i])) SC_TRY(prepare_by(plan, &plan->configs[i]));
    return SC_OK;
}

// --- Nodes ---------------------------------------------------------------------------------------

static sc_spec like(const layer *l, const sc_spec *from, uint32_t rank, sc_dtype dtype) {
    sc_spec spec = sc_spec_new(l->plan->ctx->arena, dtype, rank);
    for (uint32_t i = 0; i < rank; i++) spec.sizes[i] = from->sizes[i];
    sc_spec_set_contiguous(l->plan->method->exprs, &spec);
    return spec;
}

// Shapes of torchao's operators are what their expansions say, so they are given here.
static sc_status add_node(const layer *l, sc_op_id id, const sc_arg *args, uint32_t count,
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

static sc_arg block(const layer *l, uint32_t rank, int64_t last) {
    int64_t *sizes = sc_new_array(l->plan->ctx->arena, int64_t, (size_t)rank + 1);
    for (uint32_t i = 0; i + 1 < rank; i++) sizes[i] = 1;
    sizes[rank - 1] = last;
    return sc_arg_ints(l->plan->ctx->arena, sizes, rank);
}

// "fc.weight" has its parts in "fc.parametrizations.weight.original0" and so on.
static sc_str part_name(const layer *l, int part) {
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

static sc_value *add_part(const layer *l, int part, sc_spec spec, sc_extent data) {
    return sc_quant_add_constant(l->plan, SC_INPUT_PARAMETER, part_name(l, part), spec, data);
}

// --- Weights -------------------------------------------------------------------------------------

static sc_weight weight_of(const layer *l) {
    return (sc_weight){
        .data = sc_quant_row_major(l->plan->ctx->arena, l->plan->method->exprs, l->constant),
        .dtype = SC_DTYPE_F32,
        .elements = l->elements};
}

// Groups of a row have one scale: its largest number over half the range of integers.
static sc_status choose_scales(const layer *l, const sc_weight *weight, sc_slices slices,
                               int32_t largest, float *scales) {
    sc_ctx *ctx = l->plan->ctx;
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    float *lows = sc_new_array(ctx->scratch, float, slices.count);
    float *highs = sc_new_array(ctx->scratch, float, slices.count);
    SC_TRY(sc_weight_ranges(ctx, weight, slices, lows, highs));
    for (uint64_t i = 0; i < slices.count; i++)
        scales[i] = sc_qparams_symmetric(lows[i], highs[i], -largest - 1, largest, FLT_MIN).scale;
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

static sc_spec scale_spec(const layer *l, sc_dtype dtype) {
    sc_spec spec = sc_spec_new(l->plan->ctx->arena, dtype, 2);
    spec.sizes[0] = sc_dim_int(l->sizes[0]);
    spec.sizes[1] = sc_dim_int(l->sizes[1] / l->group);
    sc_spec_set_contiguous(l->plan->method->exprs, &spec);
    return spec;
}

static sc_status dequantize_weight(const layer *l, sc_value **out) {
    sc_arena *arena = l->plan->ctx->arena;
    const int32_t largest = bits_of(l->config) == 4 ? 7 : 127;
    const sc_weight weight = weight_of(l);
    const sc_slices slices = sc_slices_groups(l->elements, (uint64_t)l->group);
    float *scales = sc_new_array(arena, float, slices.count);
    sc_node *node;
    SC_TRY(choose_scales(l, &weight, slices, largest, scales));
    const sc_weight_grid grid = {.slices = slices,
                                 .scales = scales,
                                 .quant_min = (int8_t)(-largest - 1),
                                 .quant_max = (int8_t)largest,
                                 .in_own_dtype = true};
    const sc_spec wide = like(l, &l->weight->spec, 2, SC_DTYPE_F32);
    sc_value *q =
        add_part(l, 0, like(l, &wide, 2, SC_DTYPE_I8), sc_weight_quantized(arena, &weight, &grid));
    sc_value *scale = add_part(
        l, 1, scale_spec(l, SC_DTYPE_F32),
        sc_extent_whole(sc_source_from_memory(arena, scales, slices.count * sizeof(float))));
    sc_value *zero = add_part(l, 2, scale_spec(l, SC_DTYPE_I8),
                              sc_extent_whole(sc_source_zeros(arena, slices.count)));
    const sc_arg args[] = {sc_arg_value(q),    block(l, 2, l->group),     sc_arg_value(scale),
                           sc_arg_value(zero), sc_arg_dtype(SC_DTYPE_I8), sc_arg_int(-largest - 1),
                           sc_arg_int(largest)};
    SC_TRY(add_node(l, SC_OP_torchao_dequantize_affine, args, 7, &wide, 1, &node));
    *out = node->outs[0];
    return SC_OK;
}

// --- Activations ---------------------------------------------------------------------------------

static sc_status quantize_tokens(const layer *l, sc_value **out) {
    const sc_spec *x = &l->x->spec;
    const sc_arg sizes = block(l, x->rank, l->sizes[1]), dtype = sc_arg_dtype(SC_DTYPE_I8);
    const sc_spec chosen[] = {like(l, x, x->rank - 1u, SC_DTYPE_F32),
                              like(l, x, x->rank - 1u, SC_DTYPE_I8)};
    const sc_spec narrow = like(l, x, x->rank, SC_DTYPE_I8),
                  wide = like(l, x, x->rank, SC_DTYPE_F32);
    sc_node *p, *q, *dq;
    const sc_arg choose[] = {sc_arg_value(l->x),
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
    const sc_arg to[] = {sc_arg_value(l->x), sizes, s, z, dtype, sc_arg_int(-128), sc_arg_int(127)};
    SC_TRY(add_node(l, SC_OP_torchao_quantize_affine, to, 7, &narrow, 1, &q));
    const sc_arg from[] = {sc_arg_value(q->outs[0]), sizes,          s, z, dtype,
                           sc_arg_int(-128),         sc_arg_int(127)};
    SC_TRY(add_node(l, SC_OP_torchao_dequantize_affine, from, 7, &wide, 1, &dq));
    *out = dq->outs[0];
    return SC_OK;
}

static sc_status widen_halves(const layer *l, sc_value **out) {
    sc_arena *arena = l->plan->ctx->arena;
    const sc_weight weight = weight_of(l);
    const sc_spec spec = like(l, &l->weight->spec, l->weight->spec.rank, SC_DTYPE_F16);
    const sc_str target = l->plan->method->inputs.data[l->weight->index].target;
    const char *prefix =
        sc_str_dup(arena, sc_str_format(arena, SC_STR_FMT "_half_", SC_STR_ARG(target)));
    sc_value *half =
        sc_quant_add_constant(l->plan, SC_INPUT_PARAMETER, sc_quant_free_name(l->plan, prefix),
                              spec, sc_weight_converted(arena, &weight, SC_DTYPE_F16));
    const sc_arg args[] = {sc_arg_value(half), sc_arg_dtype(SC_DTYPE_F32)};
    sc_node *node;
    SC_TRY(sc_build(l->plan->method->graph, l->node, sc_op_get(SC_OP__to_copy), args, 2, &l->meta,
                    &node));
    *out = node->outs[0];
    return SC_OK;
}

// --- All of them ---------------------------------------------------------------------------------

static sc_status convert_layer(const layer *l) {
    sc_value *weight = NULL, *x = l->x;
    sc_where_set_node(l->plan->ctx, l->node);
    if (is_half_mode(l->config)) {
        SC_TRY(widen_halves(l, &weight));
    } else {
        if (l->config->mode == SC_QUANT_DYNAMIC_INT4) SC_TRY(quantize_tokens(l, &x));
        SC_TRY(dequantize_weight(l, &weight));
    }
    sc_arg_set(&l->node->args[0], sc_arg_value(x));
    sc_arg_set(&l->node->args[1], sc_arg_value(weight));
    return SC_OK;
}

sc_status sc_quant_convert_weights(sc_quant_plan *plan) {
    for (sc_node *node = plan->method->graph->first, *next; node; node = next) {
        const quant_note *note = sc_quant_note(plan, node);
        layer l;
        next = node->next;
        if (!note || !note->weights) continue;
        plan->config = note->weights;
        if (read_layer(plan, node, &l)) SC_TRY(convert_layer(&l));
    }
    return SC_OK;
}
