// The prepared method becomes the quantized one. Every probe becomes a pair of quantize and
// dequantize, in place and in order, with a dequantize of its own for each node that takes part.
// Constants are quantized at once.
#include <math.h>
#include <stdlib.h>

#include "quant/plan.h"

#include "observe/qparams.h"
#include "passes/passes.h"

typedef struct converter {
    sc_quant_plan *plan;
    sc_ctx *ctx;
    sc_graph *graph;
    const sc_evaluator *evaluator;
    quant_probe *probe;
    quant_group *group;
    sc_node *before;
    sc_meta meta;
    sc_arg args[8];  // dtype of quantize, and of dequantize after the first
    uint32_t arg_count;
    sc_op_id quantize, dequantize;
} converter;

// --- Scales --------------------------------------------------------------------------------------

static sc_value *add_vector(sc_quant_plan *plan, const char *prefix, sc_dtype dtype,
                            const void *values, uint64_t count) {
    const uint32_t bytes = sc_dtype_bytes(dtype);
    sc_spec spec = sc_spec_new(plan->ctx->arena, dtype, 1);
    spec.sizes[0] = sc_dim_int((int64_t)count);
    sc_spec_set_contiguous(plan->method->exprs, &spec);
    const sc_extent data =
        sc_extent_whole(sc_source_from_memory(plan->ctx->arena, values, count * bytes));
    return sc_quant_add_constant(plan, SC_INPUT_BUFFER, sc_quant_free_name(plan, prefix), spec,
                                 data);
}

// PT2E names scales inside a module after the module.
static const char *prefixed(const sc_quant_plan *plan, const quant_probe *probe, const char *name) {
    sc_str stack = probe->value->node ? probe->value->node->meta.module_stack : SC_STR("");
    const ptrdiff_t entry = sc_str_find_last(stack, ';');
    stack = sc_str_slice(stack, (size_t)(entry + 1), stack.size);
    const ptrdiff_t first = sc_str_find(stack, ',');
    sc_str path = sc_str_slice(stack, (size_t)(first + 1), stack.size);
    const ptrdiff_t second = sc_str_find(path, ',');
    path = sc_str_slice(path, 0, second < 0 ? 0 : (size_t)second);
    const ptrdiff_t dot = sc_str_find_last(path, '.');
    path = sc_str_slice(path, (size_t)(dot + 1), path.size);
    return sc_str_dup(plan->ctx->arena,
                      sc_str_format(plan->ctx->arena, SC_STR_FMT "%s", SC_STR_ARG(path), name));
}

static void add_scales(sc_quant_plan *plan, quant_probe *probe) {
    const quant_group *group = &plan->groups.data[probe->group];
    if (!group->spec.by_channel) return;
    probe->scales = add_vector(plan, prefixed(plan, probe, "_scale_"), SC_DTYPE_F32, group->scales,
                               group->channels);
    probe->zero_points = add_vector(plan, prefixed(plan, probe, "_zero_point_"), SC_DTYPE_I64,
                                    group->zero_points, group->channels);
}

// --- Constants -----------------------------------------------------------------------------------

static sc_extent quantized_weight(const converter *c, const sc_constant *constant) {
    sc_arena *arena = c->ctx->arena;
    int64_t sizes[SC_RANK_MAX];
    const sc_weight weight = {.data = sc_quant_row_major(arena, c->plan->method->exprs, constant),
                              .dtype = (sc_dtype)constant->spec.dtype,
                              .elements = sc_quant_elements(&constant->spec, sizes)};
    const sc_weight_grid grid = {
        .slices = c->group->spec.by_channel
                      ? sc_slices_axis(constant->spec.rank, sizes, c->group->spec.axis)
                      : sc_slices_whole(weight.elements),
        .scales = c->group->scales,
        .quant_min = -127,
        .quant_max = 127};
    return sc_weight_quantized(arena, &weight, &grid);
}

