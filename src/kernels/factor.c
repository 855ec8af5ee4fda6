// Square systems: LU and Cholesky factorisation, inverses, solutions, and the exponential.
#include <math.h>

#include "kernels/matrix.h"

static int64_t most_rows(const sc_tensor *t) {
    return t->rank < 2 ? 0 : sc_max_i64(sc_matrix_rows(t), sc_matrix_columns(t));
}

// `count` square matrices, and a vector of pivots.
static uint64_t square_scratch(const sc_tensor *t, uint64_t count) {
    int64_t n = most_rows(t);
    return sc_matrix_bytes(n, n, count) + (uint64_t)n * sizeof(double);
}

static sc_status put_info(const sc_kernel_call *call, const sc_tensor *info, int64_t index,
                          int32_t value, bool is_checked) {
    if (is_checked && value != 0)
        return sc_call_fail(call, SC_ERR_ARGUMENT,
                            "cannot factorise matrix %lld: its minor %d is singular or not "
                            "positive definite",
                            (long long)index, value);
    sc_tensor_put_integer(info, sc_batch_offset(info, 0, index), value);
    return SC_OK;
}

static sc_status need_square(const sc_kernel_call *call, const sc_tensor *t) {
    if (t->rank >= 2 && sc_matrix_rows(t) == sc_matrix_columns(t)) return SC_OK;
    return sc_call_fail(call, SC_ERR_SHAPE, "needs square matrices");
}

// --- LU -----------------------------------------------------------------------------------------

static uint64_t lu_scratch(const sc_kernel_call *call) {
    return square_scratch(sc_call_tensor(call, 0), 1);
}

// (A, pivot, check_errors, LU, pivots, info)
static sc_status run_lu_factor(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *lu = sc_call_tensor(call, 3);
    const sc_tensor *pivots = sc_call_tensor(call, 4), *info = sc_call_out(call);
    SC_TRY(sc_matrix_check(call, self, lu, lu_scratch(call)));
    if (!sc_call_integer(call, 1))
        return sc_call_fail(call, SC_ERR_UNSUPPORTED, "needs pivot=True");
    if (pivots->dtype != SC_DTYPE_I32 || info->dtype != SC_DTYPE_I32)
        return sc_call_no_kernel(call);
    int64_t rows = sc_matrix_rows(self), columns = sc_matrix_columns(self);
    double *a = call->scratch;
    int32_t *order = (int32_t *)(a + rows * columns);
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        sc_matrix_read(self, b, a);
        int32_t bad = sc_lu(a, rows, columns, order);
        SC_TRY(put_info(call, info, b, bad, sc_call_integer(call, 2) != 0));
        sc_matrix_write(lu, b, a);
        int64_t start = sc_batch_offset(pivots, 1, b);
        for (int64_t i = 0; i < sc_min_i64(rows, columns); i++)
            sc_tensor_put_integer(pivots, start + i * pivots->strides[pivots->rank - 1],
                                  order[i] + 1);
    }
    return SC_OK;
}

// Solves a x = b: b becomes the solution, and a its factors.
static int32_t solve(double *a, int64_t n, double *b, int64_t columns, int32_t *pivots) {
    int32_t bad = sc_lu(a, n, n, pivots);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; pivots[i] != i && c < columns; c++) {
            double value = b[i * columns + c];
            b[i * columns + c] = b[pivots[i] * columns + c];
            b[pivots[i] * columns + c] = value;
        }
    sc_solve_triangle(a, n, b, columns, false, true);
    sc_solve_triangle(a, n, b, columns, true, false);
    return bad;
}

static uint64_t inverse_scratch(const sc_kernel_call *call) {
    return square_scratch(sc_call_tensor(call, 0), 2);
}

// (A, check_errors, inverse, info)
static sc_status run_inverse(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_tensor(call, 2);
    const sc_tensor *info = sc_call_out(call);
    SC_TRY(sc_matrix_check(call, self, out, inverse_scratch(call)));
    SC_TRY(need_square(call, self));
    if (info->dtype != SC_DTYPE_I32) return sc_call_no_kernel(call);
    int64_t n = sc_matrix_rows(self);
    double *a = call->scratch, *x = a + n * n;
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        sc_matrix_read(self, b, a);
        for (int64_t i = 0; i < n * n; i++) x[i] = i % (n + 1) == 0;
        int32_t bad = solve(a, n, x, n, (int32_t *)(x + n * n));
        SC_TRY(put_info(call, info, b, bad, sc_call_integer(call, 1) != 0));
        sc_matrix_write(out, b, x);
    }
    return SC_OK;
}

