// A graph as text, for people and for expected files:
//
//   constant 1 "6e34f0" 216 bytes
//   x0 fp32[1, 3, 8, 8] argument 0
//   x1 qcint8[8, 3, 3, 3] 8 scales along 0 in constant 2 constant 1
//   0 Conv2d x0 x1 - -> x3 fp32[1, 8, 8, 8] {1 1 1 1 3 3 1 1 1 1 3 8 1 0 0} in [0.0, 6.0]
#include "backends/xnnpack/graph.h"

static void print_type(sc_sb *out, const sc_xnn_value *value) {
    const sc_xnn_quant *quant = &value->quant;
    sc_sb_addf(out, "%s[", sc_xnn_datatypes[value->datatype].name);
    for (uint32_t d = 0; d < value->shape.rank; d++)
        sc_sb_addf(out, "%s%u", d ? ", " : "", value->shape.dims[d]);
    sc_sb_add_char(out, ']');
    switch (quant->kind) {
    case SC_XNN_PER_TENSOR:
        sc_sb_add_text(out, " scale ");
        sc_sb_add_f64(out, quant->scale);
        sc_sb_addf(out, " zero %d", quant->zero_point);
        break;
    case SC_XNN_PER_TOKEN:
        sc_sb_addf(out, " quantized over the last %u", quant->nonbatch_dims);
        break;
    case SC_XNN_PER_CHANNEL:
        sc_sb_addf(out, " %u scales along %u", quant->scale_count, quant->channel_dim);
        break;
    case SC_XNN_PER_GROUP:
        sc_sb_addf(out, " %u scales for groups of %u", quant->scale_count, quant->group_size);
        break;
    default: break;
    }
    if (quant->scales) sc_sb_addf(out, " in constant %u", quant->scales);
    if (value->flags) sc_sb_addf(out, " argument %u", value->external_id);
}

// Keys are texts of the file, so only plain characters are printed.
static void print_key(sc_sb *out, sc_str key) {
    sc_sb_add_char(out, '"');
    for (size_t i = 0; i < key.size; i++) {
        char c = key.data[i];
        bool is_plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
        if (is_plain)
            sc_sb_add_char(out, c);
        else
            sc_sb_addf(out, "\\x%02x", (unsigned)(uint8_t)c);
    }
    sc_sb_add_char(out, '"');
}

static void print_operand(sc_sb *out, uint32_t value) {
    if (value == SC_XNN_NONE)
        sc_sb_add_text(out, " -");
    else
        sc_sb_addf(out, " x%u", value);
}

static void print_parameters(sc_sb *out, const sc_xnn_node *node) {
    const char *before = " {";
    uint32_t number = 0, list = 0;
    for (const uint8_t *f = sc_xnn_kinds[node->kind].fields; *f; f++) {
        if (*f != SC_XNN_FIELD_NUMBER && *f != SC_XNN_FIELD_VALUE && *f != SC_XNN_FIELD_LIST)
            continue;
        sc_sb_add_text(out, before);
        before = " ";
        if (*f == SC_XNN_FIELD_NUMBER) sc_sb_addf(out, "%u", node->numbers[number++]);
        if (*f == SC_XNN_FIELD_VALUE) sc_sb_add_f64(out, node->value);
        if (*f != SC_XNN_FIELD_LIST) continue;
        const sc_xnn_list *items = &node->lists[list++];
        for (uint32_t i = 0; i < items->count; i++)
            sc_sb_addf(out, "%s%u", i ? ", " : "[", items->items[i]);
        sc_sb_add_text(out, items->count ? "]" : "[]");
    }
    if (*before == ' ' && before[1] == 0) sc_sb_add_char(out, '}');
}

static void print_node(sc_sb *out, const sc_xnn_graph *graph, uint32_t index) {
    const sc_xnn_node *node = &graph->nodes.data[index];
    const sc_xnn_kind_row *row = &sc_xnn_kinds[node->kind];
    sc_sb_addf(out, "%u %s", index, row->name);
    for (uint32_t i = 0; i < row->inputs; i++) print_operand(out, node->inputs[i]);
    sc_sb_add_text(out, " ->");
    for (uint32_t i = 0; i < row->outputs; i++) {
        print_operand(out, node->outputs[i]);
        sc_sb_add_char(out, ' ');
        print_type(out, &graph->values.data[node->outputs[i]]);
    }
    print_parameters(out, node);
    if (node->flags) sc_sb_addf(out, " flags 0x%x", node->flags);
    if (node->has_range) {
        sc_sb_add_text(out, " in [");
        sc_sb_add_f64(out, node->low);
        sc_sb_add_text(out, ", ");
        sc_sb_add_f64(out, node->high);
        sc_sb_add_char(out, ']');
    }
    if (node->debug_handle) sc_sb_addf(out, " handle %u", node->debug_handle);
    sc_sb_add_char(out, '\n');
}

void sc_xnn_print(sc_sb *out, const sc_xnn_graph *graph) {
    for (uint32_t i = 1; i < graph->constants.count; i++) {
        const sc_xnn_constant *constant = &graph->constants.data[i];
        sc_sb_addf(out, "constant %u ", i);
        if (constant->key.data) {
            print_key(out, constant->key);
            sc_sb_add_char(out, ' ');
        }
        sc_sb_addf(out, "%llu bytes\n", (unsigned long long)constant->size);
    }
    for (uint32_t i = 0; i < graph->values.count; i++) {
        const sc_xnn_value *value = &graph->values.data[i];
        if (!value->constant && !(value->flags & SC_XNN_EXTERNAL_INPUT)) continue;
        sc_sb_addf(out, "x%u ", i);
        print_type(out, value);
        if (value->constant) sc_sb_addf(out, " constant %u", value->constant);
        sc_sb_add_char(out, '\n');
    }
    for (uint32_t i = 0; i < graph->nodes.count; i++) print_node(out, graph, i);
}
