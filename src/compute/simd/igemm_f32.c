// In wasm: -O3
#include "compute/simd/igemm_f32.h"

#include "compute/simd/simd.h"

// Neighbouring columns of a panel that are computed together.
typedef struct strip {
    const float *packed;  // what their sums begin with; their weights follow
    size_t pitch;         // floats from one row of the panel to the next
    size_t column, width;
} strip;

static inline void store_row(const sc_igemm_f32 *g, const v4f *sums, size_t vectors, float *c,
                             size_t width) {
    const v4f low = v4f_load_splat(&g->low), high = v4f_load_splat(&g->high);
    for (size_t j = 0; j < vectors && 4 * j < width; j++) {
        v4f v = v4f_pmin(v4f_pmax(sums[j], low), high);
        if (width >= 4 * j + 4)
            v4f_store(c + 4 * j, v);
        else
            v4f_store_part(c + 4 * j, v, width - 4 * j);
    }
}

// `MR` rows by `NV` vectors of columns. Rows beyond `rows` repeat the last one, so that row tails
// need no code of their own. MR * NV + MR + NV must stay within 15 registers, or V8 spills.
#define TILE(name, MR, NV)                                                                        \
    static void name(const sc_igemm_f32 *g, const strip *s, size_t row, size_t rows) {            \
        const float *const *from[MR];                                                             \
        const float *b = s->packed;                                                               \
        v4f sum[MR][NV];                                                                          \
        for (size_t i = 0; i < MR; i++) {                                                         \
            from[i] = g->rows + (row + (i < rows ? i : rows - 1)) * g->runs;                      \
            for (size_t j = 0; j < NV; j++) sum[i][j] = v4f_load(b + 4 * j);                      \
        }                                                                                         \
        b += s->pitch;                                                                            \
        for (size_t run = 0; run < g->runs; run++) {                                              \
            const float *a[MR];                                                                   \
            for (size_t i = 0; i < MR; i++) a[i] = from[i][run];                                  \
            for (size_t k = 0; k < g->k; k++, b += s->pitch) {                                    \
                v4f bv[NV], av[MR];                                                               \
                for (size_t j = 0; j < NV; j++) bv[j] = v4f_load(b + 4 * j);                      \
                for (size_t i = 0; i < MR; i++) av[i] = v4f_load_splat(a[i] + k);                 \
                for (size_t i = 0; i < MR; i++)                                                   \
                    for (size_t j = 0; j < NV; j++) sum[i][j] = v4f_fma(av[i], bv[j], sum[i][j]); \
            }                                                                                     \
        }                                                                                         \
        for (size_t i = 0; i < MR && i < rows; i++)                                               \
            store_row(g, sum[i], NV, g->c + (row + i) * g->c_row + s->column, s->width);          \
    }
TILE(tile_4x2, 4, 2)
TILE(tile_1x4, 1, 4)
#if defined(__wasm_relaxed_simd__)
TILE(tile_2x4, 2, 4)
#endif

typedef void (*tile_fn)(const sc_igemm_f32 *g, const strip *s, size_t row, size_t rows);

typedef struct tiling {
    tile_fn tile;
    size_t rows, columns;
} tiling;

// With fused multiply-add the wide tile wins, with separate operations the square one.
static tiling tiling_for(const sc_igemm_f32 *g, size_t pitch) {
    if (pitch < SC_PANEL) return (tiling){tile_4x2, 4, 8};
    if (g->m == 1) return (tiling){tile_1x4, 1, 16};
#if defined(__wasm_relaxed_simd__)
    return (tiling){tile_2x4, 2, 16};
#else
    return (tiling){tile_4x2, 4, 8};
#endif
}

void sc_igemm_run_f32(const sc_igemm_f32 *g, size_t first, size_t last) {
    const size_t depth = g->runs * g->k + 1;
    for (size_t column = first; column < last; column += SC_PANEL) {
        const size_t pitch = sc_panel_pitch(g->n - column);
        const size_t end = last - column < SC_PANEL ? last : column + SC_PANEL;
        const tiling t = tiling_for(g, pitch);
        strip s = {g->packed + column * depth, pitch, column, 0};
        for (; s.column < end; s.column += t.columns, s.packed += t.columns) {
            s.width = end - s.column;
            for (size_t row = 0; row < g->m; row += t.rows)
                t.tile(g, &s, row, g->m - row < t.rows ? g->m - row : t.rows);
        }
    }
}
