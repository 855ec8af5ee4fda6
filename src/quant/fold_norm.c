// Folds a batch norm right after a convolution, or after a linear layer of rows, into its weight
// and bias. They become w * (gamma * r) and (b - mean) * r * gamma + beta, with r = 1 / sqrt(var +
// eps).
//
// PT2E folds every such norm. Here no other node may read the norm's input. Layers that share a
// weight get a weight each, unless they share the norm, too.
#include <math.h>

#include "quant/plan.h"

// The factors and addends of a norm, by channel.
typedef struct norm {
    sc_node *node, *layer;
    sc_value *weight, *bias;              // of the layer; the bias may be NULL
    sc_value *gamma, *beta, *mean, *var;  // gamma and beta may be NULL
    double eps;
    uint64_t channels;
    uint32_t axis;  // of the weight
} norm;

static sc_value *operand(const sc_node *node, const char *param) {
    const sc_arg *arg = sc_node_arg(node, param);
    return arg->kind == SC_ARG_VALUE ? arg->value : NULL;
}

static bool is_absent(const sc_node *node, const char *param) {
    return sc_node_arg(node, param)->kind == SC_ARG_NONE;
}

// Is it a constant float32 vector with that many elements?
static bool is_vector(const sc_quant_plan *plan, const sc_value *value, uint64_t count) {
    const sc_constant *constant = value ? sc_quant_constant(plan, value) : NULL;
    return constant && value->spec.dtype == SC_DTYPE_F32 && value->spec.rank == 1 &&
           sc_dim_is(value->spec.sizes[0], (int64_t)count) &&
           constant->data.size == count * sizeof(float);
}

static bool may_be_vector(const sc_quant_plan *plan, const sc_node *node, const char *param,
                          uint64_t count) {
    return is_absent(node, param) || is_vector(plan, operand(node, param), count);
}

static bool trains(const sc_node *node) {
    const int32_t index = sc_op_param_index(node->op, "training");
    return index >= 0 && (node->args[index].kind != SC_ARG_BOOL || node->args[index].b);
}

static bool only_first_result(const sc_node *node) {
    for (uint32_t i = 1; i < node->out_count; i++)
        if (node->outs[i]->use_count > 0) return false;
    return true;
}

static bool read_layer(const sc_quant_plan *plan, norm *n) {
    const quant_role role = sc_quant_role(n->layer->op);
    if (role != QUANT_CONV && role != QUANT_CONV_TRANSPOSE && role != QUANT_LINEAR) return false;
    n->weight = operand(n->layer, "weight");
    n->bias = operand(n->layer, "bias");
    n->axis = role == QUANT_CONV_TRANSPOSE;
    const sc_value *x = operand(n->layer, "input");
    if (!n->weight || !sc_quant_is_constant(plan, n->weight) || !x) return false;
    if (role == QUANT_LINEAR && x->spec.rank != 2) return false;
    if (role != QUANT_LINEAR && x->spec.rank != n->weight->spec.rank) return false;
    const sc_spec *spec = &n->weight->spec;
    if (!sc_dtype_is_float((sc_dtype)spec->dtype) || spec->dtype == SC_DTYPE_F64 ||
        spec->rank <= n->axis || !sc_dim_is_int(spec->sizes[n->axis]))
        return false;
    n->channels = (uint64_t)spec->sizes[n->axis].value;
    const sc_arg *groups = role == QUANT_CONV_TRANSPOSE ? sc_node_arg(n->layer, "groups") : NULL;
    return (!groups || (groups->kind == SC_ARG_INT && groups->i == 1)) &&
           may_be_vector(plan, n->layer, "bias", n->channels);
}

static bool read_norm(const sc_quant_plan *plan, sc_node *node, norm *n) {
    const sc_value *x = operand(node, "input");
    const sc_arg *eps = sc_node_arg(node, "eps");
    *n = (norm){.node = node, .layer = x ? x->node : NULL};
    if (!n->layer || sc_quant_only_user(x) != node || !only_first_result(node) || trains(node) ||
        eps->kind != SC_ARG_FLOAT || !read_layer(plan, n))
        return false;
    n->gamma = operand(node, "weight");
    n->beta = operand(node, "bias");
    n->mean = operand(node, "running_mean");
    n->var = operand(node, "running_var");
    n->eps = eps->f;
    return may_be_vector(plan, node, "weight", n->channels) &&
           may_be_vector(plan, node, "bias", n->channels) &&
           is_vector(plan, n->mean, n->channels) && is_vector(plan, n->var, n->channels);
}

