// Starts a delegate: reads and checks its payload, finds and packs its constants.
#include "backends/xnnpack/run/fuse.h"

enum { STEPS_MAX = 1 << 16 };

// The check of a graph reads scales, so their data is found for it.
static sc_status find_scales(sc_xnn_delegate *d) {
    for (uint32_t v = 0; v < d->graph->values.count; v++) {
        uint32_t scales = d->graph->values.data[v].quant.scales;
        d->is_needed[scales] = true;
        if (scales) SC_TRY(sc_xnn_find(d, scales));
    }
    return SC_OK;
}

// Says which data was only packed.
static void replace_packed(const sc_xnn_delegate *d) {
    for (uint32_t i = 1; d->named.replace && i < d->graph->constants.count; i++) {
        if (!d->is_packed[i] || d->is_needed[i] || d->constant_uses[i]) continue;
        d->named.replace(d->named.user, d->graph->constants.data[i].key, d->finds[i]);
    }
}

static sc_status find_used(sc_xnn_delegate *d) {
    for (uint32_t i = 1; i < d->graph->constants.count; i++)
        if (d->constant_uses[i]) SC_TRY(sc_xnn_find(d, i));
    for (uint32_t v = 0; v < d->graph->values.count; v++) {
        uint32_t constant = d->graph->values.data[v].constant;
        if (constant && d->constant_uses[constant])
            d->operands[v].tensor.data = (void *)(uintptr_t)d->graph->constants.data[constant].data;
    }
    return SC_OK;
}

static sc_status make_operand(sc_xnn_delegate *d, uint32_t value) {
    sc_xnn_operand *o = &d->operands[value];
    o->value = &d->graph->values.data[value];
    o->tensor.sizes = o->sizes;
    o->tensor.strides = o->strides;
    o->tensor.dim_order = o->dim_order;
    for (uint8_t i = 0; i < SC_XNN_RANK_MAX; i++) o->dim_order[i] = i;
    o->tensor.dtype = sc_xnn_datatypes[o->value->datatype].dtype;
    // Weights of 4 bits: no step reads them as a tensor.
    if (o->tensor.dtype == SC_DTYPE_NONE) o->tensor.dtype = SC_DTYPE_U8;
    o->tensor.is_constant = o->value->constant != 0;
    d->shapes[value] = o->value->shape;
    if (!o->value->flags) return SC_OK;
    d->arguments[o->value->external_id] = value;
    if (o->value->flags == SC_XNN_EXTERNAL_INPUT)
        d->input_count = sc_max_u32(d->input_count, o->value->external_id + 1);
    return SC_OK;
}

static sc_status make_step(sc_xnn_delegate *d, uint32_t index) {
    sc_xnn_step *s = &d->steps[index];
    const sc_xnn_kind_row *row;
    s->index = index;
    s->node = &d->graph->nodes.data[index];
    s->runner = sc_xnn_runner_of(s->node->kind);
    row = &sc_xnn_kinds[s->node->kind];
    for (uint32_t i = 0; i < row->inputs; i++)
        if (s->node->inputs[i] != SC_XNN_NONE) {
            s->in[i] = &d->operands[s->node->inputs[i]];
            s->in[i]->users++;
        }
    for (uint32_t i = 0; i < row->outputs; i++) s->out[i] = &d->operands[s->node->outputs[i]];
    if (s->node->kind == SC_XNN_ARGMAX_POOL) s->out[1]->is_position = true;
    return s->runner ? SC_OK : sc_xnn_not_executed(d, s);
}

// Constants that a step reads directly: all except those that a product packs or copies.
static void note_uses(sc_xnn_delegate *d, const sc_xnn_step *s) {
    const bool is_product = s->runner == &sc_xnn_run_product;
    for (uint32_t i = 0; i < SC_XNN_INPUTS_MAX; i++) {
        if (!s->in[i] || !s->in[i]->value->constant) continue;
        if (is_product && i > 0) continue;
        d->constant_uses[s->in[i]->value->constant] = true;
    }
}

