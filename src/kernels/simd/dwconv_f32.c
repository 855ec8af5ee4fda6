#include "kernels/simd/dwconv_f32.h"

#include "kernels/simd/simd.h"

static inline v4f finish(const sc_dwconv_row *r, v4f sum) {
    v4f v = sum * v4f_splat(r->scale) + v4f_splat(r->shift);
    return v4f_pmin(v4f_pmax(v, v4f_splat(r->low)), v4f_splat(r->high));
}

static inline void store(const sc_dwconv_row *r, size_t x, v4f sum) {
    v4f v = finish(r, sum);
    if (x + 4 <= r->width || r->may_overrun)
        v4f_store(r->out + x, v);
    else
        v4f_store_part(r->out + x, v, r->width - x);
}

// 3 x 3: the nine weights stay in registers, one accumulator per kernel row.
static void row_3x3(const sc_dwconv_row *r) {
    const float *w = r->weight;
    v4f w0 = v4f_splat(w[0]), w1 = v4f_splat(w[1]), w2 = v4f_splat(w[2]);
    v4f w3 = v4f_splat(w[3]), w4 = v4f_splat(w[4]), w5 = v4f_splat(w[5]);
    v4f w6 = v4f_splat(w[6]), w7 = v4f_splat(w[7]), w8 = v4f_splat(w[8]);
    size_t middle = r->offsets[1] - r->offsets[0], right = r->offsets[2] - r->offsets[0];
    const float *top = r->rows[0] + r->offsets[0], *mid = r->rows[1] + r->offsets[0];
    const float *low = r->rows[2] + r->offsets[0];
    for (size_t x = 0; x < r->width; x += 4, top += 4, mid += 4, low += 4) {
        v4f a = v4f_load(top) * w0, b = v4f_load(mid) * w3, c = v4f_load(low) * w6;
        a = v4f_fma(v4f_load(top + middle), w1, a);
        b = v4f_fma(v4f_load(mid + middle), w4, b);
        c = v4f_fma(v4f_load(low + middle), w7, c);
        a = v4f_fma(v4f_load(top + right), w2, a);
        b = v4f_fma(v4f_load(mid + right), w5, b);
        c = v4f_fma(v4f_load(low + right), w8, c);
        store(r, x, (a + b) + c);
    }
}

// Any size: eight accumulators share each weight.
static void row_wide(const sc_dwconv_row *r, size_t x) {
    v4f sum[8];
    for (size_t i = 0; i < 8; i++)
        sum[i] = v4f_zero();
    const float *w = r->weight;
    for (size_t ky = 0; ky < r->row_count; ky++) {
        for (size_t kx = 0; kx < r->column_count; kx++, w++) {
            const float *in = r->rows[ky] + r->offsets[kx] + x;
            v4f weight = v4f_load_splat(w);
            for (size_t i = 0; i < 8; i++)
                sum[i] = v4f_fma(v4f_load(in + 4 * i), weight, sum[i]);
        }
    }
    for (size_t i = 0; i < 8; i++)
        store(r, x + 4 * i, sum[i]);
}

static void row_narrow(const sc_dwconv_row *r, size_t x) {
    v4f even = v4f_zero(), odd = v4f_zero();
    const float *w = r->weight;
    for (size_t ky = 0; ky < r->row_count; ky++) {
        const float *in = r->rows[ky] + x;
        size_t kx = 0;
        for (; kx + 2 <= r->column_count; kx += 2, w += 2) {
            even = v4f_fma(v4f_load(in + r->offsets[kx]), v4f_load_splat(w), even);
            odd = v4f_fma(v4f_load(in + r->offsets[kx + 1]), v4f_load_splat(w + 1), odd);
        }
        if (kx < r->column_count)
            even = v4f_fma(v4f_load(in + r->offsets[kx]), v4f_load_splat(w++), even);
    }
    store(r, x, even + odd);
}

void sc_dwconv_row_f32(const sc_dwconv_row *r) {
    if (r->row_count == 3 && r->column_count == 3) {
        row_3x3(r);
        return;
    }
    size_t x = 0;
    for (; x + 32 <= r->width; x += 32)
        row_wide(r, x);
    for (; x < r->width; x += 4)
        row_narrow(r, x);
}
