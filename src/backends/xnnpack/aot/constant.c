// Constants as nodes show them, small ones as numbers, and the meaning of quantized integers.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

enum { CHAIN_MAX = 8, NUMBERS_MAX = 1 << 20 };

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

// Plain integers are read as floats, as if they were quantized with a scale of 1.
static bool is_cast(const sc_node *node) {
    return sc_xa_is(node, &sc_xa_copy) && node->args[0].value->spec.dtype == SC_DTYPE_I8 &&
           node->outs[0]->spec.dtype == SC_DTYPE_F32;
}

static bool read_integers(const sc_node *node, sc_xa_constant *out) {
    if (out->dequantize) return false;
    out->dequantize = node;
    out->integers = node->args[0].value;
    if (!is_cast(node)) return sc_xa_params_of(node, &out->params);
    out->params = (sc_xa_params){
        .kind = SC_XNN_PER_TENSOR, .dtype = SC_DTYPE_I8, .low = -128, .high = 127, .scale = 1};
    return true;
}

bool sc_xa_constant_of(const sc_value *value, sc_xa_constant *out) {
    const sc_node *chain[CHAIN_MAX];
    uint32_t count = 0, order[SC_RANK_MAX];
    for (; value->node; value = chain[count - 1]->args[0].value) {
        const sc_node *node = value->node;
        if (count == CHAIN_MAX || node->arg_count == 0 || node->args[0].kind != SC_ARG_VALUE)
            return false;
        const bool shows = sc_node_permutation(node, order) || is_same(node) || is_cast(node) ||
                           sc_xa_is(node, &sc_xa_dequantize);
        if (!shows) return false;
        chain[count++] = node;
    }
    if (!begin(value, out)) return false;
    while (count > 0) {
        const sc_node *node = chain[--count];
        if (sc_node_permutation(node, order)) {
            permute(out, order);
        } else if (!is_same(node) && !read_integers(node, out)) {
            return false;
        }
    }
    return true;
}

bool sc_xa_is_passed(const sc_value *value) {
    const sc_node *node = value->node;
    for (uint32_t i = 0; node && i < CHAIN_MAX; i++, node = value->node) {
        if (node->arg_count == 0 || node->args[0].kind != SC_ARG_VALUE) return false;
        value = node->args[0].value;
    }
    return !node && value->graph->parent;
}

void sc_xa_join_constant(sc_xa *x, const sc_node *node, const sc_value *value) {
    for (; value->node; value = value->node->args[0].value) sc_xa_join(x, node, value->node);
}

// --- Numbers -------------------------------------------------------------------------------------

static bool is_real(uint8_t dtype) {
    switch (dtype) {
    case SC_DTYPE_F32:
    case SC_DTYPE_F64:
    case SC_DTYPE_F16:
    case SC_DTYPE_BF16:
    case SC_DTYPE_I64:
    case SC_DTYPE_I32:
    case SC_DTYPE_I16:
    case SC_DTYPE_I8:
    case SC_DTYPE_U8: return true;
    default: return false;
    }
}

#define READ(type, value)               \
    {                                   \
        type item;                      \
        memcpy(&item, at, sizeof item); \
        return value;                   \
    }

double sc_xa_number_at(const uint8_t *at, uint8_t dtype) {
    switch (dtype) {
    case SC_DTYPE_F32: READ(float, item)
    case SC_DTYPE_F64: READ(double, item)
    case SC_DTYPE_F16: READ(uint16_t, sc_f16_to_f32(item))
    case SC_DTYPE_BF16: READ(uint16_t, sc_bf16_to_f32(item))
    case SC_DTYPE_I64: READ(int64_t, (double)item)
    case SC_DTYPE_I32: READ(int32_t, item)
    case SC_DTYPE_I16: READ(int16_t, item)
    case SC_DTYPE_I8: return (int8_t)*at;
    case SC_DTYPE_U8: return *at;
    default: return NAN;
    }
}

bool sc_xa_numel(const sc_xa_constant *c, uint64_t *total) {
    *total = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        if (!sc_mul_u64(*total, (uint64_t)c->sizes[d], total)) return false;
    return *total <= UINT32_MAX;
}

bool sc_xa_has_numbers(const sc_xa_constant *c) {
    uint64_t total;
    return is_real(c->constant->spec.dtype) && sc_xa_numel(c, &total) && total <= NUMBERS_MAX;
}

