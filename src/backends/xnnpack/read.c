// Reads any bytes to a graph. Everything that an index, a list or a size could break is checked.
#include "backends/xnnpack/payload.h"
#include "base/map.h"

enum { ITEMS_MAX = 1 << 20 };  // values, nodes or constants

typedef struct reader {
    sc_ctx *ctx;
    sc_xnn_graph *graph;
    const uint8_t *flatbuffer;
    size_t flatbuffer_bytes;
    const uint8_t *data;  // constants in the payload
    uint64_t data_bytes;
    sc_imap ids;    // of values in the file -> index
    uint8_t *made;  // per value: an earlier node, an argument or a constant makes it
} reader;

#define damaged(r, ...)                                                                      \
    sc_fail((r)->ctx, SC_ERR_CORRUPT, "Lower the model again: its XNNPACK part is damaged.", \
            "an XNNPACK payload is damaged: " __VA_ARGS__)

static sc_status too_many(reader *r, const char *what, uint64_t count) {
    return sc_fail(r->ctx, SC_ERR_LIMIT, NULL,
                   "an XNNPACK payload has %llu %s; the most that are read is %d",
                   (unsigned long long)count, what, (int)ITEMS_MAX);
}

// --- Header --------------------------------------------------------------------------------------

static sc_status find_parts(reader *r, const uint8_t *data, uint64_t size) {
    if (size < SC_XNN_HEADER_BYTES)
        return damaged(r, "it has %llu bytes, its header alone has %d", (unsigned long long)size,
                       (int)SC_XNN_HEADER_BYTES);
    r->flatbuffer = r->data = data;
    if (memcmp(data + SC_XNN_MAGIC_AT, SC_XNN_MAGIC, 4) != 0) {
        // Files older than the header consist of the FlatBuffer only.
        if (!sc_size_from_u64(size, &r->flatbuffer_bytes))
            return damaged(r, "it is larger than memory");
        return SC_OK;
    }
    uint64_t at = sc_fb_load_u32(data + SC_XNN_GRAPH_AT);
    uint64_t bytes = sc_fb_load_u32(data + SC_XNN_GRAPH_SIZE_AT);
    uint64_t data_at = sc_fb_load_u32(data + SC_XNN_DATA_AT);
    uint64_t data_bytes = sc_fb_load_u64(data + SC_XNN_DATA_SIZE_AT);
    if (at > size || bytes > size - at)
        return damaged(r, "its graph leaves the %llu bytes", (unsigned long long)size);
    if (data_at > size || data_bytes > size - data_at)
        return damaged(r, "its constants leave the %llu bytes", (unsigned long long)size);
    if (data_at < at + bytes) return damaged(r, "its constants overlap its graph");
    r->flatbuffer = data + at;
    r->flatbuffer_bytes = (size_t)bytes;
    r->data = data + data_at;
    r->data_bytes = data_bytes;
    return SC_OK;
}

// The runtime accepts its own identifier and the compiler's.
static sc_status verify(reader *r) {
    sc_fb_schema schema = sc_xnn_schema;
    if (r->flatbuffer_bytes >= 8 && memcmp(r->flatbuffer + 4, "XN00", 4) == 0)
        schema.identifier = "XN00";
    return sc_fb_verify(r->ctx, &schema, r->flatbuffer, r->flatbuffer_bytes);
}

// --- Constants -----------------------------------------------------------------------------------

static sc_status read_constant(reader *r, sc_fb_table table, uint32_t index, sc_xnn_constant *out) {
    uint64_t offset = sc_xnn_ConstantDataOffset_offset(table);
    out->size = sc_xnn_ConstantDataOffset_size(table);
    out->key = sc_xnn_ConstantDataOffset_named_key(table);
    if (index == 0 || out->key.data) return SC_OK;
    if (offset > r->data_bytes || out->size > r->data_bytes - offset)
        return damaged(r, "constant %u leaves the payload's constants", index);
    out->data = r->data + offset;
    return SC_OK;
}

