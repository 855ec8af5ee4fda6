// Convolution from planes to pixels with adjacent channels, as the first layer of a network needs
// it: its few channels lie in planes, and its results do not. It is a product with packed weights
// (implicit GEMM), in the order of the row for pixels, with the same bits. Four neighbouring
// outputs read each plane as a vector.
// In wasm: -O3
#include <math.h>

#include "compute/conv.h"
#include "compute/simd/igemm_f32.h"
#include "compute/simd/simd.h"

enum { PIXELS = SC_CONV_PIXELS, COLUMNS = SC_CONV_COLUMNS, ROWS = SC_IGEMM_ROWS };

static int64_t depth_of(const sc_conv *c) { return c->in_channels * sc_conv_taps(c); }

bool sc_conv_is_stem(const sc_conv *c) {
    const int64_t most = SC_IGEMM_STEPS;
    return !c->transposed && c->groups == 1 && c->in[0] == 1 && c->out[0] == 1 &&
           c->kernel[0] == 1 && c->pad[0] == 0 && c->in_channels > 0 && c->out_channels > 0 &&
           c->in_channels <= most && c->kernel[1] <= most && c->kernel[2] <= most &&
           sc_conv_taps(c) <= most && depth_of(c) <= most && sc_conv_planes(c->in_step, c->in) &&
           sc_conv_pixel_step(c->out_step, c->out, c->out_channels) > 0;
}

static bool fits(const sc_record *record) { return sc_conv_is_stem(sc_conv_of(record)); }

static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return sc_pack_columns_f32_bytes((uint64_t)c->out_channels, (uint64_t)depth_of(c), SC_DTYPE_F32,
                                     0);
}

static void pack(const sc_record *record, void *packed) {
    const sc_pack_source source = sc_conv_column_weights(sc_conv_of(record), 0);
    sc_pack_columns_f32(&source, packed);
}

// Scratch in order: the steps' places, and rows of the product.
static uint64_t places_bytes(const sc_conv *c) {
    return sc_align_up((uint64_t)depth_of(c) * sizeof(size_t), 64);
}

static uint64_t scratch_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return places_bytes(c) + PIXELS * (uint64_t)depth_of(c) * sizeof(float);
}

// --- Rows of the product -------------------------------------------------------------------------

// Finds what each step reads, from the first tap and channel on.
static void find_places(const sc_conv *c, size_t *places) {
    for (int64_t j = 0; j < c->kernel[1]; j++)
        for (int64_t k = 0; k < c->kernel[2]; k++)
            for (int64_t channel = 0; channel < c->in_channels; channel++)
                *places++ = (size_t)(channel * c->in_step[1] + j * c->dilation[1] * c->in_step[3] +
                                     k * c->dilation[2]);
}

// Four neighbouring outputs whose taps are all inside.
static inline void put_four(const size_t *places, size_t depth, const float *input,
                            const size_t stride, float *to) {
    for (size_t i = 0; i < depth; i++) {
        const float *from = input + places[i];
        v4f v;
        if (stride == 1)
            v = v4f_load(from);
        else if (stride == 2)
            v = __builtin_shufflevector(v4f_load(from), v4f_load(from + 3), 0, 2, 5, 7);
        else
            v = (v4f){from[0], from[stride], from[2 * stride], from[3 * stride]};
        v4f_store(to + ROWS * i, v);
    }
}

// One output of four.
static void put_one(const sc_conv *c, const float *input, int64_t out_y, int64_t out_x, float *to) {
    for (int64_t j = 0; j < c->kernel[1]; j++)
        for (int64_t k = 0; k < c->kernel[2]; k++) {
            int64_t y, x;
            const bool inside =
                sc_conv_input_at(c, 1, out_y, j, &y) && sc_conv_input_at(c, 2, out_x, k, &x);
            for (int64_t channel = 0; channel < c->in_channels; channel++, to += ROWS)
                *to = inside ? input[channel * c->in_step[1] + y * c->in_step[3] + x] : 0;
        }
}

// Are all taps of four outputs inside, which begin with (y, x) of the input?
static bool is_inside(const sc_conv *c, int64_t y, int64_t x) {
    const int64_t last_y = y + (c->kernel[1] - 1) * c->dilation[1];
    const int64_t last_x = x + (ROWS - 1) * c->stride[2] + (c->kernel[2] - 1) * c->dilation[2];
    return y >= 0 && last_y < c->in[1] && x >= 0 && last_x < c->in[2];
}

// Writes the steps of `count` outputs from `first` on, four outputs at a time. Missing ones repeat
// the last one.
static void put_rows(const sc_conv *c, const size_t *places, const float *input, int64_t first,
                     int64_t count, float *to) {
    const int64_t depth = depth_of(c), width = c->out[2], stride = c->stride[2];
    for (int64_t i = 0; i < count; i += ROWS, to += ROWS * depth) {
        const int64_t out_y = (first + i) / width, out_x = (first + i) % width;
        const int64_t y = out_y * c->stride[1] - c->pad[1], x = out_x * stride - c->pad[2];
        const bool in_row = out_x + ROWS <= width && i + ROWS <= count;
        if (in_row && is_inside(c, y, x)) {
            const float *from = input + y * c->in_step[3] + x;
            if (stride == 2)
                put_four(places, (size_t)depth, from, 2, to);
            else if (stride == 1)
                put_four(places, (size_t)depth, from, 1, to);
            else
                put_four(places, (size_t)depth, from, (size_t)stride, to);
            continue;
        }
        for (int64_t j = 0; j < ROWS; j++) {
            const int64_t at = first + sc_min_i64(i + j, count - 1);
            put_one(c, input, at / width, at % width, to + j);
        }
    }
}

// --- Run -----------------------------------------------------------------------------------------

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const int64_t columns = sc_blocks_of(c->out_channels, COLUMNS);
    const int64_t area = sc_conv_out_area(c), blocks = sc_blocks_of(area, PIXELS);
    const int64_t step = sc_conv_pixel_step(c->out_step, c->out, c->out_channels);
    const sc_finish *finish = &c->record.finish;
    size_t *places = scratch;
    float *rows = (float *)(void *)((uint8_t *)scratch + places_bytes(c));
    sc_igemm_f32 g = {.n = (size_t)c->out_channels,
                      .k = (size_t)depth_of(c),
                      .runs = 1,
                      .interleaved = rows,
                      .weight = SC_DTYPE_F32,
                      .packed = packed,
                      .c_row = (size_t)step,
                      .low = finish->clamps ? finish->low : -INFINITY,
                      .high = finish->clamps ? finish->high : INFINITY};
    find_places(c, places);
    while (from < to) {
        const int64_t block = from / columns, end = sc_min_i64(to, (block + 1) * columns);
        const int64_t n = block / blocks, first = block % blocks * PIXELS;
        g.m = (size_t)sc_min_i64(PIXELS, area - first);
        g.c = (float *)c->output + n * c->out_step[0] + first * step;
        put_rows(c, places, (const float *)c->input + n * c->in_step[0], first, (int64_t)g.m, rows);
        sc_igemm_run_f32(&g, (size_t)((from - block * columns) * COLUMNS),
                         (size_t)sc_min_i64((end - block * columns) * COLUMNS, c->out_channels));
        from = end;
    }
}

SC_ALGORITHM(conv_stem, .fits = fits, .pack_bytes = pack_bytes, .pack = pack,
             .scratch_bytes = scratch_bytes, .tiles = sc_conv_block_tiles, .run = run);
