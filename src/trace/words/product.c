// Matmul and linear. Which form a matmul takes depends on strides and on whether an operand is a
// parameter that wants a gradient, exactly as PyTorch decides it; see should_fold.
#include "trace/words/calls.h"

// --- Matmul -------------------------------------------------------------------------------------

static bool requires_grad(sc_x x) { return sc_x_spec(x)->requires_grad; }

// Contiguous but for dims of size 1, as `size * running product` says; the first size never counts.
static bool is_packed(sc_trace *t, sc_x x) {
    const sc_spec *spec = sc_x_spec(x);
    sc_dim expected = sc_dim_int(1);
    for (uint32_t d = spec->rank; d-- > 0;) {
        if (!sc_dim_is(spec->sizes[d], 1) && !sc_dim_equal(spec->strides[d], expected))
            return false;
        expected = sc_dim_mul(t->exprs, expected, spec->sizes[d]);
    }
    return true;
}

// May the batch of the larger operand be folded into rows, so that one mm does?
static bool should_fold(sc_trace *t, sc_x a, sc_x b) {
    sc_x big = sc_x_rank(a) >= sc_x_rank(b) ? a : b, small = sc_x_rank(a) >= sc_x_rank(b) ? b : a;
    if (sc_x_rank(big) < 3 || sc_x_rank(small) > 2) return false;
    if (requires_grad(small)) return true;
    if (sc_x_rank(a) == 2) return false;
    return sc_dim_is(sc_x_numel(t, big), 0) || is_packed(t, big);
}

static sc_x matmul_folded(sc_trace *t, sc_x a, sc_x b) {
    bool swapped = sc_x_rank(b) > sc_x_rank(a);
    sc_x big = swapped ? CALL(t, mT, b) : a;
    sc_x small = !swapped ? b : sc_x_rank(a) == 2 ? CALL(t, t, a) : a;
    const sc_spec *spec = sc_x_spec(big);
    uint32_t rank = spec->rank - 1;
    sc_dim out[SC_RANK_MAX], folded[2];
    memcpy(out, spec->sizes, rank * sizeof *out);
    folded[0] = sc_trace_product(t, out, rank);
    folded[1] = spec->sizes[rank];
    bool is_matrix = sc_x_rank(small) == 2;
    if (is_matrix) out[rank++] = sc_x_size(small, 1);
    sc_x rows = sc_f_reshape(t, big, folded, 2);
    if (!is_matrix) return CALL(t, _unsafe_view, CALL(t, mv, rows, small), sc_x_dims(t, out, rank));
    sc_x result = CALL(t, _unsafe_view, CALL(t, mm, rows, small), sc_x_dims(t, out, rank));
    return swapped ? sc_f_contiguous(t, CALL(t, mT, result)) : result;
}

static uint32_t broadcast_batch(sc_x a, sc_x b, sc_dim *out) {
    uint32_t ra = sc_x_rank(a) > 2 ? sc_x_rank(a) - 2 : 0,
             rb = sc_x_rank(b) > 2 ? sc_x_rank(b) - 2 : 0;
    uint32_t rank = ra > rb ? ra : rb;
    for (uint32_t i = 0; i < rank; i++) {
        sc_dim x = i + ra >= rank ? sc_x_size(a, (int64_t)(i + ra - rank)) : sc_dim_int(1);
        sc_dim y = i + rb >= rank ? sc_x_size(b, (int64_t)(i + rb - rank)) : sc_dim_int(1);
        out[i] = sc_x_broadcast(x, y);
    }
    return rank;
}

// expand to the common batch, then reshape it into one dim; both nodes are made in any case.
static sc_x batched(sc_trace *t, sc_x x, const sc_dim *batch, uint32_t batch_rank, sc_dim product,
                    const sc_dim *matrix, uint32_t matrix_rank) {
    sc_dim wide[SC_RANK_MAX], flat[3];
    memcpy(wide, batch, batch_rank * sizeof *wide);
    memcpy(wide + batch_rank, matrix, matrix_rank * sizeof *wide);
    flat[0] = product;
    memcpy(flat + 1, matrix, matrix_rank * sizeof *flat);
    sc_x expanded = sc_f_expand(t, x, wide, batch_rank + matrix_rank);
    return sc_f_reshape(t, expanded, flat, matrix_rank + 1);
}

