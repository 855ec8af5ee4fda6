// Convolution of pixels with adjacent channels, as a product with packed weights (implicit GEMM). A
// row of the product is an output pixel, and its steps are the channels of the pixels that its taps
// read. These stay in place, behind pointers. A tap in the padding reads zeros.
#include <math.h>

#include "compute/conv.h"
#include "compute/simd/igemm_f32.h"

// Pointers are found for one tile of pixels at a time.
enum { PIXELS = SC_CONV_PIXELS, COLUMNS = SC_CONV_COLUMNS, TAP_MAX = 1024, JOINED_MAX = 64 };

// --- Shape ---------------------------------------------------------------------------------------

static bool fits(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return !c->transposed && (c->in_step[1] == 1 || c->in_channels == 1) &&
           sc_conv_pixel_step(c->out_step, c->out, c->out_channels) > 0 && c->in_channels > 0 &&
           c->out_channels > 0 && (c->in_channels > 1 || c->out_channels > 1) &&
           sc_conv_taps(c) <= TAP_MAX;
}

static uint64_t group_bytes(const sc_conv *c) {
    return sc_pack_columns_f32_bytes((uint64_t)c->out_channels,
                                     (uint64_t)(c->in_channels * sc_conv_taps(c)), SC_DTYPE_F32, 0);
}

static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return (uint64_t)c->groups * group_bytes(c);
}

static void pack(const sc_record *record, void *packed) {
    const sc_conv *c = sc_conv_of(record);
    for (int64_t g = 0; g < c->groups; g++) {
        const sc_pack_source source = sc_conv_column_weights(c, g);
        sc_pack_columns_f32(&source,
                            (float *)packed + (uint64_t)g * group_bytes(c) / sizeof(float));
    }
}

// --- Tiles ---------------------------------------------------------------------------------------

// Does a row of taps read one run? It does if pixels are small and adjacent in memory. Otherwise
// each tap is a run.
static bool joins(const sc_conv *c) {
    return c->in_step[4] == c->in_channels && c->dilation[2] == 1 && c->kernel[2] > 1 &&
           c->in_channels * c->kernel[2] <= JOINED_MAX;
}

static int64_t run_length(const sc_conv *c) {
    return joins(c) ? c->in_channels * c->kernel[2] : c->in_channels;
}

static int64_t run_count(const sc_conv *c) {
    return joins(c) ? c->kernel[0] * c->kernel[1] : sc_conv_taps(c);
}

// Scratch in order: pointers to runs, zeros, runs that are partly in the padding, and the product's
// own.
typedef struct layout {
    uint64_t zeros, edges, rows, bytes;
} layout;

static layout layout_of(const sc_conv *c) {
    const uint64_t runs = PIXELS * (uint64_t)run_count(c), length = (uint64_t)run_length(c);
    layout l;
    l.zeros = sc_align_up(runs * sizeof(float *), 64);
    l.edges = l.zeros + sc_align_up(length * sizeof(float), 64);
    l.rows = l.edges + (joins(c) ? sc_align_up(runs * length * sizeof(float), 64) : 0);
    l.bytes = l.rows +
              sc_igemm_scratch_f32(PIXELS, (uint64_t)(run_count(c) * run_length(c)), SC_DTYPE_F32);
    return l;
}

static uint64_t scratch_bytes(const sc_record *record) {
    return layout_of(sc_conv_of(record)).bytes;
}

// --- Runs of taps --------------------------------------------------------------------------------

// Output pixels one after the other, and the place for pointers to the inputs of their taps.
typedef struct pixels {
    int64_t at[3], count;
    const float *input;  // of the batch item and group
    const float *zeros;  // zeros, which are read in the padding
    float *edges;        // [count][runs][run length], where runs are joined
    const float **rows;  // [count][runs]
} pixels;

// Finds the row of taps of the pixel at x. Taps inside `row` are copied, unless all are inside.
static const float *joined_run(const sc_conv *c, const float *row, int64_t x, float *edge) {
    const int64_t channels = c->in_channels, taps = c->kernel[2];
    const int64_t first = sc_max_i64(-x, 0), end = sc_min_i64(c->in[2] - x, taps);
    if (first == 0 && end == taps) return row + x * channels;
    memset(edge, 0, (size_t)(taps * channels) * sizeof(float));
    if (first < end)
        memcpy(edge + first * channels, row + (x + first) * channels,
               (size_t)((end - first) * channels) * sizeof(float));
    return edge;
}

