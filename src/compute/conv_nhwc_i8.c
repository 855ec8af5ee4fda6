// Convolution of 8-bit pixels with adjacent channels, as a product with packed weights: a row of
// the product is an output pixel. The numbers that its taps read are widened to 16 bits, a few
// pixels at a time, without their zero point. So the padding is 0, and each image may have a zero
// point of its own.
// In wasm: -O3
#include "compute/conv.h"
#include "compute/simd/gemm_i8.h"

enum { PIXELS = SC_CONV_PIXELS, COLUMNS = SC_CONV_COLUMNS };

// --- Shape ---------------------------------------------------------------------------------------

static size_t depth_of(const sc_conv *c) { return (size_t)(c->in_channels * sc_conv_taps(c)); }

static bool fits(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return sc_record_is_quantized(record) && !record->weights.scales && !c->transposed &&
           (record->out == SC_DTYPE_I8 || record->out == SC_DTYPE_F32) &&
           (!c->bias || record->bias == SC_DTYPE_I32) &&
           (c->in_step[1] == 1 || c->in_channels == 1) &&
           sc_conv_pixel_step(c->out_step, c->out, c->out_channels) > 0 && c->in_channels > 0 &&
           c->out_channels > 0;
}

static uint64_t group_bytes(const sc_conv *c) {
    const sc_pack_source source = sc_conv_column_weights(c, 0);
    return sc_pack_columns_i8_bytes(&source);
}

static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return (uint64_t)c->groups * group_bytes(c);
}

static void pack(const sc_record *record, void *packed) {
    const sc_conv *c = sc_conv_of(record);
    for (int64_t g = 0; g < c->groups; g++) {
        const sc_pack_source source = sc_conv_column_weights(c, g);
        sc_pack_columns_i8(&source, (uint8_t *)packed + (uint64_t)g * group_bytes(c));
    }
}

// The rows of a tile.
static uint64_t scratch_bytes(const sc_record *record) {
    return sc_gemm_a_i8(PIXELS, depth_of(sc_conv_of(record))) * sizeof(int16_t);
}

// --- Widening taps -------------------------------------------------------------------------------

// Widens the numbers that a row of taps reads in a row of the input, from column x on. Outside the
// input they are zeros.
static void widen_taps(const sc_conv *c, const int8_t *row, int64_t x, int32_t zero, int16_t *to) {
    const int64_t channels = c->in_channels, step = c->in_step[4];
    const bool adjoins = step == channels && c->dilation[2] == 1;
    int64_t count = 1;
    for (int64_t k = 0; k < c->kernel[2]; k += count, x += count * c->dilation[2]) {
        const bool inside = x >= 0 && x < c->in[2];
        if (inside) {
            count = adjoins ? sc_min_i64(c->kernel[2] - k, c->in[2] - x) : 1;
            sc_gemm_widen_i8(row + x * step, zero, (size_t)(count * channels), to);
        } else {
            count = 1;
            memset(to, 0, (size_t)channels * sizeof *to);
        }
        to += count * channels;
    }
}

// Widens the numbers that output `at` reads, and appends a 0 if their number is odd.
static void widen_pixel(const sc_conv *c, const int8_t *input, const int64_t at[3], int32_t zero,
                        int16_t *to) {
    const int64_t row = c->kernel[2] * c->in_channels;
    const int64_t x = at[2] * c->stride[2] - c->pad[2];
    for (int64_t i = 0; i < c->kernel[0]; i++) {
        for (int64_t j = 0; j < c->kernel[1]; j++, to += row) {
            int64_t z, y;
            if (sc_conv_input_at(c, 0, at[0], i, &z) && sc_conv_input_at(c, 1, at[1], j, &y))
                widen_taps(c, input + z * c->in_step[2] + y * c->in_step[3], x, zero, to);
            else
                memset(to, 0, (size_t)row * sizeof *to);
        }
    }
    if (depth_of(c) % 2) *to = 0;
}

