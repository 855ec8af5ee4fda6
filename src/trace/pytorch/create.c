// Expansions that create tensors: constants, ranges, masks.
#include <math.h>

#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

static sc_x given_or(sc_x given, sc_x otherwise) { return sc_x_is_none(given) ? otherwise : given; }

// --- Constants ----------------------------------------------------------------------------------

sc_x sc_expand_empty_like(sc_trace *t, const sc_x *a) {
    const sc_spec *spec = sc_x_spec(a[0]);
    sc_x dtype = sc_x_dtype(t, sc_x_dtype_or(a[1], sc_x_dtype_of(a[0])));
    sc_x layout = given_or(a[2], X_STRIDED), device = given_or(a[3], X_CPU);
    sc_x pin = given_or(a[4], X_FALSE), sizes = sc_x_sizes(t, a[0], 0, SC_RANK_MAX);
    if (a[5]->kind == SC_X_FORMAT && a[5]->code != SC_MEMORY_FORMAT_PRESERVE)
        return CALL(t, empty_memory_format, sizes, dtype, layout, device, pin, a[5]);
    uint8_t order[SC_RANK_MAX];
    int64_t dims[SC_RANK_MAX];
    bool ordered = sc_spec_dim_order(t->exprs, spec, order);
    for (uint32_t i = 0; i < spec->rank; i++) dims[i] = ordered ? order[i] : i;
    return CALL(t, empty_permuted, sizes, sc_x_ints(t, dims, spec->rank), dtype, layout, device,
                pin);
}

// --- Ranges -------------------------------------------------------------------------------------

// (start, end, step) with the end, counted in double precision; of integers nothing else is read.
static sc_x range(sc_trace *t, const sc_x *a, double step, sc_dtype dtype) {
    const bool is_whole = sc_dtype_is_integral(dtype, true);
    double start = sc_x_real(a[0], 0), end = sc_x_real(a[1], 0);
    if (is_whole) {
        start = trunc(start);
        end = trunc(end);
        step = trunc(step);
    }
    const double last = floor((end - start) / step), most = 9007199254740992;
    const bool is_small = fabs(start) < most && fabs(step) < most;
    if (!sc_x_is_number(a[0]) || !sc_x_is_number(a[1]) || !is_small || !(last >= 0 && last < most))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Use torch.arange, which may be empty.",
                             "range needs numbers, and a step from the first to the last");
    sc_x from = is_whole ? sc_x_int(t, (int64_t)start) : sc_x_float(t, start);
    sc_x by = is_whole ? sc_x_int(t, (int64_t)step) : sc_x_float(t, step);
    sc_x count = sc_x_int(t, (int64_t)last + 1);
    sc_x x = sc_f_range(t, count, is_whole ? SC_DTYPE_I64 : SC_DTYPE_F64);
    return sc_f_to(t, sc_f_add(t, sc_f_mul(t, x, by), from), dtype);
}

sc_x sc_expand_range(sc_trace *t, const sc_x *a) {
    return range(t, a, 1, sc_x_dtype_or(a[2], SC_DTYPE_F32));
}

sc_x sc_expand_range_step(sc_trace *t, const sc_x *a) {
    return range(t, a, sc_x_real(a[2], 0), sc_x_dtype_or(a[3], SC_DTYPE_F32));
}

