// The register-tile matrix products against three plain loops, over all tails. Values are small
// multiples of 1/8, so sums are exact in any order.
#include "compute/simd/gemm_f32.h"
#include "harness.h"

static uint32_t random_state = 7;

static float *random_floats(size_t count) {
    float *values = test_alloc((count + 1) * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        random_state = random_state * 1664525u + 1013904223u;
        values[i] = (float)((int)(random_state >> 8) % 33 - 16) / 8;
    }
    return values;
}

static float expected_at(const sc_gemm_f32 *g, bool nt, size_t i, size_t j) {
    float sum = 0;
    for (size_t k = 0; k < g->k; k++)
        sum += g->a[i * g->a_row + k] * (nt ? g->b[j * g->b_row + k] : g->b[k * g->b_row + j]);
    sum *= g->col_scale ? g->col_scale[j] : 1;
    sum += g->col_shift ? g->col_shift[j] : 0;
    sum *= g->row_scale ? g->row_scale[i] : 1;
    sum += g->row_shift ? g->row_shift[i] : 0;
    if (g->clamps) sum = sum < g->low ? g->low : sum > g->high ? g->high : sum;
    return sum;
}

static void check(size_t m, size_t n, size_t k, bool nt, unsigned parts) {
    sc_gemm_f32 g = {.m = m,
                     .n = n,
                     .k = k,
                     .a = random_floats(m * k),
                     .a_row = k,
                     .b = random_floats(n * k),
                     .b_row = nt ? k : n,
                     .c_row = n + 1,
                     .clamps = parts & 4,
                     .low = -2,
                     .high = 3};
    if (parts & 1) g.row_shift = random_floats(m), g.row_scale = random_floats(m);
    if (parts & 2) g.col_shift = random_floats(n), g.col_scale = random_floats(n);
    g.c = test_alloc(m * g.c_row * sizeof(float));
    for (size_t i = 0; i < m * g.c_row; i++) g.c[i] = 99;
    if (nt)
        sc_gemm_nt_f32(&g, 0, sc_gemm_nt_tiles(&g));
    else
        sc_gemm_nn_f32(&g, 0, sc_gemm_nn_tiles(&g),
                       test_alloc((size_t)sc_gemm_nn_scratch(m, n, k) + 1));
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            if (g.c[i * g.c_row + j] != expected_at(&g, nt, i, j)) {
                FAIL("%s %zu x %zu x %zu, parts %u, at %zu %zu", nt ? "nt" : "nn", m, n, k, parts,
                     i, j);
                return;
            }
        }
        CHECK(g.c[i * g.c_row + n] == 99);  // nothing past the row
    }
}

TEST(gemm_all_tails) {
    for (size_t m = 1; m <= 9; m++)
        for (size_t n = 1; n <= 34; n++)
            for (size_t k = 0; k <= 9; k++)
                for (int nt = 0; nt < 2; nt++) check(m, n, k, nt, (unsigned)((m + n + k) % 8));
}

TEST(gemm_deep) {
    check(13, 37, 300, false, 5);  // deep enough for the packed panel
    check(13, 37, 300, true, 2);
    check(1, 64, 257, false, 0);
    for (size_t n = 17; n <= 65; n += 8) check(331, n, 200, false, 5);  // A too large to keep
}
