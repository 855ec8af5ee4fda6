// Expansions of searches that start from a number, and of places whose count is given.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// Places in a flat tensor as places along one of its dims.
static sc_x along(sc_trace *t, sc_x places, int64_t step, int64_t size) {
    sc_x floor = sc_x_str(t, "floor");
    sc_x at = CALL(t, div_Scalar_mode, places, sc_x_int(t, step), floor);
    sc_x turns = CALL(t, div_Scalar_mode, at, sc_x_int(t, size), floor);
    return sc_f_sub(t, at, CALL(t, mul_Scalar, turns, sc_x_int(t, size)));
}

// (self, size, fill_value): as many rows as are asked for, the first of those that are found. Each
// one found goes to the row of its number, all others to one row more, which is left off.
sc_x sc_expand_nonzero_static(sc_trace *t, const sc_x *a) {
    const int64_t rows = sc_x_small(t, a[1], 0);
    const uint32_t rank = sc_x_rank(a[0]);
    int64_t sizes[SC_RANK_MAX], count = 1, step = 1;
    sc_x zero = sc_x_int(t, 0), columns[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++)
        if (!sc_mul_i64(count, sizes[i] = sc_x_static_size(t, a[0], i), &count) ||
            count > INT32_MAX)
            return sc_trace_fail(t, SC_ERR_LIMIT, NULL, "nonzero_static of too large a tensor");
    if (rows < 0)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "nonzero_static of %lld rows",
                             (long long)rows);
    if (rank == 0 || rows == 0 || count == 0)
        return sc_f_full(t, X_INTS(t, rows, rank), a[2], SC_DTYPE_I64);
    sc_dim flat = sc_dim_int(count);
    sc_x found = CALL(t, ne_Scalar, sc_f_reshape(t, a[0], &flat, 1), zero);
    sc_x number = CALL(t, cumsum, sc_f_to(t, found, SC_DTYPE_I64), zero);
    number = CALL(t, sub_Scalar, number, sc_x_int(t, 1));
    sc_x fits = sc_f_and(t, found, CALL(t, lt_Scalar, number, a[1]));
    sc_x beyond = sc_f_scalar(t, a[1], SC_DTYPE_I64);
    sc_x all = sc_f_arange(t, zero, sc_x_int(t, count), SC_DTYPE_NONE);
    sc_x out = sc_f_full(t, X_INTS(t, rows + 1), sc_x_int(t, -1), SC_DTYPE_I64);
    out = CALL(t, scatter_src, out, zero, sc_f_where(t, fits, number, beyond), all);
    out = sc_f_slice(t, out, 0, zero, a[1]);
    for (uint32_t i = rank; i-- > 0; step *= sizes[i])
        columns[i] = sc_f_unsqueeze(t, along(t, out, step, sizes[i]), 1);
    sc_x table = sc_f_cat(t, columns, rank, 1);
    sc_x empty = CALL(t, lt_Scalar, sc_f_unsqueeze(t, out, 1), zero);
    return sc_f_where(t, empty, sc_f_scalar(t, a[2], SC_DTYPE_I64), table);
}
