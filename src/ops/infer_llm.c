// Rules of the operators of ExecuTorch's libraries for language models: caches, and attention over
// them.
#include "ops/rule.h"

// --- Caches --------------------------------------------------------------------------------------

static sc_status need_rank(sc_infer *in, const char *what, const sc_spec *spec, uint32_t rank) {
    if (spec->rank == rank) return SC_OK;
    return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs %s of %u dimensions, not %s", in->op->name,
                        what, rank, sc_rule_text(in, spec));
}

// The rows that are written: the cache's, but fewer of them. Their number is dim 1.
static sc_status need_rows_of(sc_infer *in, const sc_spec *value, const sc_spec *cache) {
    SC_TRY(need_rank(in, "a value", value, 4));
    SC_TRY(need_rank(in, "a cache", cache, 4));
    if (value->dtype != cache->dtype)
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s writes %s to a cache of %s", in->op->name,
                            sc_dtype_name((sc_dtype)value->dtype),
                            sc_dtype_name((sc_dtype)cache->dtype));
    for (uint32_t d = 0; d < 4; d++)
        if (d != 1)
            SC_TRY(sc_rule_same(in, value->sizes[d], cache->sizes[d],
                                "the sizes of a value and its cache, apart from dimension 1,"));
    if (sc_dim_known_le(value->sizes[1], cache->sizes[1]) == SC_TRI_FALSE)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s writes %s rows to a cache of %s", in->op->name,
                            sc_rule_dim_text(in, value->sizes[1]),
                            sc_rule_dim_text(in, cache->sizes[1]));
    return SC_OK;
}

// The cache as it is then. The call of a .pte also has a result that nobody reads.
sc_status sc_infer_update_cache(sc_infer *in) {
    const sc_spec *value = sc_rule_tensor(in, 0), *cache = sc_rule_tensor(in, 1);
    const sc_spec *indices = sc_rule_tensor_named(in, "indices");
    SC_TRY(need_rows_of(in, value, cache));
    if (indices) {
        SC_TRY(need_rank(in, "indices", indices, 2));
        for (uint32_t d = 0; d < 2; d++)
            SC_TRY(sc_rule_same(in, indices->sizes[d], value->sizes[d],
                                "the sizes of indices and of the first dimensions of a value"));
    }
    sc_spec after = sc_rule_like(in, (sc_dtype)cache->dtype, cache);
    memcpy(after.strides, cache->strides, cache->rank * sizeof(sc_dim));
    if (!sc_op_has(in->op, SC_MUTATES)) return sc_rule_publish_like(in, after.dtype, cache);
    sc_infer_outs(in, 2);
    sc_rule_set_vector(in, &in->outs[0], (sc_dtype)value->dtype, sc_dim_int(1));
    sc_rule_set(&in->outs[1], after);
    return SC_OK;
}

// --- Attention -----------------------------------------------------------------------------------

typedef struct operands {
    const sc_spec *q, *k, *v, *mask;
    uint32_t sequence, heads;  // which dims they are
} operands;

static sc_status need_same(sc_infer *in, const operands *o, uint32_t dim, const char *what) {
    SC_TRY(sc_rule_same(in, o->q->sizes[dim], o->k->sizes[dim], what));
    return sc_rule_same(in, o->k->sizes[dim], o->v->sizes[dim], what);
}

static sc_status check_heads(sc_infer *in, const operands *o) {
    const sc_dim q = o->q->sizes[o->heads], k = o->k->sizes[o->heads];
    SC_TRY(sc_rule_same(in, k, o->v->sizes[o->heads], "the heads of keys and values"));
    if (!sc_dim_is_int(q) || !sc_dim_is_int(k) || (k.value > 0 && q.value % k.value == 0))
        return SC_OK;
    return sc_rule_fail(in, SC_ERR_SHAPE, "%s: %lld heads of queries cannot share %lld of keys",
                        in->op->name, (long long)q.value, (long long)k.value);
}

static sc_status check_mask(sc_infer *in, const operands *o) {
    if (!o->mask || sc_spec_is_empty(o->mask)) return SC_OK;
    if (sc_rule_bool(in, "is_causal", false))
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s takes a mask or is_causal, not both",
                            in->op->name);
    SC_TRY(need_rank(in, "a mask", o->mask, 2));
    if (o->mask->dtype != SC_DTYPE_F32)
        return sc_rule_fail(in, SC_ERR_DTYPE,
                            "%s adds its mask to scores, so it takes float32, not %s", in->op->name,
                            sc_dtype_name((sc_dtype)o->mask->dtype));
    SC_TRY(sc_rule_same(in, o->mask->sizes[0], o->q->sizes[o->sequence],
                        "the rows of a mask and the queries"));
    return sc_rule_same(in, o->mask->sizes[1], o->k->sizes[o->sequence],
                        "the columns of a mask and the keys");
}

