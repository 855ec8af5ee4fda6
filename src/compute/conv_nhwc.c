// Convolution of pixels whose channels lie side by side, as a product with packed weights (implicit
// GEMM): a row of the product is an output pixel, its steps are the channels of the pixels that its
// taps read, which stay where they are, behind pointers. A tap in the padding reads zeros.
#include <math.h>

#include "compute/conv.h"
#include "compute/pack.h"
#include "compute/simd/igemm_f32.h"

enum {
    PIXELS = 32,             // of a tile: so many have their pointers found at a time
    COLUMNS = 4 * SC_PANEL,  // of a tile
    TAP_MAX = 1024
};

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
                                     (uint64_t)(c->in_channels * sc_conv_taps(c)));
}

static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return (uint64_t)c->groups * group_bytes(c);
}

static void pack(const sc_record *record, void *packed) {
    const sc_conv *c = sc_conv_of(record);
    for (int64_t g = 0; g < c->groups; g++) {
        const int64_t channel = g * c->out_channels;
        const sc_pack_source source = {
            .weight = (const float *)c->weight + g * c->weight_group,
            .columns = (size_t)c->out_channels,
            .column_step = c->weight_step[0],
            .sizes = {c->kernel[0], c->kernel[1], c->kernel[2], c->in_channels},
            .steps = {c->weight_step[2], c->weight_step[3], c->weight_step[4], c->weight_step[1]},
            .bias = c->bias,
            .finish = &record->finish,
            .channel = channel};
        sc_pack_columns_f32(&source,
                            (float *)packed + (uint64_t)g * group_bytes(c) / sizeof(float));
    }
}

// --- Tiles ---------------------------------------------------------------------------------------

static int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

static int64_t tiles(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->batch * c->groups * blocks_of(sc_conv_out_area(c), PIXELS) *
           blocks_of(c->out_channels, COLUMNS);
}

// Scratch in order: pointers, zeros.
static uint64_t pointer_bytes(const sc_conv *c) {
    return sc_align_up(PIXELS * (uint64_t)sc_conv_taps(c) * sizeof(float *), 64);
}

static uint64_t scratch_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return pointer_bytes(c) + (uint64_t)c->in_channels * sizeof(float);
}

// --- What taps read ------------------------------------------------------------------------------

// Output pixels one after the other, and where pointers to what their taps read go.
typedef struct pixels {
    int64_t at[3], count;
    const float *input;  // of the batch item and group
    const float *zeros;  // what is read in the padding
    const float **rows;  // [count][taps]
} pixels;

// `to` is where the pointer of the first pixel goes.
static void find_tap(const sc_conv *c, const pixels *p, const int64_t tap[3], const float **to) {
    const int64_t taps = sc_conv_taps(c), width = c->in[2], step = c->in_step[4];
    int64_t at[3] = {p->at[0], p->at[1], p->at[2]}, count = p->count, z, y;
    while (count > 0) {
        const bool inside =
            sc_conv_input_at(c, 0, at[0], tap[0], &z) && sc_conv_input_at(c, 1, at[1], tap[1], &y);
        const float *row = p->input + (inside ? z * c->in_step[2] + y * c->in_step[3] : 0);
        const int64_t end = sc_min_i64(at[2] + count, c->out[2]);
        int64_t x = at[2] * c->stride[2] - c->pad[2] + tap[2] * c->dilation[2];
        count -= end - at[2];
        for (; at[2] < end; at[2]++, x += c->stride[2], to += taps)
            *to = inside && x >= 0 && x < width ? row + x * step : p->zeros;
        at[2] = 0;
        if (++at[1] == c->out[1]) at[1] = 0, at[0]++;
    }
}

static void find_taps(const sc_conv *c, const pixels *p) {
    const float **to = p->rows;
    int64_t tap[3];
    for (tap[0] = 0; tap[0] < c->kernel[0]; tap[0]++)
        for (tap[1] = 0; tap[1] < c->kernel[1]; tap[1]++)
            for (tap[2] = 0; tap[2] < c->kernel[2]; tap[2]++) find_tap(c, p, tap, to++);
}

// --- Run -----------------------------------------------------------------------------------------

// The tiles of some pixels of a batch item and group: columns [from, to), in tiles.
static void run_pixels(const sc_conv *c, const float *packed, int64_t block, int64_t from,
                       int64_t to, const float **rows, const float *zeros) {
    const int64_t area = sc_conv_out_area(c), blocks = blocks_of(area, PIXELS);
    const int64_t n = block / blocks / c->groups, group = block / blocks % c->groups;
    const int64_t first = block % blocks * PIXELS,
                  step = sc_conv_pixel_step(c->out_step, c->out, c->out_channels);
    const int64_t *out = c->out;
    const sc_finish *finish = &c->record.finish;
    const pixels p = {.at = {first / out[2] / out[1], first / out[2] % out[1], first % out[2]},
                      .count = sc_min_i64(PIXELS, area - first),
                      .input = (const float *)c->input + n * c->in_step[0] +
                               group * c->in_channels * c->in_step[1],
                      .zeros = zeros,
                      .rows = rows};
    const sc_igemm_f32 g = {.m = (size_t)p.count,
                            .n = (size_t)c->out_channels,
                            .k = (size_t)c->in_channels,
                            .runs = (size_t)sc_conv_taps(c),
                            .rows = rows,
                            .packed = packed + (uint64_t)group * group_bytes(c) / sizeof(float),
                            .c = (float *)c->output + n * c->out_step[0] +
                                 group * c->out_channels * c->out_step[1] + first * step,
                            .c_row = (size_t)step,
                            .low = finish->clamps ? finish->low : -INFINITY,
                            .high = finish->clamps ? finish->high : INFINITY};
    find_taps(c, &p);
    sc_igemm_run_f32(&g, (size_t)(from * COLUMNS),
                     (size_t)sc_min_i64(to * COLUMNS, c->out_channels));
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const int64_t columns = blocks_of(c->out_channels, COLUMNS);
    float *zeros = (float *)(void *)((uint8_t *)scratch + pointer_bytes(c));
    memset(zeros, 0, (size_t)c->in_channels * sizeof(float));
    while (from < to) {
        const int64_t block = from / columns, end = sc_min_i64(to, (block + 1) * columns);
        run_pixels(c, packed, block, from - block * columns, end - block * columns, scratch, zeros);
        from = end;
    }
}

SC_ALGORITHM(conv_nhwc, .fits = fits, .pack_bytes = pack_bytes, .pack = pack,
             .scratch_bytes = scratch_bytes, .tiles = tiles, .run = run);