static sc_status read_constants(reader *r, sc_fb_table root) {
    sc_xnn_graph *g = r->graph;
    sc_fb_vec entries = sc_xnn_XNNGraph_constant_data(root);
    sc_fb_vec buffers = sc_xnn_XNNGraph_constant_buffer(root);
    uint32_t count = entries.items ? entries.count : buffers.count;
    if (count > ITEMS_MAX) return too_many(r, "constants", count);
    sc_vec_reserve(g->arena, &g->constants, count);
    for (uint32_t i = 0; i < count; i++) {
        sc_xnn_constant constant = {.size = 0};
        if (entries.items) {
            SC_TRY(read_constant(r, sc_fb_vec_table(entries, i), i, &constant));
        } else {
            sc_fb_vec bytes = sc_xnn_Buffer_storage(sc_fb_vec_table(buffers, i));
            constant.data = bytes.items;
            constant.size = bytes.count;
        }
        if (i == 0) constant = (sc_xnn_constant){.size = 0};
        g->constants.data[i] = constant;
        if (i >= g->constants.count) g->constants.count = i + 1;
    }
    return SC_OK;
}

// Does the constant have as many bytes as are needed?
static sc_status need_constant(reader *r, uint32_t value, uint32_t index, uint64_t bytes,
                               const char *what) {
    if (index >= r->graph->constants.count)
        return damaged(r, "value %u has its %s in constant %u of %u", value, what, index,
                       r->graph->constants.count);
    uint64_t size = r->graph->constants.data[index].size;
    if (size < bytes)
        return damaged(r, "the %s of value %u need %llu bytes, constant %u has %llu", what, value,
                       (unsigned long long)bytes, index, (unsigned long long)size);
    return SC_OK;
}

// --- Values --------------------------------------------------------------------------------------

static sc_status read_shape(reader *r, sc_fb_table table, uint32_t id, sc_xnn_shape *shape) {
    sc_fb_vec dims = sc_xnn_XNNTensorValue_dims(table);
    uint32_t rank = sc_xnn_XNNTensorValue_num_dims(table);
    if (rank > SC_XNN_RANK_MAX)
        return damaged(r, "value %u has %u dimensions; the most is %d", id, rank,
                       (int)SC_XNN_RANK_MAX);
    if (rank != dims.count)
        return damaged(r, "value %u declares %u dimensions and lists %u", id, rank, dims.count);
    shape->rank = rank;
    for (uint32_t d = 0; d < rank; d++) shape->dims[d] = sc_fb_vec_u32(dims, d);
    if (rank == 0) *shape = (sc_xnn_shape){1, {1}};
    return SC_OK;
}

static sc_status read_scales(reader *r, sc_xnn_value *value, uint32_t id, sc_fb_vec scales,
                             uint32_t count, uint32_t item_bytes) {
    sc_xnn_quant *quant = &value->quant;
    if (quant->channel_dim >= value->shape.rank)
        return damaged(r, "value %u is quantized along dimension %u of %u", id, quant->channel_dim,
                       value->shape.rank);
    quant->scale_count = count;
    if (quant->scales)
        return need_constant(r, id, quant->scales, (uint64_t)count * item_bytes, "scales");
    if (quant->kind == SC_XNN_PER_GROUP)
        return sc_fail(r->ctx, SC_ERR_DELEGATE, NULL,
                       "value %u of an XNNPACK payload has the scales of its groups in the graph, "
                       "as files of early releases do; only named data is read",
                       id);
    float *copy = sc_new_array(r->graph->arena, float, (size_t)scales.count + 1);
    if (scales.count) memcpy(copy, scales.items, (size_t)scales.count * sizeof *copy);
    quant->inline_scales = copy;
    quant->scale_count = scales.count;
    return SC_OK;
}

// Are there as many scales as channels, or as groups?
static sc_status match_scales(reader *r, const sc_xnn_value *value, uint32_t id) {
    const sc_xnn_quant *quant = &value->quant;
    uint64_t wanted = value->shape.dims[quant->channel_dim];
    if (quant->kind == SC_XNN_PER_GROUP) {
        if (value->shape.rank != 2 || quant->channel_dim != 0)
            return damaged(r, "value %u is quantized in groups and not a matrix of rows", id);
        uint64_t row = value->shape.dims[1];
        if (quant->group_size == 0 || row % quant->group_size != 0)
            return damaged(r, "value %u has rows of %llu elements in groups of %u", id,
                           (unsigned long long)row, quant->group_size);
        wanted *= row / quant->group_size;
    }
    if (quant->scale_count != wanted)
        return damaged(r, "value %u has %u scales, but its sizes need %llu", id, quant->scale_count,
                       (unsigned long long)wanted);
    return SC_OK;
}

