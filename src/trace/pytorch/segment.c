// Expansions of counting, of ranks within rows, and of what is laid out by counts.
#include "trace/expand.h"

#include <math.h>

static sc_x flat(sc_trace *t, sc_x x) { return CALL(t, reshape, x, X_INTS(t, -1)); }

// --- Histograms ---------------------------------------------------------------------------------

typedef struct bounds {
    sc_x low, high;  // rank-0 tensors
} bounds;

// Without bounds those of the data, a unit apart on both sides where all of it is one value.
static bounds bounds_of_data(sc_trace *t, sc_x x) {
    sc_x none = sc_x_ints(t, NULL, 0), one = sc_x_int(t, 1);
    sc_x low = CALL(t, amin, x, none), high = CALL(t, amax, x, none);
    sc_x single = CALL(t, eq_Tensor, low, high);
    low = CALL(t, where_self, single, CALL(t, sub_Scalar, low, one), low);
    high = CALL(t, where_self, single, CALL(t, add_Scalar, high, one), high);
    return (bounds){low, high};
}

static bool find_bounds(sc_trace *t, sc_x x, const sc_x *a, bounds *out) {
    double low = sc_x_real(a[2], NAN), high = sc_x_real(a[3], NAN);
    if (!isfinite(low) || !isfinite(high) || low > high) {
        sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "histc needs a finite range, but has %g to %g", low,
                      high);
        return false;
    }
    sc_dtype dtype = sc_x_dtype_of(x);
    if (low == high && !sc_dim_is(sc_x_numel(t, x), 0)) {
        *out = bounds_of_data(t, x);
        return true;
    }
    if (low == high) high = low + 1;
    out->low = sc_f_scalar(t, sc_x_float(t, low), dtype);
    out->high = sc_f_scalar(t, sc_x_float(t, high), dtype);
    return true;
}

// The bin of each element is found by the division that PyTorch makes, in its order; the last one
// holds its right edge, too. What is outside adds 0 to the first.
sc_x sc_expand_histc(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = sc_x_dtype_of(a[0]);
    int64_t bins = sc_x_small(t, a[1], 0);
    bounds range;
    if (bins <= 0 || !sc_x_is_float(a[0]))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "histc needs floating point numbers, and at least one bin");
    sc_x x = sc_f_to(t, flat(t, a[0]), sc_f_opmath(dtype));
    if (!find_bounds(t, x, a, &range)) return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "no range");
    sc_x above = CALL(t, ge_Tensor, x, range.low);
    sc_x inside = CALL(t, logical_and, above, CALL(t, le_Tensor, x, range.high));
    sc_x width = CALL(t, sub_Tensor, range.high, range.low);
    sc_x place = CALL(t, mul_Scalar, CALL(t, sub_Tensor, x, range.low), sc_x_int(t, bins));
    place = CALL(t, div_Tensor, place, width);
    sc_x zero = sc_f_scalar(t, sc_x_int(t, 0), sc_x_dtype_of(x));
    place = CALL(t, where_self, inside, place, zero);
    place = sc_f_to(t, place, SC_DTYPE_I64);
    place = CALL(t, clamp, place, X_NONE, sc_x_int(t, bins - 1));
    sc_x counts = sc_f_zeros(t, X_INTS(t, bins), sc_x_dtype_of(x));
    sc_x ones = sc_f_to(t, inside, sc_x_dtype_of(x));
    counts = CALL(t, scatter_add, counts, sc_x_int(t, 0), place, ones);
    return sc_f_to(t, counts, dtype);
}

// --- Run lengths --------------------------------------------------------------------------------

// (self, repeats, dim, output_size)
sc_x sc_expand_repeat_interleave_tensor(sc_trace *t, const sc_x *a) {
    bool is_flat = sc_x_is_none(a[2]);
    sc_x x = is_flat ? flat(t, a[0]) : a[0], repeats = a[1];
    sc_x dim = sc_x_int(t, is_flat ? 0 : sc_x_wrap(t, a[2], sc_x_rank(x)));
    sc_dim size = sc_x_size(x, sc_x_number(dim, 0));
    if (sc_x_rank(repeats) == 0 || sc_dim_is(sc_x_size(repeats, 0), 1)) {
        repeats = CALL(t, reshape, repeats, X_INTS(t, 1));
        repeats = sc_f_expand(t, repeats, &size, 1);
    }
    sc_x rows = CALL(t, repeat_interleave_Tensor, repeats, a[3]);
    if (sc_x_is_none(a[3])) sc_trace_take_size(t, rows, (uint32_t)sc_x_number(dim, 0));
    return CALL(t, index_select, x, dim, rows);
}

// How a reduction is called elsewhere, and what it starts from.
typedef struct segment_rule {
    const char *name, *reduce;
    double from;
} segment_rule;

