// Expansions of quantiles: ranks within sorted rows, and the numbers at those ranks.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// The rows that ranks are looked up in, sorted and last: all elements if no dim is given.
static sc_x sorted_rows(sc_trace *t, sc_x x, sc_x dim, bool *is_flat) {
    *is_flat = sc_x_is_none(dim) || sc_x_rank(x) == 0;
    if (*is_flat)
        x = sc_f_flat(t, x);
    else
        x = CALL(t, movedim_int, x, dim, sc_x_int(t, -1));
    return sc_x_at(t, CALL(t, sort, sc_f_contiguous(t, x)), 0);
}

// Ranks of the quantiles in each row: NaN where a row has one, or among what is left without.
static sc_x ranks_of(sc_trace *t, sc_x rows, sc_x q, bool ignore_nan) {
    sc_x empty = CALL(t, isnan, rows), last = X_INTS(t, -1);
    sc_dtype dtype = sc_x_dtype_of(rows);
    sc_x zero = sc_f_scalar(t, sc_x_int(t, 0), dtype);
    if (ignore_nan) {
        sc_x count = sc_f_sum(t, sc_f_not(t, empty), last, true);
        sc_x rank = sc_f_mul(t, q, CALL(t, sub_Scalar, count, sc_x_int(t, 1)));
        return sc_f_where(t, CALL(t, lt_Scalar, rank, sc_x_int(t, 0)), zero, rank);
    }
    sc_dim size = sc_x_size(rows, -1);
    sc_x most = sc_x_dim(t, sc_trace_sub(t, size, sc_dim_int(1)));
    sc_x rank = CALL(t, mul_Scalar, q, most);
    sc_x has_nan = CALL(t, any_dim, empty, sc_x_int(t, -1), X_TRUE);
    return sc_f_where(t, has_nan, sc_f_scalar(t, most, dtype), rank);
}

static sc_x pick(sc_trace *t, sc_x rows, sc_x ranks) {
    return CALL(t, gather, rows, sc_x_int(t, -1), sc_f_to(t, ranks, SC_DTYPE_I64));
}

static sc_x interpolated(sc_trace *t, sc_x rows, sc_x ranks, sc_str how) {
    if (sc_str_is(how, "lower")) return pick(t, rows, CALL(t, floor, ranks));
    if (sc_str_is(how, "higher")) return pick(t, rows, CALL(t, ceil, ranks));
    if (sc_str_is(how, "nearest")) return pick(t, rows, CALL(t, round, ranks));
    bool is_linear = sc_str_is(how, "linear");
    if (!is_linear && !sc_str_is(how, "midpoint"))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "quantile knows no interpolation '%.*s'",
                             SC_STR_ARG(how));
    sc_x below = CALL(t, floor, ranks);
    sc_x part = sc_f_sub(t, ranks, below);
    if (!is_linear) part = CALL(t, full_like, ranks, sc_x_float(t, 0.5));
    sc_x low = pick(t, rows, below), high = pick(t, rows, CALL(t, ceil, ranks));
    return CALL(t, lerp_Tensor, low, high, part);
}

// Rows and a vector of q: the ranks broadcast over all rows.
static sc_x spread(sc_trace *t, sc_x ranks, sc_x rows, sc_x q) {
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(rows);
    for (uint32_t i = 0; i + 1 < rank; i++) sizes[i] = sc_x_size(rows, i);
    if (rank) sizes[rank - 1] = sc_x_rank(q) ? sc_x_size(q, 0) : sc_dim_int(1);
    return sc_f_expand(t, ranks, sizes, rank);
}

// A vector of q leads the result's dims; a single one adds no dim. `keepdim` puts a dim of size 1
// where the reduced one was, or one for each.
static sc_x arranged(sc_trace *t, sc_x values, const sc_x *a, bool is_flat) {
    uint32_t rank = sc_x_rank(a[0]), dim = is_flat ? 0 : sc_x_wrap(t, a[2], rank);
    bool is_vector = sc_x_rank(a[1]) > 0, keep = sc_x_truth(a[3]);
    values = is_vector ? CALL(t, movedim_int, values, sc_x_int(t, -1), sc_x_int(t, 0))
                       : sc_f_squeeze(t, values, -1);
    for (uint32_t i = 0; keep && i < (is_flat ? rank : 1u); i++)
        values = sc_f_unsqueeze(t, values, is_vector + (is_flat ? 0 : dim));
    return values;
}

static sc_x quantile(sc_trace *t, const sc_x *a, bool ignore_nan) {
    bool is_flat;
    if (!sc_x_is_float(a[0]) || sc_x_dtype_of(a[0]) != sc_x_dtype_of(a[1]) || sc_x_rank(a[1]) > 1)
        return sc_trace_fail(t, SC_ERR_DTYPE, NULL,
                             "quantile needs floating point numbers, and q as a number or a "
                             "vector of the same type");
    sc_x rows = sorted_rows(t, a[0], a[2], &is_flat);
    sc_x ranks = spread(t, ranks_of(t, rows, a[1], ignore_nan), rows, a[1]);
    sc_str how = a[4]->kind == SC_X_STR ? a[4]->str : SC_STR("linear");
    return arranged(t, interpolated(t, rows, ranks, how), a, is_flat);
}

sc_x sc_expand_quantile(sc_trace *t, const sc_x *a) { return quantile(t, a, false); }
sc_x sc_expand_nanquantile(sc_trace *t, const sc_x *a) { return quantile(t, a, true); }

static sc_x quantile_scalar(sc_trace *t, const sc_x *a, bool ignore_nan) {
    double q = sc_x_real(a[1], -1);
    if (!(q >= 0 && q <= 1))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "quantile needs q between 0 and 1, not %g",
                             q);
    sc_x with_tensor[5] = {a[0], sc_f_scalar_like(t, a[1], a[0]), a[2], a[3], a[4]};
    return quantile(t, with_tensor, ignore_nan);
}

sc_x sc_expand_quantile_scalar(sc_trace *t, const sc_x *a) { return quantile_scalar(t, a, false); }
sc_x sc_expand_nanquantile_scalar(sc_trace *t, const sc_x *a) {
    return quantile_scalar(t, a, true);
}
