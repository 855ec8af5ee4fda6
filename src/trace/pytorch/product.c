// Expansions of products.
#include <math.h>

#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

sc_x sc_expand_matmul(sc_trace *t, const sc_x *a) { return sc_f_matmul(t, a[0], a[1]); }
sc_x sc_expand_linear(sc_trace *t, const sc_x *a) { return sc_f_linear(t, a[0], a[1], a[2]); }

// --- Small products -----------------------------------------------------------------------------

// The factor for the dtype of `of`: for integers its fraction is cut off, as in PyTorch.
static sc_x factor(sc_trace *t, sc_x by, sc_x of) {
    const bool is_whole = sc_dtype_category(sc_x_dtype_of(of)) < SC_CATEGORY_FLOAT;
    if (!is_whole || by->kind != SC_X_FLOAT || !(fabs(by->f) < 2147483648.0)) return by;
    return sc_x_int(t, (int64_t)by->f);
}

// beta * self + alpha * result; sums of integers are no wider here than what is summed
static sc_x added(sc_trace *t, const sc_x *a, sc_x result) {
    sc_x beta = factor(t, a[3], a[1]), alpha = factor(t, a[4], a[1]);
    result = sc_f_to_dtype_of(t, result, a[1]);
    if (!sc_x_equals(alpha, 1)) result = sc_f_mul(t, result, alpha);
    if (sc_x_equals(beta, 0)) return result;
    sc_x self = sc_x_equals(beta, 1) ? a[0] : sc_f_mul(t, a[0], beta);
    return sc_f_add(t, self, result);
}

sc_x sc_expand_baddbmm(sc_trace *t, const sc_x *a) { return added(t, a, CALL(t, bmm, a[1], a[2])); }

sc_x sc_expand_addbmm(sc_trace *t, const sc_x *a) {
    sc_x product = CALL(t, bmm, a[1], a[2]);
    return added(t, a, sc_f_sum(t, product, X_INTS(t, 0), false));
}

sc_x sc_expand_addmv(sc_trace *t, const sc_x *a) {
    sc_x beta = factor(t, a[3], a[1]), alpha = factor(t, a[4], a[1]);
    sc_x product = CALL(t, mv, a[1], a[2]);
    sc_x out = sc_f_mul(t, product, alpha);
    if (sc_x_equals(beta, 0)) return out;
    return sc_f_add(t, out, sc_f_mul(t, a[0], beta));
}

// addr of booleans: "or" of self and the "and" of both vectors; beta and alpha say whether each
// side counts.
static sc_x addr_of_bools(sc_trace *t, const sc_x *a) {
    sc_x product = CALL(t, outer, a[1], a[2]);
    if (sc_x_equals(a[4], 0)) product = CALL(t, full_like, product, X_FALSE);
    return sc_x_equals(a[3], 0) ? product : sc_f_or(t, a[0], product);
}

sc_x sc_expand_addr(sc_trace *t, const sc_x *a) {
    if (sc_x_dtype_of(a[0]) == SC_DTYPE_BOOL) return addr_of_bools(t, a);
    sc_dim sizes[2] = {sc_x_size(a[1], 0), sc_x_size(a[2], 0)};
    sc_x self = sc_f_expand(t, a[0], sizes, 2);
    if (sc_x_equals(a[3], 0)) return sc_f_mul(t, CALL(t, outer, a[1], a[2]), a[4]);
    self = sc_f_mul(t, self, a[3]);
    sc_x product = sc_f_mul(t, CALL(t, outer, a[1], a[2]), a[4]);
    return sc_f_add(t, self, product);
}

enum { CHAIN_MAX = 32 };

// Finds where to split each run of matrices so that its product takes the fewest multiplications;
// unknown sizes count as 1.
static void plan_chain(const sc_x *items, uint32_t count, uint8_t split[CHAIN_MAX][CHAIN_MAX]) {
    double cost[CHAIN_MAX][CHAIN_MAX] = {{0}}, sizes[CHAIN_MAX + 1];
    for (uint32_t i = 0; i <= count; i++) {
        sc_dim size = i < count ? sc_x_size(items[i], 0) : sc_x_size(items[count - 1], 1);
        sizes[i] = size.expr ? 1 : (double)size.value;
    }
    for (uint32_t length = 1; length < count; length++)
        for (uint32_t i = 0; i + length < count; i++) {
            uint32_t end = i + length;
            cost[i][end] = HUGE_VAL;
            for (uint32_t k = i; k < end; k++) {
                double own = sizes[i] * sizes[k + 1] * sizes[end + 1];
                own += cost[i][k] + cost[k + 1][end];
                if (own >= cost[i][end]) continue;
                cost[i][end] = own;
                split[i][end] = (uint8_t)k;
            }
        }
}

