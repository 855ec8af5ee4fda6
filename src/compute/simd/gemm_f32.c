// In wasm: -O3
#include "compute/simd/gemm_f32.h"

#include "compute/simd/simd.h"

// --- From sums to results ------------------------------------------------------------------------

// Finishes every result in a row: sum * scale + shift, then the clamp. Without a scale the sum
// begins with the shift instead of zero.
typedef struct finish_row {
    float first, scale, shift, low, high;
    bool scales, clamps;
} finish_row;

static inline finish_row finish_for(const sc_gemm_f32 *g, size_t row) {
    const float shift = g->row_shift ? g->row_shift[row] : 0;
    const bool scales = g->row_scale || g->col_scale || g->col_shift;
    return (finish_row){
        scales ? 0 : shift, g->row_scale ? g->row_scale[row] : 1, shift, g->low, g->high, scales,
        g->clamps};
}

static inline v4f finish(const finish_row *f, v4f v) {
    if (f->scales) v = v * v4f_load_splat(&f->scale) + v4f_load_splat(&f->shift);
    if (f->clamps) v = v4f_pmin(v4f_pmax(v, v4f_load_splat(&f->low)), v4f_load_splat(&f->high));
    return v;
}

// Writes up to four sums to c[row][column...], with the scale and shift of their columns.
static inline void store_vector(const sc_gemm_f32 *g, const finish_row *f, v4f v, size_t row,
                                size_t column, size_t count) {
    float *c = g->c + row * g->c_row + column;
    if (count >= 4) {
        if (g->col_scale) v *= v4f_load(g->col_scale + column);
        if (g->col_shift) v += v4f_load(g->col_shift + column);
        v4f_store(c, finish(f, v));
    } else {
        if (g->col_scale) v *= v4f_load_part(g->col_scale + column, count);
        if (g->col_shift) v += v4f_load_part(g->col_shift + column, count);
        v4f_store_part(c, finish(f, v), count);
    }
}

// A tile's row of `vectors` sums, of which `width` columns count.
static inline void store_row(const sc_gemm_f32 *g, const finish_row *f, const v4f *sums,
                             size_t vectors, size_t row, size_t column, size_t width) {
    if (width >= 4 * vectors && !g->col_scale && !g->col_shift) {
        float *c = g->c + row * g->c_row + column;
        for (size_t j = 0; j < vectors; j++) v4f_store(c + 4 * j, finish(f, sums[j]));
        return;
    }
    for (size_t j = 0; j < vectors && 4 * j < width; j++)
        store_vector(g, f, sums[j], row, column + 4 * j, width - 4 * j);
}

// --- nn: outer products --------------------------------------------------------------------------

#define MR 4
#define NV 2
#include "compute/simd/gemm_tile.inc"
#define MR 3
#define NV 3
#include "compute/simd/gemm_tile.inc"
#define MR 6
#define NV 1
#include "compute/simd/gemm_tile.inc"
#define MR 1
#define NV 4
#include "compute/simd/gemm_tile.inc"
#define MR 2
#define NV 4
#include "compute/simd/gemm_tile.inc"

typedef void (*tile_fn)(const sc_gemm_f32 *g, const float *b, size_t b_row, size_t row, size_t rows,
                        size_t column, size_t blocks, size_t width);

// How the columns of a strip are cut: tiles of one kind, `rows` by `columns`.
typedef struct tiling {
    tile_fn tile;
    size_t rows, columns;
} tiling;

// With fused multiply-add the wide tile is faster, with separate operations the square one.
static tiling tiling_for(const sc_gemm_f32 *g, size_t width) {
    if (width > 12 && g->m == 1) return (tiling){tile_1x4, 1, 16};
    if (width > 12 && V4F_FUSES) return (tiling){tile_2x4, 2, 16};
    if (width > 12) return (tiling){tile_4x2, 4, 8};
    if (width > 8) return (tiling){tile_3x3, 3, 12};
    return width > 4 ? (tiling){tile_4x2, 4, 8} : (tiling){tile_6x1, 6, 4};
}

