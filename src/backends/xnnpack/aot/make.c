// Makes an XNNPACK graph of a part: values in the layouts that nodes need, and nodes in the part's
// order, without unused ones.
#include <math.h>

#include "backends/xnnpack/aot/layout.h"
#include "backends/xnnpack/aot/rule.h"

// --- From one layout to the other ----------------------------------------------------------------

static sc_status add_transpose(sc_xa_maker *m, const sc_value *value, uint32_t from,
                               sc_xa_layout to, uint32_t id) {
    static const uint32_t orders[2][2][4] = {{{0, 2, 1}, {0, 2, 1}}, {{0, 3, 1, 2}, {0, 2, 3, 1}}};
    const uint32_t rank = value->spec.rank;
    const uint32_t *order = orders[rank == 4][to == SC_XA_CHANNELS_LAST];
    bool dynamic[SC_XNN_RANK_MAX];
    uint32_t input = from, output = id;
    if (rank == 3) {
        // Sequences are images of one row: N, 1, L, C.
        const sc_xnn_shape image = m->graph->values.data[to == SC_XA_PLAIN ? from : id].shape;
        const sc_xnn_shape rows = {3, {image.dims[0], image.dims[2], image.dims[3]}};
        const uint32_t middle = sc_xa_between(m, id, &rows);
        if (to == SC_XA_PLAIN) {
            for (uint32_t d = 0; d < 3; d++)
                dynamic[d] = !sc_dim_is_int(value->spec.sizes[d == 0 ? 0 : 3 - d]);
            SC_TRY(sc_xa_add_reshape(m, from, middle, dynamic));
            input = middle;
        } else {
            output = middle;
        }
    }
    sc_xa_add(m, SC_XNN_TRANSPOSE, input, output)->lists[0] = sc_xa_list(m, order, rank);
    if (output == id) return SC_OK;
    sc_xa_dynamic_of(value, to, dynamic);
    return sc_xa_add_reshape(m, output, id, dynamic);
}

static sc_status convert(sc_xa_maker *m, const sc_value *value, uint32_t from, sc_xa_layout to,
                         uint32_t *id) {
    bool dynamic[SC_XNN_RANK_MAX];
    const bool derives_one = sc_xa_dynamic_dims(value) <= 1;
    *id = sc_xa_define(m, value, to);
    if (!sc_xa_is_trivial(value) || (!derives_one && value->spec.rank == 4))
        return add_transpose(m, value, from, to, *id);
    sc_xa_dynamic_of(value, to, dynamic);
    return sc_xa_add_reshape(m, from, *id, dynamic);
}

// Values that nodes make only on demand.
static sc_status make_wanted(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout) {
    sc_xa_constant constant;
    uint32_t id;
    if (sc_xa_constant_of(value, &constant)) {
        SC_TRY(sc_xa_add_operand(m, &constant, value->spec.rank, layout, &id));
        return sc_xa_stand_for(m, value, layout, id);
    }
    if (sc_xa_is(value->node, &sc_xa_dequantize)) {
        SC_TRY(sc_xa_want(m, value->node->args[0].value, layout, &id));
        sc_xa_add(m, SC_XNN_CONVERT, id, sc_xa_define(m, value, layout));
        return SC_OK;
    }
    return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL, "%s is read before XNNPACK has made it",
                   value->name->text);
}

sc_status sc_xa_want(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout, uint32_t *id) {
    sc_xa_slot *slot = sc_xa_slot_of(m, value);
    layout = sc_xa_usable(value, layout);
    const uint32_t other = slot->ids[!layout];
    if (slot->ids[layout] == SC_XNN_NONE) {
        sc_xa_constant constant;
        if (other == SC_XNN_NONE || sc_xa_constant_of(value, &constant))
            SC_TRY(make_wanted(m, value, layout));
        else
            return convert(m, value, other, layout, id);
    }
    *id = slot->ids[layout];
    return SC_OK;
}

