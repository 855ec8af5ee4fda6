// Convolution of 3 x 3 taps by Winograd's F(2 x 2, 3 x 3): four outputs from a patch of 4 x 4
// inputs with 16 multiplications for each pair of channels instead of 36. Patches and weights are
// transformed, multiplied place by place as 16 matrix products, and the products transformed back.
// Sums are those of the definition in another order, with one or two more roundings each.
// In wasm: -O3
#include <math.h>

#include "base/parallel.h"
#include "compute/conv.h"
#include "compute/simd/igemm_f32.h"
#include "compute/simd/simd.h"

// Patches of a tile, places of a patch, and patches whose channels are interleaved at a time.
enum { PATCHES = 64, PLACES = 16, ROWS = SC_IGEMM_ROWS, COLUMNS = SC_CONV_COLUMNS };

// Fewer channels do not repay the transforms. Matrices that are larger take as long to read as they
// save: 16 numbers instead of nine for each pair of channels.
enum { CHANNELS_MIN = 8, CHANNELS_MAX = 4096, PAIRS_MAX = 1 << 18, DILATION_MAX = 8 };

// --- Shape ---------------------------------------------------------------------------------------

static bool fits(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    if (c->transposed || c->groups != 1 || c->kernel[0] != 1 || c->in[0] != 1 || c->out[0] != 1 ||
        c->pad[0] != 0 || c->in_step[1] != 1 || c->in_channels % 4 != 0 ||
        c->in_channels < CHANNELS_MIN || c->out_channels < CHANNELS_MIN ||
        c->in_channels > CHANNELS_MAX || c->out_channels > CHANNELS_MAX ||
        c->in_channels * c->out_channels > PAIRS_MAX)
        return false;
    for (int d = 1; d < 3; d++)
        if (c->kernel[d] != 3 || c->stride[d] != 1 || c->dilation[d] > DILATION_MAX) return false;
    return sc_conv_pixel_step(c->out_step, c->out, c->out_channels) > 0;
}

// Floats of a panel of a place's matrix.
static size_t panel_floats(const sc_conv *c) {
    return (size_t)sc_panel_f32_bytes((uint64_t)c->in_channels, SC_DTYPE_F32, 0) / sizeof(float);
}

// --- Weights -------------------------------------------------------------------------------------

// Panels come one after the other, each with the matrices of all places.
static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return (uint64_t)sc_blocks_of(c->out_channels, SC_PANEL) * PLACES * panel_floats(c) *
           sizeof(float);
}

// Three numbers become four.
static void spread(const double from[3], double to[4]) {
    to[0] = from[0];
    to[1] = (from[0] + from[1] + from[2]) / 2;
    to[2] = (from[0] - from[1] + from[2]) / 2;
    to[3] = from[2];
}

// The transformed taps of a pair of channels, a place every `pitch` floats. Rounded once.
static void put_taps(const sc_conv *c, int64_t out, int64_t in, float *to, size_t pitch) {
    const int64_t *step = c->weight_step;
    const float *weight = (const float *)c->weight + out * step[0] + in * step[1];
    const double scale = (double)sc_finish_scale(&c->record.finish, out);
    double columns[3][4];
    for (int x = 0; x < 3; x++) {
        const double taps[3] = {(double)weight[x * step[4]], (double)weight[step[3] + x * step[4]],
                                (double)weight[2 * step[3] + x * step[4]]};
        spread(taps, columns[x]);
    }
    for (int y = 0; y < 4; y++) {
        const double row[3] = {columns[0][y], columns[1][y], columns[2][y]};
        double places[4];
        spread(row, places);
        for (int x = 0; x < 4; x++) to[(size_t)(4 * y + x) * pitch] = (float)(places[x] * scale);
    }
}

typedef struct packing {
    const sc_conv *conv;
    float *to;
} packing;

// The start of the sums of place (1, 1) counts once in all four outputs.
enum { CENTRE = 5 };

