// Writes a graph as the payload that XNNPACK's runtime reads.
//
// The runtime relies on facts that the schema does not state. A vector of scales exists even if the
// scales are named data. A key, even an empty one, makes a constant named data, so bytes in the
// payload have no key. Ids of missing operands are all ones, not the default.
#include "backends/xnnpack/payload.h"

typedef struct writer {
    const sc_xnn_graph *graph;
    sc_fb_builder fb;
    sc_cord data;  // bytes of constants in the payload itself
} writer;

static sc_fb_ref write_numbers(writer *w, const uint32_t *items, uint32_t count) {
    return sc_fb_add_vector(&w->fb, items, count, 4, 4);
}

// --- Constants -----------------------------------------------------------------------------------

static sc_fb_ref write_constant(writer *w, const sc_xnn_constant *constant) {
    sc_fb_builder *fb = &w->fb;
    if (constant->key.data) {
        sc_fb_ref key = sc_fb_add_string(fb, constant->key);
        sc_fb_begin(fb);
        sc_xnn_ConstantDataOffset_set_offset(fb, UINT64_MAX);
        sc_xnn_ConstantDataOffset_set_named_key(fb, key);
    } else {
        sc_cord_align(&w->data, SC_XNN_PART_ALIGN);
        sc_fb_begin(fb);
        sc_xnn_ConstantDataOffset_set_offset(fb, w->data.size);
        if (constant->size) sc_cord_append_copy(&w->data, constant->data, constant->size);
    }
    sc_xnn_ConstantDataOffset_set_size(fb, constant->size);
    return sc_fb_end(fb);
}

static sc_fb_ref write_constants(writer *w, sc_fb_ref *refs) {
    for (uint32_t i = 0; i < w->graph->constants.count; i++)
        refs[i] = write_constant(w, &w->graph->constants.data[i]);
    return sc_fb_add_refs(&w->fb, refs, w->graph->constants.count);
}

// --- Values --------------------------------------------------------------------------------------

static sc_fb_ref write_tensor(writer *w, uint32_t id) {
    const sc_xnn_value *value = &w->graph->values.data[id];
    sc_fb_builder *fb = &w->fb;
    sc_fb_ref dims = write_numbers(w, value->shape.dims, value->shape.rank);
    sc_fb_begin(fb);
    sc_xnn_XNNTensorValue_set_datatype(fb, value->datatype);
    sc_xnn_XNNTensorValue_set_num_dims(fb, value->shape.rank);
    sc_xnn_XNNTensorValue_set_dims(fb, dims);
    sc_xnn_XNNTensorValue_set_constant_buffer_idx(fb, value->constant);
    sc_xnn_XNNTensorValue_set_external_id(fb, value->external_id);
    sc_xnn_XNNTensorValue_set_flags(fb, value->flags);
    sc_xnn_XNNTensorValue_set_id_out(fb, id);
    return sc_fb_end(fb);
}

static sc_fb_ref write_quant(writer *w, const sc_xnn_quant *quant) {
    sc_fb_builder *fb = &w->fb;
    sc_fb_ref scales = 0;
    if (quant->kind == SC_XNN_PER_CHANNEL || quant->kind == SC_XNN_PER_GROUP)
        scales = sc_fb_add_vector(fb, NULL, 0, 4, 4);
    sc_fb_begin(fb);
    switch (quant->kind) {
    case SC_XNN_PER_CHANNEL:
        sc_xnn_PerChannelQuant_set_scale(fb, scales);
        sc_xnn_PerChannelQuant_set_channel_dim(fb, (int32_t)quant->channel_dim);
        sc_xnn_PerChannelQuant_set_scale_buffer_idx(fb, quant->scales);
        sc_xnn_PerChannelQuant_set_num_scales(fb, quant->scale_count);
        break;
    case SC_XNN_PER_TENSOR:
        sc_xnn_PerTensorQuant_set_scale(fb, quant->scale);
        sc_xnn_PerTensorQuant_set_zero_point(fb, quant->zero_point);
        break;
    case SC_XNN_PER_TOKEN:
        sc_xnn_PerTokenDynamicQuant_set_num_nonbatch_dims(fb, (int32_t)quant->nonbatch_dims);
        break;
    default:
        sc_xnn_PerChannelGroupQuant_set_scale(fb, scales);
        sc_xnn_PerChannelGroupQuant_set_channel_dim(fb, (int32_t)quant->channel_dim);
        sc_xnn_PerChannelGroupQuant_set_group_size(fb, (int32_t)quant->group_size);
        sc_xnn_PerChannelGroupQuant_set_scale_buffer_idx(fb, quant->scales);
        sc_xnn_PerChannelGroupQuant_set_num_scales(fb, quant->scale_count);
        break;
    }
    return sc_fb_end(fb);
}

