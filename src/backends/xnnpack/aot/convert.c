// Quantize and dequantize nodes that stand alone.
#include "backends/xnnpack/aot/rule.h"

static bool check_quantize(sc_xa *x, const sc_node *node) {
    sc_xa_params params;
    if (node->args[0].value->spec.dtype != SC_DTYPE_F32)
        return sc_xa_refuse(x, "Cast it to float32 first.", "its input is not float32");
    if (sc_xa_integers_of(node) != SC_DTYPE_I8)
        return sc_xa_refuse(x, "Quantize to int8 with the range -128 to 127.",
                            "its integers are not int8");
    if (!sc_xa_params_of(node, &params))
        return sc_xa_refuse(x, "Quantize the inputs of linear layers or convolutions dynamically.",
                            "its scale or zero point is computed at run time, and no node that "
                            "XNNPACK computes with 8 bits reads it");
    if (!sc_xa_is_plain(&params))
        return sc_xa_refuse(x, "Quantize to int8 with the range -128 to 127.",
                            "XNNPACK quantizes tensors to int8 in -128 to 127, with one normal "
                            "positive scale");
    if (!sc_xa_integers_agree(node->outs[0], &params))
        return sc_xa_refuse(x, "Give both the same parameters.",
                            "its result is dequantized with other parameters");
    return true;
}

static bool check_dequantize(sc_xa *x, const sc_node *node) {
    sc_xa_params params;
    const sc_node *self;
    if (sc_xa_is_constant(node->args[0].value))
        return sc_xa_refuse(x, "See the reasons of the nodes that read it.",
                            "no node that XNNPACK takes reads this weight");
    if (!sc_xa_dequantized(node->outs[0], &self, &params))
        return sc_xa_refuse(x, "Quantize to int8 with the range -128 to 127.",
                            "XNNPACK dequantizes int8 tensors in -128 to 127, with one normal "
                            "positive scale that is known");
    return true;
}

static bool check_choose(sc_xa *x, const sc_node *node) {
    (void)node;
    return sc_xa_refuse(x, "Quantize the weights of its readers too, symmetrically to int8.",
                        "no node that XNNPACK computes with 8 bits reads it");
}

// Made when a node needs the result, see make.c.
static sc_status make_later(sc_xa_maker *m, const sc_node *node) {
    (void)m;
    (void)node;
    return SC_OK;
}

static sc_status make_quantize(sc_xa_maker *m, const sc_node *node) {
    sc_xa_params params;
    uint32_t input;
    if (!sc_xa_params_of(node, &params)) return SC_OK;  // chosen at run time, for each reader
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    SC_TRY(sc_xa_want(m, node->args[0].value, layout, &input));
    sc_xa_add(m, SC_XNN_CONVERT, input, sc_xa_define(m, node->outs[0], layout));
    return SC_OK;
}

const sc_xa_family sc_xa_quantize = {check_quantize, make_quantize, SC_XA_OWN, true, 0};
const sc_xa_family sc_xa_dequantize = {check_dequantize, make_later, SC_XA_OWN, true, 0};
const sc_xa_family sc_xa_choose = {check_choose, make_later, SC_XA_OWN, true, 0};