static void pack_panels(void *work, int64_t from, int64_t to, uint32_t thread) {
    const packing *p = work;
    const sc_conv *c = p->conv;
    const size_t pitch = panel_floats(c);
    (void)thread;
    for (int64_t panel = from; panel < to; panel++) {
        float *head = p->to + (size_t)panel * PLACES * pitch;
        memset(head, 0, PLACES * pitch * sizeof(float));
        for (int64_t j = 0; j < SC_PANEL; j++) {
            const int64_t out = panel * SC_PANEL + j;
            if (out >= c->out_channels) break;
            head[CENTRE * pitch + (size_t)j] = sc_conv_shift(c, out);
            for (int64_t in = 0; in < c->in_channels; in++)
                put_taps(c, out, in, head + SC_PANEL * (1 + in) + j, pitch);
        }
    }
}

static void pack(const sc_record *record, void *packed) {
    const sc_conv *c = sc_conv_of(record);
    packing p = {c, packed};
    sc_parallel_rows(sc_blocks_of(c->out_channels, SC_PANEL),
                     SC_COST_CONVERT * (double)(PLACES * panel_floats(c)), pack_panels, &p);
}

// --- Tiles ---------------------------------------------------------------------------------------

// Patches along a dimension. Their two outputs are as distant as the taps, so patches of a dilated
// kernel lie within one another.
static int64_t count_along(const sc_conv *c, int d) {
    return sc_blocks_of(c->out[d], 2 * c->dilation[d]) * c->dilation[d];
}

static int64_t patches_of(const sc_conv *c) { return count_along(c, 1) * count_along(c, 2); }

// The coordinate of a patch's first output. It may be beyond the last one of a dilated kernel.
static int64_t output_of(const sc_conv *c, int d, int64_t index) {
    return index / c->dilation[d] * 2 * c->dilation[d] + index % c->dilation[d];
}

// Batch items and blocks of patches one after the other, columns fastest.
static int64_t tiles(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->batch * sc_blocks_of(patches_of(c), PATCHES) * sc_blocks_of(c->out_channels, COLUMNS);
}

// Scratch in order, in floats: transformed patches, a matrix for each place; products of a panel;
// and patches at the edge. Places are a little more than a power of two apart, so that they do not
// compete for the same part of the cache.
enum { APART = 16, SUMS = PATCHES * SC_PANEL + APART };

static size_t place_floats(const sc_conv *c) { return PATCHES * (size_t)c->in_channels + APART; }

static uint64_t scratch_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    const uint64_t edge = ROWS * PLACES * (uint64_t)c->in_channels;
    return (PLACES * ((uint64_t)place_floats(c) + SUMS) + edge) * sizeof(float);
}

// --- Patches -------------------------------------------------------------------------------------

// The first pixel of a patch, and the floats from one to the next.
typedef struct patch {
    const float *first;
    size_t row, column;
} patch;

// A patch in place, or its copy if a part is in the padding.
static patch find_patch(const sc_conv *c, const float *input, int64_t index, float *edge) {
    const int64_t across = count_along(c, 2), *step = c->in_step, *gap = c->dilation;
    const int64_t y = output_of(c, 1, index / across) - c->pad[1];
    const int64_t x = output_of(c, 2, index % across) - c->pad[2];
    const int64_t channels = c->in_channels;
    if (y >= 0 && y + 3 * gap[1] < c->in[1] && x >= 0 && x + 3 * gap[2] < c->in[2])
        return (patch){input + y * step[3] + x * step[4], (size_t)(gap[1] * step[3]),
                       (size_t)(gap[2] * step[4])};
    float *to = edge;
    for (int64_t i = 0; i < PLACES; i++, to += channels) {
        const int64_t in_y = y + i / 4 * gap[1], in_x = x + i % 4 * gap[2];
        if (in_y >= 0 && in_y < c->in[1] && in_x >= 0 && in_x < c->in[2])
            memcpy(to, input + in_y * step[3] + in_x * step[4], (size_t)channels * sizeof(float));
        else
            memset(to, 0, (size_t)channels * sizeof(float));
    }
    return (patch){edge, 4 * (size_t)channels, (size_t)channels};
}