static sc_fb_ref write_value(writer *w, uint32_t id) {
    const sc_xnn_quant *quant = &w->graph->values.data[id].quant;
    sc_fb_builder *fb = &w->fb;
    sc_fb_ref tensor = write_tensor(w, id);
    uint8_t type = SC_XNN_XValueUnion_XNNTensorValue;
    if (quant->kind) {
        sc_fb_ref params = write_quant(w, quant);
        sc_fb_begin(fb);
        sc_xnn_XNNQuantizedTensorValue_set_tensor_value(fb, tensor);
        sc_xnn_XNNQuantizedTensorValue_set_quant_params(fb, quant->kind, params);
        tensor = sc_fb_end(fb);
        type = SC_XNN_XValueUnion_XNNQuantizedTensorValue;
    }
    sc_fb_begin(fb);
    sc_xnn_XValue_set_xvalue_union(fb, type, tensor);
    return sc_fb_end(fb);
}

static sc_fb_ref write_values(writer *w, sc_fb_ref *refs) {
    for (uint32_t i = 0; i < w->graph->values.count; i++) refs[i] = write_value(w, i);
    return sc_fb_add_refs(&w->fb, refs, w->graph->values.count);
}

// Ids of the values with this flag; the runtime itself uses the flags.
static sc_fb_ref write_externals(writer *w, uint32_t flag, uint32_t *ids) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->graph->values.count; i++)
        if (w->graph->values.data[i].flags & flag) ids[count++] = i;
    return write_numbers(w, ids, count);
}

// --- Nodes ---------------------------------------------------------------------------------------

static uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Writes field by field, as nodes.def lists them.
static sc_fb_ref write_payload(writer *w, const sc_xnn_node *node) {
    const uint8_t *fields = sc_xnn_kinds[node->kind].fields;
    uint32_t in = 0, out = 0, number = 0, list = 0, counted = 0;
    sc_fb_ref lists[2] = {0, 0};
    for (const uint8_t *f = fields; *f; f++) {
        if (*f != SC_XNN_FIELD_LIST) continue;
        lists[list] = write_numbers(w, node->lists[list].items, node->lists[list].count);
        list++;
    }
    list = 0;
    sc_fb_begin(&w->fb);
    for (uint32_t slot = 0; fields[slot]; slot++) {
        uint32_t bits = 0;
        switch (fields[slot]) {
        case SC_XNN_FIELD_INPUT: bits = node->inputs[in++]; break;
        case SC_XNN_FIELD_OUTPUT: bits = node->outputs[out++]; break;
        case SC_XNN_FIELD_FLAGS: bits = node->flags; break;
        case SC_XNN_FIELD_NUMBER: bits = node->numbers[number++]; break;
        case SC_XNN_FIELD_VALUE: bits = float_bits(node->value); break;
        case SC_XNN_FIELD_COUNT: bits = node->lists[counted++].count; break;
        default: sc_fb_set_ref(&w->fb, slot, lists[list++]); break;
        }
        if (bits) sc_fb_set_scalar(&w->fb, slot, bits, 4);
    }
    return sc_fb_end(&w->fb);
}

static sc_fb_ref write_node(writer *w, const sc_xnn_node *node) {
    sc_fb_builder *fb = &w->fb;
    sc_fb_ref payload = write_payload(w, node), range = 0;
    if (node->has_range) {
        sc_fb_begin(fb);
        sc_xnn_OutputMinMax_set_output_min(fb, node->low);
        sc_xnn_OutputMinMax_set_output_max(fb, node->high);
        range = sc_fb_end_shared(fb);
    }
    sc_fb_begin(fb);
    sc_xnn_XNode_set_xnode_union(fb, node->kind, payload);
    sc_xnn_XNode_set_debug_handle(fb, node->debug_handle);
    sc_xnn_XNode_set_output_min_max(fb, range);
    return sc_fb_end(fb);
}