// Two ramps, from either end, met in the middle: that is how rounding stays symmetric.
static sc_x linspace(sc_trace *t, sc_x start, sc_x end, int64_t steps, sc_dtype dtype) {
    if (steps == 0)
        return CALL(t, full, X_INTS(t, 0), sc_x_int(t, 0), sc_x_dtype(t, dtype), X_STRIDED, X_CPU,
                    X_FALSE);
    if (steps == 1)
        return CALL(t, full, X_INTS(t, 1), start, sc_x_dtype(t, dtype), X_STRIDED, X_CPU, X_FALSE);
    sc_dtype compute = sc_f_opmath(sc_dtype_is_integral(dtype, true) ? SC_DTYPE_F64 : dtype);
    double step = (sc_x_real(end, 0) - sc_x_real(start, 0)) / (double)(steps - 1);
    sc_x range = sc_f_range(t, sc_x_int(t, steps), SC_DTYPE_NONE);
    sc_x first_half = sc_f_lt_number(t, range, (double)steps / 2);
    sc_x up = sc_f_mul(t, sc_f_to(t, range, compute), sc_x_float(t, step));
    up = sc_f_to(t, sc_f_add(t, up, start), dtype);
    sc_x rest = CALL(t, sub_Tensor, sc_x_int(t, steps - 1), range);
    sc_x down = sc_f_mul(t, sc_f_to(t, rest, compute), sc_x_float(t, step));
    down = sc_f_to(t, CALL(t, sub_Tensor, end, down), dtype);
    return sc_f_where(t, first_half, up, down);
}

// An end as PyTorch takes it: integers are cut off for integers.
static sc_x end_of_ramp(sc_trace *t, sc_x x, sc_dtype dtype) {
    bool is_whole = sc_dtype_is_integral(dtype, true);
    if (sc_x_is_tensor(x)) return sc_f_to(t, is_whole ? sc_f_to(t, x, dtype) : x, SC_DTYPE_F64);
    double value = sc_x_real(x, 0);
    return sc_f_scalar(t, sc_x_float(t, is_whole ? trunc(value) : value), SC_DTYPE_F64);
}

// The same from or to what only the program knows, in double precision.
static sc_x computed_ramp(sc_trace *t, const sc_x *ends, int64_t steps, sc_dtype dtype) {
    sc_x start = end_of_ramp(t, ends[0], dtype), end = end_of_ramp(t, ends[1], dtype);
    sc_dim one = sc_dim_int(1), size = sc_dim_int(steps);
    if (steps < 2)
        return sc_f_clone(t, sc_f_to(t, sc_f_expand(t, start, steps ? &one : &size, 1), dtype));
    sc_x step = sc_f_sub(t, end, start);
    step = CALL(t, div_Scalar, step, sc_x_int(t, steps - 1));
    sc_x range = sc_f_range(t, sc_x_int(t, steps), SC_DTYPE_F64);
    sc_x up = sc_f_add(t, sc_f_mul(t, range, step), start);
    sc_x rest = CALL(t, rsub_Scalar, range, sc_x_int(t, steps - 1));
    sc_x down = sc_f_sub(t, end, sc_f_mul(t, rest, step));
    sc_x is_first = sc_f_lt_number(t, range, (double)steps / 2);
    return sc_f_to(t, sc_f_where(t, is_first, up, down), dtype);
}

static bool is_end(sc_x x) {
    return sc_x_is_number(x) ||
           (sc_x_is_tensor(x) && sc_x_rank(x) == 0 && !sc_dtype_is_complex(sc_x_dtype_of(x)));
}

static sc_x ramp(sc_trace *t, const sc_x *a, sc_dtype dtype) {
    int64_t steps = sc_x_small(t, a[2], -1);
    if (steps < 0 || !is_end(a[0]) || !is_end(a[1]) || sc_dtype_is_complex(dtype))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED,
                             "Give its ends as real numbers or as tensors without dims, "
                             "torch.linspace(a, b, 5) and not a.item(), b.item(); the number of "
                             "steps has to be known.",
                             "a range of such ends is not supported");
    if (sc_x_is_tensor(a[0]) || sc_x_is_tensor(a[1])) return computed_ramp(t, a, steps, dtype);
    return linspace(t, a[0], a[1], steps, dtype);
}

sc_x sc_expand_linspace(sc_trace *t, const sc_x *a) {
    return ramp(t, a, sc_x_dtype_or(a[3], SC_DTYPE_F32));
}

