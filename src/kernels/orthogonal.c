// Orthogonal factorisations: QR by Householder's reflections, eigenvectors of symmetric matrices
// and singular vectors by Jacobi's rotations. All of it bounded: a sweep over all pairs, and at
// most SWEEPS of them.
#include <float.h>
#include <math.h>

#include "kernels/matrix.h"

enum { SWEEPS = 60 };

// Rotates columns i and k of a, which has `rows` rows of `width`, by the angle with cosine c.
static void rotate(double *a, int64_t rows, int64_t width, int64_t i, int64_t k, double c,
                   double s) {
    for (int64_t r = 0; r < rows; r++) {
        double x = a[r * width + i], y = a[r * width + k];
        a[r * width + i] = c * x - s * y;
        a[r * width + k] = s * x + c * y;
    }
}

static void rotate_rows(double *a, int64_t n, int64_t i, int64_t k, double c, double s) {
    for (int64_t r = 0; r < n; r++) {
        double x = a[i * n + r], y = a[k * n + r];
        a[i * n + r] = c * x - s * y;
        a[k * n + r] = s * x + c * y;
    }
}

// Cosine and sine of the smaller angle that makes the symmetric [[p, q], [q, r]] diagonal.
static void jacobi_angle(double p, double q, double r, double *c, double *s) {
    double theta = (r - p) / (2.0 * q);
    double t = copysign(1.0, theta) / (fabs(theta) + sqrt(1.0 + theta * theta));
    *c = 1.0 / sqrt(1.0 + t * t);
    *s = t * *c;
}

// NaN counts as larger than all numbers.
static double larger(double size, double x) {
    x = fabs(x);
    return x > size || x != x ? x : size;
}

static void set_identity(double *a, int64_t n) {
    for (int64_t i = 0; i < n * n; i++) a[i] = i % (n + 1) == 0;
}

// Sorts `order` such that values[order[i]] rises, or falls. Insertion sort suffices, because they
// are few.
static void sort_values(const double *values, int64_t n, bool falls, int64_t *order) {
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0; at--) {
            double other = values[order[at - 1]];
            if (falls ? other >= values[i] : other <= values[i]) break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

static void write_columns(const double *from, int64_t rows, int64_t columns, const int64_t *order,
                          double *out) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) out[r * columns + c] = from[r * columns + order[c]];
}

// --- QR -----------------------------------------------------------------------------------------

// The reflection that clears column k of r below the diagonal, by its vector, scaled so that its
// squares neither overflow nor vanish. Returns 2 / |v|^2; 0 if the column is clear already, as in
// LAPACK.
static double reflection(const double *r, double *v, int64_t m, int64_t n, int64_t k) {
    double size = 0.0, below = 0.0, length = 0.0, norm = 0.0;
    for (int64_t i = m; i-- > k;) {
        if (i == k) below = size;
        size = larger(size, r[i * n + k]);
    }
    if (below == 0.0) return 0.0;
    for (int64_t i = k; i < m; i++) {
        v[i] = r[i * n + k] / size;
        length += v[i] * v[i];
    }
    v[k] += v[k] < 0 ? -sqrt(length) : sqrt(length);
    for (int64_t i = k; i < m; i++) norm += v[i] * v[i];
    return 2.0 / norm;
}

// Applies it to r and to q.
static void reflect_column(double *r, double *q, double *v, int64_t m, int64_t n, int64_t k) {
    const double scale = reflection(r, v, m, n, k);
    if (scale == 0.0) return;
    for (int64_t c = k; c < n; c++) {
        double dot = 0.0;
        for (int64_t i = k; i < m; i++) dot += v[i] * r[i * n + c];
        for (int64_t i = k; i < m; i++) r[i * n + c] -= dot * scale * v[i];
    }
    for (int64_t i = k + 1; i < m; i++) r[i * n + k] = 0.0;
    for (int64_t row = 0; row < m; row++) {
        double dot = 0.0;
        for (int64_t i = k; i < m; i++) dot += q[row * m + i] * v[i];
        for (int64_t i = k; i < m; i++) q[row * m + i] -= dot * scale * v[i];
    }
}

static uint64_t qr_scratch(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    if (self->rank < 2) return 0;
    int64_t m = sc_matrix_rows(self), n = sc_matrix_columns(self);
    return sc_matrix_bytes(m, n, 1) + sc_matrix_bytes(m, m, 2) + (uint64_t)m * sizeof(double);
}