// Products of all runs that the plan needs, shorter ones first; at most 32 deep.
static sc_x chain_product(sc_trace *t, const sc_x *items, uint8_t split[CHAIN_MAX][CHAIN_MAX],
                          uint32_t i, uint32_t end) {
    if (i == end) return items[i];
    sc_x left = chain_product(t, items, split, i, split[i][end]);
    sc_x right = chain_product(t, items, split, split[i][end] + 1u, end);
    return CALL(t, mm, left, right);
}

sc_x sc_expand_multi_dot(sc_trace *t, const sc_x *a) {
    sc_x list = a[0], items[CHAIN_MAX];
    uint32_t count = list->kind == SC_X_LIST ? list->count : 0, rank = 0;
    uint8_t split[CHAIN_MAX][CHAIN_MAX] = {{0}};
    sc_dim out[2];
    if (count < 2 || count > CHAIN_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, "Multiply some of them first.",
                             "multi_dot multiplies 2 to %d matrices, not %u", CHAIN_MAX, count);
    for (uint32_t i = 0; i < count; i++) items[i] = list->items[i];
    if (sc_x_rank(items[0]) == 1)
        items[0] = sc_f_unsqueeze(t, items[0], 0);
    else
        out[rank++] = sc_x_size(items[0], 0);
    if (sc_x_rank(items[count - 1]) == 1)
        items[count - 1] = sc_f_unsqueeze(t, items[count - 1], -1);
    else
        out[rank++] = sc_x_size(items[count - 1], 1);
    plan_chain(items, count, split);
    return sc_f_view(t, chain_product(t, items, split, 0, count - 1), out, rank);
}

sc_x sc_expand_kron(sc_trace *t, const sc_x *a) {
    uint32_t ra = sc_x_rank(a[0]), rb = sc_x_rank(a[1]), rank = ra > rb ? ra : rb;
    sc_dim left[SC_RANK_MAX], right[SC_RANK_MAX], out[SC_RANK_MAX], one = sc_dim_int(1);
    if (2 * rank > SC_RANK_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, NULL, "kron does not take rank-%u tensors", rank);
    for (uint32_t i = 0; i < rank; i++) {
        sc_dim x = i + ra >= rank ? sc_x_size(a[0], (int64_t)(i + ra - rank)) : one;
        sc_dim y = i + rb >= rank ? sc_x_size(a[1], (int64_t)(i + rb - rank)) : one;
        left[2 * i] = x;
        left[2 * i + 1] = right[2 * i] = one;
        right[2 * i + 1] = y;
        out[i] = sc_trace_mul(t, x, y);
    }
    sc_x x = sc_f_reshape(t, a[0], left, 2 * rank);
    sc_x y = sc_f_reshape(t, a[1], right, 2 * rank);
    return CALL(t, _unsafe_view, sc_f_mul(t, x, y), sc_x_dims(t, out, rank));
}

static sc_x rotated(sc_trace *t, sc_x x, sc_x dim, sc_x range, int64_t by) {
    sc_x index = CALL(t, remainder_Scalar, sc_f_add(t, range, sc_x_int(t, by)), sc_x_int(t, 3));
    return CALL(t, index_select, x, dim, index);
}

static sc_x cross(sc_trace *t, sc_x a, sc_x b, sc_x dim) {
    sc_x both = CALL(t, broadcast_tensors, X_LIST(t, a, b));
    a = sc_x_at(t, both, 0);
    b = sc_x_at(t, both, 1);
    dim = sc_x_int(t, sc_x_wrap(t, dim, sc_x_rank(a)));
    sc_x range = sc_f_range(t, sc_x_int(t, 3), SC_DTYPE_NONE);
    sc_x a1 = rotated(t, a, dim, range, 1), b2 = rotated(t, b, dim, range, 2);
    sc_x first = sc_f_mul(t, a1, b2);
    sc_x a2 = rotated(t, a, dim, range, 2), b1 = rotated(t, b, dim, range, 1);
    return sc_f_sub(t, first, sc_f_mul(t, a2, b1));
}

sc_x sc_expand_linalg_cross(sc_trace *t, const sc_x *a) { return cross(t, a[0], a[1], a[2]); }

sc_x sc_expand_cross(sc_trace *t, const sc_x *a) {
    sc_x dim = a[2];
    for (uint32_t i = 0; sc_x_is_none(dim) && i < sc_x_rank(a[0]); i++)
        if (sc_dim_is(sc_x_size(a[0], i), 3)) dim = sc_x_int(t, i);
    return cross(t, a[0], a[1], dim);
}