// Norms of equal keys change a layer in the same way.
typedef struct fold_key {
    uint64_t values[6];
    double eps;
    uint64_t role;
} fold_key;

static fold_key key_of(const norm *n) {
    const sc_value *values[6] = {n->weight, n->bias, n->gamma, n->beta, n->mean, n->var};
    fold_key key = {.eps = n->eps, .role = sc_quant_role(n->layer->op)};
    for (int i = 0; i < 6; i++) key.values[i] = SC_PTR_KEY(values[i]);
    return key;
}

// --- Numbers -------------------------------------------------------------------------------------

typedef struct factors {
    float *scale;  // of the weight
    float *bias;
} factors;

static sc_status load(const sc_quant_plan *plan, const sc_value *value, const uint8_t **out) {
    sc_ctx *ctx = plan->ctx;
    *out = NULL;
    if (!value) return SC_OK;
    return sc_extent_load(ctx, ctx->scratch, sc_quant_constant(plan, value)->data,
                          ctx->limits.constant_bytes_max, out);
}

static float number(const uint8_t *bytes, uint64_t index, float otherwise) {
    float value = otherwise;
    if (bytes) memcpy(&value, bytes + index * sizeof(value), sizeof(value));
    return value;
}

// Rounds every product to float32, in PyTorch's order, which differs between the two layers.
static sc_status compute(const sc_quant_plan *plan, const norm *n, factors *out) {
    const uint8_t *b, *gamma, *beta, *mean, *var;
    SC_TRY(load(plan, n->bias, &b));
    SC_TRY(load(plan, n->gamma, &gamma));
    SC_TRY(load(plan, n->beta, &beta));
    SC_TRY(load(plan, n->mean, &mean));
    SC_TRY(load(plan, n->var, &var));
    const bool is_linear = sc_quant_role(n->layer->op) == QUANT_LINEAR;
    out->scale = sc_new_array(plan->ctx->arena, float, n->channels + 1);
    out->bias = sc_new_array(plan->ctx->arena, float, n->channels + 1);
    for (uint64_t i = 0; i < n->channels; i++) {
        const float spread = number(var, i, 0) + (float)n->eps;
        const float r = 1.0f / sqrtf(spread), g = number(gamma, i, 1);
        const float centred = number(b, i, 0) - number(mean, i, 0);
        out->scale[i] = g * r;
        const float scaled = is_linear ? centred * out->scale[i] : centred * r * g;
        out->bias[i] = scaled + number(beta, i, 0);
    }
    return SC_OK;
}

// --- The method ----------------------------------------------------------------------------------

static sc_extent folded_weight(const sc_quant_plan *plan, const norm *n, const float *scale) {
    sc_arena *arena = plan->ctx->arena;
    const sc_constant *old = sc_quant_constant(plan, n->weight);
    int64_t sizes[SC_RANK_MAX];
    sc_weight weight = {.data = sc_quant_row_major(arena, plan->method->exprs, old),
                        .dtype = (sc_dtype)old->spec.dtype,
                        .elements = sc_quant_elements(&old->spec, sizes),
                        .factors = scale};
    weight.factored = sc_slices_axis(old->spec.rank, sizes, n->axis);
    return sc_weight_converted(arena, &weight, weight.dtype);
}

static sc_spec vector_spec(const sc_quant_plan *plan, uint64_t count) {
    sc_spec spec = sc_spec_new(plan->ctx->arena, SC_DTYPE_F32, 1);
    spec.sizes[0] = sc_dim_int((int64_t)count);
    sc_spec_set_contiguous(plan->method->exprs, &spec);
    return spec;
}