// (start, end, steps, base, dtype): powers, in double precision until the last.
sc_x sc_expand_logspace(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = sc_x_dtype_or(a[4], SC_DTYPE_F32);
    sc_x ends[3] = {a[0], a[1], a[2]};
    for (int i = 0; i < 2 && sc_dtype_is_integral(dtype, true); i++)
        if (sc_x_is_tensor(ends[i]) || sc_x_is_number(ends[i]))
            ends[i] = end_of_ramp(t, a[i], dtype);
    sc_x powers = CALL(t, pow_Scalar, a[3], ramp(t, ends, SC_DTYPE_F64));
    if (sc_dtype_is_complex(dtype))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Give its ends as real numbers.",
                             "logspace of complex numbers is not supported");
    return sc_f_to(t, powers, dtype);
}

static sc_dtype smallest_index(int64_t bound) {
    return bound <= 255         ? SC_DTYPE_U8
           : bound <= 32767     ? SC_DTYPE_I16
           : bound <= INT32_MAX ? SC_DTYPE_I32
                                : SC_DTYPE_I64;
}

static sc_x eye(sc_trace *t, sc_x rows, sc_x columns, sc_x dtype) {
    sc_dtype index = SC_DTYPE_I64;
    if (sc_x_is_number(rows) && sc_x_is_number(columns))
        index = smallest_index(sc_max_i64(sc_x_number(rows, 0), sc_x_number(columns, 0)));
    sc_x row = sc_f_range(t, rows, index);
    sc_x column = sc_f_range(t, columns, index);
    return sc_f_to(t, CALL(t, eq_Tensor, sc_f_unsqueeze(t, row, -1), column),
                   sc_x_dtype_or(dtype, SC_DTYPE_F32));
}

sc_x sc_expand_eye(sc_trace *t, const sc_x *a) { return eye(t, a[0], a[0], a[1]); }
sc_x sc_expand_eye_m(sc_trace *t, const sc_x *a) { return eye(t, a[0], a[1], a[2]); }

// --- Masks --------------------------------------------------------------------------------------

static sc_x masked(sc_trace *t, sc_x mask, sc_x x) {
    if (sc_x_dtype_of(x) == SC_DTYPE_BOOL) return sc_f_and(t, mask, x);
    return sc_f_where(t, mask, x, sc_f_scalar_like(t, sc_x_int(t, 0), x));
}

static sc_x triangle(sc_trace *t, sc_x x, sc_x diagonal, bool lower) {
    if (sc_x_rank(x) < 2)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "tril and triu need at least two dimensions");
    sc_x columns =
        sc_f_unsqueeze(t, sc_f_range(t, sc_x_dim(t, sc_x_size(x, -1)), SC_DTYPE_NONE), -2);
    sc_x rows = sc_f_unsqueeze(t, sc_f_range(t, sc_x_dim(t, sc_x_size(x, -2)), SC_DTYPE_NONE), -1);
    sc_x distance = sc_f_sub(t, columns, rows);
    sc_x mask =
        lower ? CALL(t, le_Scalar, distance, diagonal) : CALL(t, ge_Scalar, distance, diagonal);
    return sc_f_contiguous(t, masked(t, mask, x));
}

sc_x sc_expand_tril(sc_trace *t, const sc_x *a) { return triangle(t, a[0], a[1], true); }
sc_x sc_expand_triu(sc_trace *t, const sc_x *a) { return triangle(t, a[0], a[1], false); }

// 0, 1, 2, ... along one dim of a tensor of that rank.
static sc_x places_along(sc_trace *t, sc_x x, uint32_t dim) {
    sc_dim sizes[SC_RANK_MAX];
    for (uint32_t d = 0; d < sc_x_rank(x); d++) sizes[d] = sc_dim_int(1);
    sizes[dim] = sc_x_size(x, (int32_t)dim);
    sc_x places = sc_f_range(t, sc_x_dim(t, sizes[dim]), SC_DTYPE_NONE);
    return sc_f_view(t, places, sizes, sc_x_rank(x));
}

