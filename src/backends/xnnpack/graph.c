// Tables of node kinds and datatypes; building of graphs.
#include "backends/xnnpack/graph.h"

#include "base/print.h"
#include "core/dtype.h"

#define INPUT             SC_XNN_FIELD_INPUT,
#define OUTPUT            SC_XNN_FIELD_OUTPUT,
#define FLAGS             SC_XNN_FIELD_FLAGS,
#define VALUE             SC_XNN_FIELD_VALUE,
#define COUNT             SC_XNN_FIELD_COUNT,
#define LIST              SC_XNN_FIELD_LIST,
#define NUMBER            SC_XNN_FIELD_NUMBER,
#define SIZE              NUMBER NUMBER
#define KERNEL            NUMBER NUMBER
#define STRIDE            NUMBER NUMBER
#define DILATION          NUMBER NUMBER
#define ADJUSTMENT        NUMBER NUMBER
#define PADDING           NUMBER NUMBER NUMBER NUMBER
#define CHANNELS          NUMBER NUMBER NUMBER
#define TABLE(id, fields) static const uint8_t fields_##id[] = {fields SC_XNN_FIELDS_END};
#include "backends/xnnpack/nodes.def"

// Datatypes by their names in the table.
enum {
#define DATATYPE(id, ...) id = SC_XNN_##id,
#include "backends/xnnpack/nodes.def"
};

#define MIX(...)    {{__VA_ARGS__}, SC_XNN_MIX},
#define ALL(type)   {{type}, SC_XNN_ALL},
#define ALIKE(type) {{type}, SC_XNN_ALIKE},
#define FLOATS      ALL(FP32) ALL(FP16)
#define MOVED       FLOATS ALIKE(QINT8) ALIKE(QUINT8)
#define REFUSED
#define NODE(id, name, table, inputs, required, outputs, since, types) \
    static const sc_xnn_types types_##id[] = {types{{SC_XNN_DATATYPE_INVALID}, SC_XNN_ALL}};
#include "backends/xnnpack/nodes.def"

const sc_xnn_kind_row sc_xnn_kinds[SC_XNN_KIND_COUNT] = {
    {.name = "none",
     .fields = (const uint8_t[]){SC_XNN_FIELDS_END},
     .types = (const sc_xnn_types[]){{{SC_XNN_DATATYPE_INVALID}, SC_XNN_ALL}}},
#define NODE(id, name, table, inputs, required, outputs, since, types) \
    {name, fields_##table, types_##id, inputs, required, outputs, SC_XNN_RUNTIME_##since},
#include "backends/xnnpack/nodes.def"
};

const sc_xnn_datatype_row sc_xnn_datatypes[SC_XNN_DATATYPE_COUNT] = {
    {.name = "invalid", .dtype = SC_DTYPE_NONE},
#define DATATYPE(id, name, bits, dtype, since) {name, bits, dtype, SC_XNN_RUNTIME_##since},
#include "backends/xnnpack/nodes.def"
};

const char *const sc_xnn_runtimes[SC_XNN_RUNTIME_COUNT] = {
#define RUNTIME(id, name) name,
#include "backends/xnnpack/nodes.def"
};

sc_xnn_datatype sc_xnn_datatype_of(unsigned dtype) {
    switch (dtype) {
    case SC_DTYPE_F32: return SC_XNN_FP32;
    case SC_DTYPE_F16: return SC_XNN_FP16;
    case SC_DTYPE_BF16: return SC_XNN_BF16;
    default: return SC_XNN_DATATYPE_INVALID;
    }
}

bool sc_xnn_numel(const sc_xnn_shape *shape, uint64_t *numel) {
    *numel = 1;
    for (uint32_t d = 0; d < shape->rank; d++)
        if (!sc_mul_u64(*numel, shape->dims[d], numel)) return false;
    return *numel <= INT64_MAX;
}

// Strides must fit too, so sizes of 0 count as 1 until all sizes are known.
bool sc_xnn_bytes(unsigned datatype, const sc_xnn_shape *shape, uint64_t *bytes) {
    uint64_t bits = sc_xnn_datatypes[datatype].bits, row = (bits + 7) / 8;
    bool is_empty = false;
    *bytes = 1;
    for (uint32_t d = 0; d < shape->rank; d++) {
        uint64_t size = sc_max_u32(shape->dims[d], 1);
        is_empty = is_empty || shape->dims[d] == 0;
        if (d + 1 == shape->rank)
            row = (bits * size + 7) / 8;
        else if (!sc_mul_u64(*bytes, size, bytes))
            return false;
    }
    if (!sc_mul_u64(*bytes, row, bytes) || *bytes > INT64_MAX / 2) return false;
    if (is_empty) *bytes = 0;
    return true;
}

bool sc_xnn_shape_is(const sc_xnn_shape *a, const sc_xnn_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

sc_xnn_graph *sc_xnn_graph_new(sc_arena *arena) {
    sc_xnn_graph *graph = sc_new(arena, sc_xnn_graph);
    graph->arena = arena;
    sc_vec_push(arena, &graph->constants, (sc_xnn_constant){.size = 0});
    return graph;
}

uint32_t sc_xnn_add_value(sc_xnn_graph *graph, sc_xnn_datatype datatype,
                          const sc_xnn_shape *shape) {
    sc_xnn_value value = {
        .datatype = (uint8_t)datatype, .shape = *shape, .external_id = SC_XNN_NONE};
    sc_vec_push(graph->arena, &graph->values, value);
    return graph->values.count - 1;
}

uint32_t sc_xnn_add_constant(sc_xnn_graph *graph, sc_str key, const sc_cord *bytes) {
    for (uint32_t i = 1; i < graph->constants.count; i++)
        if (sc_str_equal(graph->constants.data[i].key, key)) return i;
    sc_xnn_constant constant = {.key = key, .size = bytes->size, .bytes = bytes};
    sc_vec_push(graph->arena, &graph->constants, constant);
    return graph->constants.count - 1;
}

sc_xnn_node *sc_xnn_add_node(sc_xnn_graph *graph, sc_xnn_kind kind) {
    sc_xnn_node node = {.kind = (uint8_t)kind};
    memset(node.inputs, 0xff, sizeof node.inputs);
    memset(node.outputs, 0xff, sizeof node.outputs);
    sc_vec_push(graph->arena, &graph->nodes, node);
    return &sc_vec_last(&graph->nodes);
}

sc_str sc_xnn_event_id(const sc_xnn_node *node, uint32_t index, uint32_t count,
                       char text[SC_XNN_EVENT_ID_BYTES]) {
    int digits = 1;
    for (uint32_t rest = count > 0 ? (count - 1) / 10 : 0; rest; rest /= 10) digits++;
    const size_t size = sc_print(text, SC_XNN_EVENT_ID_BYTES, "%s #%0*u",
                                 sc_xnn_kinds[node->kind].name, digits, index);
    SC_ASSERT(size > 0 && size < SC_XNN_EVENT_ID_BYTES);
    return (sc_str){text, size};
}