static const segment_rule segment_rules[] = {{"sum", "sum", 0},
                                             {"mean", "sum", 0},
                                             {"max", "amax", -INFINITY},
                                             {"min", "amin", INFINITY},
                                             {"prod", "prod", 1}};

static const segment_rule *rule_of(sc_x name) {
    for (size_t i = 0; name->kind == SC_X_STR && i < SC_COUNT_OF(segment_rules); i++)
        if (sc_str_is(name->str, segment_rules[i].name)) return &segment_rules[i];
    return NULL;
}

// Of no rows the mean is NaN, or what was given to start from.
static sc_x mean_of(sc_trace *t, sc_x sum, sc_x lengths, bool is_given) {
    sc_dim sizes[SC_RANK_MAX];
    for (uint32_t i = 0; i < sc_x_rank(sum); i++) sizes[i] = i ? sc_dim_int(1) : sc_x_size(sum, 0);
    sc_x by = sc_f_view(t, sc_f_to(t, lengths, sc_x_dtype_of(sum)), sizes, sc_x_rank(sum));
    if (is_given) by = CALL(t, clamp, by, sc_x_int(t, 1));
    return CALL(t, div_Tensor, sum, by);
}

// (data, reduce, lengths, indices, offsets, axis, unsafe, initial): of rows that lie behind each
// other. Those behind the last run, which only `unsafe` allows, are gathered in one more.
sc_x sc_expand_segment_reduce(sc_trace *t, const sc_x *a) {
    const segment_rule *rule = rule_of(a[1]);
    const uint32_t rank = sc_x_rank(a[0]);
    const bool is_given = !sc_x_is_none(a[7]);
    sc_dim sizes[SC_RANK_MAX], ones[SC_RANK_MAX];
    if (!rule || !sc_x_is_tensor(a[2]) || sc_x_rank(a[2]) != 1 || sc_x_is_tensor(a[3]) ||
        sc_x_is_tensor(a[4]) || sc_x_number(a[5], -1) != 0 || rank == 0 || !sc_x_is_float(a[0]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Give lengths of the runs of axis 0.",
                             "segment_reduce takes floats, and a vector of lengths");
    for (uint32_t i = 0; i < rank; i++) {
        sizes[i] = i ? sc_x_size(a[0], i) : sc_x_size(a[2], 0);
        ones[i] = i ? sc_dim_int(1) : sc_x_size(a[0], 0);
    }
    sc_x ends = CALL(t, cumsum, sc_f_to(t, a[2], SC_DTYPE_I64), sc_x_int(t, 0));
    sc_x runs = sc_f_view(t, sc_f_runs(t, ends, ones[0]), ones, rank);
    runs = CALL(t, expand, runs, sc_x_sizes(t, a[0], 0, SC_RANK_MAX));
    const sc_dim count = sizes[0];
    if (sc_x_truth(a[6])) sizes[0] = sc_trace_add(t, count, sc_dim_int(1));
    sc_x from = sc_x_float(t, sc_x_known(t, a[7], rule->from));
    sc_x out = sc_f_full(t, sc_x_dims(t, sizes, rank), from, sc_x_dtype_of(a[0]));
    out = CALL(t, scatter_reduce_two, out, sc_x_int(t, 0), runs, a[0], sc_x_str(t, rule->reduce),
               X_TRUE);
    if (sc_x_truth(a[6]))
        out = CALL(t, slice_Tensor, out, sc_x_int(t, 0), sc_x_int(t, 0), sc_x_dim(t, count));
    return sc_str_is(a[1]->str, "mean") ? mean_of(t, out, a[2], is_given) : out;
}

// How many of `columns` the row holds, below a diagonal or above it.
static int64_t row_length(int64_t row, int64_t columns, int64_t offset, bool is_upper) {
    int64_t cut = sc_min_i64(sc_max_i64(row + offset + !is_upper, 0), columns);
    return is_upper ? columns - cut : cut;
}

// Rows are run lengths; columns count from the start of their row.
static sc_x triangle(sc_trace *t, const sc_x *a, bool is_upper) {
    int64_t rows = sc_x_small(t, a[0], 0), columns = sc_x_small(t, a[1], 0);
    int64_t offset = sc_x_small(t, a[2], 0), total = 0;
    sc_dtype dtype = sc_x_dtype_or(a[3], SC_DTYPE_I64);
    if (rows < 0 || columns < 0 || rows > 65536)
        return sc_trace_fail(t, SC_ERR_LIMIT, NULL, "the indices of a triangle of %lld rows",
                             (long long)rows);
    for (int64_t i = 0; i < rows; i++) total += row_length(i, columns, offset, is_upper);
    sc_x zero = sc_x_int(t, 0), most = sc_x_int(t, columns);
    sc_x cut = sc_f_arange(t, zero, a[0], SC_DTYPE_I64);
    cut = CALL(t, add_Scalar, cut, sc_x_int(t, offset + !is_upper));
    cut = CALL(t, clamp, cut, zero, most);
    sc_x lengths = is_upper ? CALL(t, rsub_Scalar, cut, most) : cut;
    sc_x row = CALL(t, repeat_interleave_Tensor, lengths, sc_x_int(t, total));
    sc_x before = CALL(t, sub_Tensor, CALL(t, cumsum, lengths, zero), lengths);
    if (is_upper) before = CALL(t, sub_Tensor, before, cut);
    sc_x column = sc_f_arange(t, zero, sc_x_int(t, total), SC_DTYPE_I64);
    column = CALL(t, sub_Tensor, column, CALL(t, index_select, before, zero, row));
    return sc_f_to(t, CALL(t, stack, X_LIST(t, row, column)), dtype);
}

sc_x sc_expand_tril_indices(sc_trace *t, const sc_x *a) { return triangle(t, a, false); }
sc_x sc_expand_triu_indices(sc_trace *t, const sc_x *a) { return triangle(t, a, true); }

// --- Quantiles ----------------------------------------------------------------------------------

// The rows that ranks are looked up in, sorted and last: all elements if no dim is given.
static sc_x sorted_rows(sc_trace *t, sc_x x, sc_x dim, bool *is_flat) {
    *is_flat = sc_x_is_none(dim) || sc_x_rank(x) == 0;
    if (*is_flat)
        x = flat(t, x);
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
        sc_x count = sc_f_sum(t, CALL(t, logical_not, empty), last, true);
        sc_x rank = CALL(t, mul_Tensor, q, CALL(t, sub_Scalar, count, sc_x_int(t, 1)));
        return CALL(t, where_self, CALL(t, lt_Scalar, rank, sc_x_int(t, 0)), zero, rank);
    }
    sc_dim size = sc_x_size(rows, -1);
    sc_x most = sc_x_dim(t, sc_trace_sub(t, size, sc_dim_int(1)));
    sc_x rank = CALL(t, mul_Scalar, q, most);
    sc_x has_nan = CALL(t, any_dim, empty, sc_x_int(t, -1), X_TRUE);
    return CALL(t, where_self, has_nan, sc_f_scalar(t, most, dtype), rank);
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
    sc_x part = CALL(t, sub_Tensor, ranks, below);
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

// A vector of q leads the result's dims; a single one has none. `keepdim` puts a dim of size 1
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
    sc_x with_tensor[5] = {a[0], sc_f_scalar(t, a[1], sc_x_dtype_of(a[0])), a[2], a[3], a[4]};
    return quantile(t, with_tensor, ignore_nan);
}