static void run_tiles(const sc_gemm_f32 *g, const tiling *t, const float *b, size_t b_row,
                      size_t column, size_t blocks, size_t width) {
    for (size_t row = 0; row < g->m; row += t->rows)
        t->tile(g, b, b_row, row, g->m - row < t->rows ? g->m - row : t->rows, column, blocks,
                width);
}

// Columns [column, column + width) of c: each row of c is written in one go.
static void run_strip(const sc_gemm_f32 *g, const float *b, size_t b_row, size_t column,
                      size_t width) {
    while (width) {
        const tiling t = tiling_for(g, width);
        size_t blocks = width / t.columns ? width / t.columns : 1;
        size_t covered = blocks * t.columns < width ? blocks * t.columns : width;
        run_tiles(g, &t, b, b_row, column, blocks, covered);
        b += covered;
        column += covered;
        width -= covered;
    }
}

void sc_gemm_panel_f32(const sc_gemm_f32 *g, const float *panel, size_t panel_row, size_t column,
                       size_t width) {
    run_strip(g, panel, panel_row, column, width);
}

enum {
    A_CACHED = 64 << 10,  // floats of A that stay in the second-level cache
    STREAM_COLUMNS = 64,  // columns of B that stay there with a part of A
    STREAM_ROWS = 32      // of A, at a time
};

// If A does not stay in the cache, it is read once instead of once per strip, provided that all of
// B stays there.
static bool streams_a(const sc_gemm_f32 *g) {
    return g->n <= STREAM_COLUMNS && g->n > SC_GEMM_PANEL &&
           (uint64_t)g->m * (uint64_t)g->k > A_CACHED;
}

// Never less for larger sizes, so that the result for the largest ones is enough for all.
uint64_t sc_gemm_nn_scratch(uint64_t m, uint64_t n, uint64_t k) {
    uint64_t columns = sc_min_u64(n, m * k > A_CACHED ? STREAM_COLUMNS : SC_GEMM_PANEL);
    uint64_t panels = sc_max_u64((columns + SC_GEMM_PANEL - 1) / SC_GEMM_PANEL, 1);
    return panels * k * SC_GEMM_PANEL * sizeof(float);
}

// Copies a strip of B into consecutive rows of a panel; missing columns become zero.
static void pack_panel(const sc_gemm_f32 *g, float *panel, size_t column, size_t width) {
    const float *b = g->b + column;
    for (size_t k = 0; k < g->k; k++, b += g->b_row, panel += SC_GEMM_PANEL) {
        if (width == SC_GEMM_PANEL) {
            for (size_t j = 0; j < SC_GEMM_PANEL; j += 4) v4f_store(panel + j, v4f_load(b + j));
        } else {
            for (size_t j = 0; j < SC_GEMM_PANEL; j++) panel[j] = j < width ? b[j] : 0;
        }
    }
}

// Columns to process at a time: as much of B as stays in the first-level cache while all rows of A
// pass over it.
static size_t strip_width(const sc_gemm_f32 *g) {
    enum { CACHED_FLOATS = 4096, STRIP_MAX = 128 };
    size_t columns = CACHED_FLOATS / (g->k ? g->k : 1) / SC_GEMM_PANEL * SC_GEMM_PANEL;
    return columns < SC_GEMM_PANEL ? SC_GEMM_PANEL : columns < STRIP_MAX ? columns : STRIP_MAX;
}

// Every strip of B is packed first; then a few rows of A at a time, a tile, pass over all of them.
static void run_streaming(const sc_gemm_f32 *g, const sc_gemm_block *block, float *scratch) {
    for (size_t column = 0; column < g->n; column += SC_GEMM_PANEL)
        pack_panel(g, scratch + column * g->k, column,
                   g->n - column < SC_GEMM_PANEL ? g->n - column : SC_GEMM_PANEL);
    sc_gemm_f32 part = *g;
    for (size_t row = block->row; row < block->row_end; row += STREAM_ROWS) {
        part.m = block->row_end - row < STREAM_ROWS ? block->row_end - row : STREAM_ROWS;
        part.a = g->a + row * g->a_row;
        part.c = g->c + row * g->c_row;
        part.row_scale = g->row_scale ? g->row_scale + row : NULL;
        part.row_shift = g->row_shift ? g->row_shift + row : NULL;
        for (size_t column = 0; column < g->n; column += SC_GEMM_PANEL)
            run_strip(&part, scratch + column * g->k, SC_GEMM_PANEL, column,
                      g->n - column < SC_GEMM_PANEL ? g->n - column : SC_GEMM_PANEL);
    }
}