// --- Solving ------------------------------------------------------------------------------------

static uint64_t solve_scratch(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *right = sc_call_tensor(call, 1);
    if (right->rank < 2) return 0;
    return square_scratch(self, 1) +
           sc_matrix_bytes(sc_matrix_rows(right), sc_matrix_columns(right), 1);
}

// a x = b, where both have the same batch.
static sc_status check_system(const sc_kernel_call *call, const sc_tensor *a, const sc_tensor *b,
                              const sc_tensor *out, bool left) {
    SC_TRY(sc_matrix_check(call, a, out, solve_scratch(call)));
    SC_TRY(need_square(call, a));
    bool fits = b->dtype == a->dtype && b->rank == a->rank && out->rank == a->rank &&
                (left ? sc_matrix_rows(b) : sc_matrix_columns(b)) == sc_matrix_rows(a) &&
                sc_batch_count(a, 2) == sc_batch_count(b, 2);
    for (uint32_t d = 0; fits && d < a->rank; d++) fits = out->sizes[d] == b->sizes[d];
    return fits ? SC_OK : sc_call_fail(call, SC_ERR_SHAPE, "matrix and right sides do not fit");
}

// (A, B, left, check_errors, result, info): always from the left.
static sc_status run_solve(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *right = sc_call_tensor(call, 1);
    const sc_tensor *out = sc_call_tensor(call, 4), *info = sc_call_out(call);
    SC_TRY(check_system(call, self, right, out, true));
    if (!sc_call_integer(call, 2) || info->dtype != SC_DTYPE_I32) return sc_call_no_kernel(call);
    int64_t n = sc_matrix_rows(self), columns = sc_matrix_columns(right);
    double *a = call->scratch, *x = a + n * n;
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        sc_matrix_read(self, b, a);
        sc_matrix_read(right, b, x);
        int32_t bad = solve(a, n, x, columns, (int32_t *)(x + n * columns));
        SC_TRY(put_info(call, info, b, bad, sc_call_integer(call, 3) != 0));
        sc_matrix_write(out, b, x);
    }
    return SC_OK;
}

static void transpose(double *a, int64_t n) {
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < r; c++) {
            double value = a[r * n + c];
            a[r * n + c] = a[c * n + r];
            a[c * n + r] = value;
        }
}

static uint64_t triangle_scratch(const sc_kernel_call *call) {
    const sc_tensor *right = sc_call_tensor(call, 1);
    if (right->rank < 2) return 0;
    return solve_scratch(call) +
           sc_matrix_bytes(sc_matrix_rows(right), sc_matrix_columns(right), 1);
}

static void turn(const double *from, int64_t rows, int64_t columns, double *to) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c];
}

// (A, B, upper, left, unitriangular, out): solves x a = b as transposed a times transposed x.
static sc_status run_solve_triangular(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *right = sc_call_tensor(call, 1);
    const sc_tensor *out = sc_call_out(call);
    bool upper = sc_call_integer(call, 2) != 0, left = sc_call_integer(call, 3) != 0;
    SC_TRY(check_system(call, self, right, out, left));
    if (call->scratch_bytes < triangle_scratch(call)) return sc_call_starved(call);
    int64_t n = sc_matrix_rows(self), rows = sc_matrix_rows(right);
    int64_t columns = sc_matrix_columns(right);
    double *a = call->scratch, *x = a + n * n, *other = x + rows * columns;
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        sc_matrix_read(self, b, a);
        sc_matrix_read(right, b, left ? x : other);
        if (!left) transpose(a, n);
        if (!left) turn(other, rows, columns, x);
        sc_solve_triangle(a, n, x, left ? columns : rows, upper == left,
                          sc_call_integer(call, 4) != 0);
        if (!left) turn(x, columns, rows, other);
        sc_matrix_write(out, b, left ? x : other);
    }
    return SC_OK;
}

// --- Cholesky -----------------------------------------------------------------------------------