// (self, fill_value, wrap): where a place is the same along all dims. Wrapped, the diagonal of a
// tall matrix begins again one row below its end.
sc_x sc_expand_fill_diagonal_(sc_trace *t, const sc_x *a) {
    const uint32_t rank = sc_x_rank(a[0]);
    sc_x first, mask = NULL;
    if (rank < 2)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "fill_diagonal_ needs at least two dimensions");
    for (uint32_t d = 1; rank > 2 && d < rank; d++)
        if (!sc_dim_equal(sc_x_size(a[0], (int32_t)d), sc_x_size(a[0], 0)))
            return sc_trace_fail(t, SC_ERR_SHAPE, NULL,
                                 "fill_diagonal_ of more than two dimensions needs equal sizes");
    first = places_along(t, a[0], 0);
    if (rank == 2 && sc_x_truth(a[2])) {
        sc_dim period = sc_trace_add(t, sc_x_size(a[0], 1), sc_dim_int(1));
        first = CALL(t, remainder_Scalar, first, sc_x_dim(t, period));
    }
    for (uint32_t d = 1; d < rank; d++) {
        sc_x same = CALL(t, eq_Tensor, first, places_along(t, a[0], d));
        mask = mask ? sc_f_and(t, mask, same) : same;
    }
    sc_trace_assign(t, a[0], CALL(t, masked_fill_Scalar, a[0], mask, a[1]));
    return a[0];
}

sc_x sc_expand_diag_embed(sc_trace *t, const sc_x *a) {
    sc_x x = a[0];
    uint32_t rank = sc_x_rank(x) + 1, dim1 = sc_x_wrap(t, a[2], rank),
             dim2 = sc_x_wrap(t, a[3], rank);
    int64_t offset = sc_x_small(t, a[1], 0), order[SC_RANK_MAX];
    if (rank > SC_RANK_MAX || dim1 == dim2 || rank < 2)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "diag_embed needs two different dimensions");
    if (dim1 > dim2) {
        uint32_t swap = dim1;
        dim1 = dim2;
        dim2 = swap;
        offset = -offset;
    }
    sc_dim size = sc_x_size(x, -1);
    if (offset != 0) {
        sc_dim pad[SC_RANK_MAX];
        for (uint32_t i = 0; i + 1 < rank; i++)
            pad[i] = i + 2 == rank ? sc_dim_int(offset < 0 ? -offset : offset) : sc_x_size(x, i);
        sc_x zero = sc_f_zeros(t, sc_x_dims(t, pad, rank - 1), sc_x_dtype_of(x));
        sc_x pair[2] = {offset > 0 ? zero : x, offset > 0 ? x : zero};
        x = sc_f_cat(t, pair, 2, -1);
        size = sc_trace_add(t, size, sc_dim_int(offset < 0 ? -offset : offset));
    }
    x = sc_f_unsqueeze(t, x, dim1);
    for (uint32_t i = 0, next = 0; i < rank; i++) order[i] = i == dim2 ? rank - 1 : next++;
    x = sc_f_permute(t, x, order);
    sc_x range = sc_f_range(t, sc_x_dim(t, size), SC_DTYPE_I64);
    sc_x other = sc_f_arange(t, sc_x_int(t, offset),
                             sc_x_dim(t, sc_trace_add(t, size, sc_dim_int(offset))), SC_DTYPE_I64);
    sc_x same = CALL(t, eq_Tensor, range, sc_f_unsqueeze(t, other, -1));
    sc_dim shape[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == dim1 || i == dim2 ? size : sc_dim_int(1);
    return sc_f_contiguous(t, masked(t, sc_f_reshape(t, same, shape, rank), x));
}

// --- Grids of coordinates -----------------------------------------------------------------------

// -1 .. 1 in n steps, at the corners or at the pixels' centres.
static sc_x centred(sc_trace *t, int64_t n, bool corners, sc_dtype dtype) {
    if (n <= 1) return sc_f_zeros(t, X_INTS(t, n < 0 ? 0 : n), dtype);
    double bound = (double)(n - 1) / (double)n;
    if (corners) return linspace(t, sc_x_int(t, -1), sc_x_int(t, 1), n, dtype);
    return linspace(t, sc_x_float(t, -bound), sc_x_float(t, bound), n, dtype);
}

