// Single-precision matrix products. Any strides are brought into one of the two forms that the
// register tiles take, a row each. Weights stored as [N, K] and matrices stored as [K, N] are both
// used in place. Only matrices that are contiguous along neither axis are copied.
// In wasm: -O3
#include "compute/matmul.h"
#include "compute/simd/gemm_f32.h"

// The form for the strides. `swapped` is the whole product transposed, c' = b' a', which makes the
// rows of c contiguous.
typedef struct form {
    int64_t m, n;
    sc_matrix a, b;
    int64_t c_row, c_column;
    bool swapped;
    bool copy_a, copy_b;  // to [m][k] and [k][n]
    bool nt;
} form;

static sc_matrix transposed(const sc_matrix *m) {
    return (sc_matrix){m->data, m->batch, m->column, m->row};
}

static form form_of(const sc_matmul *mm) {
    const bool swapped = mm->c_column != 1 && mm->n != 1;
    form f = {.m = swapped ? mm->n : mm->m,
              .n = swapped ? mm->m : mm->n,
              .a = swapped ? transposed(&mm->b) : mm->a,
              .b = swapped ? transposed(&mm->a) : mm->b,
              .c_row = swapped ? mm->c_column : mm->c_row,
              .c_column = swapped ? mm->c_row : mm->c_column,
              .swapped = swapped};
    const bool rows = f.b.column == 1 || f.n == 1, columns = f.b.row == 1 || mm->k == 1;
    f.copy_a = f.a.column != 1 && mm->k != 1;
    f.copy_b = !rows && !columns;
    f.nt = columns && (!rows || f.n == 1);
    return f;
}

// Are the results dense along no matrix dim?
static bool fits(const sc_record *record, bool nt) {
    const form f = form_of(sc_matmul_of(record));
    const sc_finish *finish = &record->finish;
    return f.nt == nt && (f.c_column == 1 || f.n == 1) && !finish->scale && !finish->shift;
}

// Scratch in order, in floats: the panel, copies of a and b.
typedef struct places {
    uint64_t a, b, total;
} places;

static places places_of(const form *f, int64_t k) {
    const uint64_t panel =
        f->nt ? 0 : sc_gemm_nn_scratch((uint64_t)f->m, (uint64_t)f->n, (uint64_t)k);
    places p = {.a = panel / sizeof(float)};
    p.b = p.a + (f->copy_a ? (uint64_t)f->m * (uint64_t)k : 0);
    p.total = p.b + (f->copy_b ? (uint64_t)k * (uint64_t)f->n : 0);
    return p;
}

static uint64_t scratch_bytes(const sc_record *record) {
    const form f = form_of(sc_matmul_of(record));
    return places_of(&f, sc_matmul_of(record)->k).total * sizeof(float);
}

// The product of one batch item, without the operands.
static sc_gemm_f32 shape_of(const sc_matmul *mm, const form *f) {
    return (sc_gemm_f32){.m = (size_t)f->m,
                         .n = (size_t)f->n,
                         .k = (size_t)mm->k,
                         .a_row = (size_t)f->a.row,
                         .b_row = (size_t)(f->nt ? f->b.column : f->b.row),
                         .c_row = (size_t)f->c_row};
}

static int64_t tiles_of_item(const sc_matmul *mm, const form *f) {
    const sc_gemm_f32 g = shape_of(mm, f);
    return (int64_t)(f->nt ? sc_gemm_nt_tiles(&g) : sc_gemm_nn_tiles(&g));
}

static int64_t tiles(const sc_record *record) {
    const sc_matmul *mm = sc_matmul_of(record);
    const form f = form_of(mm);
    return mm->batch * tiles_of_item(mm, &f);
}

static const float *copy_matrix(float *to, const float *from, int64_t rows, int64_t columns,
                                const sc_matrix *steps) {
    float *next = to;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) *next++ = from[i * steps->row + j * steps->column];
    return to;
}

// Applies factors, and addends that are not a plain bias, which tiles cannot do.
static void finish_block(const sc_matmul *mm, const form *f, const sc_gemm_block *block, float *c,
                         const float *addend) {
    const float alpha = (float)mm->alpha, beta = (float)mm->beta;
    const sc_matrix given = mm->addend, steps = f->swapped ? transposed(&given) : given;
    for (size_t i = block->row; i < block->row_end; i++) {
        for (size_t j = block->column; j < block->column_end; j++) {
            float *at = c + (int64_t)i * f->c_row + (int64_t)j * f->c_column;
            float value = *at * alpha;
            if (addend) value += beta * addend[(int64_t)i * steps.row + (int64_t)j * steps.column];
            *at = sc_finish_clamp(&mm->record.finish, value);
        }
    }
}

static void run_tiles(const sc_gemm_f32 *g, bool nt, int64_t from, int64_t to, float *scratch) {
    if (nt)
        sc_gemm_nt_f32(g, (size_t)from, (size_t)to);
    else
        sc_gemm_nn_f32(g, (size_t)from, (size_t)to, scratch);
}

// Tiles [from, to) of one batch item.
static void run_item(const sc_matmul *mm, const form *f, int64_t batch, int64_t from, int64_t to,
                     float *scratch) {
    const places p = places_of(f, mm->k);
    const sc_finish *finish = &mm->record.finish;
    const float *addend =
        mm->addend.data ? (const float *)mm->addend.data + batch * mm->addend.batch : NULL;
    const bool plain = sc_matmul_is_plain(mm);
    sc_gemm_f32 g = shape_of(mm, f);
    g.a = (const float *)f->a.data + batch * f->a.batch;
    g.b = (const float *)f->b.data + batch * f->b.batch;
    g.c = (float *)mm->c + batch * mm->c_batch;
    if (plain) {
        g.row_shift = f->swapped ? addend : NULL;
        g.col_shift = f->swapped ? NULL : addend;
        g.clamps = finish->clamps, g.low = finish->low, g.high = finish->high;
    }
    if (f->copy_a) {
        g.a = copy_matrix(scratch + p.a, g.a, f->m, mm->k, &f->a);
        g.a_row = g.k;
    }
    if (f->copy_b) {
        g.b = copy_matrix(scratch + p.b, g.b, mm->k, f->n, &f->b);
        g.b_row = g.n;
    }
    run_tiles(&g, f->nt, from, to, scratch);
    if (plain) return;
    const sc_gemm_block block = f->nt ? sc_gemm_nt_block(&g, (size_t)from, (size_t)to)
                                      : sc_gemm_nn_block(&g, (size_t)from, (size_t)to);
    finish_block(mm, f, &block, g.c, addend);
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_matmul *mm = sc_matmul_of(record);
    const form f = form_of(mm);
    const int64_t item_tiles = tiles_of_item(mm, &f);
    (void)packed;
    while (from < to) {
        const int64_t item = from / item_tiles, end = sc_min_i64(to, (item + 1) * item_tiles);
        run_item(mm, &f, item, from - item * item_tiles, end - item * item_tiles, scratch);
        from = end;
    }
}

static bool fits_nt(const sc_record *record) { return fits(record, true); }
static bool fits_nn(const sc_record *record) { return fits(record, false); }

SC_ALGORITHM(matmul_nt, .fits = fits_nt, .scratch_bytes = scratch_bytes, .tiles = tiles,
             .run = run);
SC_ALGORITHM(matmul_nn, .fits = fits_nn, .scratch_bytes = scratch_bytes, .tiles = tiles,
             .run = run);
