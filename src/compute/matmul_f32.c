// Single-precision matrix products: brings any strides into one of the two forms that the register
// tiles take, a row each. Weights stored as [N, K] and matrices stored as [K, N] are both used in
// place; only what is contiguous along neither axis is copied.
#include "compute/matmul.h"
#include "compute/simd/gemm_f32.h"

// How one batch item is computed.
typedef struct plan {
    sc_matmul mm;  // transposed as a whole if that makes c's rows contiguous
    bool swapped;
    bool copy_a, copy_b;  // to [m][k] and [k][n]
    bool nt;
    bool bias_in_tiles;
    uint64_t a, b;  // places in scratch behind the panel, in floats
    uint64_t total;
} plan;

static sc_matrix transposed(const sc_matrix *m) {
    return (sc_matrix){m->data, m->batch, m->column, m->row};
}

static uint64_t nn_scratch(const sc_matmul *mm) {
    return sc_gemm_nn_scratch((uint64_t)mm->m, (uint64_t)mm->n, (uint64_t)mm->k);
}

static plan plan_for(const sc_matmul *given) {
    plan p = {.mm = *given, .bias_in_tiles = sc_matmul_is_plain(given) && given->addend.data};
    sc_matmul *mm = &p.mm;
    if (mm->c_column != 1 && mm->n != 1) {  // c' = b' a'
        p.swapped = true;
        mm->m = given->n, mm->n = given->m;
        mm->a = transposed(&given->b);
        mm->b = transposed(&given->a);
        mm->addend = transposed(&given->addend);
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

// Results can be dense along no matrix dim.
static bool fits(const sc_record *record, bool nt) {
    const plan p = plan_for(sc_matmul_of(record));
    const sc_finish *finish = &record->finish;
    return (p.mm.c_column == 1 || p.mm.n == 1) && !finish->scale && !finish->shift && p.nt == nt;
}

static uint64_t scratch_bytes(const sc_record *record) {
    return plan_for(sc_matmul_of(record)).total * sizeof(float);
}

// The product of one batch item, without the operands.
static sc_gemm_f32 shape_of(const plan *p) {
    const sc_matmul *mm = &p->mm;
    return (sc_gemm_f32){.m = (size_t)mm->m,
                         .n = (size_t)mm->n,
                         .k = (size_t)mm->k,
                         .a_row = (size_t)mm->a.row,
                         .b_row = (size_t)(p->nt ? mm->b.column : mm->b.row),
                         .c_row = (size_t)mm->c_row};
}

static int64_t tiles_of_item(const plan *p) {
    const sc_gemm_f32 g = shape_of(p);
    return (int64_t)(p->nt ? sc_gemm_nt_tiles(&g) : sc_gemm_nn_tiles(&g));
}

static int64_t tiles(const sc_record *record) {
    const plan p = plan_for(sc_matmul_of(record));
    return p.mm.batch * tiles_of_item(&p);
}

static void copy_matrix(float *to, const float *from, int64_t rows, int64_t columns,
                        int64_t row_step, int64_t column_step) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) *to++ = from[i * row_step + j * column_step];
}

// What the tiles cannot do on the way: factors, and addends that are not a plain bias.
static void finish_block(const sc_matmul *mm, const sc_gemm_block *block, float *c,
                         const float *addend) {
    const float alpha = (float)mm->alpha, beta = (float)mm->beta;
    for (size_t i = block->row; i < block->row_end; i++) {
        float *row = c + (int64_t)i * mm->c_row;
        for (size_t j = block->column; j < block->column_end; j++) {
            float value = row[(int64_t)j * mm->c_column] * alpha;
            if (addend)
                value +=
                    beta * addend[(int64_t)i * mm->addend.row + (int64_t)j * mm->addend.column];
            row[(int64_t)j * mm->c_column] = sc_finish_clamp(&mm->record.finish, value);
        }
    }
}

// Tiles [from, to) of one batch item.
static void run_item(const plan *p, int64_t batch, int64_t from, int64_t to, float *scratch) {
    const sc_matmul *mm = &p->mm;
    const sc_finish *finish = &mm->record.finish;
    const float *a = (const float *)mm->a.data + batch * mm->a.batch;
    const float *b = (const float *)mm->b.data + batch * mm->b.batch;
    const float *addend =
        mm->addend.data ? (const float *)mm->addend.data + batch * mm->addend.batch : NULL;
    const bool finishes = !p->bias_in_tiles && (addend || mm->alpha != 1);
    sc_gemm_f32 g = shape_of(p);
    g.a = a, g.b = b;
    g.c = (float *)mm->c + batch * mm->c_batch;
    if (finish->clamps && !finishes) g.clamps = true, g.low = finish->low, g.high = finish->high;
    if (p->swapped)
        g.row_shift = p->bias_in_tiles ? addend : NULL;
    else
        g.col_shift = p->bias_in_tiles ? addend : NULL;
    if (p->copy_a) {
        copy_matrix(scratch + p->a, a, mm->m, mm->k, mm->a.row, mm->a.column);
        g.a = scratch + p->a, g.a_row = g.k;
    }
    if (p->copy_b) {
        copy_matrix(scratch + p->b, b, mm->k, mm->n, mm->b.row, mm->b.column);
        g.b = scratch + p->b, g.b_row = g.n;
    }
    if (p->nt)
        sc_gemm_nt_f32(&g, (size_t)from, (size_t)to);
    else
        sc_gemm_nn_f32(&g, (size_t)from, (size_t)to, scratch);
    if (!finishes) return;
    const sc_gemm_block block = p->nt ? sc_gemm_nt_block(&g, (size_t)from, (size_t)to)
                                      : sc_gemm_nn_block(&g, (size_t)from, (size_t)to);
    finish_block(mm, &block, g.c, addend);
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const plan p = plan_for(sc_matmul_of(record));
    const int64_t item_tiles = tiles_of_item(&p);
    (void)packed;
    while (from < to) {
        const int64_t item = from / item_tiles, end = sc_min_i64(to, (item + 1) * item_tiles);
        run_item(&p, item, from - item * item_tiles, end - item * item_tiles, scratch);
        from = end;
    }
}

static bool fits_nt(const sc_record *record) { return fits(record, true); }
static bool fits_nn(const sc_record *record) { return fits(record, false); }

SC_ALGORITHM(matmul_nt, .fits = fits_nt, .scratch_bytes = scratch_bytes, .tiles = tiles,
             .run = run);
SC_ALGORITHM(matmul_nn, .fits = fits_nn, .scratch_bytes = scratch_bytes, .tiles = tiles,
             .run = run);