sc_status sc_xa_want_operand(sc_xa_maker *m, const sc_value *value, uint32_t rank,
                             sc_xa_layout layout, uint32_t *id) {
    sc_xa_constant constant;
    bool is_one = true;
    for (uint32_t d = 0; d < value->spec.rank; d++)
        is_one = is_one && sc_dim_is(value->spec.sizes[d], 1);
    if (layout == SC_XA_PLAIN || value->spec.rank == rank) return sc_xa_want(m, value, layout, id);
    if (is_one && value->spec.rank < 2) return sc_xa_want(m, value, SC_XA_PLAIN, id);
    if (!sc_xa_constant_of(value, &constant))
        return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL,
                       "%s has fewer dimensions than the tensor that it is combined with",
                       value->name->text);
    return sc_xa_add_operand(m, &constant, rank, layout, id);
}

sc_status sc_xa_want_flat(sc_xa_maker *m, const sc_value *value, uint32_t *id) {
    const uint32_t last = sc_xa_slot_of(m, value)->ids[SC_XA_CHANNELS_LAST];
    if (sc_xa_slot_of(m, value)->ids[SC_XA_PLAIN] == SC_XNN_NONE && last != SC_XNN_NONE &&
        sc_xa_is_trivial(value)) {
        *id = last;
        return SC_OK;
    }
    return sc_xa_want(m, value, SC_XA_PLAIN, id);
}

sc_status sc_xa_want_dynamic(sc_xa_maker *m, const sc_value *value, sc_xa_reader reader,
                             uint32_t *id) {
    sc_xa_slot *slot = sc_xa_slot_of(m, value);
    const bool by_image = reader >= SC_XA_READER_PIXELS;
    uint32_t from;
    if (slot->dynamic[reader] == SC_XNN_NONE) {
        SC_TRY(sc_xa_want(m, value, by_image ? SC_XA_CHANNELS_LAST : SC_XA_PLAIN, &from));
        const sc_xnn_shape shape = m->graph->values.data[from].shape;
        const uint32_t made = sc_xnn_add_value(m->graph, SC_XNN_QDINT8, &shape);
        m->graph->values.data[made].quant =
            (sc_xnn_quant){.kind = SC_XNN_PER_TOKEN, .nonbatch_dims = by_image ? 3 : 1};
        sc_xa_add(m, SC_XNN_CONVERT, from, made);
        slot->dynamic[reader] = made;
    }
    *id = slot->dynamic[reader];
    return SC_OK;
}

// Records that the newest nodes were made for the present node.
static void note_makers(sc_xa_maker *m) {
    while (m->makers.count < m->graph->nodes.count)
        sc_vec_push(m->x.ctx->arena, &m->makers, m->node);
}

// --- Inputs and outputs --------------------------------------------------------------------------

static sc_status add_inputs(sc_xa_maker *m) {
    const sc_method *method = m->part->method;
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_value *value = method->graph->inputs.data[i];
        if (method->inputs.data[i].kind != SC_INPUT_USER) continue;
        if (value->type != SC_VALUE_TENSOR)
            return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL,
                           "input %s is not a tensor, and delegates of XNNPACK take tensors only",
                           value->name->text);
        const uint32_t id = sc_xa_define(m, value, sc_xa_outer_layout(m, value));
        m->graph->values.data[id].flags = SC_XNN_EXTERNAL_INPUT;
        m->graph->values.data[id].external_id = m->graph->external_count++;
    }
    return SC_OK;
}

// Adds an output. A value that is an input already, or an output already, is copied.
static sc_status add_output(sc_xa_maker *m, const sc_value *value) {
    uint32_t id;
    SC_TRY(sc_xa_want(m, value, sc_xa_outer_layout(m, value), &id));
    const sc_xnn_value *there = &m->graph->values.data[id];
    if (there->external_id != SC_XNN_NONE || there->constant) {
        const bool copies = m->x.runtime >= sc_xnn_kinds[SC_XNN_COPY].since;
        const sc_xnn_shape shape = there->shape;
        const uint32_t copy = sc_xa_between(m, id, &shape);
        sc_xnn_node *made = sc_xa_add(m, copies ? SC_XNN_COPY : SC_XNN_CLAMP, id, copy);
        made->has_range = !copies;
        made->low = -INFINITY;
        made->high = INFINITY;
        id = copy;
    }
    m->graph->values.data[id].flags = SC_XNN_EXTERNAL_OUTPUT;
    m->graph->values.data[id].external_id = m->graph->external_count++;
    return SC_OK;
}

