// Constants as nodes show them, and small ones as numbers.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

enum { CHAIN_MAX = 8, NUMBERS_MAX = 1 << 20 };

bool sc_xa_is_constant(const sc_value *value) {
    const sc_method *method = value->graph->method;
    if (value->node || method->graph != value->graph || value->index >= method->inputs.count)
        return false;
    const sc_input_sig *sig = &method->inputs.data[value->index];
    if (!sig->constant || value->type != SC_VALUE_TENSOR || sig->kind == SC_INPUT_USER)
        return false;
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *out = &method->outputs.data[i];
        if ((out->kind == SC_OUTPUT_BUFFER_MUTATION || out->kind == SC_OUTPUT_PARAMETER_MUTATION) &&
            sc_str_equal(out->target, sig->target))
            return false;
    }
    return true;
}

static bool begin(const sc_value *input, sc_xa_constant *out) {
    const sc_spec *spec = &input->spec;
    if (!sc_xa_is_constant(input)) return false;
    *out = (sc_xa_constant){.input = input,
                            .constant = input->graph->method->inputs.data[input->index].constant,
                            .rank = spec->rank};
    for (uint32_t d = 0; d < spec->rank; d++) {
        if (!sc_dim_is_int(spec->sizes[d]) || !sc_dim_is_int(spec->strides[d])) return false;
        out->sizes[d] = spec->sizes[d].value;
        out->strides[d] = spec->strides[d].value;
    }
    return spec->rank <= SC_XNN_RANK_MAX;
}

static void permute(sc_xa_constant *c, const uint32_t *order) {
    const sc_xa_constant from = *c;
    for (uint32_t d = 0; d < c->rank; d++) {
        c->sizes[d] = from.sizes[order[d]];
        c->strides[d] = from.strides[order[d]];
        if (order[d] == from.params.axis) c->params.axis = d;
    }
}

static bool is_same(const sc_node *node) {
    return sc_xa_is(node, &sc_xa_copy) &&
           node->outs[0]->spec.dtype == node->args[0].value->spec.dtype;
}

bool sc_xa_constant_of(const sc_value *value, sc_xa_constant *out) {
    const sc_node *chain[CHAIN_MAX];
    uint32_t count = 0, order[SC_RANK_MAX];
    for (; value->node; value = chain[count - 1]->args[0].value) {
        const sc_node *node = value->node;
        const bool shows =
            sc_node_permutation(node, order) || is_same(node) || sc_xa_is(node, &sc_xa_dequantize);
        if (!shows || count == CHAIN_MAX || node->args[0].kind != SC_ARG_VALUE) return false;
        chain[count++] = node;
    }
    if (!begin(value, out)) return false;
    while (count > 0) {
        const sc_node *node = chain[--count];
        if (sc_node_permutation(node, order)) {
            permute(out, order);
        } else if (sc_xa_is(node, &sc_xa_dequantize)) {
            if (out->dequantize || !sc_xa_params_of(node, &out->params)) return false;
            out->dequantize = node;
            out->integers = node->args[0].value;
        }
    }
    return true;
}

void sc_xa_join_constant(sc_xa *x, const sc_node *node, const sc_value *value) {
    for (; value->node; value = value->node->args[0].value) sc_xa_join(x, node, value->node);
}

// --- Numbers -------------------------------------------------------------------------------------

static double number(const uint8_t *at, uint8_t dtype) {
    union {
        float f32;
        double f64;
        int64_t i64;
        int32_t i32;
        int16_t i16;
        uint16_t u16;
    } u;
    memcpy(&u, at, sc_dtype_bytes((sc_dtype)dtype));
    switch (dtype) {
    case SC_DTYPE_F32: return u.f32;
    case SC_DTYPE_F64: return u.f64;
    case SC_DTYPE_F16: return sc_f16_to_f32(u.u16);
    case SC_DTYPE_BF16: return sc_bf16_to_f32(u.u16);
    case SC_DTYPE_I64: return (double)u.i64;
    case SC_DTYPE_I32: return u.i32;
    case SC_DTYPE_I16: return u.i16;
    case SC_DTYPE_I8: return (int8_t)*at;
    case SC_DTYPE_U8: return *at;
    default: return NAN;
    }
}