// Is the image itself, pixel by pixel, the left operand?
static bool is_pointwise(const sc_conv *c) {
    for (int d = 0; d < 3; d++) {
        if (c->kernel[d] != 1 || c->stride[d] != 1 || c->pad[d] != 0) return false;
    }
    return sc_conv_pixel_step(c->in_step, c->in, c->in_channels) > 0;
}

static void widen_pixels(const sc_conv *c, const int8_t *input, int64_t first, size_t count,
                         int32_t zero, int16_t *rows) {
    const int64_t *out = c->out;
    const size_t depth = depth_of(c);
    const int64_t step =
        is_pointwise(c) ? sc_conv_pixel_step(c->in_step, c->in, c->in_channels) : 0;
    int64_t at[3] = {first / out[2] / out[1], first / out[2] % out[1], first % out[2]};
    for (size_t i = 0; i < count; i++) {
        int16_t *row = sc_gemm_row_i8(rows, count, depth, i);
        if (step) {
            sc_gemm_widen_i8(input + (first + (int64_t)i) * step, zero, depth, row);
            if (depth % 2) row[depth] = 0;
        } else {
            widen_pixel(c, input, at, zero, row);
        }
        if (i + 1 == count || (i + 1) % SC_GEMM_ROWS_I8 == 0)
            sc_gemm_rows_i8(rows, count, depth, i);
        if (step || ++at[2] < out[2]) continue;
        at[2] = 0;
        if (++at[1] == out[1]) at[1] = 0, at[0]++;
    }
}

// --- Run -----------------------------------------------------------------------------------------

// The tiles of some pixels of a batch item and group: columns [from, to), in tiles.
static void run_pixels(const sc_conv *c, sc_gemm_i8 *g, const uint8_t *packed, int64_t block,
                       int64_t from, int64_t to, int16_t *rows) {
    const int64_t area = sc_conv_out_area(c), blocks = sc_blocks_of(area, PIXELS);
    const int64_t n = block / blocks / c->groups, group = block / blocks % c->groups;
    const int64_t first = block % blocks * PIXELS;
    const sc_input_quant *quant = &c->record.quant;
    const bool floats = c->record.out == SC_DTYPE_F32;
    float scales[PIXELS];
    for (int i = 0; i < PIXELS; i++) scales[i] = quant->scale ? quant->scale[n * quant->step] : 1;
    g->m = (size_t)sc_min_i64(PIXELS, area - first);
    g->packed = packed + (uint64_t)group * group_bytes(c);
    g->row_scale = floats ? scales : NULL;
    g->c = (char *)c->output + (n * c->out_step[0] + group * c->out_channels * c->out_step[1] +
                                first * (int64_t)g->c_row) *
                                   (int64_t)(floats ? sizeof(float) : 1);
    widen_pixels(
        c, (const int8_t *)c->input + n * c->in_step[0] + group * c->in_channels * c->in_step[1],
        first, g->m, quant->zero ? quant->zero[n * quant->step] : 0, rows);
    sc_gemm_run_i8(g, (size_t)(from * COLUMNS), (size_t)sc_min_i64(to * COLUMNS, c->out_channels));
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const int64_t columns = sc_blocks_of(c->out_channels, COLUMNS);
    sc_gemm_i8 g = {.n = (size_t)c->out_channels,
                    .k = depth_of(c),
                    .a = scratch,
                    .c_row = (size_t)sc_conv_pixel_step(c->out_step, c->out, c->out_channels),
                    .finish = &record->finish};
    while (from < to) {
        const int64_t block = from / columns, end = sc_min_i64(to, (block + 1) * columns);
        run_pixels(c, &g, packed, block, from - block * columns, end - block * columns, scratch);
        from = end;
    }
}

SC_ALGORITHM(conv_nhwc_i8, .fits = fits, .pack_bytes = pack_bytes, .pack = pack,
             .scratch_bytes = scratch_bytes, .tiles = sc_conv_block_tiles, .run = run);
