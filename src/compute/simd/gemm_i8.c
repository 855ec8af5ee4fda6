// In wasm: -O3
#include "compute/simd/gemm_i8.h"

#include "compute/simd/simd_i8.h"

// --- From sums to results ------------------------------------------------------------------------

// Neighbouring columns of a panel that are computed together.
typedef struct strip {
    const int8_t *weights;
    const uint8_t *head;  // what sums begin with; scales and shifts follow
    size_t pitch;         // columns of the panel
    size_t column, width;
} strip;

// The sums of a tile: `vectors` of each of `rows` rows.
typedef struct tile {
    const v4u *sums;
    size_t vectors, row, rows;
} tile;

static inline v4f scales_of(const strip *s, size_t vector) {
    return (v4f)v4u_load(s->head + 4 * s->pitch + 16 * vector);
}

static inline v4f shifts_of(const strip *s, size_t vector) {
    return (v4f)v4u_load(s->head + 8 * s->pitch + 16 * vector);
}

static void store_bytes(const sc_gemm_i8 *g, const strip *s, const tile *t) {
    const v4_rounding r = v4_rounding_of(g->low, g->high, g->zero);
    const size_t row = g->c_row;
    for (size_t j = 0; j < t->vectors && 4 * j < s->width; j += 2) {
        const v4f scale = scales_of(s, j), next = scales_of(s, j + 1);
        const size_t left = s->width - 4 * j;
        int8_t *c = (int8_t *)g->c + t->row * row + s->column + 4 * j;
        const v4u *sums = t->sums + j;
        for (size_t i = t->rows; i > 0; i--, c += row, sums += t->vectors) {
            const v4i first = v4i_round(&r, v4f_of_sums(sums[0]) * scale);
            const v4i second = v4i_round(&r, v4f_of_sums(sums[1]) * next);
            if (left >= 8)
                v4i_store_bytes(c, first, second);
            else
                v4i_store_bytes_part(c, first, second, left);
        }
    }
}

static void store_floats(const sc_gemm_i8 *g, const strip *s, const tile *t) {
    const v4f low = v4f_load_splat(&g->low), high = v4f_load_splat(&g->high);
    for (size_t j = 0; j < t->vectors && 4 * j < s->width; j++) {
        const v4f scale = scales_of(s, j), shift = shifts_of(s, j);
        const size_t left = s->width - 4 * j;
        float *c = (float *)g->c + t->row * g->c_row + s->column + 4 * j;
        for (size_t i = 0; i < t->rows; i++, c += g->c_row) {
            v4f v = v4f_of_sums(t->sums[i * t->vectors + j]) * v4f_splat(g->row_scale[t->row + i]);
            v = v4f_pmin(v4f_pmax(v * scale + shift, low), high);
            if (left >= 4)
                v4f_store(c, v);
            else
                v4f_store_part(c, v, left);
        }
    }
}

void sc_gemm_finish_i8(sc_gemm_i8 *g, const sc_finish *finish, bool floats) {
    g->zero = finish->zero;
    g->low = finish->clamps ? finish->low : -__builtin_inff();
    g->high = finish->clamps ? finish->high : __builtin_inff();
    if (!floats) sc_finish_range(finish, -128, &g->low, &g->high);
}

// --- Tiles ---------------------------------------------------------------------------------------

// `MR` rows by `NV` vectors of columns, two steps of k at a time. Rows beyond `rows` repeat the
// last one. MR * NV + MR + NV must stay within 15 registers, or V8 spills.
#define TILE(name, MR, NV)                                                                    \
    static void name(const sc_gemm_i8 *g, const strip *s, size_t row, size_t rows) {          \
        const size_t depth = (g->k + 1) / 2 * 2;                                              \
        const int16_t *a[MR];                                                                 \
        const int8_t *b = s->weights;                                                         \
        v4u sum[MR][NV];                                                                      \
        for (size_t i = 0; i < MR; i++) {                                                     \
            a[i] = g->a + (row + (i < rows ? i : rows - 1)) * depth;                          \
            for (size_t j = 0; j < NV; j++) sum[i][j] = v4u_load(s->head + 16 * j);           \
        }                                                                                     \
        for (size_t k = 0; k < depth; k += 2, b += 2 * s->pitch) {                            \
            v8h av[MR], bv[NV];                                                               \
            for (size_t j = 0; j < NV; j++) bv[j] = v8h_widen(b + 8 * j);                     \
            for (size_t i = 0; i < MR; i++) av[i] = v8h_load_splat_pair(a[i] + k);            \
            for (size_t i = 0; i < MR; i++)                                                   \
                for (size_t j = 0; j < NV; j++) sum[i][j] = v4u_dot(av[i], bv[j], sum[i][j]); \
        }                                                                                     \
        v4u sums[MR * NV]; /* a copy, so that those in registers need no address */           \
        for (size_t i = 0; i < MR * NV; i++) sums[i] = sum[i / NV][i % NV];                   \
        const tile t = {sums, NV, row, rows};                                                 \
        (g->row_scale ? store_floats : store_bytes)(g, s, &t);                                \
    }
TILE(tile_4x2, 4, 2)
TILE(tile_1x4, 1, 4)

// Bytes of the head and of the weights, by column.
static size_t column_bytes(size_t k) { return 12 + (k + 1) / 2 * 2; }

void sc_gemm_run_i8(const sc_gemm_i8 *g, size_t first, size_t last) {
    for (size_t column = first; column < last; column += SC_PANEL) {
        const size_t pitch = sc_panel_pitch(g->n - column);
        const size_t end = last - column < SC_PANEL ? last : column + SC_PANEL;
        const bool wide = g->m == 1 && pitch == SC_PANEL;
        const uint8_t *head = g->packed + column * column_bytes(g->k);
        for (size_t at = column; at < end; at += wide ? 16 : 8) {
            const strip s = {(const int8_t *)head + 12 * pitch + 2 * (at - column),
                             head + 4 * (at - column), pitch, at, end - at};
            for (size_t row = 0; row < g->m; row += 4)
                (wide ? tile_1x4 : tile_4x2)(g, &s, row, g->m - row < 4 ? g->m - row : 4);
        }
    }
}

void sc_gemm_widen_i8(const int8_t *from, int32_t zero, size_t count, int16_t *to) {
    const int16_t off = (int16_t)zero;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const v8h v = v8h_widen(from + i) - off;
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < count; i++) to[i] = (int16_t)(from[i] - off);
}