sc_status sc_xa_read_numbers(sc_ctx *ctx, const sc_xa_constant *c, double **out, uint32_t *count) {
    const uint8_t dtype = c->constant->spec.dtype;
    const uint32_t bytes = sc_dtype_bytes((sc_dtype)dtype);
    uint64_t total = 1;
    const uint8_t *data;
    for (uint32_t d = 0; d < c->rank; d++)
        if (!sc_mul_u64(total, (uint64_t)c->sizes[d], &total) || total > NUMBERS_MAX)
            return sc_fail(ctx, SC_ERR_LIMIT, NULL,
                           "constant " SC_STR_FMT " has more than %d elements, where one number "
                           "for each channel is expected",
                           SC_STR_ARG(c->constant->name), NUMBERS_MAX);
    sc_extent extent =
        sc_extent_strided(ctx->arena, c->constant->data, bytes, c->rank, c->sizes, c->strides, 0);
    SC_TRY(sc_extent_load(ctx, ctx->scratch, extent, total * bytes, &data));
    *out = sc_new_array(ctx->scratch, double, total);
    *count = (uint32_t)total;
    for (uint32_t i = 0; i < total; i++) (*out)[i] = number(data + (size_t)i * bytes, dtype);
    return SC_OK;
}

// --- Scales and zero points ----------------------------------------------------------------------

bool sc_xa_is_four_bits(const sc_xa_params *params) {
    return params->low == -8 && params->high == 7;
}

static bool all_zero(sc_xa *x, const sc_value *zeros) {
    sc_xa_constant c;
    double *numbers;
    uint32_t count;
    if (!sc_xa_constant_of(zeros, &c) || c.dequantize)
        return sc_xa_refuse(x, NULL, "zero points of its weight are computed at run time");
    if (sc_xa_read_numbers(x->ctx, &c, &numbers, &count) != SC_OK)
        return sc_xa_refuse(x, NULL, "zero points of its weight cannot be read");
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] != 0)
            return sc_xa_refuse(x, "Quantize weights symmetrically.",
                                "a zero point of its weight is %g, and XNNPACK's weights are "
                                "symmetric",
                                numbers[i]);
    return true;
}

static bool is_normal_scale(double scale) {
    return scale > 0 && isfinite(scale) && isnormal((float)scale);
}

static bool all_normal(sc_xa *x, const sc_value *scales) {
    sc_xa_constant c;
    double *numbers;
    uint32_t count;
    if (!sc_xa_constant_of(scales, &c) || c.dequantize)
        return sc_xa_refuse(x, NULL, "scales of its weight are computed at run time");
    if (sc_xa_read_numbers(x->ctx, &c, &numbers, &count) != SC_OK)
        return sc_xa_refuse(x, NULL, "scales of its weight cannot be read");
    for (uint32_t i = 0; i < count; i++)
        if (!is_normal_scale(numbers[i]))
            return sc_xa_refuse(x, NULL,
                                "a scale of its weight is %g, and XNNPACK takes positive normal "
                                "numbers only",
                                numbers[i]);
    return true;
}

bool sc_xa_symmetric(sc_xa *x, const sc_xa_params *params) {
    if (params->kind == SC_XNN_PER_TENSOR) {
        if (params->zero_point != 0)
            return sc_xa_refuse(x, "Quantize weights symmetrically.",
                                "the zero point of its weight is %d, and XNNPACK's weights are "
                                "symmetric",
                                (int)params->zero_point);
        if (!is_normal_scale(params->scale))
            return sc_xa_refuse(x, NULL,
                                "the scale of its weight is %g, and XNNPACK takes "
                                "positive normal numbers only",
                                (double)params->scale);
        return true;
    }
    sc_mark mark = sc_arena_mark(x->ctx->scratch);
    const bool is_fine =
        all_normal(x, params->scales) && (!params->zeros || all_zero(x, params->zeros));
    sc_arena_rewind(x->ctx->scratch, mark);
    return is_fine;
}