static sc_status check(sc_infer *in, const operands *o) {
    SC_TRY(need_rank(in, "queries", o->q, 4));
    SC_TRY(need_rank(in, "keys", o->k, 4));
    SC_TRY(need_rank(in, "values", o->v, 4));
    if (o->q->dtype != o->k->dtype || o->q->dtype != o->v->dtype)
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s takes queries, keys and values of one dtype",
                            in->op->name);
    SC_TRY(need_same(in, o, 0, "the batches of queries, keys and values"));
    SC_TRY(need_same(in, o, 3, "the sizes of heads of queries, keys and values"));
    SC_TRY(sc_rule_same(in, o->k->sizes[o->sequence], o->v->sizes[o->sequence],
                        "the numbers of keys and values"));
    SC_TRY(check_heads(in, o));
    return check_mask(in, o);
}

sc_status sc_infer_custom_sdpa(sc_infer *in) {
    const operands o = {.q = sc_rule_tensor(in, 0),
                        .k = sc_rule_tensor(in, 1),
                        .v = sc_rule_tensor(in, 2),
                        .mask = sc_rule_tensor_named(in, "attn_mask"),
                        .sequence = 1,
                        .heads = 2};
    SC_TRY(check(in, &o));
    return sc_rule_publish_like(in, (sc_dtype)o.q->dtype, o.q);
}

// Zero points and scales of one operand: those of a row, for each row.
static sc_status check_parameters(sc_infer *in, const sc_spec *of, const char *zeros,
                                  const char *scales) {
    const char *names[] = {zeros, scales};
    for (uint32_t i = 0; i < 2; i++) {
        const sc_spec *spec = sc_rule_tensor_named(in, names[i]);
        const sc_dtype dtype = i ? SC_DTYPE_F32 : SC_DTYPE_I8;
        if (!spec || spec->dtype != dtype || spec->rank != 4 || !sc_dim_is(spec->sizes[3], 1))
            return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs %s of %s, one for each row",
                                in->op->name, names[i], sc_dtype_name(dtype));
        for (uint32_t d = 0; d < 3; d++)
            SC_TRY(sc_rule_same(in, spec->sizes[d], of->sizes[d],
                                "the rows of a quantized tensor and of its scales"));
    }
    return SC_OK;
}

sc_status sc_infer_custom_quantized_sdpa(sc_infer *in) {
    const bool is_late = sc_rule_bool(in, "is_seq_at_dim_2", false);
    const operands o = {.q = sc_rule_tensor(in, 0),
                        .k = sc_rule_tensor(in, 1),
                        .v = sc_rule_tensor(in, 2),
                        .mask = sc_rule_tensor_named(in, "attn_mask"),
                        .sequence = is_late ? 2 : 1,
                        .heads = is_late ? 1 : 2};
    SC_TRY(check(in, &o));
    SC_TRY(check_parameters(in, o.q, "q_zero_points", "q_scales"));
    SC_TRY(check_parameters(in, o.k, "k_zero_points", "k_scales"));
    SC_TRY(check_parameters(in, o.v, "v_zero_points", "v_scales"));
    return sc_rule_publish_like(in, SC_DTYPE_F32, o.q);
}

// The attention, and both caches as they are then.
sc_status sc_infer_sdpa_with_kv_cache(sc_infer *in) {
    const operands o = {.q = sc_rule_tensor(in, 0),
                        .k = sc_rule_tensor_named(in, "key_cache"),
                        .v = sc_rule_tensor_named(in, "value_cache"),
                        .mask = sc_rule_tensor_named(in, "attn_mask"),
                        .sequence = 1,
                        .heads = 2};
    SC_TRY(need_rows_of(in, sc_rule_tensor(in, 1), o.k));
    SC_TRY(need_rows_of(in, sc_rule_tensor(in, 2), o.v));
    SC_TRY(check(in, &o));
    sc_infer_outs(in, 3);
    sc_spec out = sc_rule_like(in, (sc_dtype)o.q->dtype, o.q);
    sc_rule_contiguous(in, &out);
    sc_rule_set(&in->outs[0], out);
    sc_rule_set(&in->outs[1], *o.k);
    sc_rule_set(&in->outs[2], *o.v);
    return SC_OK;
}

// --- Others --------------------------------------------------------------------------------------

