// Convolution of 8-bit pixels with adjacent channels, as a product with packed weights: a row of
// the product is an output pixel. The numbers that its taps read are copied, a few pixels at a
// time. One row widens them to 16 bits without their zero point, so that the padding is 0. The
// other one multiplies their bytes (gemm_dot_i8.h). Each image may have a zero point of its own.
// In wasm: -O3
#include "compute/conv.h"
#include "compute/simd/dot_i8.h"
#include "compute/simd/gemm_dot_i8.h"

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

static uint64_t group_bytes(const sc_conv *c, bool dots) {
    const sc_pack_source source = sc_conv_column_weights(c, 0);
    return (dots ? sc_pack_columns_dot_bytes : sc_pack_columns_i8_bytes)(&source);
}

static void pack_groups(const sc_conv *c, void *packed, bool dots) {
    for (int64_t g = 0; g < c->groups; g++) {
        const sc_pack_source source = sc_conv_column_weights(c, g);
        (dots ? sc_pack_columns_dot : sc_pack_columns_i8)(
            &source, (uint8_t *)packed + (uint64_t)g * group_bytes(c, dots));
    }
}

// --- Rows ----------------------------------------------------------------------------------------

// Writes the numbers that a row of taps reads in a row of the input, from column x on.
static uint8_t *put_taps(const sc_conv *c, const sc_gemm_rows_i8 *r, const int8_t *row, int64_t x,
                         int32_t zero, uint8_t *to) {
    const int64_t channels = c->in_channels, step = c->in_step[4];
    const bool adjoins = step == channels && c->dilation[2] == 1;
    int64_t count = 1;
    for (int64_t k = 0; k < c->kernel[2]; k += count, x += count * c->dilation[2]) {
        const bool inside = x >= 0 && x < c->in[2];
        count = inside && adjoins ? sc_min_i64(c->kernel[2] - k, c->in[2] - x) : 1;
        to = inside ? sc_gemm_row_put(r, row + x * step, zero, (size_t)(count * channels), to)
                    : sc_gemm_row_pad(r, zero, (size_t)channels, to);
    }
    return to;
}

// The offset of the first tap of output `at`, if all its taps are inside and those of a row adjoin;
// else -1.
static int64_t window_at(const sc_conv *c, const int64_t at[3]) {
    int64_t offset = 0;
    if (c->in_step[4] != c->in_channels || c->dilation[2] != 1) return -1;
    for (int d = 0; d < 3; d++) {
        const int64_t first = at[d] * c->stride[d] - c->pad[d];
        if (first < 0 || first + (c->kernel[d] - 1) * c->dilation[d] >= c->in[d]) return -1;
        offset += first * c->in_step[2 + d];
    }
    return offset;
}

// Writes the numbers of a whole window.
static void put_window(const sc_conv *c, const sc_gemm_rows_i8 *r, const int8_t *input,
                       int32_t zero, uint8_t *to) {
    const size_t count = (size_t)(c->kernel[2] * c->in_channels);
    for (int64_t i = 0; i < c->kernel[0]; i++) {
        const int8_t *row = input + i * c->dilation[0] * c->in_step[2];
        for (int64_t j = 0; j < c->kernel[1]; j++, row += c->dilation[1] * c->in_step[3])
            to = sc_gemm_row_put(r, row, zero, count, to);
    }
}

// Writes the numbers that output `at` reads.
static void put_pixel(const sc_conv *c, const sc_gemm_rows_i8 *r, const int8_t *input,
                      const int64_t at[3], int32_t zero, uint8_t *to) {
    const int64_t x = at[2] * c->stride[2] - c->pad[2], window = window_at(c, at);
    if (window >= 0) {
        put_window(c, r, input + window, zero, to);
        return;
    }
    for (int64_t i = 0; i < c->kernel[0]; i++) {
        for (int64_t j = 0; j < c->kernel[1]; j++) {
            int64_t z, y;
            if (sc_conv_input_at(c, 0, at[0], i, &z) && sc_conv_input_at(c, 1, at[1], j, &y))
                to = put_taps(c, r, input + z * c->in_step[2] + y * c->in_step[3], x, zero, to);
            else
                to = sc_gemm_row_pad(r, zero, (size_t)(c->kernel[2] * c->in_channels), to);
        }
    }
}

// Is the image itself, pixel by pixel, the left operand?
static bool is_pointwise(const sc_conv *c) {
    for (int d = 0; d < 3; d++) {
        if (c->kernel[d] != 1 || c->stride[d] != 1 || c->pad[d] != 0) return false;
    }
    return sc_conv_pixel_step(c->in_step, c->in, c->in_channels) > 0;
}