static sc_x padded(sc_trace *t, sc_x x, int64_t before, int64_t after) {
    return CALL(t, constant_pad_nd, x, X_INTS(t, before, after), sc_x_float(t, 0.0));
}

// Along one of `rank` dims.
static sc_x coordinates(sc_trace *t, int64_t n, uint32_t dim, uint32_t rank, bool corners,
                        sc_dtype dtype) {
    int64_t sizes[4] = {1, 1, 1, 1};
    sizes[dim] = n;
    return CALL(t, view, centred(t, n, corners, dtype), sc_x_ints(t, sizes, rank));
}

static sc_x affine_2d(sc_trace *t, sc_x theta, sc_x n, const int64_t *size, bool corners) {
    sc_dtype dtype = sc_x_dtype_of(theta);
    sc_x x = coordinates(t, size[1], 1, 3, corners, dtype);
    sc_x y = coordinates(t, size[0], 0, 3, corners, dtype);
    sc_x one = sc_f_full(t, X_INTS(t, 1, 1, 1), sc_x_int(t, 1), dtype);
    x = padded(t, x, 0, 2);
    y = padded(t, y, 1, 1);
    one = padded(t, one, 2, 0);
    sc_x sum = sc_f_add(t, x, y);
    sc_x base = CALL(t, view, sc_f_add(t, sum, one), X_INTS(t, -1, 3, 1));
    sc_x flipped = sc_f_unsqueeze(t, CALL(t, mT, theta), 1);
    sc_x grid = sc_f_sum(t, sc_f_mul(t, base, flipped), X_INTS(t, -2), false);
    sc_x h = sc_x_int(t, size[0]), w = sc_x_int(t, size[1]);
    return CALL(t, view, grid, X_LIST(t, n, h, w, sc_x_int(t, 2)));
}

static sc_x affine_3d(sc_trace *t, sc_x theta, sc_x n, const int64_t *size, bool corners) {
    sc_dtype dtype = sc_x_dtype_of(theta);
    sc_x x = coordinates(t, size[2], 2, 4, corners, dtype);
    sc_x y = coordinates(t, size[1], 1, 4, corners, dtype);
    sc_x z = coordinates(t, size[0], 0, 4, corners, dtype);
    sc_x one = sc_f_full(t, X_INTS(t, 1, 1, 1, 1), sc_x_int(t, 1), dtype);
    x = padded(t, x, 0, 3);
    y = padded(t, y, 1, 2);
    z = padded(t, z, 2, 1);
    one = padded(t, one, 3, 0);
    sc_x sum = sc_f_add(t, x, y);
    sum = sc_f_add(t, sum, z);
    sc_x base = CALL(t, view, sc_f_add(t, sum, one), X_INTS(t, -1, 4, 1));
    sc_x flipped = sc_f_unsqueeze(t, CALL(t, mT, theta), 1);
    sc_x grid = sc_f_sum(t, sc_f_mul(t, base, flipped), X_INTS(t, -2), false);
    sc_x d = sc_x_int(t, size[0]), h = sc_x_int(t, size[1]), w = sc_x_int(t, size[2]);
    return CALL(t, view, grid, X_LIST(t, n, d, h, w, sc_x_int(t, 3)));
}

// The batch may be open; PyTorch does not export open sides.
sc_x sc_expand_affine_grid(sc_trace *t, const sc_x *a) {
    int64_t size[3];
    const uint32_t rank = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    if (rank != 4 && rank != 5)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "affine_grid needs 4 or 5 sizes");
    sc_x_int_list(t, sc_x_list_of(t, a[1]->items + 2, rank - 2), size, 3);
    if (t->status != SC_OK) return a[0];
    if (rank == 4) return affine_2d(t, a[0], a[1]->items[0], size, sc_x_truth(a[2]));
    return affine_3d(t, a[0], a[1]->items[0], size, sc_x_truth(a[2]));
}