// (query [b, heads * n, t, k], key [b, heads, t, k], value [b, heads, t, v], decay [b, heads, t] or
// like key, beta [b, heads, t], state [b, heads, k, v]): the result like query, of v numbers, and
// the state.
sc_status sc_infer_gated_delta_rule(sc_infer *in) {
    const sc_spec *q = sc_rule_tensor(in, 0), *k = sc_rule_tensor(in, 1),
                  *v = sc_rule_tensor(in, 2), *decay = sc_rule_tensor(in, 3),
                  *beta = sc_rule_tensor(in, 4), *state = sc_rule_tensor(in, 5);
    const sc_spec *whole[] = {q, k, v, state}, *by_step[] = {decay, beta};
    static const char *const what = "the sizes of queries, keys, values and their state";
    for (uint32_t i = 0; i < 4; i++) SC_TRY(need_rank(in, "each operand", whole[i], 4));
    SC_TRY(need_rank(in, "beta", beta, 3));
    SC_TRY(need_rank(in, "decay", decay, decay->rank == 4 ? 4 : 3));
    for (uint32_t i = 1; i < 4; i++) {
        SC_TRY(sc_rule_same(in, whole[i]->sizes[0], q->sizes[0], what));
        SC_TRY(sc_rule_same(in, whole[i]->sizes[1], k->sizes[1], what));
    }
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t d = 0; d < by_step[i]->rank; d++)
            SC_TRY(sc_rule_same(in, by_step[i]->sizes[d], k->sizes[d], what));
    SC_TRY(sc_rule_same(in, q->sizes[2], k->sizes[2], what));
    SC_TRY(sc_rule_same(in, v->sizes[2], k->sizes[2], what));
    SC_TRY(sc_rule_same(in, q->sizes[3], k->sizes[3], what));
    SC_TRY(sc_rule_same(in, state->sizes[2], k->sizes[3], what));
    SC_TRY(sc_rule_same(in, state->sizes[3], v->sizes[3], what));
    const sc_dim heads = q->sizes[1], kept = k->sizes[1];
    if (sc_dim_is_int(heads) && sc_dim_is_int(kept) &&
        (kept.value <= 0 || heads.value % kept.value != 0))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: %lld heads of queries cannot share %lld of keys",
                            in->op->name, (long long)heads.value, (long long)kept.value);
    sc_infer_outs(in, 2);
    sc_spec out = sc_rule_like(in, (sc_dtype)q->dtype, q);
    sc_spec after = sc_rule_like(in, (sc_dtype)state->dtype, state);
    out.sizes[3] = v->sizes[3];
    sc_rule_contiguous(in, &out);
    sc_rule_contiguous(in, &after);
    sc_rule_set(&in->outs[0], out);
    sc_rule_set(&in->outs[1], after);
    return SC_OK;
}

static bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

// The last dimension is a power of two, or 28 times one.
sc_status sc_infer_hadamard(sc_infer *in) {
    const sc_spec *x = sc_rule_tensor(in, 0);
    const sc_dim last = x->rank ? x->sizes[x->rank - 1] : sc_dim_int(0);
    if (sc_dim_is_int(last) && last.value > 0 && !is_power_of_two(last.value) &&
        !(last.value % 28 == 0 && is_power_of_two(last.value / 28)))
        return sc_rule_fail(in, SC_ERR_SHAPE,
                            "%s transforms rows of a power of two, or of 28 times one, not of %lld",
                            in->op->name, (long long)last.value);
    return sc_rule_publish_like(in, (sc_dtype)x->dtype, x);
}

// [channels, height, width] as [tiles, channels, size, size].
sc_status sc_infer_tile_crop(sc_infer *in) {
    const sc_spec *x = sc_rule_tensor(in, 0);
    int64_t size;
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, "tile_size"), "tile_size", &size));
    SC_TRY(need_rank(in, "an image", x, 3));
    if (size <= 0)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs a tile_size above 0, not %lld",
                            in->op->name, (long long)size);
    for (uint32_t d = 1; d < 3; d++)
        if (sc_dim_is_int(x->sizes[d]) && x->sizes[d].value % size != 0)
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s cannot cut %lld into tiles of %lld",
                                in->op->name, (long long)x->sizes[d].value, (long long)size);
    sc_spec spec = sc_rule_new(in, (sc_dtype)x->dtype, 4);
    const sc_dim down = sc_rule_ceildiv(in, x->sizes[1], sc_dim_int(size));
    const sc_dim across = sc_rule_ceildiv(in, x->sizes[2], sc_dim_int(size));
    spec.sizes[0] = sc_dim_mul(in->exprs, down, across);
    spec.sizes[1] = x->sizes[0];
    spec.sizes[2] = spec.sizes[3] = sc_dim_int(size);
    return sc_rule_publish_contiguous(in, spec);
}