// A row of four numbers, transformed along the row.
static inline void put_row(const v4f from[4], v4f *to) {
    to[0] = from[0] - from[2];
    to[ROWS] = from[1] + from[2];
    to[2 * ROWS] = from[2] - from[1];
    to[3 * ROWS] = from[1] - from[3];
}

// Transforms four channels of a patch: place by place, with room for those of other patches.
static inline void transform(const patch *p, size_t channel, v4f *to) {
    const float *a = p->first + channel, *b = a + p->row, *c = b + p->row, *d = c + p->row;
    v4f first[4], second[4], third[4];
    for (size_t x = 0; x < 4; x++) first[x] = v4f_load(a + x * p->column);
    for (size_t x = 0; x < 4; x++) first[x] -= v4f_load(c + x * p->column);
    put_row(first, to);
    for (size_t x = 0; x < 4; x++) {
        const v4f above = v4f_load(b + x * p->column), below = v4f_load(c + x * p->column);
        second[x] = above + below;
        third[x] = below - above;
    }
    put_row(second, to + 4 * ROWS);
    put_row(third, to + 8 * ROWS);
    for (size_t x = 0; x < 4; x++)
        first[x] = v4f_load(b + x * p->column) - v4f_load(d + x * p->column);
    put_row(first, to + 12 * ROWS);
}

// Interleaves the same four channels of four patches.
static inline void interleave(const v4f v[ROWS], float *to) {
    const v4f a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
    const v4f b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
    const v4f c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
    const v4f d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    v4f_store(to, __builtin_shufflevector(a, b, 0, 1, 4, 5));
    v4f_store(to + 4, __builtin_shufflevector(a, b, 2, 3, 6, 7));
    v4f_store(to + 8, __builtin_shufflevector(c, d, 0, 1, 4, 5));
    v4f_store(to + 12, __builtin_shufflevector(c, d, 2, 3, 6, 7));
}

// Transforms `count` patches from `first` on. Those that are missing in the last four repeat the
// last one.
static void put_patches(const sc_conv *c, const float *input, int64_t first, int64_t count,
                        float *places, float *edges) {
    const size_t channels = (size_t)c->in_channels, pitch = place_floats(c);
    const size_t rows = sc_align_up((uint64_t)count, ROWS);
    for (int64_t i = 0; i < count; i += ROWS) {
        patch p[ROWS];
        for (int64_t j = 0; j < ROWS; j++)
            p[j] = find_patch(c, input, first + sc_min_i64(i + j, count - 1),
                              edges + (size_t)j * PLACES * channels);
        for (size_t from = 0; from < channels; from += SC_IGEMM_STEPS) {
            const size_t steps =
                channels - from < SC_IGEMM_STEPS ? channels - from : SC_IGEMM_STEPS;
            float *to = places + from * rows + (size_t)i * steps;
            for (size_t channel = from; channel < from + steps; channel += 4, to += 4 * ROWS) {
                v4f v[PLACES * ROWS];
                for (size_t j = 0; j < ROWS; j++) transform(&p[j], channel, v + j);
                for (size_t place = 0; place < PLACES; place++)
                    interleave(v + place * ROWS, to + place * pitch);
            }
        }
    }
}

// --- Results -------------------------------------------------------------------------------------

// Four numbers become two.
static inline void gather(const v4f from[4], v4f to[2]) {
    to[0] = from[0] + from[1] + from[2];
    to[1] = from[1] - from[2] - from[3];
}

