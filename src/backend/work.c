// The amount of work of a node, so that a report can rank the nodes that stay outside.
#include "backend/delegation.h"

// Sizes are those of the example that the program was exported with, else their largest.
static double size_of(sc_dim dim) {
    int64_t value = 0;
    if (sc_dim_is_int(dim)) return (double)dim.value;
    if (sc_dim_hint(dim, &value)) return (double)value;
    sc_range range = sc_dim_range(dim);
    return range.max == SC_DIM_INF ? (double)(range.min > 1 ? range.min : 1) : (double)range.max;
}

static double numel_of(const sc_spec *spec) {
    double numel = 1;
    for (uint32_t d = 0; d < spec->rank; d++) numel *= size_of(spec->sizes[d]);
    return numel;
}

static double bytes_of(const sc_value *value) {
    if (value->type != SC_VALUE_TENSOR) return 0;
    return numel_of(&value->spec) * sc_dtype_bytes((sc_dtype)value->spec.dtype);
}

typedef struct operands {
    double bytes;
    const sc_spec *last, *second_last;  // tensors
} operands;

static bool add_operand(void *user, sc_arg *arg) {
    operands *o = user;
    o->bytes += bytes_of(arg->value);
    if (arg->value->type != SC_VALUE_TENSOR) return true;
    o->second_last = o->last;
    o->last = &arg->value->spec;
    return true;
}

// The weight of a convolution has a row for each output channel; that of a transposed one has a row
// for each input channel.
static double conv_macs(const sc_node *node, const sc_value *out) {
    int32_t weight = sc_op_param_index(node->op, "weight");
    int32_t transposed = sc_op_param_index(node->op, "transposed");
    if (weight < 0 || transposed < 0 || (uint32_t)weight >= node->arg_count) return 0;
    if (node->args[weight].kind != SC_ARG_VALUE || node->args[0].kind != SC_ARG_VALUE) return 0;
    const sc_spec *w = &node->args[weight].value->spec;
    const sc_arg *argument = &node->args[transposed];
    const bool is_transposed = argument->kind == SC_ARG_BOOL && argument->b;
    const sc_spec *walked = is_transposed ? &node->args[0].value->spec : &out->spec;
    double rows = w->rank ? size_of(w->sizes[0]) : 0;
    return rows > 0 ? numel_of(walked) * numel_of(w) / rows : 0;
}

// The summed dimension is the last one of the second-last operand: the left matrix, or a linear
// layer's weight if its bias is the last operand.
static double product_macs(const operands *o, const sc_value *out) {
    const sc_spec *summed = o->second_last;
    if (!summed || summed->rank == 0) return 0;
    return numel_of(&out->spec) * size_of(summed->sizes[summed->rank - 1]);
}

void sc_node_work(const sc_node *node, double *macs, double *bytes) {
    operands o = {0};
    const sc_value *out = node->out_count ? node->outs[0] : NULL;
    *macs = 0;
    (void)sc_node_visit_values(node, add_operand, &o);
    *bytes = o.bytes;
    for (uint32_t i = 0; i < node->out_count; i++) *bytes += bytes_of(node->outs[i]);
    if (!out || out->type != SC_VALUE_TENSOR) return;
    if (node->op->family == SC_FAMILY_CONV) *macs = conv_macs(node, out);
    if (node->op->family == SC_FAMILY_MATRIX) *macs = product_macs(&o, out);
}