static sc_fb_ref write_nodes(writer *w, sc_fb_ref *refs) {
    for (uint32_t i = 0; i < w->graph->nodes.count; i++)
        refs[i] = write_node(w, &w->graph->nodes.data[i]);
    return sc_fb_add_refs(&w->fb, refs, w->graph->nodes.count);
}

// --- The whole -----------------------------------------------------------------------------------

static sc_fb_ref write_graph(writer *w, sc_arena *arena) {
    const sc_xnn_graph *g = w->graph;
    uint32_t most = sc_max_u32(sc_max_u32(g->values.count, g->nodes.count), g->constants.count);
    sc_fb_ref *refs = sc_new_array(arena, sc_fb_ref, (size_t)most + 1);
    sc_fb_builder *fb = &w->fb;
    sc_fb_ref version = sc_fb_add_string(fb, SC_STR("0"));
    sc_fb_ref constants = write_constants(w, refs);
    sc_fb_ref inputs = write_externals(w, SC_XNN_EXTERNAL_INPUT, refs);
    sc_fb_ref outputs = write_externals(w, SC_XNN_EXTERNAL_OUTPUT, refs);
    sc_fb_ref values = write_values(w, refs);
    sc_fb_ref nodes = write_nodes(w, refs);
    sc_fb_begin(fb);
    sc_xnn_XNNGraph_set_version(fb, version);
    sc_xnn_XNNGraph_set_xnodes(fb, nodes);
    sc_xnn_XNNGraph_set_xvalues(fb, values);
    sc_xnn_XNNGraph_set_num_externs(fb, g->external_count);
    sc_xnn_XNNGraph_set_input_ids(fb, inputs);
    sc_xnn_XNNGraph_set_output_ids(fb, outputs);
    sc_xnn_XNNGraph_set_constant_data(fb, constants);
    return sc_fb_end(fb);
}

static void write_header(uint8_t *head, uint32_t graph_bytes, uint64_t data_bytes) {
    memset(head, 0, SC_XNN_HEADER_PADDED);
    memcpy(head + SC_XNN_MAGIC_AT, SC_XNN_MAGIC, 4);
    head[SC_XNN_LENGTH_AT] = SC_XNN_HEADER_BYTES;
    sc_fb_store_u32(head + SC_XNN_GRAPH_AT, SC_XNN_HEADER_PADDED);
    sc_fb_store_u32(head + SC_XNN_GRAPH_SIZE_AT, graph_bytes);
    uint64_t data = SC_XNN_HEADER_PADDED + sc_align_up(graph_bytes, SC_XNN_PART_ALIGN);
    sc_fb_store_u32(head + SC_XNN_DATA_AT, (uint32_t)data);
    sc_fb_store_u64(head + SC_XNN_DATA_SIZE_AT, data_bytes);
}

sc_status sc_xnn_write(sc_ctx *ctx, const sc_xnn_graph *graph, sc_cord *out) {
    const uint8_t *data = NULL;
    size_t size = 0;
    writer w = {.graph = graph};
    sc_fb_builder_init(&w.fb, ctx->arena);
    sc_cord_init(&w.data, ctx->arena);
    sc_fb_ref root = write_graph(&w, ctx->arena);
    SC_TRY(sc_fb_finish(ctx, &w.fb, root, SC_XNN_IDENTIFIER, &data, &size));
    // The runtime's own first check is made here, so that it cannot fail there.
    SC_TRY(sc_fb_verify(ctx, &sc_xnn_schema, data, size));
    SC_ASSERT(w.fb.align_max <= SC_XNN_PART_ALIGN);
    uint8_t head[SC_XNN_HEADER_PADDED];
    write_header(head, (uint32_t)size, w.data.size);
    sc_cord_append_copy(out, head, sizeof head);
    sc_cord_append_copy(out, data, size);
    sc_cord_align(out, SC_XNN_PART_ALIGN);
    sc_cord_append_cord(out, &w.data);
    return SC_OK;
}