// The outputs of a patch for four channels, row by row.
static inline void transform_back(const float *sums, v4f low, v4f high, v4f out[4]) {
    v4f left[4], right[4];
    for (size_t y = 0; y < 4; y++) {
        v4f row[4], pair[2];
        for (size_t x = 0; x < 4; x++) row[x] = v4f_load(sums + (4 * y + x) * SUMS);
        gather(row, pair);
        left[y] = pair[0], right[y] = pair[1];
    }
    v4f a[2], b[2];
    gather(left, a);
    gather(right, b);
    out[0] = v4f_pmin(v4f_pmax(a[0], low), high), out[1] = v4f_pmin(v4f_pmax(b[0], low), high);
    out[2] = v4f_pmin(v4f_pmax(a[1], low), high), out[3] = v4f_pmin(v4f_pmax(b[1], low), high);
}

// Writes the outputs of some patches for the channels of a panel.
static void put_outputs(const sc_conv *c, const float *sums, int64_t first, int64_t count,
                        float *output, size_t width) {
    const int64_t step = sc_conv_pixel_step(c->out_step, c->out, c->out_channels);
    const int64_t across = count_along(c, 2), *gap = c->dilation;
    const sc_finish *finish = &c->record.finish;
    const v4f low = v4f_splat(finish->clamps ? finish->low : -INFINITY);
    const v4f high = v4f_splat(finish->clamps ? finish->high : INFINITY);
    for (int64_t i = 0; i < count; i++, sums += SC_PANEL) {
        const int64_t y = output_of(c, 1, (first + i) / across);
        const int64_t x = output_of(c, 2, (first + i) % across);
        for (size_t at = 0; at < width; at += 4) {
            v4f out[4];
            transform_back(sums + at, low, high, out);
            for (int64_t k = 0; k < 4; k++) {
                const int64_t out_y = y + k / 2 * gap[1], out_x = x + k % 2 * gap[2];
                if (out_y >= c->out[1] || out_x >= c->out[2]) continue;
                float *to = output + (out_y * c->out[2] + out_x) * step + at;
                if (width - at >= 4)
                    v4f_store(to, out[k]);
                else
                    v4f_store_part(to, out[k], width - at);
            }
        }
    }
}

// --- Run -----------------------------------------------------------------------------------------

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const int64_t columns = sc_blocks_of(c->out_channels, COLUMNS);
    const int64_t all = patches_of(c), blocks = sc_blocks_of(all, PATCHES);
    const size_t pitch = place_floats(c), panel_pitch = panel_floats(c);
    float *places = scratch, *sums = places + PLACES * pitch, *edges = sums + PLACES * SUMS;
    while (from < to) {
        const int64_t block = from / columns, end = sc_min_i64(to, (block + 1) * columns);
        const int64_t n = block / blocks, first = block % blocks * PATCHES;
        const int64_t count = sc_min_i64(PATCHES, all - first);
        const int64_t last = sc_min_i64((end - block * columns) * COLUMNS, c->out_channels);
        put_patches(c, (const float *)c->input + n * c->in_step[0], first, count, places, edges);
        for (int64_t column = (from - block * columns) * COLUMNS; column < last;
             column += SC_PANEL) {
            const float *panel =
                (const float *)packed + (size_t)(column / SC_PANEL) * PLACES * panel_pitch;
            for (size_t place = 0; place < PLACES; place++) {
                const sc_igemm_f32 g = {.m = (size_t)count,
                                        .n = SC_PANEL,
                                        .k = (size_t)c->in_channels,
                                        .runs = 1,
                                        .interleaved = places + place * pitch,
                                        .weight = SC_DTYPE_F32,
                                        .packed = panel + place * panel_pitch,
                                        .c = sums + place * SUMS,
                                        .c_row = SC_PANEL,
                                        .low = -INFINITY,
                                        .high = INFINITY};
                sc_igemm_run_f32(&g, 0, SC_PANEL);
            }
            put_outputs(c, sums, first, count,
                        (float *)c->output + n * c->out_step[0] + column * c->out_step[1],
                        (size_t)sc_min_i64(SC_PANEL, last - column));
        }
        from = end;
    }
}

SC_ALGORITHM(conv_winograd, .fits = fits, .pack_bytes = pack_bytes, .pack = pack,
             .scratch_bytes = scratch_bytes, .tiles = tiles, .run = run);
