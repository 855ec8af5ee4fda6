// scaled_dot_product_attention as PyTorch computes it without a fused kernel, with the chain that
// keeps rows which are masked altogether at zero. On the shapes that its CPU flash kernel takes,
// the result gets that kernel's strides.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

#include <math.h>

typedef struct attention {
    sc_x query, key, value, mask;
    double dropout;
    bool causal, gqa, has_scale;
    double scale;
} attention;

static sc_x additive_mask(sc_trace *t, sc_x mask, sc_dtype dtype) {
    if (sc_x_dtype_of(mask) != SC_DTYPE_BOOL) return mask;
    sc_x closed =
        CALL(t, scalar_tensor, sc_x_float(t, -INFINITY), sc_x_dtype(t, dtype), X_NONE, X_CPU);
    sc_x open = sc_f_scalar(t, sc_x_float(t, 0.0), dtype);
    return sc_f_where(t, mask, open, closed);
}

static bool has_empty_length(const attention *s) {
    return sc_dim_is(sc_x_size(s->query, -2), 0) || sc_dim_is(sc_x_size(s->key, -2), 0);
}

static bool ends_dense(sc_x x) {
    const sc_spec *spec = sc_x_spec(x);
    return spec->rank > 0 && sc_dim_is(spec->strides[spec->rank - 1], 1);
}

static bool takes_flash(const attention *s) {
    sc_x q = s->query, k = s->key, v = s->value;
    if (sc_x_rank(q) != 4 || sc_x_rank(k) != 4 || sc_x_rank(v) != 4 || s->dropout != 0 ||
        !sc_x_is_float(q))
        return false;
    if (sc_x_is_tensor(s->mask) && sc_x_rank(s->mask) != 2 && sc_x_rank(s->mask) != 4) return false;
    if (!sc_dim_equal(sc_x_size(q, 3), sc_x_size(k, 3)) ||
        !sc_dim_equal(sc_x_size(q, 3), sc_x_size(v, 3)))
        return false;
    bool heads = sc_dim_equal(sc_x_size(q, 1), sc_x_size(k, 1)) &&
                 sc_dim_equal(sc_x_size(k, 1), sc_x_size(v, 1));
    bool batch = sc_dim_equal(sc_x_size(q, 0), sc_x_size(k, 0)) &&
                 sc_dim_equal(sc_x_size(k, 0), sc_x_size(v, 0));
    return batch && (heads || s->gqa) && !has_empty_length(s) && ends_dense(q) && ends_dense(k) &&
           ends_dense(v);
}

static sc_x share_heads(sc_trace *t, sc_x x, sc_x query) {
    sc_dim heads = sc_x_size(query, -3), own = sc_x_size(x, -3);
    if (sc_dim_equal(heads, own)) return x;
    sc_dim times = sc_trace_floordiv(t, heads, own);
    return CALL(t, repeat_interleave_self_int, x, sc_x_dim(t, times), sc_x_int(t, -3));
}

static sc_x causal_mask(sc_trace *t, sc_x query, sc_x key) {
    sc_x sizes = X_LIST(t, sc_x_dim(t, sc_x_size(query, -2)), sc_x_dim(t, sc_x_size(key, -2)));
    sc_x ones = CALL(t, ones, sizes, sc_x_dtype(t, SC_DTYPE_BOOL), X_STRIDED, X_CPU, X_FALSE);
    return additive_mask(t, CALL(t, tril, ones), sc_x_dtype_of(query));
}

static sc_x attend(sc_trace *t, const attention *s) {
    sc_dtype dtype = sc_x_dtype_of(s->query), compute = sc_f_opmath(dtype);
    sc_x query = sc_f_to(t, s->query, compute), key = sc_f_to(t, s->key, compute);
    sc_x value = sc_f_to(t, s->value, compute), mask = s->mask;
    double scale =
        s->has_scale ? fabs(s->scale) : 1.0 / sqrt((double)sc_x_static_size(t, query, -1));
    double root = sqrt(scale), sign = s->has_scale && s->scale < 0 ? -1.0 : 1.0;
    query = sc_f_mul_number(t, query, sign * root);
    if (s->causal) mask = causal_mask(t, query, key);
    if (s->gqa) {
        key = share_heads(t, key, query);
        value = share_heads(t, value, query);
    }
    key = sc_f_mul_number(t, sc_f_transpose(t, key, -2, -1), root);
    sc_x scores = sc_f_matmul(t, query, key);
    if (sc_x_is_tensor(mask)) scores = sc_f_add(t, scores, mask);
    scores = CALL(t, _safe_softmax, scores, sc_x_int(t, -1));
    if (s->dropout > 0) scores = CALL(t, dropout, scores, sc_x_float(t, s->dropout), X_TRUE);
    return sc_f_to(t, sc_f_matmul(t, scores, value), dtype);
}

static sc_x attend_best(sc_trace *t, attention *s) {
    if (sc_x_is_tensor(s->mask)) s->mask = additive_mask(t, s->mask, sc_x_dtype_of(s->query));
    bool flash = takes_flash(s);
    sc_x out = attend(t, s);
    if (!flash) return out;
    // The exporter traced another kernel: its record says contiguous, and so does all after it.
    t->strides_differ = true;
    out = CALL(t, permute, out, X_INTS(t, 2, 0, 1, 3));
    return CALL(t, permute, sc_f_contiguous(t, out), X_INTS(t, 1, 2, 0, 3));
}

sc_x sc_expand_sdpa(sc_trace *t, const sc_x *a) {
    attention s = {.query = a[0],
                   .key = a[1],
                   .value = a[2],
                   .mask = a[3],
                   .dropout = sc_x_known(t, a[4], 0),
                   .causal = sc_x_truth(a[5]),
                   .has_scale = !sc_x_is_none(a[6]),
                   .scale = sc_x_known(t, a[6], 1),
                   .gqa = sc_x_truth(a[7])};
    if (sc_x_rank(s.query) < 2 || sc_x_rank(s.key) < 2 || sc_x_rank(s.value) < 2)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "attention does not take rank-%u tensors",
                             sc_x_rank(s.query));
    bool lifted = sc_x_rank(s.query) == 3 && sc_x_rank(s.key) == 3 && sc_x_rank(s.value) == 3 &&
                  (!sc_x_is_tensor(s.mask) || sc_x_rank(s.mask) == 2 || sc_x_rank(s.mask) == 3);
    if (!lifted) return attend_best(t, &s);
    s.query = sc_f_unsqueeze(t, s.query, 0);
    s.key = sc_f_unsqueeze(t, s.key, 0);
    s.value = sc_f_unsqueeze(t, s.value, 0);
    while (sc_x_is_tensor(s.mask) && sc_x_rank(s.mask) < 4) s.mask = sc_f_unsqueeze(t, s.mask, 0);
    return sc_f_squeeze(t, attend_best(t, &s), 0);
}