static sc_status read_quant(reader *r, sc_fb_table table, uint32_t id, sc_xnn_value *value) {
    sc_fb_table params = sc_xnn_XNNQuantizedTensorValue_quant_params(table);
    sc_xnn_quant *quant = &value->quant;
    quant->kind = sc_xnn_XNNQuantizedTensorValue_quant_params_type(table);
    if (!params.at) return damaged(r, "value %u is quantized without saying how", id);
    switch (quant->kind) {
    case SC_XNN_PER_CHANNEL:
        quant->channel_dim = (uint32_t)sc_xnn_PerChannelQuant_channel_dim(params);
        quant->scales = sc_xnn_PerChannelQuant_scale_buffer_idx(params);
        SC_TRY(read_scales(r, value, id, sc_xnn_PerChannelQuant_scale(params),
                           sc_xnn_PerChannelQuant_num_scales(params), 4));
        return match_scales(r, value, id);
    case SC_XNN_PER_TENSOR:
        quant->scale = sc_xnn_PerTensorQuant_scale(params);
        quant->zero_point = sc_xnn_PerTensorQuant_zero_point(params);
        return SC_OK;
    case SC_XNN_PER_TOKEN:
        quant->nonbatch_dims = (uint32_t)sc_xnn_PerTokenDynamicQuant_num_nonbatch_dims(params);
        return SC_OK;
    default:
        quant->channel_dim = (uint32_t)sc_xnn_PerChannelGroupQuant_channel_dim(params);
        quant->group_size = (uint32_t)sc_xnn_PerChannelGroupQuant_group_size(params);
        quant->scales = sc_xnn_PerChannelGroupQuant_scale_buffer_idx(params);
        SC_TRY(read_scales(r, value, id, sc_xnn_PerChannelGroupQuant_scale(params),
                           sc_xnn_PerChannelGroupQuant_num_scales(params), 2));
        return match_scales(r, value, id);
    }
}

static sc_status read_external(reader *r, uint32_t id, const sc_xnn_value *value,
                               sc_imap *arguments) {
    if (value->flags & ~(uint32_t)(SC_XNN_EXTERNAL_INPUT | SC_XNN_EXTERNAL_OUTPUT))
        return damaged(r, "value %u has unknown flags 0x%x", id, value->flags);
    if (!value->flags) return SC_OK;
    if (value->flags == (SC_XNN_EXTERNAL_INPUT | SC_XNN_EXTERNAL_OUTPUT))
        return damaged(r, "value %u is an input and an output", id);
    if (value->constant) return damaged(r, "value %u is a constant and an argument", id);
    if (value->external_id >= r->graph->external_count)
        return damaged(r, "value %u is argument %u of %u", id, value->external_id,
                       r->graph->external_count);
    if (!sc_imap_add(arguments, value->external_id, id))
        return damaged(r, "two values are argument %u", value->external_id);
    return SC_OK;
}

static sc_status read_tensor(reader *r, sc_fb_table table, uint32_t id, sc_xnn_value *value) {
    int16_t datatype = sc_xnn_XNNTensorValue_datatype(table);
    uint64_t bytes;
    if (datatype <= 0 || datatype >= SC_XNN_DATATYPE_COUNT)
        return sc_fail(r->ctx, SC_ERR_DELEGATE, NULL,
                       "value %u of an XNNPACK payload has the unknown datatype %d", id, datatype);
    *value = (sc_xnn_value){.datatype = (uint8_t)datatype,
                            .flags = sc_xnn_XNNTensorValue_flags(table),
                            .constant = sc_xnn_XNNTensorValue_constant_buffer_idx(table),
                            .external_id = sc_xnn_XNNTensorValue_external_id(table)};
    SC_TRY(read_shape(r, table, id, &value->shape));
    if (!sc_xnn_bytes(value->datatype, &value->shape, &bytes))
        return damaged(r, "the sizes of value %u are too large", id);
    return value->constant ? need_constant(r, id, value->constant, bytes, "elements") : SC_OK;
}

