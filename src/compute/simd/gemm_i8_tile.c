// In wasm: -O3
#include "compute/simd/gemm_i8_tile.h"

void sc_gemm_store_floats(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows,
                          sc_gemm_sums *s) {
    const bool clamps = g->finish->clamps;
    const v4f low = v4f_splat(clamps ? g->finish->low : -__builtin_inff());
    const v4f high = v4f_splat(clamps ? g->finish->high : __builtin_inff());
    for (size_t j = 0; 4 * j < p->width; j++) {
        const v4f scale = sc_gemm_head_floats(p, 1, j), shift = sc_gemm_head_floats(p, 2, j);
        const size_t left = p->width - 4 * j;
        float *c = (float *)g->c + row * g->c_row + p->column + 4 * j;
        for (size_t i = 0; i < rows; i++, c += g->c_row) {
            v4f v = (v4f)s->of[i][j] * v4f_splat(g->row_scale[row + i]);
            v = v4f_pmin(v4f_pmax(v * scale + shift, low), high);
            if (left >= 4)
                v4f_store(c, v);
            else
                v4f_store_part(c, v, left);
        }
    }
}

static void store_bytes(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows,
                        const sc_gemm_sums *s) {
    const v4_requantizing r = *p->requantizing;
    const v4f scale = sc_gemm_head_floats(p, 1, 0), next = sc_gemm_head_floats(p, 1, 1);
    int8_t *c = (int8_t *)g->c + row * g->c_row + p->column;
    for (size_t i = 0; i < rows; i++, c += g->c_row) {
        v4f a = v4f_of_sums(s->of[i][0]) * scale, b = v4f_of_sums(s->of[i][1]) * next;
        if (r.regrids) a = v4f_regrid(&r, a), b = v4f_regrid(&r, b);
        const v4i low = v4i_round(&r.last, a), high = v4i_round(&r.last, b);
        if (p->width == SC_PANEL)
            v4i_store_bytes(c, low, high);
        else
            v4i_store_bytes_part(c, low, high, p->width);
    }
}

void sc_gemm_store(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows,
                   sc_gemm_sums *s) {
    if (!g->row_scale) {
        store_bytes(g, p, row, rows, s);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < 2; j++) s->of[i][j] = (v4u)v4f_of_sums(s->of[i][j]);
    sc_gemm_store_floats(g, p, row, rows, s);
}
