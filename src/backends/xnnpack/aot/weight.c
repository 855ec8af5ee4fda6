// Constants of a graph: weights in XNNPACK's order and form, made while they are read (stream.c),
// and named by their hash.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"
#include "base/content_key.h"

// --- Names ---------------------------------------------------------------------------------------

static sc_status add_bytes(sc_xa_maker *m, sc_extent bytes, const char *prefix,
                           uint32_t *constant) {
    sc_ctx *ctx = m->x.ctx;
    char digest[SC_CONTENT_KEY_CHARS];
    sc_sb key;
    SC_TRY(sc_extent_content_key(ctx, bytes, digest));
    sc_sb_init(&key, ctx->arena);
    sc_sb_add_text(&key, prefix);
    sc_sb_add(&key, (sc_str){digest, sizeof digest});
    sc_cord *cord = sc_new(ctx->arena, sc_cord);
    sc_cord_init(cord, ctx->arena);
    sc_cord_append_extent(cord, bytes);
    const uint32_t known = m->graph->constants.count;
    *constant = sc_xnn_add_constant(m->graph, sc_sb_str(&key), cord);
    if (m->weight.size)
        sc_vec_push(ctx->arena, &m->graph->constants.data[*constant].weights, m->weight);
    if (*constant == known) return SC_OK;
    bool same = false;
    const sc_cord *there = m->graph->constants.data[*constant].bytes;
    SC_TRY(sc_extent_equal(ctx, there->chunks.data[0].extent, bytes, &same));
    if (same) return SC_OK;
    return sc_fail(ctx, SC_ERR_MISMATCH, NULL, "two weights that differ have one name, " SC_STR_FMT,
                   SC_STR_ARG(sc_sb_str(&key)));
}

static sc_status add_memory(sc_xa_maker *m, const void *bytes, uint64_t size, const char *prefix,
                            uint32_t *constant) {
    sc_source *source = sc_source_from_memory(m->x.ctx->arena, bytes, size);
    return add_bytes(m, sc_extent_whole(source), prefix, constant);
}

static uint32_t add_static(sc_xa_maker *m, sc_xnn_datatype datatype, const sc_xnn_shape *shape,
                           uint32_t constant) {
    const uint32_t id = sc_xnn_add_value(m->graph, datatype, shape);
    m->graph->values.data[id].constant = constant;
    return id;
}

sc_status sc_xa_add_halves(sc_xa_maker *m, const float *values, const sc_xnn_shape *shape,
                           uint32_t *id) {
    uint64_t count;
    uint32_t constant;
    sc_xnn_numel(shape, &count);
    uint16_t *halves = sc_new_array(m->x.ctx->arena, uint16_t, count);
    for (uint64_t i = 0; i < count; i++) halves[i] = sc_f32_to_f16(values[i]);
    SC_TRY(add_memory(m, halves, count * sizeof *halves, "", &constant));
    *id = add_static(m, SC_XNN_FP16, shape, constant);
    return SC_OK;
}

sc_status sc_xa_add_floats(sc_xa_maker *m, const float *values, const sc_xnn_shape *shape,
                           uint32_t *id) {
    uint64_t count;
    uint32_t constant;
    sc_xnn_numel(shape, &count);
    SC_TRY(add_memory(m, values, count * sizeof *values, "", &constant));
    *id = add_static(m, SC_XNN_FP32, shape, constant);
    return SC_OK;
}

// --- Scales --------------------------------------------------------------------------------------

// One scale for each channel, repeated if the weight has one for all.
static sc_status read_scales(sc_ctx *ctx, const sc_xa_params *params, uint64_t channels,
                             double **out, uint32_t *count) {
    sc_xa_constant c;
    if (params->kind == SC_XNN_PER_TENSOR) {
        *out = sc_new_array(ctx->scratch, double, channels);
        for (uint64_t i = 0; i < channels; i++) (*out)[i] = params->scale;
        *count = (uint32_t)channels;
        return SC_OK;
    }
    if (!sc_xa_constant_of(params->scales, &c))
        return sc_fail(ctx, SC_ERR_DELEGATE, NULL, "scales are not constant");
    SC_TRY(sc_xa_read_numbers(ctx, &c, out, count));
    if (*count == channels) return SC_OK;
    return sc_fail(ctx, SC_ERR_DELEGATE, NULL, "%u scales belong to %llu channels", *count,
                   (unsigned long long)channels);
}

