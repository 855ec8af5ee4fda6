// Reads and writes batches of matrices, and has the two algorithms that most kernels on them share.
#include "kernels/matrix.h"

#include <math.h>

uint64_t sc_matrix_bytes(int64_t rows, int64_t columns, uint64_t count) {
    uint64_t bytes;
    if (!sc_mul_u64((uint64_t)rows, (uint64_t)columns, &bytes) ||
        !sc_mul_u64(bytes, count * sizeof(double), &bytes))
        return UINT64_MAX / 4;
    return bytes;
}

int64_t sc_batch_count(const sc_tensor *t, uint32_t inner) {
    int64_t count = 1;
    for (uint32_t d = 0; d + inner < t->rank; d++) count *= t->sizes[d];
    return count;
}

int64_t sc_batch_offset(const sc_tensor *t, uint32_t inner, int64_t index) {
    int64_t offset = 0;
    for (uint32_t d = t->rank - inner; d-- > 0;) {
        offset += index % t->sizes[d] * t->strides[d];
        index /= t->sizes[d];
    }
    return offset;
}

void sc_matrix_read(const sc_tensor *t, int64_t index, double *out) {
    int64_t start = sc_batch_offset(t, 2, index), rows = sc_matrix_rows(t);
    int64_t columns = sc_matrix_columns(t);
    const int64_t *step = t->strides + t->rank - 2;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            out[i * columns + k] = sc_tensor_real(t, start + i * step[0] + k * step[1]);
}

void sc_matrix_write(const sc_tensor *t, int64_t index, const double *from) {
    int64_t start = sc_batch_offset(t, 2, index), rows = sc_matrix_rows(t);
    int64_t columns = sc_matrix_columns(t);
    const int64_t *step = t->strides + t->rank - 2;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            sc_tensor_put_real(t, start + i * step[0] + k * step[1], from[i * columns + k]);
}

void sc_vector_write(const sc_tensor *t, int64_t index, const double *from) {
    int64_t start = sc_batch_offset(t, 1, index), step = t->strides[t->rank - 1];
    for (int64_t i = 0; i < t->sizes[t->rank - 1]; i++)
        sc_tensor_put_real(t, start + i * step, from[i]);
}

sc_status sc_matrix_check(const sc_kernel_call *call, const sc_tensor *self, const sc_tensor *out,
                          uint64_t scratch_bytes) {
    bool is_real = self->dtype == SC_DTYPE_F32 || self->dtype == SC_DTYPE_F64;
    if (!is_real || out->dtype != self->dtype) return sc_call_no_kernel(call);
    if (self->rank < 2) return sc_call_fail(call, SC_ERR_SHAPE, "needs matrices");
    return call->scratch_bytes < scratch_bytes ? sc_call_starved(call) : SC_OK;
}

static void swap_rows(double *a, int64_t columns, int64_t i, int64_t k) {
    for (int64_t c = 0; i != k && c < columns; c++) {
        double value = a[i * columns + c];
        a[i * columns + c] = a[k * columns + c];
        a[k * columns + c] = value;
    }
}

int32_t sc_lu(double *a, int64_t rows, int64_t columns, int32_t *pivots) {
    int32_t info = 0;
    for (int64_t k = 0; k < sc_min_i64(rows, columns); k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < rows; i++)
            if (fabs(a[i * columns + k]) > fabs(a[best * columns + k])) best = i;
        pivots[k] = (int32_t)best;
        swap_rows(a, columns, k, best);
        double pivot = a[k * columns + k];
        if (pivot == 0 && info == 0) info = (int32_t)k + 1;
        for (int64_t i = k + 1; i < rows; i++) {
            double factor = pivot == 0 ? a[i * columns + k] : a[i * columns + k] / pivot;
            a[i * columns + k] = factor;
            for (int64_t c = k + 1; c < columns; c++)
                a[i * columns + c] -= factor * a[k * columns + c];
        }
    }
    return info;
}

void sc_solve_triangle(const double *a, int64_t n, double *b, int64_t columns, bool is_upper,
                       bool has_unit_diagonal) {
    for (int64_t done = 0; done < n; done++) {
        int64_t i = is_upper ? n - 1 - done : done;
        for (int64_t c = 0; c < columns; c++) {
            double sum = b[i * columns + c];
            for (int64_t k = is_upper ? i + 1 : 0; k < (is_upper ? n : i); k++)
                sum -= a[i * n + k] * b[k * columns + c];
            b[i * columns + c] = has_unit_diagonal ? sum : sum / a[i * n + i];
        }
    }
}