// Are they operands of a sum? These are small.
static sc_status quantized_floats(const converter *c, const sc_constant *constant, sc_extent *out) {
    sc_arena *arena = c->ctx->arena;
    const sc_extent data = sc_quant_row_major(arena, c->plan->method->exprs, constant);
    const uint8_t *bytes;
    const uint64_t count = data.size / sizeof(float);
    const float inverse = 1.0f / c->group->scales[0], zero = (float)c->group->zero_points[0];
    SC_TRY(
        sc_extent_load(c->ctx, c->ctx->scratch, data, c->ctx->limits.constant_bytes_max, &bytes));
    int8_t *integers = sc_new_array(arena, int8_t, count + 1);
    for (uint64_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, bytes + i * sizeof(x), sizeof(x));
        integers[i] = (int8_t)fminf(fmaxf(rintf(x * inverse) + zero, -128), 127);
    }
    *out = sc_extent_whole(sc_source_from_memory(arena, integers, count));
    return SC_OK;
}

static sc_status freeze(const converter *c, const sc_constant *constant, sc_value **out) {
    sc_extent data;
    if (c->group->spec.kind == QUANT_WEIGHT)
        data = quantized_weight(c, constant);
    else
        SC_TRY(quantized_floats(c, constant, &data));
    sc_spec spec = constant->spec;
    spec.dtype = SC_DTYPE_I8;
    spec.requires_grad = false;
    spec.strides = sc_new_array(c->ctx->arena, sc_dim, (size_t)spec.rank + 1);
    sc_spec_set_contiguous(c->plan->method->exprs, &spec);
    *out = sc_quant_add_constant(c->plan, SC_INPUT_BUFFER,
                                 sc_quant_free_name(c->plan, "_frozen_param"), spec, data);
    return SC_OK;
}

static const sc_constant *constant_of(const converter *c, const sc_value *x) {
    const uint64_t *computed = sc_imap_find(&c->plan->computed, SC_PTR_KEY(x));
    return computed ? (const sc_constant *)(uintptr_t)*computed : sc_quant_constant(c->plan, x);
}

// NaN in it would have been an error before.
static bool may_freeze(const converter *c, const sc_constant *constant) {
    return constant && c->probe->after == SC_QUANT_NO && !c->group->range.is_dynamic &&
           (c->group->is_weight || constant->spec.dtype == SC_DTYPE_F32);
}

// --- Nodes ---------------------------------------------------------------------------------------

static sc_status build(const converter *c, const sc_op *op, const sc_arg *args, uint32_t count,
                       sc_node **out) {
    return sc_build(c->graph, c->before, op, args, count, &c->meta, out);
}

static void add_arg(converter *c, sc_arg arg) { c->args[c->arg_count++] = arg; }

static void set_scales(converter *c, sc_arg scale, sc_arg zero_point) {
    add_arg(c, scale);
    add_arg(c, zero_point);
}

static sc_status choose_when_run(converter *c, sc_value *x) {
    sc_node *node;
    const sc_arg args[] = {sc_arg_value(x), sc_arg_int(-128), sc_arg_int(127),
                           sc_arg_float(SC_QPARAMS_EPS), sc_arg_dtype(SC_DTYPE_I8)};
    SC_TRY(build(c, sc_op_get(SC_OP_quantized_decomposed_choose_qparams_tensor), args, 5, &node));
    c->quantize = SC_OP_quantized_decomposed_quantize_per_tensor_tensor;
    c->dequantize = SC_OP_quantized_decomposed_dequantize_per_tensor_tensor;
    set_scales(c, sc_arg_value(node->outs[0]), sc_arg_value(node->outs[1]));
    return SC_OK;
}

