// Single-precision matrix products: brings any strides into one of the two forms that the register
// tiles take. Weights stored as [N, K] and matrices stored as [K, N] are both used in place; only
// what is contiguous along neither axis is copied.
#include "kernels/matmul.h"
#include "kernels/simd/gemm_f32.h"

// How one batch item is computed.
typedef struct plan {
    sc_matmul mm;  // transposed as a whole if that makes c's rows contiguous
    bool swapped;
    bool copy_a, copy_b;  // to [m][k] and [k][n]
    bool nt;
    uint64_t panel, a, b;  // places in scratch, in floats
    uint64_t total;
} plan;

static uint64_t nn_scratch(const sc_matmul *mm) {
    return sc_gemm_nn_scratch((uint64_t)mm->m, (uint64_t)mm->n, (uint64_t)mm->k);
}

static plan plan_for(const sc_matmul *given) {
    plan p = {.mm = *given};
    sc_matmul *mm = &p.mm;
    if (mm->c_column != 1 && mm->n != 1) {  // c' = b' a'
        p.swapped = true;
        mm->m = given->n, mm->n = given->m;
        mm->a = (sc_matrix){given->b.data, given->b.batch, given->b.column, given->b.row};
        mm->b = (sc_matrix){given->a.data, given->a.batch, given->a.column, given->a.row};
        mm->self =
            (sc_matrix){given->self.data, given->self.batch, given->self.column, given->self.row};
        mm->c_row = given->c_column, mm->c_column = given->c_row;
    }
    p.copy_a = mm->a.column != 1 && mm->k != 1;
    bool rows = mm->b.column == 1 || mm->n == 1, columns = mm->b.row == 1 || mm->k == 1;
    p.nt = columns && (!rows || mm->n == 1);
    p.copy_b = !rows && !columns;
    p.a = p.nt ? 0 : nn_scratch(mm) / sizeof(float);
    p.b = p.a + (p.copy_a ? (uint64_t)mm->m * (uint64_t)mm->k : 0);
    p.total = p.b + (p.copy_b ? (uint64_t)mm->k * (uint64_t)mm->n : 0);
    return p;
}

uint64_t sc_matmul_scratch(const sc_matmul *mm) { return plan_for(mm).total * sizeof(float); }

static void copy_matrix(float *to, const float *from, int64_t rows, int64_t columns,
                        int64_t row_step, int64_t column_step) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) *to++ = from[i * row_step + j * column_step];
}

// What the tiles cannot do on the way: factors, and addends that are no plain bias.
static void finish(const sc_matmul *mm, float *c, const float *self) {
    const float alpha = (float)mm->alpha, beta = (float)mm->beta;
    const sc_epilogue *e = mm->epilogue;
    for (int64_t i = 0; i < mm->m; i++) {
        float *row = c + i * mm->c_row;
        for (int64_t j = 0; j < mm->n; j++) {
            float value = row[j * mm->c_column] * alpha;
            if (self) value += beta * self[i * mm->self.row + j * mm->self.column];
            if (e && e->clamps) {
                value = value < e->low ? e->low : value;
                value = e->high < value ? e->high : value;
            }
            row[j * mm->c_column] = value;
        }
    }
}

static void run_item(const plan *p, int64_t batch, float *scratch, bool bias_in_tiles) {
    const sc_matmul *mm = &p->mm;
    const float *a = (const float *)mm->a.data + batch * mm->a.batch;
    const float *b = (const float *)mm->b.data + batch * mm->b.batch;
    const float *self =
        mm->self.data ? (const float *)mm->self.data + batch * mm->self.batch : NULL;
    const sc_epilogue *e = mm->epilogue;
    sc_gemm_f32 g = {
        .m = (size_t)mm->m,
        .n = (size_t)mm->n,
        .k = (size_t)mm->k,
        .a = a,
        .a_row = (size_t)mm->a.row,
        .b = b,
        .b_row = (size_t)(p->nt ? mm->b.column : mm->b.row),
        .c = (float *)mm->c + batch * mm->c_batch,
        .c_row = (size_t)mm->c_row,
    };
    const bool finishes = !bias_in_tiles && (self || mm->alpha != 1);
    if (e && e->clamps && !finishes) g.clamps = true, g.low = e->low, g.high = e->high;
    if (p->swapped)
        g.row_shift = bias_in_tiles ? self : NULL;
    else
        g.col_shift = bias_in_tiles ? self : NULL;
    if (p->copy_a) {
        copy_matrix(scratch + p->a, a, mm->m, mm->k, mm->a.row, mm->a.column);
        g.a = scratch + p->a, g.a_row = g.k;
    }
    if (p->copy_b) {
        copy_matrix(scratch + p->b, b, mm->k, mm->n, mm->b.row, mm->b.column);
        g.b = scratch + p->b, g.b_row = g.n;
    }
    if (p->nt)
        sc_gemm_nt_f32(&g);
    else
        sc_gemm_nn_f32(&g, scratch);
    if (finishes) finish(mm, g.c, self);
}

// By the definition, in place.
static void run_plainly(const sc_matmul *mm) {
    for (int64_t batch = 0; batch < mm->batch; batch++) {
        const float *a = (const float *)mm->a.data + batch * mm->a.batch;
        const float *b = (const float *)mm->b.data + batch * mm->b.batch;
        const float *self =
            mm->self.data ? (const float *)mm->self.data + batch * mm->self.batch : NULL;
        float *c = (float *)mm->c + batch * mm->c_batch;
        for (int64_t i = 0; i < mm->m; i++) {
            for (int64_t j = 0; j < mm->n; j++) {
                float sum = 0;
                for (int64_t k = 0; k < mm->k; k++)
                    sum +=
                        a[i * mm->a.row + k * mm->a.column] * b[k * mm->b.row + j * mm->b.column];
                c[i * mm->c_row + j * mm->c_column] = sum;
            }
        }
        finish(mm, c, self);
    }
}

void sc_matmul_f32(const sc_matmul *given, void *scratch, uint64_t scratch_bytes) {
    const plan p = plan_for(given);
    // The largest sizes can need less scratch than smaller ones: with a single row or column,
    // strides that told one layout from another no longer do. And results can be dense along no
    // matrix dim.
    if (p.total * sizeof(float) > scratch_bytes || (p.mm.c_column != 1 && p.mm.n != 1)) {
        run_plainly(given);
        return;
    }
    const sc_matrix *self = &given->self;
    const bool bias_in_tiles = given->alpha == 1 && given->beta == 1 && self->data &&
                               self->row == 0 && (self->column == 1 || given->n == 1);
    for (int64_t batch = 0; batch < given->batch; batch++)
        run_item(&p, batch, scratch, bias_in_tiles);
}