// The first columns of q, as many as the result has.
static void write_q(const sc_tensor *out, int64_t index, const double *q, int64_t m, double *room) {
    int64_t columns = sc_matrix_columns(out);
    for (int64_t r = 0; r < m; r++) memcpy(room + r * columns, q + r * m, columns * sizeof *q);
    sc_matrix_write(out, index, room);
}

// (A, mode, Q, R)
static sc_status run_qr(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *q_out = sc_call_tensor(call, 2);
    const sc_tensor *r_out = sc_call_out(call);
    SC_TRY(sc_matrix_check(call, self, r_out, qr_scratch(call)));
    int64_t m = sc_matrix_rows(self), n = sc_matrix_columns(self);
    bool has_q = q_out->rank == self->rank && sc_matrix_rows(q_out) == m;
    if (q_out->dtype != self->dtype || sc_matrix_rows(r_out) > m || sc_matrix_columns(r_out) != n ||
        (has_q && sc_matrix_columns(q_out) > m))
        return sc_call_fail(call, SC_ERR_SHAPE, "the results do not fit");
    double *r = call->scratch, *q = r + m * n, *room = q + m * m, *v = room + m * m;
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        sc_matrix_read(self, b, r);
        set_identity(q, m);
        for (int64_t k = 0; k < sc_min_i64(m, n) && k + 1 < m; k++)
            reflect_column(r, q, v, m, n, k);
        sc_matrix_write(r_out, b, r);
        if (has_q) write_q(q_out, b, q, m, room);
    }
    return SC_OK;
}

// --- Eigenvectors of symmetric matrices ---------------------------------------------------------

static bool is_clear(const double *a, int64_t n, int64_t i, int64_t k) {
    double mean = sqrt(fabs(a[i * n + i])) * sqrt(fabs(a[k * n + k]));
    return fabs(a[i * n + k]) <= DBL_EPSILON * mean * 0.5 || a[i * n + k] == 0 ||
           fabs(a[i * n + k]) < DBL_MIN;
}

// a becomes diagonal, the columns of v its eigenvectors.
static void jacobi_eigen(double *a, double *v, int64_t n) {
    bool moved = true;
    set_identity(v, n);
    for (int sweep = 0; moved && sweep < SWEEPS; sweep++) {
        moved = false;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = i + 1; k < n; k++) {
                double c, s;
                if (is_clear(a, n, i, k)) continue;
                moved = true;
                jacobi_angle(a[i * n + i], a[i * n + k], a[k * n + k], &c, &s);
                rotate(a, n, n, i, k, c, s);
                rotate_rows(a, n, i, k, c, s);
                rotate(v, n, n, i, k, c, s);
            }
    }
}

static uint64_t eigh_scratch(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    if (self->rank < 2) return 0;
    int64_t n = sc_matrix_rows(self);
    return sc_matrix_bytes(n, n, 3) + sc_matrix_bytes(n, 3, 1);
}

static void mirror(double *a, int64_t n, bool from_upper) {
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < r; c++) {
            if (from_upper)
                a[r * n + c] = a[c * n + r];
            else
                a[c * n + r] = a[r * n + c];
        }
}

// (A, UPLO, compute_v, eigenvalues, eigenvectors)
static sc_status run_eigh(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *values = sc_call_tensor(call, 3);
    const sc_tensor *vectors = sc_call_out(call);
    SC_TRY(sc_matrix_check(call, self, values, eigh_scratch(call)));
    int64_t n = sc_matrix_rows(self);
    bool has_vectors = sc_call_integer(call, 2) != 0;
    bool from_upper = call->args[1]->tag == SC_EVALUE_STRING && sc_str_is(call->args[1]->str, "U");
    if (sc_matrix_columns(self) != n || vectors->dtype != self->dtype ||
        (has_vectors && vectors->numel != self->numel))
        return sc_call_fail(call, SC_ERR_SHAPE, "needs square matrices");
    double *a = call->scratch, *v = a + n * n, *sorted = v + n * n, *found = sorted + n * n;
    double *row = found + n;
    int64_t *order = (int64_t *)(row + n);
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        sc_matrix_read(self, b, a);
        mirror(a, n, from_upper);
        jacobi_eigen(a, v, n);
        for (int64_t i = 0; i < n; i++) found[i] = a[i * n + i];
        sort_values(found, n, false, order);
        for (int64_t i = 0; i < n; i++) row[i] = found[order[i]];
        sc_vector_write(values, b, row);
        write_columns(v, n, n, order, sorted);
        if (has_vectors) sc_matrix_write(vectors, b, sorted);
    }
    return SC_OK;
}