static sc_status read_value(reader *r, sc_fb_table table, uint32_t id, sc_imap *arguments) {
    sc_fb_table content = sc_xnn_XValue_xvalue_union(table), tensor = content;
    bool is_quantized =
        sc_xnn_XValue_xvalue_union_type(table) == SC_XNN_XValueUnion_XNNQuantizedTensorValue;
    if (content.at && is_quantized) tensor = sc_xnn_XNNQuantizedTensorValue_tensor_value(content);
    if (!tensor.at) return damaged(r, "value %u is empty", id);
    sc_xnn_value value;
    SC_TRY(read_tensor(r, tensor, id, &value));
    if (is_quantized) SC_TRY(read_quant(r, content, id, &value));
    SC_TRY(read_external(r, id, &value, arguments));
    if (!sc_imap_add(&r->ids, sc_xnn_XNNTensorValue_id_out(tensor), id))
        return damaged(r, "two values have the id %u", sc_xnn_XNNTensorValue_id_out(tensor));
    r->made[id] = value.constant || (value.flags & SC_XNN_EXTERNAL_INPUT);
    sc_vec_push(r->graph->arena, &r->graph->values, value);
    return SC_OK;
}

static sc_status read_values(reader *r, sc_fb_table root) {
    sc_fb_vec values = sc_xnn_XNNGraph_xvalues(root);
    sc_imap arguments;
    if (values.count > ITEMS_MAX) return too_many(r, "values", values.count);
    sc_imap_init(&arguments, r->ctx->scratch);
    r->made = sc_new_array(r->ctx->scratch, uint8_t, (size_t)values.count + 1);
    sc_vec_reserve(r->graph->arena, &r->graph->values, values.count);
    for (uint32_t i = 0; i < values.count; i++)
        SC_TRY(read_value(r, sc_fb_vec_table(values, i), i, &arguments));
    return SC_OK;
}

// --- Nodes ---------------------------------------------------------------------------------------

static sc_status read_list(reader *r, sc_fb_table table, uint32_t slot, uint32_t node,
                           sc_xnn_list *out) {
    sc_fb_vec vec = sc_fb_get_vec(table, slot);
    if (!vec.items) return damaged(r, "node %u lacks a list of sizes", node);
    if (vec.count > SC_XNN_LIST_MAX)
        return damaged(r, "node %u has a list of %u sizes", node, vec.count);
    uint32_t *items = sc_new_array(r->graph->arena, uint32_t, (size_t)vec.count + 1);
    if (vec.count) memcpy(items, vec.items, vec.count * sizeof *items);
    *out = (sc_xnn_list){items, vec.count};
    return SC_OK;
}

// The value with this id of the file.
static sc_status find_value(reader *r, uint32_t node, uint32_t id, uint32_t *out) {
    uint64_t *found = sc_imap_find(&r->ids, id);
    if (!found) return damaged(r, "node %u names value %u, which does not exist", node, id);
    *out = (uint32_t)*found;
    return SC_OK;
}

static sc_status read_input(reader *r, uint32_t node, uint32_t id, bool is_required,
                            uint32_t *out) {
    if (id == SC_XNN_NONE && !is_required) return SC_OK;
    SC_TRY(find_value(r, node, id, out));
    if (!r->made[*out])
        return damaged(r, "node %u reads value %u before anything makes it", node, *out);
    return SC_OK;
}

static sc_status read_output(reader *r, uint32_t node, uint32_t id, uint32_t *out) {
    SC_TRY(find_value(r, node, id, out));
    if (r->made[*out])
        return damaged(r, "node %u makes value %u, which is made already", node, *out);
    return SC_OK;
}

