// In wasm: -O3
#include "compute/simd/igemm_f32.h"

#include <math.h>

#include "compute/simd/simd_i8.h"

enum { WIDTH = SC_PANEL, ROWS = SC_IGEMM_ROWS };

// --- Steps [from, to) of all rows ----------------------------------------------------------------

// Steps at a time, so that the rows of a tile and a panel stay in the nearest cache.
enum { STEPS = SC_IGEMM_STEPS };

// Scratch in order: some steps of a panel, if weights are no floats, and rows. A single row next to
// weights of 4 bits may need either those, or its own copy.
enum { EXPANDED = STEPS * WIDTH };

uint64_t sc_igemm_scratch_f32(uint64_t m, uint64_t steps, uint8_t weight) {
    const bool is_copied = m > 1 || weight == SC_DTYPE_I4;
    const uint64_t rows = is_copied ? sc_align_up(m, ROWS) * (steps < STEPS ? steps : STEPS) : 0;
    const uint64_t all = rows + (weight == SC_DTYPE_F32 ? 0 : EXPANDED);
    const uint64_t row = weight == SC_DTYPE_I4 ? sc_align_up(steps, 8) : 0;
    return sc_max_u64(all, row) * sizeof(float);
}

static float *copies_of(const sc_igemm_f32 *g) {
    return g->scratch + (g->weight == SC_DTYPE_F32 ? 0 : EXPANDED);
}