// Finds the pixels that tap (or row of taps) number `run` reads.
static void find_run(const sc_conv *c, const pixels *p, const int64_t tap[3], int64_t run) {
    const int64_t runs = run_count(c), length = run_length(c), width = c->in[2];
    const int64_t step = c->in_step[4];
    const bool joined = joins(c);
    const float **to = p->rows + run;
    float *edge = p->edges + run * length;
    int64_t at[3] = {p->at[0], p->at[1], p->at[2]}, count = p->count, z, y;
    while (count > 0) {
        const bool inside =
            sc_conv_input_at(c, 0, at[0], tap[0], &z) && sc_conv_input_at(c, 1, at[1], tap[1], &y);
        const float *row = p->input + (inside ? z * c->in_step[2] + y * c->in_step[3] : 0);
        const int64_t end = sc_min_i64(at[2] + count, c->out[2]);
        int64_t x = at[2] * c->stride[2] - c->pad[2] + tap[2] * c->dilation[2];
        count -= end - at[2];
        for (; at[2] < end; at[2]++, x += c->stride[2], to += runs, edge += runs * length) {
            if (joined && inside)
                *to = joined_run(c, row, x, edge);
            else
                *to = inside && x >= 0 && x < width ? row + x * step : p->zeros;
        }
        at[2] = 0;
        if (++at[1] == c->out[1]) at[1] = 0, at[0]++;
    }
}

static void find_runs(const sc_conv *c, const pixels *p) {
    const int64_t columns = joins(c) ? 1 : c->kernel[2];
    int64_t tap[3], run = 0;
    for (tap[0] = 0; tap[0] < c->kernel[0]; tap[0]++)
        for (tap[1] = 0; tap[1] < c->kernel[1]; tap[1]++)
            for (tap[2] = 0; tap[2] < columns; tap[2]++) find_run(c, p, tap, run++);
}

// --- Run -----------------------------------------------------------------------------------------

// The tiles of some pixels of a batch item and group: columns [from, to), counted in tiles.
static void run_pixels(const sc_conv *c, const float *packed, int64_t block, int64_t from,
                       int64_t to, uint8_t *scratch) {
    const int64_t area = sc_conv_out_area(c), blocks = sc_blocks_of(area, PIXELS);
    const int64_t n = block / blocks / c->groups, group = block / blocks % c->groups;
    const int64_t first = block % blocks * PIXELS;
    const int64_t step = sc_conv_pixel_step(c->out_step, c->out, c->out_channels);
    const int64_t *out = c->out;
    const sc_finish *finish = &c->record.finish;
    const layout l = layout_of(c);
    const pixels p = {.at = {first / out[2] / out[1], first / out[2] % out[1], first % out[2]},
                      .count = sc_min_i64(PIXELS, area - first),
                      .input = (const float *)c->input + n * c->in_step[0] +
                               group * c->in_channels * c->in_step[1],
                      .zeros = (const float *)(void *)(scratch + l.zeros),
                      .edges = (float *)(void *)(scratch + l.edges),
                      .rows = (const float **)(void *)scratch};
    const sc_igemm_f32 g = {.m = (size_t)p.count,
                            .n = (size_t)c->out_channels,
                            .k = (size_t)run_length(c),
                            .runs = (size_t)run_count(c),
                            .rows = p.rows,
                            .weight = SC_DTYPE_F32,
                            .packed = packed + (uint64_t)group * group_bytes(c) / sizeof(float),
                            .c = (float *)c->output + n * c->out_step[0] +
                                 group * c->out_channels * c->out_step[1] + first * step,
                            .c_row = (size_t)step,
                            .scratch = (float *)(void *)(scratch + l.rows),
                            .low = finish->clamps ? finish->low : -INFINITY,
                            .high = finish->clamps ? finish->high : INFINITY};
    find_runs(c, &p);
    sc_igemm_run_f32(&g, (size_t)(from * COLUMNS),
                     (size_t)sc_min_i64(to * COLUMNS, c->out_channels));
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const int64_t columns = sc_blocks_of(c->out_channels, COLUMNS);
    memset((uint8_t *)scratch + layout_of(c).zeros, 0, (size_t)run_length(c) * sizeof(float));
    while (from < to) {
        const int64_t block = from / columns, end = sc_min_i64(to, (block + 1) * columns);
        run_pixels(c, packed, block, from - block * columns, end - block * columns, scratch);
        from = end;
    }
}

SC_ALGORITHM(conv_nhwc, .fits = fits, .pack_bytes = pack_bytes, .pack = pack,
             .scratch_bytes = scratch_bytes, .tiles = sc_conv_block_tiles, .run = run);