sc_extent sc_xa_extent_of(sc_ctx *ctx, const sc_xa_constant *c) {
    const uint32_t bytes = sc_dtype_bytes((sc_dtype)c->constant->spec.dtype);
    return sc_extent_strided(ctx->arena, c->constant->data, bytes, c->rank, c->sizes, c->strides,
                             0);
}

sc_status sc_xa_read_numbers(sc_ctx *ctx, const sc_xa_constant *c, double **out, uint32_t *count) {
    const uint8_t dtype = c->constant->spec.dtype;
    const uint32_t bytes = sc_dtype_bytes((sc_dtype)dtype);
    uint64_t total;
    const uint8_t *data;
    if (!sc_xa_has_numbers(c) || !sc_xa_numel(c, &total))
        return sc_fail(ctx, SC_ERR_LIMIT, NULL,
                       "constant " SC_STR_FMT " is not one real number for each of up to %d "
                       "channels",
                       SC_STR_ARG(c->constant->name), NUMBERS_MAX);
    SC_TRY(sc_extent_load(ctx, ctx->scratch, sc_xa_extent_of(ctx, c), total * bytes, &data));
    *out = sc_new_array(ctx->scratch, double, total);
    *count = (uint32_t)total;
    for (uint32_t i = 0; i < total; i++)
        (*out)[i] = sc_xa_number_at(data + (size_t)i * bytes, dtype);
    return SC_OK;
}

// --- Scales and zero points ----------------------------------------------------------------------

bool sc_xa_is_four_bits(const sc_xa_params *params) {
    return params->low == -8 && params->high == 7;
}

// Facts that hold for all numbers of a constant.
enum { NORMAL = 1, NORMAL_HALF = 2, ZERO = 4 };

typedef struct scan {
    bool (*is_fine)(double number, float factor);
    float factor;
    uint64_t fact;  // the fact that all numbers are fine; 0: not recorded
    bool has_odd;
    double odd;  // the first number that is not fine
} scan;

static bool is_zero(double zero, float factor) {
    (void)factor;
    return zero == 0;
}

static bool is_normal(double scale, float factor) {
    const float product = (float)scale * factor;
    return product > 0 && isnormal(product);
}

// Scales of groups become bfloat16.
static bool is_normal_half(double scale, float factor) {
    return is_normal((double)sc_f32_as((float)scale, SC_DTYPE_BF16), factor);
}

// Reads in blocks, because groups of weights have many scales.
static sc_status scan_numbers(sc_ctx *ctx, const sc_xa_constant *c, uint64_t total, scan *s) {
    const uint8_t dtype = c->constant->spec.dtype;
    const uint32_t bytes = sc_dtype_bytes((sc_dtype)dtype);
    const sc_extent all = sc_xa_extent_of(ctx, c);
    for (uint64_t at = 0, count; at < total && !s->has_odd; at += count) {
        sc_extent block;
        const uint8_t *data;
        count = sc_min_u64(total - at, NUMBERS_MAX);
        if (!sc_extent_slice(all, at * bytes, count * bytes, &block))
            return sc_fail(ctx, SC_ERR_TRUNCATED, NULL, "constant " SC_STR_FMT " ends too early",
                           SC_STR_ARG(c->constant->name));
        sc_mark mark = sc_arena_mark(ctx->scratch);
        SC_TRY(sc_extent_load(ctx, ctx->scratch, block, count * bytes, &data));
        for (uint64_t i = 0; i < count && !s->has_odd; i++) {
            s->odd = sc_xa_number_at(data + (size_t)i * bytes, dtype);
            s->has_odd = !s->is_fine(s->odd, s->factor);
        }
        sc_arena_rewind(ctx->scratch, mark);
    }
    return SC_OK;
}

