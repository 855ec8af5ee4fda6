// In wasm: -O3
#include "compute/simd/igemm_f32.h"

#include "compute/simd/simd.h"

enum { WIDTH = SC_PANEL, ROWS = 4 };

// --- Steps [from, to) of all rows ----------------------------------------------------------------

// So many at a time that the rows of a tile and a panel stay in the nearest cache.
enum { STEPS = 256 };

uint64_t sc_igemm_scratch_f32(uint64_t m, uint64_t steps) {
    return m > 1 ? sc_align_up(m, ROWS) * (steps < STEPS ? steps : STEPS) * sizeof(float) : 0;
}

static inline v4f pair(v4f a, v4f b, bool high) {
    return high ? __builtin_shufflevector(a, b, 2, 6, 3, 7)
                : __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

// `count` steps of four rows, side by side; returns where the next go.
static float *interleave(const float *const from[ROWS], size_t first, size_t count, float *to) {
    const float *a = from[0] + first, *b = from[1] + first, *c = from[2] + first;
    const float *d = from[3] + first;
    size_t i = 0;
    for (; i + 4 <= count; i += 4, to += 16) {
        const v4f av = v4f_load(a + i), bv = v4f_load(b + i);
        const v4f cv = v4f_load(c + i), dv = v4f_load(d + i);
        const v4f ac = pair(av, cv, false), bd = pair(bv, dv, false);
        const v4f ac_high = pair(av, cv, true), bd_high = pair(bv, dv, true);
        v4f_store(to, pair(ac, bd, false));
        v4f_store(to + 4, pair(ac, bd, true));
        v4f_store(to + 8, pair(ac_high, bd_high, false));
        v4f_store(to + 12, pair(ac_high, bd_high, true));
    }
    for (; i < count; i++, to += 4) to[0] = a[i], to[1] = b[i], to[2] = c[i], to[3] = d[i];
    return to;
}

// Rows that are missing in the last four repeat the last one.
static void interleave_rows(const sc_igemm_f32 *g, size_t from, size_t to) {
    const size_t first_run = g->k ? from / g->k : 0;
    float *next = g->scratch;
    for (size_t row = 0; row < g->m; row += ROWS) {
        const float *const *rows[ROWS];
        for (size_t i = 0; i < ROWS; i++)
            rows[i] = g->rows + (row + i < g->m ? row + i : g->m - 1) * g->runs;
        size_t first = from - first_run * g->k;
        for (size_t run = first_run, left = to - from; left > 0; run++, first = 0) {
            const size_t count = left < g->k - first ? left : g->k - first;
            const float *runs[ROWS] = {rows[0][run], rows[1][run], rows[2][run], rows[3][run]};
            next = interleave(runs, first, count, next);
            left -= count;
        }
    }
}

// --- Tiles ---------------------------------------------------------------------------------------

// Some steps of four rows and a panel: sums begin with what is at `begin` and go to `c`. What is
// live in the loop must stay within 15 registers, or V8 spills: 8 sums, two vectors of weights,
// four of rows (in engines that load before they compute) and a product.
typedef struct tile {
    const float *a, *b, *end;  // rows; weights from and to
    const float *begin;
    size_t begin_row;
    float low, high;
} tile;

static inline void run_tile(const tile *t, float *c, size_t c_row) {
    const float *a = t->a, *b = t->b, *end = t->end, *begin = t->begin;
    v4f sum[ROWS][2];
    for (size_t i = 0; i < ROWS; i++, begin += t->begin_row)
        sum[i][0] = v4f_load(begin), sum[i][1] = v4f_load(begin + 4);
    for (; b < end; b += WIDTH, a += ROWS) {
        const v4f b0 = v4f_load(b), b1 = v4f_load(b + 4);
        for (size_t i = 0; i < ROWS; i++) {
            const v4f av = v4f_load_splat(a + i);
            sum[i][0] = v4f_fma(av, b0, sum[i][0]);
            sum[i][1] = v4f_fma(av, b1, sum[i][1]);
        }
    }
    const v4f low = v4f_splat(t->low), high = v4f_splat(t->high);
    for (size_t i = 0; i < ROWS; i++, c += c_row) {
        v4f_store(c, v4f_pmin(v4f_pmax(sum[i][0], low), high));
        v4f_store(c + 4, v4f_pmin(v4f_pmax(sum[i][1], low), high));
    }
}

// The part of a tile that there is, by way of a whole one.
static void run_part(tile t, float *c, size_t c_row, size_t rows, size_t width) {
    float whole[ROWS * WIDTH] = {0};
    if (t.begin == c) {
        for (size_t i = 0; i < rows; i++) memcpy(whole + i * WIDTH, c + i * c_row, 4 * width);
        t.begin = whole;
        t.begin_row = WIDTH;
    }
    run_tile(&t, whole, WIDTH);
    for (size_t i = 0; i < rows; i++) memcpy(c + i * c_row, whole + i * WIDTH, 4 * width);
}

// Steps [from, to) of a panel's columns.
static void run_panel(const sc_igemm_f32 *g, const float *panel, size_t from, size_t to, float *c,
                      size_t width) {
    const bool ends = to == g->runs * g->k;
    tile t = {.a = g->scratch,
              .b = panel + WIDTH * (1 + from),
              .end = panel + WIDTH * (1 + to),
              .begin = panel,
              .low = ends ? g->low : -__builtin_inff(),
              .high = ends ? g->high : __builtin_inff()};
    for (size_t row = 0; row < g->m; row += ROWS, c += ROWS * g->c_row) {
        if (from) t.begin = c, t.begin_row = g->c_row;
        if (width == WIDTH && row + ROWS <= g->m)
            run_tile(&t, c, g->c_row);
        else
            run_part(t, c, g->c_row, g->m - row < ROWS ? g->m - row : ROWS, width);
        t.a += ROWS * (to - from);
    }
}

static void run_rows(const sc_igemm_f32 *g, size_t first, size_t last) {
    const size_t depth = g->runs * g->k;
    size_t from = 0;
    do {
        const size_t to = depth - from < STEPS ? depth : from + STEPS;
        interleave_rows(g, from, to);
        for (size_t column = first; column < last; column += WIDTH)
            run_panel(g, g->packed + column * (depth + 1), from, to, g->c + column,
                      last - column < WIDTH ? last - column : WIDTH);
        from = to;
    } while (from < depth);
}

// --- A single row --------------------------------------------------------------------------------

// The first `width` of some vectors.
static void store_part(float *c, const v4f *v, size_t width) {
    for (; width >= 4; width -= 4, c += 4) v4f_store(c, *v++);
    if (width) v4f_store_part(c, *v, width);
}

// Two panels of a single row, which is used where it lies.
static void run_row(const sc_igemm_f32 *g, const float *panel, float *c, size_t width) {
    const float *left = panel, *right = panel + (width > WIDTH) * WIDTH * (g->runs * g->k + 1);
    v4f sum[4] = {v4f_load(left), v4f_load(left + 4), v4f_load(right), v4f_load(right + 4)};
    for (size_t run = 0; run < g->runs; run++) {
        const float *a = g->rows[run];
        for (size_t k = 0; k < g->k; k++) {
            const v4f av = v4f_load_splat(a + k);
            left += WIDTH, right += WIDTH;
            sum[0] = v4f_fma(av, v4f_load(left), sum[0]);
            sum[1] = v4f_fma(av, v4f_load(left + 4), sum[1]);
            sum[2] = v4f_fma(av, v4f_load(right), sum[2]);
            sum[3] = v4f_fma(av, v4f_load(right + 4), sum[3]);
        }
    }
    const v4f low = v4f_load_splat(&g->low), high = v4f_load_splat(&g->high);
    v4f sums[4];
    for (size_t j = 0; j < 4; j++) sums[j] = v4f_pmin(v4f_pmax(sum[j], low), high);
    store_part(c, sums, width);
}

void sc_igemm_run_f32(const sc_igemm_f32 *g, size_t first, size_t last) {
    if (g->m > 1) {
        run_rows(g, first, last);
        return;
    }
    for (size_t column = first; column < last; column += 2 * WIDTH)
        run_row(g, g->packed + column * (g->runs * g->k + 1), g->c + column,
                last - column < 2 * WIDTH ? last - column : 2 * WIDTH);
}
