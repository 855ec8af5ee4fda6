// scaled_dot_product_attention as PyTorch computes it without a fused kernel, with the chain that
// keeps rows which are masked altogether at zero. On the shapes that its CPU flash kernel takes,
// the result gets that kernel's strides.
#include "passes/expand.h"

#include <math.h>

typedef struct attention {
    sc_x query, key, value, mask;
    double dropout;
    bool causal, gqa, has_scale;
    double scale;
} attention;

static sc_x additive_mask(sc_trace *t, sc_x mask, sc_dtype dtype) {
    if (x_dtype_of(mask) != SC_DTYPE_BOOL) return mask;
    sc_x closed = T(scalar_tensor, X_FLOAT(-INFINITY), X_DTYPE(dtype), X_NONE, X_CPU);
    sc_x open = f_scalar(t, X_FLOAT(0.0), dtype);
    return T(where_self, mask, open, closed);
}

static bool has_empty_length(const attention *s) {
    return sc_dim_is(x_size(s->query, -2), 0) || sc_dim_is(x_size(s->key, -2), 0);
}

static bool ends_dense(sc_x x) {
    const sc_spec *spec = x_spec(x);
    return spec->rank > 0 && sc_dim_is(spec->strides[spec->rank - 1], 1);
}

static bool takes_flash(const attention *s) {
    sc_x q = s->query, k = s->key, v = s->value;
    if (x_rank(q) != 4 || x_rank(k) != 4 || x_rank(v) != 4 || s->dropout != 0 || !x_is_float(q))
        return false;
    if (x_is_tensor(s->mask) && x_rank(s->mask) != 2 && x_rank(s->mask) != 4) return false;
    if (!sc_dim_equal(x_size(q, 3), x_size(k, 3)) || !sc_dim_equal(x_size(q, 3), x_size(v, 3)))
        return false;
    bool heads =
        sc_dim_equal(x_size(q, 1), x_size(k, 1)) && sc_dim_equal(x_size(k, 1), x_size(v, 1));
    bool batch =
        sc_dim_equal(x_size(q, 0), x_size(k, 0)) && sc_dim_equal(x_size(k, 0), x_size(v, 0));
    return batch && (heads || s->gqa) && !has_empty_length(s) && ends_dense(q) && ends_dense(k) &&
           ends_dense(v);
}

static sc_x share_heads(sc_trace *t, sc_x x, sc_x query) {
    sc_dim heads = x_size(query, -3), own = x_size(x, -3);
    if (sc_dim_equal(heads, own)) return x;
    sc_dim times = sc_trace_floordiv(t, heads, own);
    return T(repeat_interleave_self_int, x, X_DIM(times), X_INT(-3));
}

static sc_x causal_mask(sc_trace *t, sc_x query, sc_x key) {
    sc_x sizes = X_LIST(X_DIM(x_size(query, -2)), X_DIM(x_size(key, -2)));
    sc_x ones = T(ones, sizes, X_DTYPE(SC_DTYPE_BOOL), X_STRIDED, X_CPU, X_FALSE);
    return additive_mask(t, T(tril, ones), x_dtype_of(query));
}

static sc_x attend(sc_trace *t, const attention *s) {
    sc_dtype dtype = x_dtype_of(s->query), compute = f_opmath(dtype);
    sc_x query = f_to(t, s->query, compute), key = f_to(t, s->key, compute);
    sc_x value = f_to(t, s->value, compute), mask = s->mask;
    double scale = s->has_scale ? fabs(s->scale) : 1.0 / sqrt((double)x_static_size(t, query, -1));
    double root = sqrt(scale), sign = s->has_scale && s->scale < 0 ? -1.0 : 1.0;
    query = T(mul_Scalar, query, X_FLOAT(sign * root));
    if (s->causal) mask = causal_mask(t, query, key);
    if (s->gqa) {
        key = share_heads(t, key, query);
        value = share_heads(t, value, query);
    }
    key = T(mul_Scalar, f_transpose(t, key, -2, -1), X_FLOAT(root));
    sc_x scores = f_matmul(t, query, key);
    if (x_is_tensor(mask)) scores = T(add_Tensor, scores, mask);
    scores = T(_safe_softmax, scores, X_INT(-1));
    if (s->dropout > 0) scores = T(dropout, scores, X_FLOAT(s->dropout), X_TRUE);
    return f_to(t, f_matmul(t, scores, value), dtype);
}

static sc_x attend_best(sc_trace *t, attention *s) {
    if (x_is_tensor(s->mask)) s->mask = additive_mask(t, s->mask, x_dtype_of(s->query));
    bool flash = takes_flash(s);
    sc_x out = attend(t, s);
    if (!flash) return out;
    // The exporter traced another kernel: its record says contiguous, and so does all after it.
    t->strides_differ = true;
    out = T(permute, out, X_INTS(2, 0, 1, 3));
    return T(permute, f_contiguous(t, out), X_INTS(1, 2, 0, 3));
}

sc_x sc_expand_sdpa(sc_trace *t, const sc_x *a) {
    attention s = {.query = a[0],
                   .key = a[1],
                   .value = a[2],
                   .mask = a[3],
                   .dropout = x_real(a[4], 0),
                   .causal = x_truth(a[5]),
                   .has_scale = !x_is_none(a[6]),
                   .scale = x_real(a[6], 1),
                   .gqa = x_truth(a[7])};
    if (x_rank(s.query) < 2 || x_rank(s.key) < 2 || x_rank(s.value) < 2)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "attention on rank-%u tensors",
                             x_rank(s.query));
    bool lifted = x_rank(s.query) == 3 && x_rank(s.key) == 3 && x_rank(s.value) == 3 &&
                  (!x_is_tensor(s.mask) || x_rank(s.mask) == 2 || x_rank(s.mask) == 3);
    if (!lifted) return attend_best(t, &s);
    s.query = f_unsqueeze(t, s.query, 0);
    s.key = f_unsqueeze(t, s.key, 0);
    s.value = f_unsqueeze(t, s.value, 0);
    while (x_is_tensor(s.mask) && x_rank(s.mask) < 4) s.mask = f_unsqueeze(t, s.mask, 0);
    return f_squeeze(t, attend_best(t, &s), 0);
}