// Adds the scales of groups as data, because there may be many.
static sc_status add_group_scales(sc_xa_maker *m, const sc_xa_weight *w, sc_xnn_quant *quant) {
    sc_ctx *ctx = m->x.ctx;
    sc_xa_constant c;
    uint64_t count = 0;
    if (!sc_xa_constant_of(w->constant->params.scales, &c) || !sc_xa_numel(&c, &count) ||
        count == 0 || count % w->channels != 0)
        return sc_fail(ctx, SC_ERR_DELEGATE, NULL, "%llu scales belong to groups of %llu rows",
                       (unsigned long long)count, (unsigned long long)w->channels);
    quant->kind = SC_XNN_PER_GROUP;
    quant->channel_dim = w->channel_dim;
    quant->group_size = (uint32_t)w->constant->params.group;
    quant->scale_count = (uint32_t)count;
    const sc_extent halves =
        sc_xa_to_halves(ctx->arena, sc_xa_extent_of(ctx, &c), c.constant->spec.dtype, count);
    return add_bytes(m, halves, "scale_", &quant->scales);
}

static sc_status add_scales(sc_xa_maker *m, const sc_xa_weight *w, sc_xnn_quant *quant) {
    sc_ctx *ctx = m->x.ctx;
    double *scales;
    uint32_t count;
    if (w->constant->params.kind == SC_XNN_PER_GROUP) return add_group_scales(m, w, quant);
    SC_TRY(read_scales(ctx, &w->constant->params, w->channels, &scales, &count));
    float *floats = sc_new_array(ctx->arena, float, count);
    for (uint32_t i = 0; i < count; i++) floats[i] = (float)scales[i];
    quant->kind = SC_XNN_PER_CHANNEL;
    quant->channel_dim = w->channel_dim;
    quant->scale_count = count;
    return add_memory(m, floats, count * sizeof *floats, "scale_", &quant->scales);
}

// --- Weights -------------------------------------------------------------------------------------

static sc_xnn_datatype integers_of(const sc_xa_weight *w) {
    const sc_xa_params *params = &w->constant->params;
    if (params->kind == SC_XNN_PER_GROUP) return SC_XNN_QBINT4;
    if (params->kind == SC_XNN_PER_TENSOR && !w->by_channel) return SC_XNN_QINT8;
    const bool packs = sc_xa_is_four_bits(params) && w->shape.rank == 2;
    return packs ? SC_XNN_QCINT4 : SC_XNN_QCINT8;
}

static sc_status add_integers(sc_xa_maker *m, const sc_xa_weight *w, sc_extent bytes,
                              uint32_t *id) {
    sc_arena *arena = m->x.ctx->arena;
    const sc_xnn_datatype datatype = integers_of(w);
    uint32_t constant;
    if (sc_xnn_datatypes[datatype].bits == 4)
        bytes = sc_xa_nibbles(arena, bytes, w->shape.dims[0], w->shape.dims[1]);
    SC_TRY(add_bytes(m, bytes, "", &constant));
    *id = add_static(m, datatype, &w->shape, constant);
    sc_xnn_quant quant = {.kind = SC_XNN_PER_TENSOR, .scale = w->constant->params.scale};
    if (datatype != SC_XNN_QINT8) SC_TRY(add_scales(m, w, &quant));
    m->graph->values.data[*id].quant = quant;
    return SC_OK;
}