static sc_status add_outputs(sc_xa_maker *m) {
    const sc_method *method = m->part->method;
    const sc_node *ret = method->graph->ret;
    for (uint32_t i = 0; i < ret->arg_count; i++) {
        if (ret->args[i].kind != SC_ARG_VALUE || ret->args[i].value->type != SC_VALUE_TENSOR ||
            method->outputs.data[i].kind != SC_OUTPUT_USER)
            return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL,
                           "output %u is not a tensor that is returned", i);
        m->node = ret->args[i].value->node;
        SC_TRY(add_output(m, ret->args[i].value));
        note_makers(m);
    }
    if (m->graph->external_count > SC_XNN_EXTERNALS_MAX)
        return sc_fail(m->x.ctx, SC_ERR_LIMIT, NULL,
                       "%u tensors go in and out, and delegates of XNNPACK have at most %u",
                       m->graph->external_count, SC_XNN_EXTERNALS_MAX);
    return SC_OK;
}

// --- Needed nodes --------------------------------------------------------------------------------

// Marks the values that lead to an output; all other nodes are dropped.
static void mark_needed(sc_xnn_graph *g, bool *needed) {
    for (uint32_t v = 0; v < g->values.count; v++)
        needed[v] = g->values.data[v].external_id != SC_XNN_NONE;
    for (uint32_t n = g->nodes.count; n-- > 0;) {
        sc_xnn_node *node = &g->nodes.data[n];
        if (!needed[node->outputs[0]]) {
            node->kind = SC_XNN_KIND_NONE;
            continue;
        }
        for (uint32_t i = 0; i < SC_XNN_INPUTS_MAX; i++)
            if (node->inputs[i] != SC_XNN_NONE) needed[node->inputs[i]] = true;
    }
}

// `places`: the new index of each value.
static void keep_values(sc_xnn_graph *g, const bool *needed, uint32_t *places) {
    uint32_t kept = 0;
    for (uint32_t v = 0; v < g->values.count; v++) {
        if (!needed[v]) continue;
        places[v] = kept;
        g->values.data[kept++] = g->values.data[v];
    }
    g->values.count = kept;
}

// The constants that values refer to, after entry 0, which means no constant.
static void keep_constants(sc_xnn_graph *g, uint32_t *places) {
    uint32_t kept = 1;
    for (uint32_t v = 0; v < g->values.count; v++)
        places[g->values.data[v].constant] = places[g->values.data[v].quant.scales] = 1;
    places[0] = 0;
    for (uint32_t c = 1; c < g->constants.count; c++) {
        if (!places[c]) continue;
        places[c] = kept;
        g->constants.data[kept++] = g->constants.data[c];
    }
    g->constants.count = kept;
    for (uint32_t v = 0; v < g->values.count; v++) {
        sc_xnn_value *value = &g->values.data[v];
        value->constant = places[value->constant];
        value->quant.scales = places[value->quant.scales];
    }
}

static void keep_nodes(sc_xa_maker *m, const uint32_t *values) {
    sc_xnn_graph *g = m->graph;
    uint32_t kept = 0;
    for (uint32_t n = 0; n < g->nodes.count; n++) {
        sc_xnn_node node = g->nodes.data[n];
        if (node.kind == SC_XNN_KIND_NONE) continue;
        for (uint32_t i = 0; i < SC_XNN_INPUTS_MAX; i++)
            if (node.inputs[i] != SC_XNN_NONE) node.inputs[i] = values[node.inputs[i]];
        node.outputs[0] = values[node.outputs[0]];
        m->makers.data[kept] = m->makers.data[n];
        g->nodes.data[kept++] = node;
    }
    g->nodes.count = m->makers.count = kept;
}

