// Expansions of the indices of triangles.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

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
    sc_x before = sc_f_sub(t, CALL(t, cumsum, lengths, zero), lengths);
    if (is_upper) before = sc_f_sub(t, before, cut);
    sc_x column = sc_f_arange(t, zero, sc_x_int(t, total), SC_DTYPE_I64);
    column = sc_f_sub(t, column, CALL(t, index_select, before, zero, row));
    return sc_f_to(t, CALL(t, stack, X_LIST(t, row, column)), dtype);
}

sc_x sc_expand_tril_indices(sc_trace *t, const sc_x *a) { return triangle(t, a, false); }
sc_x sc_expand_triu_indices(sc_trace *t, const sc_x *a) { return triangle(t, a, true); }