sc_x sc_expand_quantile_scalar(sc_trace *t, const sc_x *a) { return quantile_scalar(t, a, false); }
sc_x sc_expand_nanquantile_scalar(sc_trace *t, const sc_x *a) {
    return quantile_scalar(t, a, true);
}

// --- Unpooling ----------------------------------------------------------------------------------

// Positions count within a plane; `dims` of them are the plane's.
static sc_x unpool(sc_trace *t, const sc_x *a, uint32_t dims) {
    uint32_t rank = sc_x_rank(a[0]), leading = rank - dims;
    sc_dim sizes[SC_RANK_MAX], planes[SC_RANK_MAX], plane = sc_dim_int(1);
    if ((rank != dims + 1 && rank != dims + 2) || sc_x_rank(a[1]) != rank)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "max_unpool%ud does not take rank-%u tensors",
                             dims, rank);
    for (uint32_t i = 0; i < rank; i++) {
        sizes[i] = i < leading ? sc_x_size(a[0], i) : sc_x_at(t, a[2], i - leading)->dim;
        planes[i] = i < leading ? sizes[i] : sc_dim_int(1);
        if (i >= leading) plane = sc_trace_mul(t, plane, sizes[i]);
    }
    sc_dim count = sc_trace_product(t, sizes, leading);
    sc_x starts = sc_f_arange(t, sc_x_int(t, 0), sc_x_dim(t, count), SC_DTYPE_NONE);
    starts = CALL(t, mul_Tensor, sc_f_view(t, starts, planes, rank), sc_x_dim(t, plane));
    sc_x places = flat(t, CALL(t, add_Tensor, a[1], starts));
    sc_x out = sc_f_zeros(t, sc_x_dims(t, sizes, rank), sc_x_dtype_of(a[0]));
    out = flat(t, out);
    out = CALL(t, index_put, out, X_LIST(t, places), flat(t, a[0]), X_FALSE);
    return sc_f_view(t, out, sizes, rank);
}

sc_x sc_expand_max_unpool2d(sc_trace *t, const sc_x *a) { return unpool(t, a, 2); }
sc_x sc_expand_max_unpool3d(sc_trace *t, const sc_x *a) { return unpool(t, a, 3); }