// Drops nodes, values and constants that lead to no output.
static void sweep(sc_xa_maker *m) {
    sc_xnn_graph *g = m->graph;
    sc_arena *scratch = m->x.ctx->scratch;
    sc_mark start = sc_arena_mark(scratch);
    bool *needed = sc_new_array(scratch, bool, g->values.count);
    uint32_t *values = sc_new_array(scratch, uint32_t, g->values.count);
    uint32_t *constants = sc_new_array(scratch, uint32_t, g->constants.count);
    mark_needed(g, needed);
    keep_values(g, needed, values);
    keep_constants(g, constants);
    keep_nodes(m, values);
    sc_arena_rewind(scratch, start);
}

// --- The part ------------------------------------------------------------------------------------

// Do only readers judge the node: a quantization, or a constant that is shown in another form?
static bool is_for_others(const sc_node *node) {
    sc_xa_constant constant;
    return sc_xa_is(node, &sc_xa_dequantize) || sc_xa_is(node, &sc_xa_quantize) ||
           sc_xa_is(node, &sc_xa_choose) ||
           (node->out_count == 1 && sc_xa_constant_of(node->outs[0], &constant));
}

static sc_status make_node(sc_xa_maker *m, const sc_node *node) {
    const sc_xa_row *row = sc_xa_row_of(node);
    if (sc_imap_find(&m->absorbed, SC_PTR_KEY(node))) return SC_OK;
    sc_where_set_node(m->x.ctx, node);
    if (!row || !(is_for_others(node) || sc_xa_judge(&m->x, node)))
        return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL, "XNNPACK cannot compute this node");
    m->node = node;
    m->weight = (sc_str){0};
    sc_mark mark = sc_arena_mark(m->x.ctx->scratch);
    const sc_status status = row->family->make(m, node);
    sc_arena_rewind(m->x.ctx->scratch, mark);
    note_makers(m);
    return status;
}

static sc_status make_part(sc_xa_maker *m) {
    SC_TRY(add_inputs(m));
    for (const sc_node *node = m->x.graph->first; node; node = node->next)
        SC_TRY(make_node(m, node));
    SC_TRY(add_outputs(m));
    sweep(m);
    sc_xa_add_events(m);
    return SC_OK;
}

static sc_status write_part(sc_xa_maker *m) {
    sc_ctx *ctx = m->x.ctx;
    sc_cord *payload = sc_new(ctx->arena, sc_cord);
    SC_TRY(sc_xnn_check(ctx, m->graph, m->x.runtime));
    sc_cord_init(payload, ctx->arena);
    SC_TRY(sc_xnn_write(ctx, m->graph, payload));
    m->part->processed = payload;
    for (uint32_t c = 1; c < m->graph->constants.count; c++) {
        const sc_xnn_constant *constant = &m->graph->constants.data[c];
        const sc_part_data data = {.key = constant->key,
                                   .bytes = constant->bytes,
                                   .align = SC_XNN_DATA_ALIGN,
                                   .weights = {constant->weights.data, constant->weights.count}};
        sc_vec_push(ctx->arena, &m->part->data, data);
    }
    return SC_OK;
}

sc_status sc_xa_preprocess(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                           sc_part *part) {
    (void)backend;
    sc_imap looked_at;
    if (part->specs.count)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Leave out the compile specs.",
                       "xnnpack takes no compile specs, but %s of method '" SC_STR_FMT
                       "' has '" SC_STR_FMT "'",
                       part->method->name->text, SC_STR_ARG(ctx->where.method),
                       SC_STR_ARG(part->specs.data[0].key));
    sc_xa_maker m = {
        .x = {.ctx = ctx, .graph = part->method->graph, .runtime = sc_xa_runtime(env->options)},
        .part = part,
        .graph = sc_xnn_graph_new(ctx->arena)};
    sc_imap_init(&m.slots, ctx->arena);
    sc_imap_init(&m.layouts, ctx->arena);
    sc_imap_init(&m.absorbed, ctx->arena);
    sc_imap_init(&m.weights, ctx->arena);
    sc_imap_init(&looked_at, ctx->arena);
    m.x.looked_at = &looked_at;
    sc_xa_choose_layouts(&m);
    const sc_where where = ctx->where;
    SC_TRY(make_part(&m));
    ctx->where = where;
    return write_part(&m);
}