// Reads field by field, as nodes.def lists them.
static sc_status read_payload(reader *r, sc_fb_table table, uint32_t index, sc_xnn_node *node) {
    const sc_xnn_kind_row *row = &sc_xnn_kinds[node->kind];
    uint32_t in = 0, out = 0, number = 0, list = 0;
    for (uint32_t slot = 0; row->fields[slot]; slot++) {
        switch (row->fields[slot]) {
        case SC_XNN_FIELD_INPUT:
            if (in < row->inputs)
                SC_TRY(read_input(r, index, sc_fb_get_u32(table, slot, 0), in < row->required,
                                  &node->inputs[in]));
            in++;
            break;
        case SC_XNN_FIELD_OUTPUT:
            SC_TRY(read_output(r, index, sc_fb_get_u32(table, slot, 0), &node->outputs[out]));
            out++;
            break;
        case SC_XNN_FIELD_FLAGS: node->flags = sc_fb_get_u32(table, slot, 0); break;
        case SC_XNN_FIELD_NUMBER: node->numbers[number++] = sc_fb_get_u32(table, slot, 0); break;
        case SC_XNN_FIELD_VALUE: node->value = sc_fb_get_f32(table, slot, 0); break;
        case SC_XNN_FIELD_LIST:
            SC_TRY(read_list(r, table, slot, index, &node->lists[list++]));
            break;
        default: break;  // COUNT: the list has its own count
        }
    }
    for (uint32_t i = 0; i < row->outputs; i++) {
        if (r->made[node->outputs[i]])
            return damaged(r, "node %u makes value %u twice", index, node->outputs[i]);
        r->made[node->outputs[i]] = true;
    }
    return SC_OK;
}

static sc_status read_node(reader *r, sc_fb_table table, uint32_t index) {
    sc_fb_table payload = sc_xnn_XNode_xnode_union(table);
    sc_fb_table range = sc_xnn_XNode_output_min_max(table);
    if (!payload.at) return damaged(r, "node %u is empty", index);
    sc_xnn_node *node =
        sc_xnn_add_node(r->graph, (sc_xnn_kind)sc_xnn_XNode_xnode_union_type(table));
    node->debug_handle = sc_xnn_XNode_debug_handle(table);
    if (range.at) {
        node->has_range = true;
        node->low = sc_xnn_OutputMinMax_output_min(range);
        node->high = sc_xnn_OutputMinMax_output_max(range);
    }
    return read_payload(r, payload, index, node);
}

static sc_status read_nodes(reader *r, sc_fb_table root) {
    sc_fb_vec nodes = sc_xnn_XNNGraph_xnodes(root);
    if (nodes.count > ITEMS_MAX) return too_many(r, "nodes", nodes.count);
    sc_vec_reserve(r->graph->arena, &r->graph->nodes, nodes.count);
    for (uint32_t i = 0; i < nodes.count; i++) SC_TRY(read_node(r, sc_fb_vec_table(nodes, i), i));
    for (uint32_t i = 0; i < r->graph->values.count; i++)
        if ((r->graph->values.data[i].flags & SC_XNN_EXTERNAL_OUTPUT) && !r->made[i])
            return damaged(r, "no node makes value %u, which is an output", i);
    return SC_OK;
}

// --- The whole -----------------------------------------------------------------------------------

static sc_status read_graph(reader *r, const uint8_t *data, uint64_t size) {
    SC_TRY(find_parts(r, data, size));
    SC_TRY(verify(r));
    sc_fb_table root = sc_fb_root(r->flatbuffer);
    r->graph->external_count = sc_xnn_XNNGraph_num_externs(root);
    if (r->graph->external_count > SC_XNN_EXTERNALS_MAX)
        return sc_fail(r->ctx, SC_ERR_LIMIT, NULL,
                       "an XNNPACK payload has %u arguments; the most is %d",
                       r->graph->external_count, (int)SC_XNN_EXTERNALS_MAX);
    if (!sc_xnn_XNNGraph_xvalues(root).items || !sc_xnn_XNNGraph_xnodes(root).items)
        return damaged(r, "it has no values or no nodes");
    SC_TRY(read_constants(r, root));
    SC_TRY(read_values(r, root));
    return read_nodes(r, root);
}

sc_status sc_xnn_read(sc_ctx *ctx, sc_arena *arena, const uint8_t *data, uint64_t size,
                      sc_xnn_graph **out) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    reader r = {.ctx = ctx, .graph = sc_xnn_graph_new(arena)};
    sc_imap_init(&r.ids, ctx->scratch);
    sc_status status = read_graph(&r, data, size);
    sc_arena_rewind(ctx->scratch, mark);
    *out = r.graph;
    return status;
}