// --- Singular vectors ---------------------------------------------------------------------------

typedef struct svd {
    int64_t m, n;               // m >= n: a wider matrix comes transposed
    double *a, *v, *u, *sigma;  // m by n, n by n, m by m, n
    double *room;               // the larger of m by m and m by n
    int64_t *order;             // n
} svd;

// One-sided: columns of a are rotated until they are orthogonal; v gathers the rotations.
static void jacobi_columns(const svd *s) {
    bool moved = true;
    set_identity(s->v, s->n);
    for (int sweep = 0; moved && sweep < SWEEPS; sweep++) {
        moved = false;
        for (int64_t i = 0; i < s->n; i++)
            for (int64_t k = i + 1; k < s->n; k++) {
                double p = 0.0, q = 0.0, r = 0.0, c, sine;
                for (int64_t row = 0; row < s->m; row++) {
                    double x = s->a[row * s->n + i], y = s->a[row * s->n + k];
                    p += x * x;
                    q += x * y;
                    r += y * y;
                }
                if (!(fabs(q) > DBL_EPSILON * sqrt(p * r)) || q == 0) continue;
                moved = true;
                jacobi_angle(p, q, r, &c, &sine);
                rotate(s->a, s->m, s->n, i, k, c, sine);
                rotate(s->v, s->n, s->n, i, k, c, sine);
            }
    }
}

// Makes column c of u a unit vector orthogonal to those before it, starting from the axis that is
// most nearly orthogonal to them.
static void complete_column(double *u, int64_t m, int64_t c) {
    int64_t axis = 0;
    double least = HUGE_VAL;
    for (int64_t r = 0; r < m; r++) {
        double covered = 0.0;
        for (int64_t k = 0; k < c; k++) covered += u[r * m + k] * u[r * m + k];
        if (covered < least) axis = r;
        if (covered < least) least = covered;
    }
    for (int64_t r = 0; r < m; r++) u[r * m + c] = r == axis;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < c; k++) {
            double dot = 0.0;
            for (int64_t r = 0; r < m; r++) dot += u[r * m + k] * u[r * m + c];
            for (int64_t r = 0; r < m; r++) u[r * m + c] -= dot * u[r * m + k];
        }
    double length = 0.0;
    for (int64_t r = 0; r < m; r++) length += u[r * m + c] * u[r * m + c];
    for (int64_t r = 0; r < m; r++) u[r * m + c] /= sqrt(length);
}

// Sorts the lengths of the columns in falling order, makes the columns unit vectors, and adds the
// missing axes.
static void sort_columns(const svd *s) {
    double *lengths = s->room;
    for (int64_t c = 0; c < s->n; c++) {
        double sum = 0.0;
        for (int64_t r = 0; r < s->m; r++) sum += s->a[r * s->n + c] * s->a[r * s->n + c];
        lengths[c] = sqrt(sum);
    }
    sort_values(lengths, s->n, true, s->order);
    for (int64_t c = 0; c < s->n; c++) s->sigma[c] = lengths[s->order[c]];
    for (int64_t c = 0; c < s->m; c++) {
        bool is_found = c < s->n && s->sigma[c] > s->sigma[0] * DBL_EPSILON;
        for (int64_t r = 0; is_found && r < s->m; r++)
            s->u[r * s->m + c] = s->a[r * s->n + s->order[c]] / s->sigma[c];
        if (!is_found) complete_column(s->u, s->m, c);
    }
}

static void svd_split(const sc_tensor *self, void *scratch, svd *s) {
    int64_t rows = sc_matrix_rows(self), columns = sc_matrix_columns(self);
    s->m = sc_max_i64(rows, columns);
    s->n = sc_min_i64(rows, columns);
    s->a = scratch;
    s->v = s->a + s->m * s->n;
    s->u = s->v + s->n * s->n;
    s->room = s->u + s->m * s->m;
    s->sigma = s->room + s->m * s->m;
    s->order = (int64_t *)(s->sigma + s->n);
}

static uint64_t svd_scratch(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    if (self->rank < 2) return 0;
    int64_t rows = sc_matrix_rows(self), columns = sc_matrix_columns(self);
    int64_t m = sc_max_i64(rows, columns), n = sc_min_i64(rows, columns);
    return sc_matrix_bytes(m, n, 1) + sc_matrix_bytes(n, n, 1) + sc_matrix_bytes(m, m, 2) +
           sc_matrix_bytes(n + 1, 2, 1);
}

