// In wasm: -O3
#include "compute/simd/dwconv_nhwc_f32.h"

#include "compute/simd/simd.h"

// `pixels` outputs by `vectors` of four channels, from channel c on, share each weight. The sums, a
// weight for each vector and the loaded inputs must stay within 15 registers, or V8 spills.
#define BLOCK(name, pixels, vectors)                                                               \
    static void name(const sc_dwconv_nhwc_f32 *d, size_t x, size_t c, const float *packed) {       \
        const size_t group = 4 * (d->kernel_taps + 1);                                             \
        const float *in = d->in + x * d->in_step + c;                                              \
        const v4f low = v4f_splat(d->low), high = v4f_splat(d->high);                              \
        float *out = d->out + x * d->out_step + c;                                                 \
        v4f sum[pixels][vectors];                                                                  \
        for (size_t p = 0; p < pixels; p++)                                                        \
            for (size_t j = 0; j < vectors; j++) sum[p][j] = v4f_load(packed + j * group);         \
        for (size_t t = 0; t < d->tap_count; t++) {                                                \
            const float *from = in + d->taps[t].offset;                                            \
            const float *weights = packed + 4 + 4 * d->taps[t].index;                              \
            v4f w[vectors];                                                                        \
            for (size_t j = 0; j < vectors; j++) w[j] = v4f_load(weights + j * group);             \
            for (size_t p = 0; p < pixels; p++)                                                    \
                for (size_t j = 0; j < vectors; j++)                                               \
                    sum[p][j] = v4f_fma(v4f_load(from + p * d->in_step + 4 * j), w[j], sum[p][j]); \
        }                                                                                          \
        for (size_t p = 0; p < pixels; p++)                                                        \
            for (size_t j = 0; j < vectors; j++)                                                   \
                v4f_store(out + p * d->out_step + 4 * j,                                           \
                          v4f_pmin(v4f_pmax(sum[p][j], low), high));                               \
    }
BLOCK(block_3x2, 3, 2)
BLOCK(block_3x1, 3, 1)
BLOCK(block_1x4, 1, 4)
BLOCK(block_1x1, 1, 1)

typedef void (*block_fn)(const sc_dwconv_nhwc_f32 *d, size_t x, size_t c, const float *packed);

// Computes all channels of a few outputs: `wide` takes `vectors` vectors at a time, `narrow` one.
static void run_channels(const sc_dwconv_nhwc_f32 *d, size_t x, block_fn wide, size_t vectors,
                         block_fn narrow) {
    const size_t group = 4 * (d->kernel_taps + 1);
    const float *packed = d->packed;
    size_t c = 0;
    for (; c + 4 * vectors <= d->channels; c += 4 * vectors, packed += vectors * group)
        wide(d, x, c, packed);
    for (; c + 4 <= d->channels; c += 4, packed += group) narrow(d, x, c, packed);
    if (c < d->channels) narrow(d, x, d->channels - 4, packed);
}

void sc_dwconv_nhwc_run_f32(const sc_dwconv_nhwc_f32 *d) {
    size_t x = 0;
    for (; x + 3 <= d->count; x += 3) run_channels(d, x, block_3x2, 2, block_3x1);
    for (; x < d->count; x++) run_channels(d, x, block_1x4, 4, block_1x1);
}

// --- 3 x 3 ---------------------------------------------------------------------------------------

enum { CHUNK = 24 };  // outputs whose columns stay in the nearest cache for the next channels

typedef struct column {
    const float *rows[3];
    size_t steps[3];
    v4f weights[3][3];
} column;