static sc_x matmul_batched(sc_trace *t, sc_x a, sc_x b) {
    uint32_t ra = sc_x_rank(a), rb = sc_x_rank(b);
    sc_dim batch[SC_RANK_MAX];
    sc_dim left[2] = {ra > 1 ? sc_x_size(a, -2) : sc_dim_int(1), sc_x_size(a, -1)};
    sc_dim right[2] = {rb > 1 ? sc_x_size(b, -2) : sc_x_size(b, -1),
                       rb > 1 ? sc_x_size(b, -1) : sc_dim_int(1)};
    uint32_t rank = broadcast_batch(a, b, batch);
    sc_dim product = sc_trace_product(t, batch, rank);
    sc_x x = batched(t, a, batch, rank, product, left, 2);
    sc_x y;
    if (rb == 1)
        y = sc_f_unsqueeze(t, batched(t, b, batch, rank, product, right, 1), 2);
    else
        y = batched(t, b, batch, rank, product, right, 2);
    sc_x result = CALL(t, bmm, x, y);
    if (rb == 1) result = sc_f_squeeze(t, result, -1);
    if (ra > 1) batch[rank++] = left[0];
    if (rb > 1) batch[rank++] = right[1];
    return sc_f_view(t, result, batch, rank);
}

sc_x sc_f_matmul(sc_trace *t, sc_x a, sc_x b) {
    uint32_t ra = sc_x_rank(a), rb = sc_x_rank(b);
    if (ra == 0 || rb == 0)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "matmul does not take a rank-0 tensor");
    if (ra == 1 && rb == 1) return CALL(t, dot, a, b);
    if (ra == 2 && rb == 1) return CALL(t, mv, a, b);
    if (ra == 1 && rb == 2) return sc_f_squeeze(t, CALL(t, mm, sc_f_unsqueeze(t, a, 0), b), 0);
    if (ra == 2 && rb == 2) return CALL(t, mm, a, b);
    if (should_fold(t, a, b)) return matmul_folded(t, a, b);
    if (ra == 3 && rb == 3 && !sc_dim_equal(sc_x_size(a, 0), sc_x_size(b, 0))) {
        if (sc_dim_is(sc_x_size(a, 0), 1) && requires_grad(a))
            return sc_f_matmul(t, sc_f_squeeze(t, a, 0), b);
        if (sc_dim_is(sc_x_size(b, 0), 1) && requires_grad(b))
            return sc_f_matmul(t, a, sc_f_squeeze(t, b, 0));
    }
    return matmul_batched(t, a, b);
}

// --- Linear -------------------------------------------------------------------------------------

// Rows into one dim, addmm, and back: only where that needs no copy.
static sc_x linear_flat(sc_trace *t, sc_x x, sc_x weight, sc_x bias) {
    const sc_spec *spec = sc_x_spec(x);
    sc_dim flat[2], out[SC_RANK_MAX];
    uint32_t rank = spec->rank;
    memcpy(out, spec->sizes, rank * sizeof *out);
    flat[0] = sc_trace_product(t, out, rank - 1);
    flat[1] = out[rank - 1];
    out[rank - 1] = sc_x_size(weight, 0);
    sc_x rows = sc_f_view(t, x, flat, 2);
    sc_x product = CALL(t, addmm, bias, rows, CALL(t, t, weight));
    return sc_f_view(t, product, out, rank);
}

sc_x sc_f_linear(sc_trace *t, sc_x x, sc_x weight, sc_x bias) {
    uint32_t rank = sc_x_rank(x);
    if (sc_x_rank(weight) != 2 || rank == 0)
        return sc_x_is_none(bias)
                   ? sc_f_matmul(t, x, CALL(t, t, weight))
                   : sc_trace_fail(t, SC_ERR_SHAPE, NULL, "linear needs a matrix of weights");
    if (sc_x_is_tensor(bias) && rank == 2) return CALL(t, addmm, bias, x, CALL(t, t, weight));
    if (sc_x_is_tensor(bias) && sc_x_rank(bias) == 1 && sc_x_is_contiguous(t, x))
        return linear_flat(t, x, weight, bias);
    sc_x product = sc_f_matmul(t, x, CALL(t, t, weight));
    return sc_x_is_tensor(bias) ? CALL(t, add_Tensor, product, bias) : product;
}