static inline v4f pair(v4f a, v4f b, bool high) {
    return high ? __builtin_shufflevector(a, b, 2, 6, 3, 7)
                : __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

// Copies `count` steps of four rows, interleaved; returns the place for the next steps.
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
    float *next = copies_of(g);
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

// --- Weights of fewer bits -----------------------------------------------------------------------

static inline v4f of_f16(v4u half) {
    const v4u magnitude = (half & 0x7fff) << 13, sign = (half & 0x8000) << 16;
    const v4u finite = (v4u)((v4f)magnitude * 0x1p112f), endless = magnitude | 0x7f800000;
    return (v4f)(sign | (v4u)v4f_select((v4i)magnitude >= 0x0f800000, (v4f)endless, (v4f)finite));
}

static inline v4f of_ints(v8h v, bool high) {
    return __builtin_convertvector(high ? v4i_widen_high(v) : v4i_widen_low(v), v4f);
}

// One of the eight steps in a row of words of four columns.
static inline v4f of_nibbles(const uint8_t *words, size_t step) {
    const v4i values = (v4i)(v4u_load(words) >> (uint32_t)(4 * step) & 15) - 8;
    return __builtin_convertvector(values, v4f);
}

// A row of eight weights.
static inline void load_weights(const uint8_t *panel, uint8_t type, size_t step, v4f to[2]) {
    const v8h zero = {0};
    if (type == SC_DTYPE_I4) {
        const uint8_t *words = panel + step / 8 * 4 * WIDTH;
        to[0] = of_nibbles(words, step % 8), to[1] = of_nibbles(words + 16, step % 8);
        return;
    }
    if (type == SC_DTYPE_I8) {
        const v8h v = v8h_widen((const int8_t *)panel + WIDTH * step);
        to[0] = of_ints(v, false), to[1] = of_ints(v, true);
        return;
    }
    const v8h halves = (v8h)v4u_load(panel + 2 * WIDTH * step);
    if (type == SC_DTYPE_BF16) {
        to[0] = (v4f)v8h_zip_low(zero, halves), to[1] = (v4f)v8h_zip_high(zero, halves);
    } else {
        to[0] = of_f16((v4u)v8h_zip_low(halves, zero));
        to[1] = of_f16((v4u)v8h_zip_high(halves, zero));
    }
}

// The weights of a panel, after its head.
static inline const uint8_t *weights_of(const sc_igemm_f32 *g, const float *panel) {
    const uint64_t head = sc_panel_f32_head(g->runs * g->k, g->weight, g->block);
    return (const uint8_t *)(panel + head * WIDTH);
}

// Steps [from, to) of one block.
static inline void expand_block(const float *scales, const uint8_t *weights, uint8_t type,
                                size_t from, size_t to, float *out) {
    const v4f scale = v4f_load(scales), next = v4f_load(scales + 4);
    for (size_t step = from; step < to; step++, out += WIDTH) {
        v4f v[2];
        load_weights(weights, type, step, v);
        v4f_store(out, v[0] * scale);
        v4f_store(out + 4, v[1] * next);
    }
}

static inline void expand_as(const sc_igemm_f32 *g, const float *panel, uint8_t type, size_t from,
                             size_t to, float *out) {
    const uint8_t *weights = weights_of(g, panel);
    const float *scales = panel + WIDTH;
    if (!g->block) {
        expand_block(scales, weights, type, from, to, out);
        return;
    }
    while (from < to) {
        const size_t block = from / g->block;
        const size_t end = sc_min_u64((block + 1) * g->block, to);
        expand_block(scales + block * WIDTH, weights, type, from, end, out);
        out += (end - from) * WIDTH;
        from = end;
    }
}

// Converts steps [from, to) of a panel to floats.
static const float *expand(const sc_igemm_f32 *g, const float *panel, size_t from, size_t to,
                           float *out) {
    switch (g->weight) {
    case SC_DTYPE_F32: return panel + WIDTH * (1 + from);
    case SC_DTYPE_I8: expand_as(g, panel, SC_DTYPE_I8, from, to, out); break;
    case SC_DTYPE_I4: expand_as(g, panel, SC_DTYPE_I4, from, to, out); break;
    case SC_DTYPE_BF16: expand_as(g, panel, SC_DTYPE_BF16, from, to, out); break;
    default: expand_as(g, panel, SC_DTYPE_F16, from, to, out); break;
    }
    return out;
}

static const float *panel_at(const sc_igemm_f32 *g, size_t column) {
    const size_t bytes = (size_t)sc_panel_f32_bytes(g->runs * g->k, g->weight, g->block);
    return (const float *)(const void *)((const uint8_t *)g->packed + column / WIDTH * bytes);
}

// --- Tiles ---------------------------------------------------------------------------------------

// Computes some steps of four rows and a panel: sums begin with the numbers at `begin` and go to
// `c`. Live values must stay within 15 registers in the loop, or V8 spills: 8 sums, two vectors of
// weights, four of rows (in engines that load before they compute) and a product.
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

// The first `count` floats of some that are complete.
static inline void copy_part(float *to, const float *from, size_t count) {
    for (; count >= 4; count -= 4, to += 4, from += 4) v4f_store(to, v4f_load(from));
    v4f_store_part(to, v4f_load_part(from, count), count);
}

// Computes a part of a tile by way of a whole one.
static void run_part(tile t, float *c, size_t c_row, size_t rows, size_t width) {
    float whole[ROWS * WIDTH];
    if (t.begin == c) {
        for (size_t i = 0; i < ROWS; i++)
            copy_part(whole + i * WIDTH, c + (i < rows ? i : 0) * c_row, width);
        t.begin = whole;
        t.begin_row = WIDTH;
    }
    run_tile(&t, whole, WIDTH);
    for (size_t i = 0; i < rows; i++) copy_part(c + i * c_row, whole + i * WIDTH, width);
}

// Computes the first half of the panel's columns, of which there are no others, for eight rows: two
// blocks of interleaved ones, `next` floats apart.
static void run_half(const tile *t, size_t next, float *c, size_t c_row, size_t rows,
                     size_t width) {
    const float *a = t->a, *end = t->end;
    v4f sum[2 * ROWS];
    for (size_t i = 0; i < 2 * ROWS; i++) {
        const float *begin = t->begin + (i < rows ? i : 0) * t->begin_row;
        sum[i] = t->begin != c || width == 4 ? v4f_load(begin) : v4f_load_part(begin, width);
    }
    for (const float *b = t->b; b < end; b += WIDTH, a += ROWS) {
        const v4f bv = v4f_load(b);
        for (size_t i = 0; i < ROWS; i++) {
            sum[i] = v4f_fma(v4f_load_splat(a + i), bv, sum[i]);
            sum[ROWS + i] = v4f_fma(v4f_load_splat(a + next + i), bv, sum[ROWS + i]);
        }
    }
    const v4f low = v4f_splat(t->low), high = v4f_splat(t->high);
    for (size_t i = 0; i < 2 * ROWS; i++) sum[i] = v4f_pmin(v4f_pmax(sum[i], low), high);
    for (size_t i = 0; i < 2 * ROWS && i < rows; i++, c += c_row) {
        if (width == 4)
            v4f_store(c, sum[i]);
        else
            v4f_store_part(c, sum[i], width);
    }
}

// Steps [from, to) of a panel's columns.
static void run_panel(const sc_igemm_f32 *g, const float *panel, size_t from, size_t to, float *c,
                      size_t width) {
    const bool ends = to == g->runs * g->k, halves = width <= WIDTH / 2;
    const float *b = expand(g, panel, from, to, g->scratch);
    const size_t block = ROWS * (to - from), rows = halves ? 2 * ROWS : ROWS;
    const size_t all_rows = sc_align_up(g->m, ROWS);
    tile t = {.a = g->interleaved ? g->interleaved + from * all_rows : copies_of(g),
              .b = b,
              .end = b + WIDTH * (to - from),
              .begin = panel,
              .low = ends ? g->low : -__builtin_inff(),
              .high = ends ? g->high : __builtin_inff()};
    for (size_t row = 0; row < g->m; row += rows, c += rows * g->c_row) {
        const size_t left = g->m - row;
        if (from) t.begin = c, t.begin_row = g->c_row;
        if (halves)
            run_half(&t, left > ROWS ? block : 0, c, g->c_row, left, width);
        else if (width == WIDTH && left >= ROWS)
            run_tile(&t, c, g->c_row);
        else
            run_part(t, c, g->c_row, left < ROWS ? left : ROWS, width);
        t.a += halves ? 2 * block : block;
    }
}

static void run_rows(const sc_igemm_f32 *g, size_t first, size_t last) {
    const size_t depth = g->runs * g->k;
    size_t from = 0;
    do {
        const size_t to = depth - from < STEPS ? depth : from + STEPS;
        if (!g->interleaved) interleave_rows(g, from, to);
        for (size_t column = first; column < last; column += WIDTH)
            run_panel(g, panel_at(g, column), from, to, g->c + column,
                      last - column < WIDTH ? last - column : WIDTH);
        from = to;
    } while (from < depth);
}

// --- A single row --------------------------------------------------------------------------------

// The first `width` of some sums.
static void store_row(const sc_igemm_f32 *g, const v4f *sums, size_t column, size_t width) {
    const v4f low = v4f_load_splat(&g->low), high = v4f_load_splat(&g->high);
    float *c = g->c + column;
    for (size_t i = 0; i < width; i += 4) {
        const v4f v = v4f_pmin(v4f_pmax(*sums++, low), high);
        if (width - i >= 4)
            v4f_store(c + i, v);
        else
            v4f_store_part(c + i, v, width - i);
    }
}

static inline void add_steps(v4f sum[4], const float *a, size_t count, const float *left,
                             const float *right) {
    for (size_t i = 0; i < count; i++, left += WIDTH, right += WIDTH) {
        const v4f av = v4f_load_splat(a + i);
        sum[0] = v4f_fma(av, v4f_load(left), sum[0]);
        sum[1] = v4f_fma(av, v4f_load(left + 4), sum[1]);
        sum[2] = v4f_fma(av, v4f_load(right), sum[2]);
        sum[3] = v4f_fma(av, v4f_load(right + 4), sum[3]);
    }
}

// Computes two panels of a single row, which is used in place.
static void run_row(const sc_igemm_f32 *g, size_t column, size_t width) {
    const float *left = panel_at(g, column);
    const float *right = width > WIDTH ? panel_at(g, column + WIDTH) : left;
    v4f sum[4] = {v4f_load(left), v4f_load(left + 4), v4f_load(right), v4f_load(right + 4)};
    for (size_t run = 0; run < g->runs; run++) {
        add_steps(sum, g->rows[run], g->k, left + WIDTH, right + WIDTH);
        left += WIDTH * g->k, right += WIDTH * g->k;
    }
    store_row(g, sum, column, width);
}

// Adds products with weights of fewer than 32 bits.
static inline void add_few_bits(v4f sum[4], const float *a, size_t count, const uint8_t *left,
                                const uint8_t *right, uint8_t type) {
    for (size_t i = 0; i < count; i++) {
        const v4f av = v4f_load_splat(a + i);
        v4f v[4];
        load_weights(left, type, i, v);
        load_weights(right, type, i, v + 2);
        for (size_t j = 0; j < 4; j++) sum[j] = v4f_fma(av, v[j], sum[j]);
    }
}

// The compiler must not know the number. It would convert what it masks as unsigned integers, which
// machines cannot do at once.
static inline v4i v4i_splat_hidden(int32_t x) {
    __asm__("" : "+r"(x));
    return (v4i){x, x, x, x};
}

// The same for weights of 4 bits as they lie in words: the first step of a pair comes as it is, the
// second 16 times as large, which the row makes up for. All are larger by 8, too.
static inline void add_nibbles(v4f sum[4], const float *a, size_t count, const uint8_t *left,
                               const uint8_t *right) {
    const v4i low = v4i_splat_hidden(15), high = low << 4;
    for (size_t i = 0; i < count; i += 8, left += 4 * WIDTH, right += 4 * WIDTH) {
        v4i words[4] = {(v4i)v4u_load(left), (v4i)v4u_load(left + 16), (v4i)v4u_load(right),
                        (v4i)v4u_load(right + 16)};
        for (size_t k = 0; k < 8; k += 2) {
            const v4f even = v4f_load_splat(a + i + k), odd = v4f_load_splat(a + i + k + 1);
            for (size_t j = 0; j < 4; j++) {
                const v4f first = __builtin_convertvector(words[j] & low, v4f);
                const v4f second = __builtin_convertvector(words[j] & high, v4f);
                sum[j] = v4f_fma(even, first, sum[j]);
                sum[j] = v4f_fma(odd, second, sum[j]);
                words[j] >>= 8;
            }
        }
    }
}

// A row for add_nibbles: whole words of steps. False if its sums could leave the range of floats
// where those of the true weights do not.
static bool copy_for_nibbles(const sc_igemm_f32 *g, float *to) {
    const float *a = g->rows[0];
    const v4f factors = {1, 0.0625f, 1, 0.0625f};
    v4f sum = v4f_zero();
    for (size_t i = 0; i < sc_align_up(g->k, 8); i += 4) {
        const size_t left = i < g->k ? g->k - i : 0;
        const v4f v = left >= 4 ? v4f_load(a + i) : v4f_load_part(a + i, left);
        sum += v4f_pmax(v, -v);
        v4f_store(to + i, v * factors);
    }
    return v4f_sum(sum) * 16 < INFINITY;
}

// Returns the excess of a sum over a block, whose weights are larger by 8.
static float excess_of(const float *a, size_t count) {
    v4f first = v4f_zero(), second = v4f_zero();
    for (size_t i = 0; i < count; i += 8, a += 8) first += v4f_load(a), second += v4f_load(a + 4);
    return v4f_sum((first + second) * (v4f){8, 128, 8, 128});
}

// A block of a row: its sums with the weights of two panels.
static inline void add_block(const sc_igemm_f32 *g, v4f sum[4], const float *a, size_t count,
                             const uint8_t *left, const uint8_t *right) {
    switch (g->weight) {
    case SC_DTYPE_I8: add_few_bits(sum, a, count, left, right, SC_DTYPE_I8); break;
    case SC_DTYPE_I4: add_nibbles(sum, a, count, left, right); break;
    case SC_DTYPE_BF16: add_few_bits(sum, a, count, left, right, SC_DTYPE_BF16); break;
    default: add_few_bits(sum, a, count, left, right, SC_DTYPE_F16); break;
    }
}

// Computes two panels of a single row, which is g->scratch next to weights of 4 bits.
static void run_row_few_bits(const sc_igemm_f32 *g, size_t column, size_t width) {
    const bool is_nibbles = g->weight == SC_DTYPE_I4;
    const float *left = panel_at(g, column), *a = is_nibbles ? g->scratch : g->rows[0];
    const float *right = width > WIDTH ? panel_at(g, column + WIDTH) : left;
    const size_t block = g->block ? g->block : g->k;
    const size_t bytes = is_nibbles ? block / 2 * WIDTH : block * WIDTH;
    const uint8_t *x = weights_of(g, left), *y = weights_of(g, right);
    v4f total[4] = {v4f_load(left), v4f_load(left + 4), v4f_load(right), v4f_load(right + 4)};
    for (size_t from = 0; from < g->k; from += block, x += bytes, y += bytes) {
        const v4f excess = v4f_splat(is_nibbles ? -excess_of(a + from, block) : 0);
        v4f sum[4] = {excess, excess, excess, excess};
        add_block(g, sum, a + from, block, x, y);
        left += WIDTH, right += WIDTH;
        for (size_t j = 0; j < 4; j++)
            total[j] += sum[j] * v4f_load((j < 2 ? left : right) + j % 2 * 4);
    }
    store_row(g, total, column, width);
}

// Weights of 4 bits need whole words of steps in a block.
static bool is_row(const sc_igemm_f32 *g) {
    if (g->m > 1 || g->interleaved) return false;
    return g->weight != SC_DTYPE_I4 || (g->block % 8 == 0 && copy_for_nibbles(g, g->scratch));
}

void sc_igemm_run_f32(const sc_igemm_f32 *g, size_t first, size_t last) {
    if (!is_row(g)) {
        run_rows(g, first, last);
        return;
    }
    for (size_t column = first; column < last; column += 2 * WIDTH)
        (g->weight == SC_DTYPE_F32 ? run_row : run_row_few_bits)(
            g, column, last - column < 2 * WIDTH ? last - column : 2 * WIDTH);
}