// False, with a reason, if not all of it could be checked.
static bool scan_all(sc_xa *x, const sc_xa_params *params, const sc_value *value, const char *what,
                     scan *s) {
    sc_xa_constant c;
    uint64_t total;
    if (!sc_xa_constant_of(value, &c) || c.dequantize)
        return sc_xa_refuse(x, NULL, "%s of its weight are computed at run time", what);
    if (!is_real(c.constant->spec.dtype))
        return sc_xa_refuse(x, NULL, "%s of its weight are %s", what,
                            sc_dtype_name((sc_dtype)c.constant->spec.dtype));
    if (!sc_xa_numel(&c, &total) || (params->kind != SC_XNN_PER_GROUP && total > NUMBERS_MAX))
        return sc_xa_refuse(x, NULL, "its weight has more than %d %s", NUMBERS_MAX, what);
    // Read once for all callers: groups of a large weight have millions of them.
    const uint64_t *known = x->looked_at ? sc_imap_find(x->looked_at, SC_PTR_KEY(value)) : NULL;
    if (known && (*known & s->fact)) return true;
    // The failure has been recorded; the survey ends with it.
    if (scan_numbers(x->ctx, &c, total, s) != SC_OK)
        return sc_xa_refuse(x, NULL, "%s of its weight cannot be read", what);
    if (x->looked_at && !s->has_odd) *sc_imap_at(x->looked_at, SC_PTR_KEY(value)) |= s->fact;
    return true;
}

static bool all_zero(sc_xa *x, const sc_xa_params *params) {
    scan s = {.is_fine = is_zero, .fact = ZERO};
    if (!scan_all(x, params, params->zeros, "zero points", &s)) return false;
    return !s.has_odd || sc_xa_refuse(x, "Quantize weights symmetrically.",
                                      "a zero point of its weight is %g, and XNNPACK's weights are "
                                      "symmetric",
                                      s.odd);
}

bool sc_xa_symmetric(sc_xa *x, const sc_xa_params *params) {
    scan s = {.is_fine = is_normal, .factor = 1, .fact = NORMAL};
    if (params->kind == SC_XNN_PER_TENSOR) {
        if (params->zero_point != 0)
            return sc_xa_refuse(x, "Quantize weights symmetrically.",
                                "the zero point of its weight is %d, and XNNPACK's weights are "
                                "symmetric",
                                (int)params->zero_point);
        if (!is_normal((double)params->scale, 1))
            return sc_xa_refuse(x, NULL,
                                "the scale of its weight is %g, and XNNPACK takes "
                                "positive normal numbers only",
                                (double)params->scale);
        return true;
    }
    if (params->kind == SC_XNN_PER_GROUP)
        s = (scan){.is_fine = is_normal_half, .factor = 1, .fact = NORMAL_HALF};
    if (!scan_all(x, params, params->scales, "scales", &s)) return false;
    if (s.has_odd)
        return sc_xa_refuse(x, NULL,
                            "a scale of its weight is %g, and XNNPACK takes positive normal "
                            "numbers only",
                            s.odd);
    return !params->zeros || all_zero(x, params);
}

// Do they differ by more than the rounding that XNNPACK's order of factors may cause?
static bool is_below_end(double scale, float factor) {
    return (float)scale * factor < SC_XNN_REQUANTIZATION_END * 0.99999f;
}

bool sc_xa_requantizes(sc_xa *x, const sc_xa_params *weight, const sc_xa_params *input,
                       const sc_xa_params *output) {
    scan s = {.is_fine = is_below_end, .factor = input->scale / output->scale};
    if (weight->kind == SC_XNN_PER_TENSOR) return is_below_end((double)weight->scale, s.factor);
    return scan_all(x, weight, weight->scales, "scales", &s) && !s.has_odd;
}

bool sc_xa_quantizes_bias(sc_xa *x, const sc_xa_params *weight, const sc_xa_params *input) {
    scan s = {.is_fine = is_normal, .factor = input->scale, .odd = (double)weight->scale};
    if (weight->kind == SC_XNN_PER_TENSOR)
        s.has_odd = !is_normal(s.odd, s.factor);
    else if (!scan_all(x, weight, weight->scales, "scales", &s))
        return false;
    return !s.has_odd || sc_xa_refuse(x, NULL,
                                      "its bias would have a scale of %g by %g, and XNNPACK takes "
                                      "positive normal numbers only",
                                      s.odd, (double)s.factor);
}

// --- Parameters of quantization ------------------------------------------------------------------