// Do all readers of the layer's constant change it in the same way? Then it changes in place.
static bool is_own(const sc_quant_plan *plan, const norm *n, const sc_value *value) {
    const fold_key key = key_of(n);
    for (const sc_arg *use = value->first_use; use; use = use->next_use) {
        sc_node *layer = use->user;
        norm other;
        sc_node *user = layer->op && layer->out_count ? sc_quant_only_user(layer->outs[0]) : NULL;
        if (!user || sc_quant_role(user->op) != QUANT_NORM || !read_norm(plan, user, &other) ||
            other.layer != layer)
            return false;
        const fold_key others = key_of(&other);
        if (memcmp(&key, &others, sizeof(key)) != 0) return false;
    }
    return true;
}

static sc_value *replace(sc_quant_plan *plan, const norm *n, sc_value *value, sc_spec spec,
                         sc_extent data) {
    sc_input_sig *sig = &plan->method->inputs.data[value->index];
    if (!is_own(plan, n, value)) {
        const char *prefix =
            sc_str_dup(plan->ctx->scratch, sc_str_format(plan->ctx->scratch, SC_STR_FMT "_folded_",
                                                         SC_STR_ARG(sig->target)));
        return sc_quant_add_constant(plan, sig->kind, sc_quant_free_name(plan, prefix), spec, data);
    }
    sc_constant *constant = sc_new(plan->ctx->arena, sc_constant);
    *constant = *sig->constant;
    constant->data = data;
    value->spec = constant->spec = spec;
    sig->constant = constant;
    return value;
}

static sc_value *add_bias(sc_quant_plan *plan, const norm *n, sc_extent data) {
    const sc_input_sig *sig = &plan->method->inputs.data[n->weight->index];
    sc_str name = sc_str_format(plan->ctx->arena, SC_STR_FMT "_bias", SC_STR_ARG(sig->target));
    if (sc_map_find(&plan->names, name))
        name = sc_quant_free_name(plan, sc_str_dup(plan->ctx->scratch, name));
    return sc_quant_add_constant(plan, SC_INPUT_PARAMETER, name, vector_spec(plan, n->channels),
                                 data);
}

typedef struct folded {
    sc_value *weight, *bias;
} folded;

static sc_status make(sc_quant_plan *plan, const norm *n, folded *out) {
    sc_arena *arena = plan->ctx->arena;
    factors f;
    SC_TRY(compute(plan, n, &f));
    const sc_extent bias =
        sc_extent_whole(sc_source_from_memory(arena, f.bias, n->channels * sizeof(float)));
    const sc_extent data = folded_weight(plan, n, f.scale);
    sc_spec spec = n->weight->spec;
    spec.strides = sc_new_array(arena, sc_dim, (size_t)spec.rank + 1);
    sc_spec_set_contiguous(plan->method->exprs, &spec);
    out->bias = n->bias ? replace(plan, n, n->bias, vector_spec(plan, n->channels), bias)
                        : add_bias(plan, n, bias);
    out->weight = replace(plan, n, n->weight, spec, data);
    return SC_OK;
}

static sc_status fold(sc_quant_plan *plan, sc_map *done, const norm *n) {
    const fold_key key = key_of(n);
    const sc_str text = {(const char *)&key, sizeof(key)};
    folded *f = sc_map_get(done, text);
    if (!f) {
        f = sc_new(plan->ctx->arena, folded);
        SC_TRY(make(plan, n, f));
        sc_map_add(done, sc_str_copy(plan->ctx->arena, text), f);
    }
    sc_quant_absorb(plan, n->node, n->layer);
    sc_arg_set(sc_node_arg(n->layer, "weight"), sc_arg_value(f->weight));
    sc_arg_set(sc_node_arg(n->layer, "bias"), sc_arg_value(f->bias));
    sc_replace_uses(n->node->outs[0], n->layer->outs[0]);
    sc_node_erase(n->node);
    return SC_OK;
}

sc_status sc_quant_fold_norms(sc_quant_plan *plan) {
    sc_map done;
    sc_map_init(&done, plan->ctx->arena);
    for (sc_node *node = plan->method->graph->first, *next; node; node = next) {
        norm n;
        next = node->next;
        if (sc_quant_role(node->op) != QUANT_NORM) continue;
        sc_where_set_node(plan->ctx, node);
        if (read_norm(plan, node, &n))
            SC_TRY(fold(plan, &done, &n));
        else
            sc_quant_why_not(plan, node,
                             "a batch norm becomes part of a convolution only in eval mode, and "
                             "only if it alone reads the convolution's result");
    }
    return SC_OK;
}