static sc_status to_floats(sc_xa_maker *m, const sc_xa_weight *w, uint64_t items,
                           sc_extent *bytes) {
    sc_ctx *ctx = m->x.ctx;
    sc_xa_conversion how = {w->constant->constant->spec.dtype, items, w->inner, w->channels, NULL};
    const double *factors = w->factors;
    if (w->constant->dequantize) {
        double *scales;
        uint32_t count;
        SC_TRY(read_scales(ctx, &w->constant->params, w->channels, &scales, &count));
        for (uint32_t i = 0; i < count && factors; i++) scales[i] *= factors[i];
        factors = scales;
    }
    if (factors) {
        double *kept = sc_new_array(ctx->arena, double, w->channels);
        memcpy(kept, factors, w->channels * sizeof *kept);
        how.factors = kept;
    }
    *bytes = sc_xa_to_floats(ctx->arena, *bytes, &how);
    return SC_OK;
}

static sc_status make_weight(sc_xa_maker *m, const sc_xa_weight *w, uint32_t *id) {
    sc_ctx *ctx = m->x.ctx;
    const sc_constant *constant = w->constant->constant;
    const uint8_t dtype = constant->spec.dtype;
    m->weight = constant->name;
    const bool is_float = sc_xnn_datatype_of(dtype) != SC_XNN_DATATYPE_INVALID;
    uint64_t items;
    uint32_t index;
    if (!(is_float || dtype == SC_DTYPE_I8) || !sc_xnn_numel(&w->shape, &items))
        return sc_fail(ctx, SC_ERR_DELEGATE, NULL, "weight " SC_STR_FMT " is %s",
                       SC_STR_ARG(constant->name), sc_dtype_name((sc_dtype)dtype));
    sc_extent bytes = sc_extent_strided(ctx->arena, constant->data, sc_dtype_bytes((sc_dtype)dtype),
                                        w->rank, w->sizes, w->strides, 0);
    if (w->constant->dequantize && w->keeps_dtype) return add_integers(m, w, bytes, id);
    const bool stays = is_float && !w->factors && (w->keeps_dtype || dtype == SC_DTYPE_F32);
    if (!stays) SC_TRY(to_floats(m, w, items, &bytes));
    SC_TRY(add_bytes(m, bytes, "", &index));
    *id = add_static(m, stays ? sc_xnn_datatype_of(dtype) : SC_XNN_FP32, &w->shape, index);
    return SC_OK;
}

typedef struct made_weight {
    sc_xa_weight weight;
    const sc_node *dequantize;
    uint32_t id;
} made_weight;

static bool is_made(const made_weight *made, const sc_xa_weight *w) {
    const sc_xa_weight *a = &made->weight;
    return made->dequantize == w->constant->dequantize && a->rank == w->rank &&
           memcmp(a->sizes, w->sizes, w->rank * sizeof *w->sizes) == 0 &&
           memcmp(a->strides, w->strides, w->rank * sizeof *w->strides) == 0 &&
           a->inner == w->inner && a->channels == w->channels && a->keeps_dtype == w->keeps_dtype &&
           a->by_channel == w->by_channel && a->channel_dim == w->channel_dim &&
           sc_xnn_shape_is(&a->shape, &w->shape);
}

// The weights of an unrolled cell are added once.
sc_status sc_xa_add_weight(sc_xa_maker *m, const sc_xa_weight *w, uint32_t *id) {
    const uint64_t key = SC_PTR_KEY(w->constant->constant);
    const uint64_t *known = sc_imap_find(&m->weights, key);
    const made_weight *there = known ? (const made_weight *)(uintptr_t)*known : NULL;
    if (!w->factors && there && is_made(there, w)) {
        *id = there->id;
        return SC_OK;
    }
    SC_TRY(make_weight(m, w, id));
    if (w->factors) return SC_OK;
    made_weight *made = sc_new(m->x.ctx->arena, made_weight);
    *made = (made_weight){*w, w->constant->dequantize, *id};
    sc_imap_set(&m->weights, key, (uintptr_t)made);
    return SC_OK;
}

// --- Operands ------------------------------------------------------------------------------------

