// Adds values and nodes of an XNNPACK graph for our values and nodes.
#include "backends/xnnpack/aot/rule.h"

// --- Shapes --------------------------------------------------------------------------------------

static bool has_layouts(uint32_t rank) { return rank >= 2 && rank <= 4; }

uint32_t sc_xa_place(uint32_t rank, sc_xa_layout layout, uint32_t dim) {
    if (layout == SC_XA_PLAIN || !has_layouts(rank) || dim == 0) return dim;
    if (dim == 1) return 3;
    return rank == 3 ? 2 : dim - 1;
}

void sc_xa_shape(const sc_value *value, sc_xa_layout layout, sc_xnn_shape *out) {
    const uint32_t rank = value->spec.rank;
    const bool is_last = layout == SC_XA_CHANNELS_LAST && has_layouts(rank);
    *out = (sc_xnn_shape){.rank = is_last ? 4 : sc_max_u32(rank, 1), .dims = {1, 1, 1, 1, 1, 1}};
    for (uint32_t d = 0; d < rank; d++)
        out->dims[sc_xa_place(rank, layout, d)] = sc_xa_size(value, d);
}

void sc_xa_dynamic_of(const sc_value *value, sc_xa_layout layout, bool *out) {
    memset(out, 0, SC_XNN_RANK_MAX * sizeof *out);
    for (uint32_t d = 0; d < value->spec.rank; d++)
        out[sc_xa_place(value->spec.rank, layout, d)] = !sc_dim_is_int(value->spec.sizes[d]);
}

// --- Values --------------------------------------------------------------------------------------

sc_xa_slot *sc_xa_slot_of(sc_xa_maker *m, const sc_value *value) {
    uint64_t *found = sc_imap_find(&m->slots, SC_PTR_KEY(value));
    if (found) return (sc_xa_slot *)(uintptr_t)*found;
    sc_xa_slot *slot = sc_new(m->x.ctx->arena, sc_xa_slot);
    for (uint32_t i = 0; i < SC_XA_LAYOUTS; i++) slot->ids[i] = SC_XNN_NONE;
    for (uint32_t i = 0; i < SC_XA_READERS; i++) slot->dynamic[i] = SC_XNN_NONE;
    sc_imap_set(&m->slots, SC_PTR_KEY(value), SC_PTR_KEY(slot));
    return slot;
}

sc_xa_layout sc_xa_usable(const sc_value *value, sc_xa_layout layout) {
    return has_layouts(value->spec.rank) ? layout : SC_XA_PLAIN;
}

bool sc_xa_is_there(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout) {
    return sc_xa_slot_of(m, value)->ids[layout] != SC_XNN_NONE;
}

static bool params_of_integers(const sc_value *value, sc_xa_params *out) {
    if (sc_xa_is(value->node, &sc_xa_quantize)) return sc_xa_params_of(value->node, out);
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user->op && sc_xa_is(use->user, &sc_xa_dequantize))
            return sc_xa_params_of(use->user, out);
    return false;
}

void sc_xa_set_integers(sc_xa_maker *m, const sc_value *value, uint32_t id) {
    sc_xa_params params;
    if (params_of_integers(value, &params))
        m->graph->values.data[id].quant = (sc_xnn_quant){
            .kind = SC_XNN_PER_TENSOR, .scale = params.scale, .zero_point = params.zero_point};
}

uint32_t sc_xa_define(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout) {
    sc_xnn_shape shape;
    layout = sc_xa_usable(value, layout);
    sc_xa_shape(value, layout, &shape);
    const bool is_integer = value->spec.dtype == SC_DTYPE_I8;
    const uint32_t id = sc_xnn_add_value(
        m->graph, is_integer ? SC_XNN_QINT8 : sc_xnn_datatype_of(value->spec.dtype), &shape);
    if (is_integer) sc_xa_set_integers(m, value, id);
    sc_xa_slot_of(m, value)->ids[layout] = id;
    return id;
}

