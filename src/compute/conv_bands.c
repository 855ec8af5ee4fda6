// A convolution and the depthwise one that reads its results, in turns: some rows of the first,
// then the rows of the second that they are enough for. So the second finds its inputs in the
// cache. The tiles of both are the same as in two calls, and so are the bits. Several threads
// compute one after the other, because ranges of rows would overlap.
#include "base/parallel.h"
#include "compute/conv.h"

// Bytes of results that stay in the second-level cache while they are read. Images that fit into it
// as a whole gain less than the turns cost.
enum { BAND_BYTES = 256 << 10, IMAGE_BYTES = 1 << 20 };

static int64_t row_bytes(const sc_conv *c) {
    return c->out[2] * sc_conv_channels(c) * (int64_t)sizeof(float);
}

bool sc_conv_is_pair(const sc_conv_call *first, const sc_conv_call *second) {
    const sc_conv *a = sc_conv_of(first->record), *b = sc_conv_of(second->record);
    return first->variant->algorithm->tiles == sc_conv_block_tiles &&
           second->variant->algorithm->tiles == sc_conv_row_tiles && a->batch == 1 &&
           a->groups == 1 && a->out[0] == 1 && b->batch == 1 && b->in[1] == a->out[1] &&
           row_bytes(a) * a->out[1] > IMAGE_BYTES;
}

static void run_tiles(const sc_conv_call *call, int64_t from, int64_t to, void *scratch) {
    if (from < to) call->variant->algorithm->run(call->record, call->packed, from, to, scratch);
}

// The tiles of the first that have the inputs of all rows of the second before `end`.
static int64_t tiles_for(const sc_conv *a, const sc_conv *b, int64_t end) {
    const int64_t reach = (b->kernel[1] - 1) * b->dilation[1] - b->pad[1];
    const int64_t last = (end - 1) * b->stride[1] + reach;
    const int64_t rows = sc_max_i64(0, sc_min_i64(last + 1, a->out[1]));
    return sc_blocks_of(rows * a->out[2], SC_CONV_PIXELS) *
           sc_blocks_of(a->out_channels, SC_CONV_COLUMNS);
}

void sc_conv_run_pair(const sc_conv_call *first, const sc_conv_call *second, void *scratch) {
    const sc_conv *a = sc_conv_of(first->record), *b = sc_conv_of(second->record);
    if (sc_parallel_width() > 1) {
        sc_variant_run(first->variant, first->record, first->packed, scratch);
        sc_variant_run(second->variant, second->record, second->packed, scratch);
        return;
    }
    const int64_t rows = sc_conv_row_tiles(second->record);
    const int64_t band = sc_max_i64(1, BAND_BYTES / (row_bytes(a) * b->stride[1]));
    int64_t done = 0;
    for (int64_t row = 0; row < rows; row += band) {
        const int64_t end = sc_min_i64(row + band, rows), tiles = tiles_for(a, b, end);
        run_tiles(first, done, tiles, scratch);
        run_tiles(second, row, end, scratch);
        done = sc_max_i64(done, tiles);
    }
    run_tiles(first, done, sc_conv_block_tiles(first->record), scratch);
}