// Adds the products of the column with column `x` of the kernel. A processor looks ahead by only a
// few outputs, so only one addition waits for earlier sums. But fused operations, of which there
// are fewer if all of them wait, are faster that way while the kernel moves on by one pixel.
static inline v4f add_column(const column *c, const v4f v[3], size_t x, v4f sum,
                             const bool by_two) {
    if (V4F_FUSES && !by_two) {
        for (size_t i = 0; i < 3; i++) sum = v4f_fma(v[i], c->weights[i][x], sum);
        return sum;
    }
    const v4f upper = v4f_fma(v[1], c->weights[1][x], v[0] * c->weights[0][x]);
    return sum + v4f_fma(v[2], c->weights[2][x], upper);
}

static inline void next_column(column *c, v4f v[3]) {
    for (size_t i = 0; i < 3; i++) v[i] = v4f_load(c->rows[i]), c->rows[i] += c->steps[i];
}

// Four channels of a row. Nine weights, two incomplete sums, the bounds, and the current sum are
// live: as many vectors as there are registers.
static inline void run_3x3(const sc_dwconv_3x3_f32 *d, column c, const float *packed, float *out,
                           size_t count, bool left, bool right, const bool by_two) {
    const v4f low = v4f_load_splat(&d->low), high = v4f_load_splat(&d->high);
    v4f v[3], begun = v4f_load(packed), next = begun;
    if (!left) {
        next_column(&c, v);
        begun = add_column(&c, v, 0, begun, by_two);
    }
    if (!by_two) {
        next_column(&c, v);
        begun = add_column(&c, v, 1, begun, by_two);
        next = add_column(&c, v, 0, next, by_two);
    }
    const size_t out_step = d->out_step;
    for (float *end = out + (count - right) * out_step; out != end; out += out_step) {
        v4f sum = begun;
        next_column(&c, v);
        if (by_two) {
            sum = add_column(&c, v, 1, sum, by_two);
            next_column(&c, v);
        } else {
            begun = add_column(&c, v, 1, next, by_two);
        }
        next = add_column(&c, v, 0, v4f_load(packed), by_two);
        v4f_store(out, v4f_pmin(v4f_pmax(add_column(&c, v, 2, sum, by_two), low), high));
        if (by_two) begun = next;
    }
    if (!right) return;
    if (by_two) {
        next_column(&c, v);
        begun = add_column(&c, v, 1, begun, by_two);
    }
    v4f_store(out, v4f_pmin(v4f_pmax(begun, low), high));
}

static void run_3x3_by_one(const sc_dwconv_3x3_f32 *d, const column *c, const float *packed,
                           float *out, size_t count, bool left, bool right) {
    run_3x3(d, *c, packed, out, count, left, right, false);
}

static void run_3x3_by_two(const sc_dwconv_3x3_f32 *d, const column *c, const float *packed,
                           float *out, size_t count, bool left, bool right) {
    run_3x3(d, *c, packed, out, count, left, right, true);
}

void sc_dwconv_3x3_run_f32(const sc_dwconv_3x3_f32 *d) {
    static const float zeros[4];
    const size_t stride = d->by_two ? 2 : 1;
    for (size_t x = 0; x < d->count; x += CHUNK) {
        const bool left = d->left && x == 0, right = d->right && x + CHUNK >= d->count;
        const size_t count = d->count - x < CHUNK ? d->count - x : CHUNK;
        const size_t first = (x * stride - (d->left && x > 0)) * d->column;
        for (size_t at = 0; at < d->channels; at += 4) {
            const size_t group = at + 4 <= d->channels ? at : d->channels - 4;
            const float *packed = d->packed + at * 10;
            column c;
            for (size_t i = 0; i < 3; i++) {
                c.rows[i] = d->rows[i] ? d->rows[i] + first + group : zeros;
                c.steps[i] = d->rows[i] ? d->column : 0;
                for (size_t k = 0; k < 3; k++)
                    c.weights[i][k] = v4f_load(packed + 4 * (1 + 3 * i + k));
            }
            (d->by_two ? run_3x3_by_two : run_3x3_by_one)(
                d, &c, packed, d->out + x * d->out_step + group, count, left, right);
        }
    }
}