uint32_t sc_xa_between(sc_xa_maker *m, uint32_t like, const sc_xnn_shape *shape) {
    const sc_xnn_value from = m->graph->values.data[like];
    const uint32_t id = sc_xnn_add_value(m->graph, (sc_xnn_datatype)from.datatype, shape);
    m->graph->values.data[id].quant = from.quant;
    return id;
}

sc_status sc_xa_stand_for(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout, uint32_t id) {
    sc_xa_slot_of(m, value)->ids[sc_xa_usable(value, layout)] = id;
    return SC_OK;
}

void sc_xa_alias(sc_xa_maker *m, const sc_value *value, const sc_value *other) {
    *sc_xa_slot_of(m, value) = *sc_xa_slot_of(m, other);
}

// --- Nodes ---------------------------------------------------------------------------------------

sc_xa_layout sc_xa_layout_of(const sc_xa_maker *m, const sc_node *node) {
    const sc_xa_family *family = sc_xa_row_of(node)->family;
    if (!family->follows) return (sc_xa_layout)family->layout;
    const uint64_t *found = sc_imap_find(&m->layouts, SC_PTR_KEY(node));
    return found ? (sc_xa_layout)*found : SC_XA_PLAIN;
}

void sc_xa_absorb(sc_xa_maker *m, const sc_node *node) {
    sc_imap_set(&m->absorbed, SC_PTR_KEY(node), SC_PTR_KEY(m->node));
}

void sc_xa_absorb_tail(sc_xa_maker *m, const sc_xa_tail *tail) {
    if (tail->activation) sc_xa_absorb(m, tail->activation);
    if (tail->quantize) sc_xa_absorb(m, tail->quantize);
}

sc_xnn_node *sc_xa_add(sc_xa_maker *m, sc_xnn_kind kind, uint32_t input, uint32_t output) {
    sc_xnn_node *node = sc_xnn_add_node(m->graph, kind);
    node->inputs[0] = input;
    node->outputs[0] = output;
    node->debug_handle = m->node ? m->node->meta.debug_handle : 0;
    return node;
}

void sc_xa_set_range(sc_xnn_node *node, const sc_xa_tail *tail) {
    if (!tail->activation) return;
    node->has_range = true;
    node->low = tail->low;
    node->high = tail->high;
}

sc_xnn_list sc_xa_list(sc_xa_maker *m, const uint32_t *items, uint32_t count) {
    uint32_t *copy = sc_new_array(m->graph->arena, uint32_t, count);
    memcpy(copy, items, count * sizeof *copy);
    return (sc_xnn_list){copy, count};
}

sc_status sc_xa_add_reshape(sc_xa_maker *m, uint32_t input, uint32_t output, const bool *dynamic) {
    const sc_xnn_shape shape = m->graph->values.data[output].shape;
    uint32_t sizes[SC_XNN_RANK_MAX], unknown = 0;
    for (uint32_t d = 0; d < shape.rank; d++) {
        sizes[d] = dynamic[d] ? 0 : shape.dims[d];
        unknown += dynamic[d];
    }
    if (unknown > 1)
        return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL,
                       "XNNPACK would have to derive %u dynamic sizes of one tensor", unknown);
    sc_xnn_node *made = sc_xa_add(m, SC_XNN_RESHAPE, input, output);
    made->lists[0] = sc_xa_list(m, sizes, shape.rank);
    return SC_OK;
}

// --- Layouts -------------------------------------------------------------------------------------

bool sc_xa_is_trivial(const sc_value *value) {
    const sc_spec *spec = &value->spec;
    if (!has_layouts(spec->rank) || spec->rank == 2) return true;
    bool one_pixel = true;
    for (uint32_t d = 2; d < spec->rank; d++) one_pixel = one_pixel && sc_dim_is(spec->sizes[d], 1);
    return one_pixel || sc_dim_is(spec->sizes[1], 1);
}

sc_xa_layout sc_xa_outer_layout(const sc_xa_maker *m, const sc_value *value) {
    sc_exprs *exprs = m->x.graph->method->exprs;
    const bool is_last = sc_spec_is_channels_last(exprs, &value->spec) &&
                         !sc_spec_is_contiguous(exprs, &value->spec);
    return is_last ? SC_XA_CHANNELS_LAST : SC_XA_PLAIN;
}