// Chooses the arguments that both nodes of the pair have.
static sc_status choose_args(converter *c, sc_value *x) {
    c->arg_count = 1;
    c->quantize = SC_OP_quantized_decomposed_quantize_per_tensor;
    c->dequantize = SC_OP_quantized_decomposed_dequantize_per_tensor;
    if (c->probe->scales) {
        c->quantize = SC_OP_quantized_decomposed_quantize_per_channel;
        c->dequantize = SC_OP_quantized_decomposed_dequantize_per_channel;
        set_scales(c, sc_arg_value(c->probe->scales), sc_arg_value(c->probe->zero_points));
        add_arg(c, sc_arg_int(c->group->spec.axis));
    } else if (c->group->range.is_dynamic) {
        SC_TRY(choose_when_run(c, x));
    } else {
        set_scales(c, sc_arg_float(c->group->scales[0]), sc_arg_int(c->group->zero_points[0]));
    }
    add_arg(c, sc_arg_int(c->group->spec.kind == QUANT_WEIGHT ? -127 : -128));
    add_arg(c, sc_arg_int(127));
    add_arg(c, sc_arg_dtype(SC_DTYPE_I8));
    return SC_OK;
}

static sc_status build_quantized(converter *c, sc_value *x, sc_value **out) {
    const sc_constant *constant = constant_of(c, x);
    sc_node *node;
    SC_TRY(choose_args(c, x));
    if (may_freeze(c, constant)) return freeze(c, constant, out);
    c->args[0] = sc_arg_value(x);
    SC_TRY(build(c, sc_op_get(c->quantize), c->args, c->arg_count, &node));
    *out = node->outs[0];
    return SC_OK;
}

static sc_status build_dequantized(converter *c, sc_value *q, sc_value **out) {
    const sc_dtype dtype = (sc_dtype)c->probe->value->spec.dtype;
    sc_node *node;
    uint32_t count = c->arg_count;
    c->args[0] = sc_arg_value(q);
    if (dtype != SC_DTYPE_F32) c->args[count++] = sc_arg_dtype(dtype);
    SC_TRY(build(c, sc_op_get(c->dequantize), c->args, count, &node));
    *out = node->outs[0];
    return SC_OK;
}

// --- Readers -------------------------------------------------------------------------------------

typedef SC_VEC(sc_arg *) slots;

// Collects the uses of an output's probe by nodes without a probe of their own: they take no part,
// and read the same copy as the others. Uses that only need sizes are ignored.
static slots other_slots(const converter *c, uint32_t index, uint32_t *readers) {
    const quant_probe *probe = &c->plan->probes.data[index];
    slots found = {0};
    const sc_node *last = NULL;
    for (sc_arg *use = probe->value->first_use; use && probe->is_output; use = use->next_use) {
        const quant_key *key = sc_quant_key(c->plan, probe->value, use->user);
        if (key && key->probe != SC_QUANT_NO) continue;
        sc_vec_push(c->ctx->scratch, &found, use);
        *readers += use->user != last && !sc_quant_is_size(use->user);
        last = use->user;
    }
    return found;
}

// The probes that observe the result of this one.
static uint32_t count_followers(const sc_quant_plan *plan, uint32_t index) {
    uint32_t count = 0, next = plan->probes.data[index].next;
    for (; next != SC_QUANT_NO; next = plan->probes.data[next].next)
        count += plan->probes.data[next].after == index;
    return count;
}

// Makes each user read its own copy of `to` from here on. One walk over all uses suffices, which
// matters if both users and uses are many. The marks of nodes are not needed any more
// (order_users).
static void redirect(const quant_probe *probe, sc_value *const *to) {
    for (uint32_t i = 0; i < probe->users.count; i++) probe->users.data[i]->mark = i;
    for (sc_arg *use = probe->value->first_use, *next; use; use = next) {
        const uint32_t i = use->user->mark;
        next = use->next_use;
        if (i < probe->users.count && probe->users.data[i] == use->user)
            sc_arg_set(use, sc_arg_value(to[i]));
    }
}