// Rows of B that are distant compete for the same cache sets. From some depth on, a packed copy
// pays if enough rows of A share it.
static bool packs_b(const sc_gemm_f32 *g) { return g->k > 256 && g->m >= 8; }

// Columns of a tile that does not stream.
static size_t tile_width(const sc_gemm_f32 *g) {
    return packs_b(g) ? SC_GEMM_PANEL : strip_width(g);
}

static size_t count_of(size_t size, size_t step) { return (size + step - 1) / step; }

size_t sc_gemm_nn_tiles(const sc_gemm_f32 *g) {
    return streams_a(g) ? count_of(g->m, STREAM_ROWS) : count_of(g->n, tile_width(g));
}

sc_gemm_block sc_gemm_nn_block(const sc_gemm_f32 *g, size_t from, size_t to) {
    const bool streams = streams_a(g);
    const size_t step = streams ? STREAM_ROWS : tile_width(g), size = streams ? g->m : g->n;
    const size_t first = from * step, end = to * step < size ? to * step : size;
    return streams ? (sc_gemm_block){first, end, 0, g->n} : (sc_gemm_block){0, g->m, first, end};
}

void sc_gemm_nn_f32(const sc_gemm_f32 *g, size_t from, size_t to, float *scratch) {
    const sc_gemm_block block = sc_gemm_nn_block(g, from, to);
    if (streams_a(g)) {
        run_streaming(g, &block, scratch);
        return;
    }
    const bool packs = packs_b(g);
    const size_t strip = tile_width(g), whole = g->n / 4 * 4;  // operands that vectors can read in
                                                               // place
    for (size_t column = block.column; column < block.column_end;) {
        size_t end = packs || column == whole   ? block.column_end
                     : whole < block.column_end ? whole
                                                : block.column_end;
        size_t width = end - column < strip ? end - column : strip;
        if (packs || column == whole) {
            pack_panel(g, scratch, column, width);
            run_strip(g, scratch, SC_GEMM_PANEL, column, width);
        } else {
            run_strip(g, g->b + column, g->b_row, column, width);
        }
        column += width;
    }
}

// --- nt: dot products ----------------------------------------------------------------------------

// Multiplies two rows of A with four rows of B, four partial sums each. Missing rows repeat the
// last one.
static void dots_2x4(const sc_gemm_f32 *g, const float *const a[2], const float *const b[4],
                     v4f out[2]) {
    v4f s00 = v4f_zero(), s01 = s00, s02 = s00, s03 = s00;
    v4f s10 = s00, s11 = s00, s12 = s00, s13 = s00;
    size_t k = 0;
    for (; k + 4 <= g->k; k += 4) {
        v4f a0 = v4f_load(a[0] + k), a1 = v4f_load(a[1] + k);
        v4f b0 = v4f_load(b[0] + k), b1 = v4f_load(b[1] + k);
        v4f b2 = v4f_load(b[2] + k), b3 = v4f_load(b[3] + k);
        s00 = v4f_fma(a0, b0, s00), s01 = v4f_fma(a0, b1, s01);
        s02 = v4f_fma(a0, b2, s02), s03 = v4f_fma(a0, b3, s03);
        s10 = v4f_fma(a1, b0, s10), s11 = v4f_fma(a1, b1, s11);
        s12 = v4f_fma(a1, b2, s12), s13 = v4f_fma(a1, b3, s13);
    }
    if (k < g->k) {
        size_t rest = g->k - k;
        v4f a0 = v4f_load_part(a[0] + k, rest), a1 = v4f_load_part(a[1] + k, rest);
        v4f b0 = v4f_load_part(b[0] + k, rest), b1 = v4f_load_part(b[1] + k, rest);
        v4f b2 = v4f_load_part(b[2] + k, rest), b3 = v4f_load_part(b[3] + k, rest);
        s00 = v4f_fma(a0, b0, s00), s01 = v4f_fma(a0, b1, s01);
        s02 = v4f_fma(a0, b2, s02), s03 = v4f_fma(a0, b3, s03);
        s10 = v4f_fma(a1, b0, s10), s11 = v4f_fma(a1, b1, s11);
        s12 = v4f_fma(a1, b2, s12), s13 = v4f_fma(a1, b3, s13);
    }
    out[0] = v4f_sum4(s00, s01, s02, s03);
    out[1] = v4f_sum4(s10, s11, s12, s13);
}