// One number, given as an argument or as a constant.
static bool one_number(const sc_node *node, const char *param, double *out) {
    const sc_value *value = sc_xa_tensor(node, param);
    sc_xa_constant c;
    double *numbers;
    uint64_t total;
    uint32_t count;
    if (!value) return sc_xa_number(node, param, out);
    sc_ctx *ctx = node->graph->ctx;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const bool found = sc_xa_constant_of(value, &c) && !c.dequantize && sc_xa_has_numbers(&c) &&
                       sc_xa_numel(&c, &total) && total == 1 &&
                       sc_xa_read_numbers(ctx, &c, &numbers, &count) == SC_OK;
    if (found) *out = numbers[0];
    sc_arena_rewind(ctx->scratch, mark);
    return found;
}

static bool per_tensor(const sc_node *node, sc_xa_params *out) {
    double scale = 0, zero = 0;
    const bool has_zero = sc_xa_arg(node, "zero_point")->kind != SC_ARG_NONE;
    const bool known =
        one_number(node, "scale", &scale) && (!has_zero || one_number(node, "zero_point", &zero));
    if (!known || !(fabs(zero) <= INT32_MAX) || zero != floor(zero)) return false;
    out->kind = SC_XNN_PER_TENSOR;
    out->scale = (float)scale;
    out->zero_point = (int32_t)zero;
    return true;
}

static bool per_channel(const sc_node *node, sc_xa_params *out) {
    const uint32_t rank = node->args[0].value->spec.rank;
    const bool has_groups = sc_op_param_index(node->op, "group_size") >= 0;
    const bool has_axis = sc_op_param_index(node->op, "axis") >= 0;
    out->scales = sc_xa_tensor(node, "scales");
    out->zeros = sc_xa_tensor(node, "zero_points");
    out->kind = has_groups ? SC_XNN_PER_GROUP : SC_XNN_PER_CHANNEL;
    out->group = has_groups ? sc_xa_int(node, "group_size") : 0;
    const int64_t axis = has_axis ? sc_xa_dim(sc_xa_int(node, "axis"), rank) : 0;
    if (axis < 0 || axis >= rank || !out->scales || has_axis == has_groups) return false;
    out->axis = (uint32_t)axis;
    return !has_groups || (rank == 2 && out->group > 0);
}

// torchao's form: a scale for each block, which is the tensor, a row, or a part of a row.
static bool per_block(const sc_node *node, sc_xa_params *out) {
    const sc_value *input = node->args[0].value;
    const uint32_t rank = input->spec.rank;
    const sc_arg *domain = sc_xa_arg(node, "zero_point_domain");
    int64_t block[SC_RANK_MAX];
    bool is_whole = true, is_row = rank > 1;
    if (sc_xa_ints(node, "block_size", block, SC_RANK_MAX, 0) != (int32_t)rank ||
        (domain->kind == SC_ARG_STR && !sc_str_is(domain->str, "INT")))
        return false;
    for (uint32_t d = 0; d < rank; d++) {
        is_whole = is_whole && sc_dim_is(input->spec.sizes[d], block[d]);
        is_row = is_row && (d == 0 ? block[d] == 1
                                   : d + 1 == rank || sc_dim_is(input->spec.sizes[d], block[d]));
    }
    if (is_whole) return per_tensor(node, out);
    const bool is_part = is_row && !sc_dim_is(input->spec.sizes[rank - 1], block[rank - 1]);
    out->scales = sc_xa_tensor(node, "scale");
    out->zeros = sc_xa_tensor(node, "zero_point");
    out->kind = is_part ? SC_XNN_PER_GROUP : SC_XNN_PER_CHANNEL;
    out->group = is_part ? block[rank - 1] : 0;
    return is_row && out->scales && (!is_part || (rank == 2 && out->group > 0));
}

bool sc_xa_params_of(const sc_node *node, sc_xa_params *out) {
    double low = -128, high = 127;
    *out = (sc_xa_params){.dtype = sc_xa_integers_of(node)};
    sc_xa_number(node, "quant_min", &low);
    sc_xa_number(node, "quant_max", &high);
    if (out->dtype != SC_DTYPE_I8 || !(fabs(low) <= INT32_MAX && fabs(high) <= INT32_MAX) ||
        node->args[0].kind != SC_ARG_VALUE)
        return false;
    out->low = (int64_t)low;
    out->high = (int64_t)high;
    if (sc_xa_has_blocks(node)) return per_block(node, out);
    return sc_op_param_index(node->op, "scale") >= 0 ? per_tensor(node, out)
                                                     : per_channel(node, out);
}