// A left or a right factor: columns of `from`, `width` of them in a row, in `order` if it is given;
// transposed where the result asks for rows.
static void write_side(const sc_tensor *out, int64_t index, const double *from, int64_t width,
                       const int64_t *order, bool as_rows, double *room) {
    int64_t rows = sc_matrix_rows(out), columns = sc_matrix_columns(out);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            int64_t vector = as_rows ? r : c, element = as_rows ? c : r;
            vector = order ? order[vector] : vector;
            room[r * columns + c] = from[element * width + vector];
        }
    sc_matrix_write(out, index, room);
}

static void read_tall(const sc_tensor *self, int64_t index, const svd *s, bool is_wide) {
    double *to = is_wide ? s->room : s->a;
    sc_matrix_read(self, index, to);
    for (int64_t r = 0; is_wide && r < s->m; r++)
        for (int64_t c = 0; c < s->n; c++) s->a[r * s->n + c] = to[c * s->m + r];
}

// Scales into the range of squares, by a power of 2: returns its exponent.
static int scale_down(double *a, int64_t count) {
    double size = 0.0;
    int exponent = 0;
    for (int64_t i = 0; i < count; i++) size = larger(size, a[i]);
    if (size == 0.0 || !isfinite(size)) return 0;
    (void)frexp(size, &exponent);
    for (int64_t i = 0; i < count; i++) a[i] = ldexp(a[i], -exponent);
    return exponent;
}

static bool svd_fits(const sc_kernel_call *call, const svd *s, bool has_vectors) {
    const sc_tensor *self = sc_call_tensor(call, 0), *u = sc_call_tensor(call, 4);
    const sc_tensor *sigma = sc_call_tensor(call, 5), *v = sc_call_out(call);
    bool fits = sigma->rank + 1 == self->rank && sigma->sizes[sigma->rank - 1] == s->n &&
                u->dtype == self->dtype && v->dtype == self->dtype;
    if (!has_vectors || !fits) return fits;
    return u->rank == self->rank && v->rank == self->rank &&
           sc_matrix_rows(u) == sc_matrix_rows(self) && sc_matrix_columns(u) <= sc_matrix_rows(u) &&
           sc_matrix_columns(u) >= s->n && sc_matrix_columns(v) == sc_matrix_columns(self) &&
           sc_matrix_rows(v) <= sc_matrix_columns(v) && sc_matrix_rows(v) >= s->n;
}

// (A, full_matrices, compute_uv, driver, U, S, Vh)
static sc_status run_svd(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *u = sc_call_tensor(call, 4);
    const sc_tensor *sigma = sc_call_tensor(call, 5), *vh = sc_call_out(call);
    bool has_vectors = sc_call_integer(call, 2) != 0;
    svd s;
    SC_TRY(sc_matrix_check(call, self, sigma, svd_scratch(call)));
    bool is_wide = sc_matrix_rows(self) < sc_matrix_columns(self);
    svd_split(self, call->scratch, &s);
    if (!svd_fits(call, &s, has_vectors))
        return sc_call_fail(call, SC_ERR_SHAPE, "the results do not fit");
    // Matrices without rows or columns: one factor may be any unit vectors.
    if (s.n == 0 && (!has_vectors || (u->numel == 0 && vh->numel == 0))) return SC_OK;
    for (int64_t b = 0; b < sc_batch_count(self, 2); b++) {
        read_tall(self, b, &s, is_wide);
        const int exponent = scale_down(s.a, s.m * s.n);
        jacobi_columns(&s);
        sort_columns(&s);
        for (int64_t i = 0; i < s.n; i++) s.sigma[i] = ldexp(s.sigma[i], exponent);
        sc_vector_write(sigma, b, s.sigma);
        if (!has_vectors) continue;
        const sc_tensor *tall = is_wide ? vh : u, *small = is_wide ? u : vh;
        write_side(tall, b, s.u, s.m, NULL, is_wide, s.room);
        write_side(small, b, s.v, s.n, s.order, !is_wide, s.room);
    }
    return SC_OK;
}

SC_KERNEL(qr, .run = run_qr, .scratch = qr_scratch);
SC_KERNEL(eigh, .run = run_eigh, .scratch = eigh_scratch);
SC_KERNEL(svd, .run = run_svd, .scratch = svd_scratch);