// The same for a single row of A: a vector times a matrix, bound by reading the matrix.
static v4f dots_1x4(const sc_gemm_f32 *g, const float *a, const float *const b[4]) {
    v4f s0 = v4f_zero(), s1 = s0, s2 = s0, s3 = s0;
    size_t k = 0;
    for (; k + 4 <= g->k; k += 4) {
        v4f a0 = v4f_load(a + k);
        v4f b0 = v4f_load(b[0] + k), b1 = v4f_load(b[1] + k);
        v4f b2 = v4f_load(b[2] + k), b3 = v4f_load(b[3] + k);
        s0 = v4f_fma(a0, b0, s0), s1 = v4f_fma(a0, b1, s1);
        s2 = v4f_fma(a0, b2, s2), s3 = v4f_fma(a0, b3, s3);
    }
    if (k < g->k) {
        size_t rest = g->k - k;
        v4f a0 = v4f_load_part(a + k, rest);
        v4f b0 = v4f_load_part(b[0] + k, rest), b1 = v4f_load_part(b[1] + k, rest);
        v4f b2 = v4f_load_part(b[2] + k, rest), b3 = v4f_load_part(b[3] + k, rest);
        s0 = v4f_fma(a0, b0, s0), s1 = v4f_fma(a0, b1, s1);
        s2 = v4f_fma(a0, b2, s2), s3 = v4f_fma(a0, b3, s3);
    }
    return v4f_sum4(s0, s1, s2, s3);
}

enum { NT_COLUMNS = 4 };

size_t sc_gemm_nt_tiles(const sc_gemm_f32 *g) { return count_of(g->n, NT_COLUMNS); }

sc_gemm_block sc_gemm_nt_block(const sc_gemm_f32 *g, size_t from, size_t to) {
    const size_t end = to * NT_COLUMNS;
    return (sc_gemm_block){0, g->m, from * NT_COLUMNS, end < g->n ? end : g->n};
}

void sc_gemm_nt_f32(const sc_gemm_f32 *g, size_t from, size_t to) {
    for (size_t column = from * NT_COLUMNS; column < g->n && column < to * NT_COLUMNS;
         column += NT_COLUMNS) {
        size_t width = g->n - column < 4 ? g->n - column : 4;
        const float *b[4];
        for (size_t j = 0; j < 4; j++)
            b[j] = g->b + (column + (j < width ? j : width - 1)) * g->b_row;
        size_t row = 0;
        for (; row + 2 <= g->m; row += 2) {
            const float *a[2] = {g->a + row * g->a_row, g->a + (row + 1) * g->a_row};
            v4f sums[2];
            dots_2x4(g, a, b, sums);
            const finish_row f0 = finish_for(g, row), f1 = finish_for(g, row + 1);
            store_vector(g, &f0, sums[0] + v4f_splat(f0.first), row, column, width);
            store_vector(g, &f1, sums[1] + v4f_splat(f1.first), row + 1, column, width);
        }
        if (row < g->m) {
            const finish_row f = finish_for(g, row);
            v4f sum = dots_1x4(g, g->a + row * g->a_row, b) + v4f_splat(f.first);
            store_vector(g, &f, sum, row, column, width);
        }
    }
}