sc_status sc_xa_add_operand(sc_xa_maker *m, const sc_xa_constant *constant, uint32_t rank,
                            sc_xa_layout layout, uint32_t *id) {
    const uint32_t more = rank - constant->rank;
    const bool is_last = layout == SC_XA_CHANNELS_LAST;
    sc_xa_weight w = {.constant = constant,
                      .rank = is_last ? 4 : sc_max_u32(rank, 1),
                      .inner = 1,
                      .channels = 1,
                      .keeps_dtype = !constant->dequantize};
    w.shape.rank = w.rank;
    for (uint32_t d = 0; d < w.rank; d++) w.sizes[d] = 1;
    for (uint32_t d = more; d < rank; d++) {
        const uint32_t place = sc_xa_place(rank, layout, d);
        w.sizes[place] = constant->sizes[d - more];
        w.strides[place] = constant->strides[d - more];
    }
    for (uint32_t d = 0; d < w.rank; d++) w.shape.dims[d] = (uint32_t)w.sizes[d];
    if (constant->dequantize && constant->params.kind == SC_XNN_PER_CHANNEL) {
        const uint32_t place = sc_xa_place(rank, layout, constant->params.axis + more);
        w.channels = (uint64_t)w.sizes[place];
        for (uint32_t d = place + 1; d < w.rank; d++) w.inner *= (uint64_t)w.sizes[d];
    }
    if (constant->constant->spec.dtype != SC_DTYPE_I8 || constant->dequantize)
        return sc_xa_add_weight(m, &w, id);
    // Integers that an operator with 8 bits reads directly.
    m->weight = constant->constant->name;
    sc_ctx *ctx = m->x.ctx;
    uint32_t index;
    SC_TRY(add_bytes(
        m,
        sc_extent_strided(ctx->arena, constant->constant->data, 1, w.rank, w.sizes, w.strides, 0),
        "", &index));
    *id = add_static(m, SC_XNN_QINT8, &w.shape, index);
    sc_xa_set_integers(m, constant->input, *id);
    return SC_OK;
}

sc_status sc_xa_add_bias(sc_xa_maker *m, const double *values, uint32_t count,
                         const sc_xa_params *weight, const sc_xa_params *input, uint32_t *id) {
    sc_ctx *ctx = m->x.ctx;
    const sc_xnn_shape shape = {1, {count}};
    if (!weight) {
        float *floats = sc_new_array(ctx->arena, float, count);
        for (uint32_t i = 0; i < count; i++) floats[i] = (float)values[i];
        return sc_xa_add_floats(m, floats, &shape, id);
    }
    double *scales;
    uint32_t scale_count, constant;
    SC_TRY(read_scales(ctx, weight, count, &scales, &scale_count));
    int32_t *integers = sc_new_array(ctx->arena, int32_t, count);
    float *floats = sc_new_array(ctx->arena, float, count);
    for (uint32_t i = 0; i < count; i++) {
        floats[i] = (float)scales[i] * input->scale;
        const double rounded = rint(values[i] / (double)floats[i]);
        integers[i] = rounded >= INT32_MAX  ? INT32_MAX
                      : rounded > INT32_MIN ? (int32_t)rounded
                                            : INT32_MIN;
    }
    SC_TRY(add_memory(m, integers, count * sizeof *integers, "", &constant));
    sc_xnn_quant quant = {.kind = SC_XNN_PER_TENSOR, .scale = floats[0]};
    const bool by_channel = weight->kind == SC_XNN_PER_CHANNEL;
    *id = add_static(m, by_channel ? SC_XNN_QCINT32 : SC_XNN_QINT32, &shape, constant);
    if (by_channel) {
        quant = (sc_xnn_quant){.kind = SC_XNN_PER_CHANNEL, .scale_count = count};
        SC_TRY(add_memory(m, floats, count * sizeof *floats, "scale_", &quant.scales));
    }
    m->graph->values.data[*id].quant = quant;
    return SC_OK;
}