sc_x sc_expand_bilinear(sc_trace *t, const sc_x *a) {
    sc_dim out[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(a[0]);
    if (rank == 0)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "bilinear does not take a rank-0 tensor");
    for (uint32_t i = 0; i + 1 < rank; i++) out[i] = sc_x_size(a[0], i);
    out[rank - 1] = sc_x_size(a[2], 0);
    sc_dim open = sc_dim_int(-1);
    sc_dim left[2] = {open, sc_x_size(a[0], -1)}, right[2] = {open, sc_x_size(a[1], -1)};
    sc_x x = CALL(t, reshape, a[0], sc_x_dims(t, left, 2));
    sc_x y = CALL(t, reshape, a[1], sc_x_dims(t, right, 2));
    sc_x result = CALL(t, _trilinear, x, a[2], y, X_INTS(t, 1, 3), X_INTS(t, 0), X_INTS(t, 1, 2),
                       X_INTS(t, 2, 3));
    result = CALL(t, reshape, result, sc_x_dims(t, out, rank));
    return sc_x_is_tensor(a[3]) ? sc_f_add(t, result, a[3]) : result;
}

// --- Tensordot ----------------------------------------------------------------------------------

// A dimension of size 1 meets any size: the other side is summed along it first.
static sc_x summed_to_one(sc_trace *t, sc_x x, sc_x dim, sc_dim partner) {
    sc_dim size = sc_x_size(x, sc_x_number(dim, 0));
    if (!sc_dim_is(partner, 1) || sc_dim_is(size, 1)) return x;
    return CALL(t, sum_dim_IntList, x, X_LIST(t, dim), X_TRUE, sc_x_dtype(t, sc_x_dtype_of(x)));
}

sc_x sc_expand_tensordot(sc_trace *t, const sc_x *a) {
    sc_x self = a[0], other = a[1];
    int64_t dims1[SC_RANK_MAX], dims2[SC_RANK_MAX], p1[2 * SC_RANK_MAX], p2[2 * SC_RANK_MAX];
    uint32_t count = sc_x_int_list(t, a[2], dims1, SC_RANK_MAX), r1 = sc_x_rank(self),
             r2 = sc_x_rank(other);
    bool summed1[SC_RANK_MAX] = {false}, summed2[SC_RANK_MAX] = {false};
    sc_dim out[2 * SC_RANK_MAX], rows = sc_dim_int(1), inner = rows, columns = rows;
    uint32_t rank = 0, n1 = 0, n2 = 0;
    if (sc_x_int_list(t, a[3], dims2, SC_RANK_MAX) != count)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "tensordot needs as many dims on one side as on the other");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d1 = sc_x_wrap(t, sc_x_int(t, dims1[i]), r1),
                 d2 = sc_x_wrap(t, sc_x_int(t, dims2[i]), r2);
        summed1[d1] = summed2[d2] = true;
        sc_dim size = sc_x_size(self, d1);
        self = summed_to_one(t, self, sc_x_int(t, d1), sc_x_size(other, d2));
        other = summed_to_one(t, other, sc_x_int(t, d2), size);
        inner = sc_trace_mul(t, inner, sc_x_size(self, d1));
    }
    for (uint32_t i = 0; i < r1; i++)
        if (!summed1[i]) {
            p1[n1++] = i;
            rows = sc_trace_mul(t, rows, sc_x_size(self, i));
            out[rank++] = sc_x_size(self, i);
        }
    for (uint32_t i = 0; i < count; i++) {
        p1[n1++] = dims1[i];
        p2[n2++] = dims2[i];
    }
    for (uint32_t i = 0; i < r2; i++)
        if (!summed2[i]) {
            p2[n2++] = i;
            columns = sc_trace_mul(t, columns, sc_x_size(other, i));
            out[rank++] = sc_x_size(other, i);
        }
    if (t->status != SC_OK || n1 != r1 || n2 != r2 || rank > SC_RANK_MAX)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "tensordot sums a dimension twice");
    sc_x x = CALL(t, permute, self, sc_x_ints(t, p1, n1)), y;
    if (sc_dim_is(rows, 1) && sc_dim_is(columns, 1)) {
        y = sc_f_reshape(t, CALL(t, permute, other, sc_x_ints(t, p2, n2)), &inner, 1);
        return sc_f_reshape(t, CALL(t, dot, sc_f_reshape(t, x, &inner, 1), y), out, rank);
    }
    sc_dim left[2] = {rows, inner}, right[2] = {inner, columns};
    x = sc_f_reshape(t, x, left, 2);
    y = sc_f_reshape(t, CALL(t, permute, other, sc_x_ints(t, p2, n2)), right, 2);
    return sc_f_reshape(t, CALL(t, mm, x, y), out, rank);
}