static sc_status check_argument(const sc_xnn_delegate *d, uint32_t index, const sc_evalue *arg) {
    if (d->arguments[index] == SC_XNN_NONE) return SC_OK;
    const sc_xnn_operand *o = &d->operands[d->arguments[index]];
    if (arg->tag != SC_EVALUE_TENSOR) return sc_xnn_bad_argument(d, index, "is not a tensor");
    if (arg->tensor->rank > SC_XNN_RANK_MAX)
        return sc_xnn_bad_argument(d, index, "has more than 6 dimensions");
    if (sc_xnn_is(o, SC_XNN_QDINT8))
        return sc_xnn_bad_argument(
            d, index, "is quantized at run time, which only values inside the delegate can be");
    // Positions of maxima have 32 bits here; programs have them in 64.
    bool fits = o->is_position
                    ? arg->tensor->dtype == SC_DTYPE_I64 || arg->tensor->dtype == SC_DTYPE_I32
                    : arg->tensor->dtype == o->tensor.dtype;
    if (!fits)
        return sc_xnn_bad_argument(d, index, "has a different dtype than the payload declares");
    return SC_OK;
}

static sc_status make_parts(sc_xnn_delegate *d, const sc_rt_start *start) {
    const sc_xnn_graph *g = d->graph;
    if (g->nodes.count > STEPS_MAX)
        return sc_fail(d->ctx, SC_ERR_LIMIT, NULL,
                       "an XNNPACK delegate of method '" SC_STR_FMT "' has %u nodes; the most that "
                       "are executed is %d",
                       SC_STR_ARG(d->method), g->nodes.count, (int)STEPS_MAX);
    if (g->external_count > start->arg_count)
        return sc_fail(d->ctx, SC_ERR_DELEGATE, NULL,
                       "an XNNPACK delegate takes %u arguments, but method '" SC_STR_FMT
                       "' calls it with %u",
                       g->external_count, SC_STR_ARG(d->method), start->arg_count);
    d->shapes = sc_new_array(&d->arena, sc_xnn_shape, (size_t)g->values.count + 1);
    d->operands = sc_new_array(&d->arena, sc_xnn_operand, (size_t)g->values.count + 1);
    d->steps = sc_new_array(&d->arena, sc_xnn_step, (size_t)g->nodes.count + 1);
    d->arguments = sc_new_array(&d->arena, uint32_t, (size_t)g->external_count + 1);
    d->constant_uses = sc_new_array(&d->arena, uint8_t, (size_t)g->constants.count + 1);
    d->finds = sc_new_array(&d->arena, uint32_t, (size_t)g->constants.count + 1);
    d->is_packed = sc_new_array(&d->arena, uint8_t, (size_t)g->constants.count + 1);
    d->is_needed = sc_new_array(&d->arena, uint8_t, (size_t)g->constants.count + 1);
    memset(d->arguments, 0xff, (size_t)g->external_count * sizeof *d->arguments);
    for (uint32_t v = 0; v < g->values.count; v++) SC_TRY(make_operand(d, v));
    for (uint32_t i = 0; i < g->nodes.count; i++) SC_TRY(make_step(d, i));
    for (uint32_t i = 0; i < g->external_count; i++) SC_TRY(check_argument(d, i, start->args[i]));
    for (uint32_t i = 0; i < g->external_count; i++) {
        if (d->arguments[i] == SC_XNN_NONE || i >= d->input_count) continue;
        if (d->operands[d->arguments[i]].value->flags != SC_XNN_EXTERNAL_INPUT)
            return sc_xnn_bad_argument(d, i, "is an output that comes before an input");
    }
    return SC_OK;
}

sc_status sc_xnn_start(sc_xnn_delegate *d, const sc_rt_start *start) {
    void *payload;
    SC_TRY(sc_xnn_own(d, start->processed_bytes, &payload));
    memcpy(payload, start->processed, (size_t)start->processed_bytes);
    SC_TRY(sc_xnn_read(d->ctx, &d->arena, payload, start->processed_bytes, &d->graph));
    SC_TRY(make_parts(d, start));
    SC_TRY(find_scales(d));
    SC_TRY(sc_xnn_check(d->ctx, d->graph, SC_XNN_RUNTIME_LATEST));
    for (uint32_t v = 0; v < d->graph->values.count; v++)
        sc_xnn_set_sizes(&d->operands[v], &d->shapes[v]);
    // Weights are found one after the other, and released as soon as they are packed.
    for (uint32_t i = 0; i < d->graph->nodes.count; i++) {
        note_uses(d, &d->steps[i]);
        if (d->steps[i].runner->load) SC_TRY(d->steps[i].runner->load(d, &d->steps[i]));
    }
    SC_TRY(find_used(d));
    sc_xnn_find_fusions(d);
    for (uint32_t i = 1; i < d->graph->constants.count; i++) sc_xnn_forget(d, i);
    replace_packed(d);
    return sc_xnn_derive(d);
}