// Every node that takes part gets a dequantize of its own, the last node's first. One dequantize
// serves all if there is only one reader, or if the scale is chosen when the program runs.
static sc_status give_out(converter *c, sc_value *q, slots others, uint32_t readers) {
    quant_probe *probe = c->probe;
    const bool is_shared = c->group->range.is_dynamic || readers + probe->users.count <= 1;
    if (is_shared || others.count > 0 || readers > 0) SC_TRY(build_dequantized(c, q, &probe->out));
    sc_value **to = sc_new_array(c->ctx->scratch, sc_value *, (size_t)probe->users.count + 1);
    for (uint32_t i = probe->users.count; i-- > 0;) {
        to[i] = probe->out;
        if (!is_shared) SC_TRY(build_dequantized(c, q, &to[i]));
    }
    redirect(probe, to);
    for (uint32_t i = 0; i < others.count; i++)
        sc_arg_set(others.data[i], sc_arg_value(probe->out));
    return SC_OK;
}

// --- Order ---------------------------------------------------------------------------------------

// The order of copies depends on when PT2E touched each node last: whenever an operand of a node
// was replaced, the node went to the end of the users of all its operands. Times are marks of
// nodes.
static int by_time(const void *a, const void *b) {
    const sc_node *const *x = a, *const *y = b;
    return (*x)->mark < (*y)->mark ? -1 : (*x)->mark > (*y)->mark;
}

static void touch_users(const quant_probe *probe, uint32_t *clock) {
    if (probe->users.count > 1)
        qsort(probe->users.data, probe->users.count, sizeof(*probe->users.data), by_time);
    for (uint32_t i = 0; i < probe->users.count; i++) probe->users.data[i]->mark = ++*clock;
}

static bool is_given_out(const converter *c, uint32_t index) {
    const quant_probe *probe = &c->plan->probes.data[index];
    uint32_t readers = count_followers(c->plan, index) + probe->users.count;
    (void)other_slots(c, index, &readers);
    return readers > 1 && !c->plan->groups.data[probe->group].range.is_dynamic;
}

static void order_users(const converter *c, quant_order order) {
    uint32_t clock = 0;
    for (sc_node *node = c->graph->first; node; node = node->next) node->mark = ++clock;
    for (uint32_t i = 0; i < order.count; i++)
        touch_users(&c->plan->probes.data[order.data[i].probe], &clock);
    // Then gives copies to nodes, one operand after another.
    for (uint32_t i = 0; i < order.count; i++) {
        const uint32_t index = order.data[i].probe;
        if (is_given_out(c, index)) touch_users(&c->plan->probes.data[index], &clock);
    }
}

static sc_status convert_probe(converter *c, quant_place place) {
    c->probe = &c->plan->probes.data[place.probe];
    c->group = &c->plan->groups.data[c->probe->group];
    c->before = place.before;
    c->meta = sc_quant_meta(c->probe);
    uint32_t readers = count_followers(c->plan, place.probe);
    const slots others = other_slots(c, place.probe, &readers);
    sc_value *x = c->probe->value, *q;
    if (c->probe->after != SC_QUANT_NO) x = c->plan->probes.data[c->probe->after].out;
    SC_TRY(build_quantized(c, x, &q));
    return give_out(c, q, others, readers);
}

static sc_status convert(converter *c) {
    sc_quant_plan *plan = c->plan;
    const quant_order order = sc_quant_order(plan);
    SC_TRY(sc_quant_compute_constants(plan, c->evaluator));
    order_users(c, order);
    for (uint32_t i = 0; i < order.count; i++)
        add_scales(plan, &plan->probes.data[order.data[i].probe]);
    for (uint32_t i = 0; i < order.count; i++) SC_TRY(convert_probe(c, order.data[i]));
    return SC_OK;
}

sc_status sc_quant_convert(sc_ctx *ctx, sc_quant_plan *plan, const sc_evaluator *evaluator) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    converter c = {.plan = plan, .ctx = ctx, .graph = plan->method->graph, .evaluator = evaluator};
    if (!plan->has_scales)
        return sc_fail(ctx, SC_ERR_STATE, NULL, "no scales have been decided yet");
    sc_where_set_method(ctx, plan->method);
    sc_quant_learn_names(plan);
    SC_TRY(convert(&c));
    SC_TRY(sc_quant_convert_weights(plan));
    SC_TRY(sc_pass_dce(ctx, plan->method));
    SC_TRY(sc_quant_order_inputs(plan));
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