// Writes the rows of pixels from `first` on.
static void put_pixels(const sc_conv *c, const sc_gemm_rows_i8 *r, const int8_t *input,
                       int64_t first, int32_t zero) {
    const int64_t *out = c->out;
    const int64_t step =
        is_pointwise(c) ? sc_conv_pixel_step(c->in_step, c->in, c->in_channels) : 0;
    int64_t at[3] = {first / out[2] / out[1], first / out[2] % out[1], first % out[2]};
    for (size_t i = 0; i < r->m; i++) {
        uint8_t *row = sc_gemm_row_begin(r, i);
        if (step)
            sc_gemm_row_put(r, input + (first + (int64_t)i) * step, zero, r->k, row);
        else
            put_pixel(c, r, input, at, zero, row);
        sc_gemm_row_end(r, i);
        if (step || ++at[2] < out[2]) continue;
        at[2] = 0;
        if (++at[1] == out[1]) at[1] = 0, at[0]++;
    }
}

// --- Run -----------------------------------------------------------------------------------------

// The tiles of some pixels of a batch item and group: columns [from, to), in tiles.
static void run_pixels(const sc_conv *c, sc_gemm_i8 *g, sc_gemm_rows_i8 *rows,
                       const uint8_t *packed, int64_t block, int64_t from, int64_t to) {
    const int64_t area = sc_conv_out_area(c), blocks = sc_blocks_of(area, PIXELS);
    const int64_t n = block / blocks / c->groups, group = block / blocks % c->groups;
    const int64_t first = block % blocks * PIXELS;
    const sc_input_quant *quant = &c->record.quant;
    const bool floats = c->record.out == SC_DTYPE_F32;
    const int32_t zero = quant->zero ? quant->zero[n * quant->step] : 0, bytes = zero + rows->flip;
    float scales[PIXELS];
    for (int i = 0; i < PIXELS; i++) scales[i] = quant->scale ? quant->scale[n * quant->step] : 1;
    g->m = rows->m = (size_t)sc_min_i64(PIXELS, area - first);
    g->packed = packed + (uint64_t)group * group_bytes(c, rows->dots);
    g->row_scale = floats ? scales : NULL;
    g->zeros = &bytes, g->same_zero = true;
    g->c = (char *)c->output + (n * c->out_step[0] + group * c->out_channels * c->out_step[1] +
                                first * (int64_t)g->c_row) *
                                   (int64_t)(floats ? sizeof(float) : 1);
    put_pixels(c, rows,
               (const int8_t *)c->input + n * c->in_step[0] +
                   group * c->in_channels * c->in_step[1],
               first, zero);
    (rows->dots ? sc_gemm_run_dot : sc_gemm_run_i8)(
        g, (size_t)(from * COLUMNS), (size_t)sc_min_i64(to * COLUMNS, c->out_channels));
}

static void run_tiles(const sc_conv *c, const void *packed, int64_t from, int64_t to, void *scratch,
                      bool dots) {
    const int64_t columns = sc_blocks_of(c->out_channels, COLUMNS);
    sc_gemm_rows_i8 rows = {
        .a = scratch, .k = depth_of(c), .dots = dots, .flip = dots ? sc_dot_flip() : 0};
    sc_gemm_i8 g = {.n = (size_t)c->out_channels,
                    .k = depth_of(c),
                    .a = scratch,
                    .c_row = (size_t)sc_conv_pixel_step(c->out_step, c->out, c->out_channels),
                    .finish = &c->record.finish};
    while (from < to) {
        const int64_t block = from / columns, end = sc_min_i64(to, (block + 1) * columns);
        run_pixels(c, &g, &rows, packed, block, from - block * columns, end - block * columns);
        from = end;
    }
}

// --- Widened -------------------------------------------------------------------------------------

static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return (uint64_t)c->groups * group_bytes(c, false);
}

static void pack(const sc_record *record, void *packed) {
    pack_groups(sc_conv_of(record), packed, false);
}

// The rows of a tile.
static uint64_t scratch_bytes(const sc_record *record) {
    return sc_gemm_rows_bytes(PIXELS, depth_of(sc_conv_of(record)), false);
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    run_tiles(sc_conv_of(record), packed, from, to, scratch, false);
}

SC_ALGORITHM(conv_nhwc_i8, .fits = fits, .pack_bytes = pack_bytes, .pack = pack,
             .scratch_bytes = scratch_bytes, .tiles = sc_conv_block_tiles, .run = run);

// --- Dot products --------------------------------------------------------------------------------

static bool fits_dot(const sc_record *record) { return sc_dot_is_exact() && fits(record); }

static uint64_t pack_bytes_dot(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return (uint64_t)c->groups * group_bytes(c, true);
}

static void pack_dot(const sc_record *record, void *packed) {
    pack_groups(sc_conv_of(record), packed, true);
}

static uint64_t scratch_bytes_dot(const sc_record *record) {
    return sc_gemm_rows_bytes(PIXELS, depth_of(sc_conv_of(record)), true);
}

static void run_dot(const sc_record *record, const void *packed, int64_t from, int64_t to,
                    void *scratch) {
    run_tiles(sc_conv_of(record), packed, from, to, scratch, true);
}

SC_ALGORITHM(conv_nhwc_dot, .fits = fits_dot, .pack_bytes = pack_bytes_dot, .pack = pack_dot,
             .scratch_bytes = scratch_bytes_dot, .tiles = sc_conv_block_tiles, .run = run_dot);