// The lower factor, in place of the lower triangle; zeros above. Returns 0, or the number of the
// first minor that is not positive.
static int32_t cholesky(double *a, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        double sum = a[k * n + k];
        for (int64_t i = 0; i < k; i++) sum -= a[k * n + i] * a[k * n + i];
        if (!(sum > 0)) return (int32_t)k + 1;
        a[k * n + k] = sqrt(sum);
        for (int64_t r = k + 1; r < n; r++) {
            double dot = a[r * n + k];
            for (int64_t i = 0; i < k; i++) dot -= a[r * n + i] * a[k * n + i];
            a[r * n + k] = dot / a[k * n + k];
        }
    }
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = r + 1; c < n; c++) a[r * n + c] = 0.0;
    return 0;
}

// (self, upper, check_errors, L, info)
static sc_status run_cholesky(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_tensor(call, 3);
    const sc_tensor *info = sc_call_out(call);
    bool is_upper = sc_call_integer(call, 1) != 0;
    SC_TRY(sc_matrix_check(call, self, out, lu_scratch(call)));
    SC_TRY(need_square(call, self));
    if (info->dtype != SC_DTYPE_I32) return sc_call_no_kernel(call);
    int64_t n = sc_matrix_rows(self);
    double *a = call->scratch;
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        sc_matrix_read(self, b, a);
        if (is_upper) transpose(a, n);
        int32_t bad = cholesky(a, n);
        SC_TRY(put_info(call, info, b, bad, sc_call_integer(call, 2) != 0));
        if (is_upper) transpose(a, n);
        sc_matrix_write(out, b, a);
    }
    return SC_OK;
}

// --- The exponential ----------------------------------------------------------------------------

static void multiply(const double *a, const double *b, int64_t n, double *out) {
    for (int64_t i = 0; i < n * n; i++) out[i] = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t c = 0; c < n; c++) out[i * n + c] += a[i * n + k] * b[k * n + c];
}

// The number of times that a is halved so that its series converges fast.
static int halvings(const double *a, int64_t n) {
    double largest = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int64_t k = 0; k < n; k++) sum += fabs(a[i * n + k]);
        largest = sum > largest ? sum : largest;
    }
    int exponent = 0;
    if (isfinite(largest)) (void)frexp(largest, &exponent);
    return exponent + 2 > 0 ? exponent + 2 : 0;
}

// Taylor's series of a / 2^s, squared s times. `sum`, `term` and `next` are as large as a.
static double *exponential(double *a, int64_t n, double *sum, double *term, double *next) {
    int squarings = halvings(a, n);
    for (int64_t i = 0; i < n * n; i++) {
        a[i] = ldexp(a[i], -squarings);
        sum[i] = term[i] = i % (n + 1) == 0;
    }
    for (int k = 1; k <= 18; k++) {
        multiply(term, a, n, next);
        for (int64_t i = 0; i < n * n; i++) sum[i] += next[i] /= k;
        double *swap = term;
        term = next;
        next = swap;
    }
    for (int s = 0; s < squarings; s++) {
        multiply(sum, sum, n, next);
        double *swap = sum;
        sum = next;
        next = swap;
    }
    return sum;
}

static uint64_t exponential_scratch(const sc_kernel_call *call) {
    return square_scratch(sc_call_tensor(call, 0), 4);
}

static sc_status run_matrix_exp(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    SC_TRY(sc_matrix_check(call, self, out, exponential_scratch(call)));
    SC_TRY(need_square(call, self));
    int64_t n = sc_matrix_rows(self);
    double *a = call->scratch;
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        sc_matrix_read(self, b, a);
        sc_matrix_write(out, b, exponential(a, n, a + n * n, a + 2 * n * n, a + 3 * n * n));
    }
    return SC_OK;
}

SC_KERNEL(lu_factor, .run = run_lu_factor, .scratch = lu_scratch);
SC_KERNEL(inverse, .run = run_inverse, .scratch = inverse_scratch);
SC_KERNEL(solve, .run = run_solve, .scratch = solve_scratch);
SC_KERNEL(solve_triangular, .run = run_solve_triangular, .scratch = triangle_scratch);
SC_KERNEL(cholesky, .run = run_cholesky, .scratch = lu_scratch);
SC_KERNEL(matrix_exp, .run = run_matrix_exp, .scratch = exponential_scratch);
