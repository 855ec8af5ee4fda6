#include "compute/pack.h"

#include "base/parallel.h"

static size_t depth_of(const sc_pack_source *s) {
    return (size_t)(s->sizes[0] * s->sizes[1] * s->sizes[2] * s->sizes[3]);
}

// Packs the panel of the columns from `first` on. Panels of floats are written whole, others begin
// as zeros.
typedef void pack_panel_fn(const sc_pack_source *s, size_t first, uint8_t *panel);

// Panels of columns, which threads pack one by one.
typedef struct panels {
    const sc_pack_source *s;
    uint8_t *packed;
    size_t bytes;  // of a panel
    pack_panel_fn *pack;
} panels;

static void pack_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const panels *p = work;
    (void)thread;
    for (size_t i = (size_t)from; i < (size_t)to; i++) {
        uint8_t *panel = p->packed + i * p->bytes;
        if (p->s->type != SC_DTYPE_F32) memset(panel, 0, p->bytes);
        p->pack(p->s, i * SC_PANEL, panel);
    }
}

static void pack_all(const sc_pack_source *s, void *packed, uint64_t bytes, pack_panel_fn *pack) {
    panels p = {s, packed, (size_t)bytes, pack};
    const double weights = (double)(depth_of(s) * SC_PANEL);
    sc_parallel_rows((int64_t)((s->columns + SC_PANEL - 1) / SC_PANEL), SC_COST_CONVERT * weights,
                     pack_part, &p);
}

// A walk through the steps of the sums.
typedef struct walk {
    int64_t at[4], offset;
} walk;

static void advance(const sc_pack_source *s, walk *w) {
    for (int d = 3; d >= 0; d--) {
        w->offset += s->steps[d];
        if (++w->at[d] < s->sizes[d]) return;
        w->offset -= s->steps[d] * s->sizes[d];
        w->at[d] = 0;
    }
}

static float scale_of(const sc_pack_source *s, size_t column) {
    return sc_finish_scale(s->finish, s->channel + (int64_t)column);
}

static float shift_of(const sc_pack_source *s, size_t column) {
    return sc_finish_shift(s->finish, s->channel + (int64_t)column);
}

// (sum + bias) * scale + shift, when the scale is in the weights already.
static float begin_of(const sc_pack_source *s, size_t column) {
    const float *bias = s->bias, shift = shift_of(s, column);
    return bias ? shift + bias[s->channel + (int64_t)column] * scale_of(s, column) : shift;
}

// --- Columns, f32 --------------------------------------------------------------------------------

uint64_t sc_pack_columns_f32_bytes(uint64_t columns, uint64_t depth, uint8_t weight,
                                   uint64_t block) {
    return sc_align_up(columns, SC_PANEL) / SC_PANEL * sc_panel_f32_bytes(depth, weight, block);
}

// The number of columns in the panel that begins with `first`.
static size_t width_of(const sc_pack_source *s, size_t first) {
    return s->columns - first < SC_PANEL ? s->columns - first : SC_PANEL;
}

static void pack_panel(const sc_pack_source *s, size_t first, float *to) {
    const size_t width = width_of(s, first);
    const float *weight = (const float *)s->weight + (int64_t)first * s->column_step;
    float scales[SC_PANEL];
    for (size_t j = 0; j < SC_PANEL; j++) {
        scales[j] = j < width ? scale_of(s, first + j) : 0;
        to[j] = j < width ? begin_of(s, first + j) : 0;
    }
    walk w = {0};
    for (size_t depth = depth_of(s); depth > 0; depth--, advance(s, &w)) {
        const float *from = weight + w.offset;
        to += SC_PANEL;
        for (size_t j = 0; j < SC_PANEL; j++)
            to[j] = j < width ? from[(int64_t)j * s->column_step] * scales[j] : 0;
    }
}

static uint8_t nibble_at(const sc_pack_source *s, int64_t at) {
    const unsigned shift = ((at & 1) != 0) == s->high_first ? 0 : 4;
    return ((const uint8_t *)s->weight)[at >> 1] >> shift & 15;
}

// The start of a column's sums, and its scales.
static void pack_raw_head(const sc_pack_source *s, size_t column, float *head, size_t at) {
    const size_t blocks = s->block ? depth_of(s) / s->block : 0;
    head[at] = begin_of(s, column);
    if (!blocks) head[SC_PANEL + at] = scale_of(s, column);
    for (size_t i = 0; i < blocks; i++)
        head[(i + 1) * SC_PANEL + at] = s->float_scales[column * blocks + i];
}

// Step `k` of column `at`, in a panel of zeros.
static void put_nibble(uint8_t *rows, size_t k, size_t at, uint8_t value) {
    rows[(k / 8 * SC_PANEL + at) * 4 + k % 8 / 2] |= (uint8_t)(value << (k % 2 * 4));
}

// Packs weights of fewer bits into a panel of zeros.
static void pack_raw_panel(const sc_pack_source *s, size_t first, float *head) {
    const size_t width = width_of(s, first), depth = depth_of(s);
    const size_t size = s->type == SC_DTYPE_I8 ? 1 : 2;
    uint8_t *to = (uint8_t *)(head + sc_panel_f32_head(depth, s->type, s->block) * SC_PANEL);
    for (size_t j = 0; j < width; j++) pack_raw_head(s, first + j, head, j);
    walk w = {0};
    for (size_t k = 0; k < depth; k++, advance(s, &w)) {
        for (size_t j = 0; j < width; j++) {
            const int64_t at = (int64_t)(first + j) * s->column_step + w.offset;
            if (s->type == SC_DTYPE_I4)
                put_nibble(to, k, j, nibble_at(s, at));
            else
                memcpy(to + (k * SC_PANEL + j) * size,
                       (const uint8_t *)s->weight + at * (int64_t)size, size);
        }
    }
}

static void pack_f32_panel(const sc_pack_source *s, size_t first, uint8_t *panel) {
    float *to = (float *)(void *)panel;
    (s->type == SC_DTYPE_F32 ? pack_panel : pack_raw_panel)(s, first, to);
}

void sc_pack_columns_f32(const sc_pack_source *s, void *packed) {
    pack_all(s, packed, sc_panel_f32_bytes(depth_of(s), s->type, s->block), pack_f32_panel);
}

// --- Columns, i8 ---------------------------------------------------------------------------------

uint64_t sc_pack_columns_i8_bytes(const sc_pack_source *s) {
    return sc_align_up(s->columns, SC_PANEL) / SC_PANEL *
           sc_panel_i8_bytes(depth_of(s), s->type == SC_DTYPE_I4, s->block);
}

// Column `at` of a panel's rows of four bytes: the start of its sum, its scale and its shift.
static void pack_head(const sc_pack_source *s, size_t column, uint8_t *panel, size_t pitch,
                      size_t at) {
    const int32_t begin = s->bias ? ((const int32_t *)s->bias)[s->channel + (int64_t)column] : 0;
    const float scale = scale_of(s, column), shift = shift_of(s, column);
    memcpy(panel + 4 * at, &begin, 4);
    memcpy(panel + 4 * (pitch + at), &scale, 4);
    memcpy(panel + 4 * (2 * pitch + at), &shift, 4);
}

// The rows of weights: columns, adjacent weights of a column, and how many of those exist.
typedef struct rows_shape {
    size_t pitch, slots, used;
} rows_shape;

// The weights of column `at`, in rows of zeros. Returns their sum.
static int32_t pack_rows(const sc_pack_source *s, size_t column, uint8_t *rows, rows_shape shape,
                         size_t at) {
    const int8_t *from = (const int8_t *)s->weight + (int64_t)column * s->column_step;
    const size_t depth = depth_of(s), bytes = shape.pitch * shape.slots;
    uint32_t sum = 0;
    walk w = {0};
    for (size_t k = 0; k < depth; k++, advance(s, &w)) {
        rows[k / shape.used * bytes + shape.slots * at + k % shape.used] = (uint8_t)from[w.offset];
        sum += (uint32_t)from[w.offset];
    }
    return (int32_t)sum;
}

// The pairs of weights of 4 bits.
static void pack_nibbles(const sc_pack_source *s, size_t column, uint8_t *rows, size_t at) {
    const size_t depth = depth_of(s), lane = at % 4 * 2, half = at / 4;
    walk w = {0};
    for (size_t k = 0; k < depth; k++, advance(s, &w)) {
        const unsigned value = nibble_at(s, (int64_t)column * s->column_step + w.offset) ^ 8u;
        const size_t byte = k / 4 * 2 * SC_PANEL + 2 * (lane + k % 2) + k / 2 % 2;
        rows[byte] |= (uint8_t)(value << (half * 4));
    }
}

static void pack_scales(const sc_pack_source *s, size_t column, uint8_t *rows, size_t at) {
    const size_t blocks = depth_of(s) / s->block;
    for (size_t i = 0; i < blocks; i++)
        memcpy(rows + 2 * (i * SC_PANEL + at), s->scales + column * blocks + i, 2);
}

static void pack_i8_column(const sc_pack_source *s, size_t column, uint8_t *panel) {
    const size_t at = column % SC_PANEL;
    uint8_t *scales = panel + 12 * SC_PANEL;
    uint8_t *weights = scales + sc_panel_scale_bytes(depth_of(s), s->block);
    pack_head(s, column, panel, SC_PANEL, at);
    if (s->block) pack_scales(s, column, scales, at);
    if (s->type == SC_DTYPE_I4)
        pack_nibbles(s, column, weights, at);
    else
        (void)pack_rows(s, column, weights, (rows_shape){SC_PANEL, 2, 2}, at);
}

static void pack_i8_panel(const sc_pack_source *s, size_t first, uint8_t *panel) {
    for (size_t k = 0; k < width_of(s, first); k++) pack_i8_column(s, first + k, panel);
}

void sc_pack_columns_i8(const sc_pack_source *s, void *packed) {
    pack_all(s, packed, sc_panel_i8_bytes(depth_of(s), s->type == SC_DTYPE_I4, s->block),
             pack_i8_panel);
}

// --- Columns, dot products -----------------------------------------------------------------------

uint64_t sc_pack_columns_dot_bytes(const sc_pack_source *s) {
    return sc_align_up(s->columns, SC_PANEL) / SC_PANEL *
           sc_panel_dot_bytes(depth_of(s), s->type == SC_DTYPE_I4, s->block);
}

// Do the weights of 4 bits of each column lie in order, in whole groups of four?
static bool is_in_fours(const sc_pack_source *s) {
    return s->sizes[3] % 4 == 0 && s->steps[3] == 1 && depth_of(s) == (size_t)s->sizes[3] &&
           s->column_step % 2 == 0;
}

// Four of these weights, a byte each.
static uint32_t four_at(const sc_pack_source *s, int64_t at) {
    const uint8_t *from = (const uint8_t *)s->weight + at / 2;
    uint32_t x = from[0] | (uint32_t)from[1] << 8;
    if (s->high_first) x = (x >> 4 & 0x0f0f) | (x & 0x0f0f) << 4;
    x = (x | x << 8) & 0x00ff00ff;
    return (x | x << 4) & 0x0f0f0f0f;
}

static uint32_t sum_of_four(uint32_t four) { return four * 0x01010101u >> 24; }

static void pack_fours(const sc_pack_source *s, size_t column, uint8_t *rows, size_t at) {
    const int64_t depth = s->sizes[3], from = (int64_t)column * s->column_step;
    const unsigned half = (unsigned)(at / 4 * 4);
    rows += at % 4 * 4;
    for (int64_t k = 0; k < depth; k += 4, rows += 16) {
        uint32_t row;
        memcpy(&row, rows, sizeof row);
        row |= four_at(s, from + k) << half;
        memcpy(rows, &row, sizeof row);
    }
}

// The nibbles of column `at`.
static void pack_halves(const sc_pack_source *s, size_t column, uint8_t *rows, size_t at) {
    const size_t depth = depth_of(s), half = at / 4;
    walk w = {0};
    for (size_t k = 0; k < depth; k++, advance(s, &w)) {
        const uint8_t value = nibble_at(s, (int64_t)column * s->column_step + w.offset);
        rows[k / 4 * 16 + at % 4 * 4 + k % 4] |= (uint8_t)(value << (half * 4));
    }
}

// The sum of `count` weights of 4 bits, from the walk on.
static int32_t sum_nibbles(const sc_pack_source *s, size_t column, size_t count, walk *w) {
    const int64_t from = (int64_t)column * s->column_step;
    int32_t sum = -8 * (int32_t)count;
    size_t k = 0;
    if (is_in_fours(s) && count % 4 == 0)
        for (; k < count; k += 4, w->offset += 4)
            sum += (int32_t)sum_of_four(four_at(s, from + w->offset));
    for (; k < count; k++, advance(s, w)) sum += nibble_at(s, from + w->offset);
    return sum;
}

// The sum of a column's weights, times their scales.
static float sum_blocks(const sc_pack_source *s, size_t column) {
    const size_t blocks = depth_of(s) / s->block;
    float sum = 0;
    walk w = {0};
    for (size_t i = 0; i < blocks; i++)
        sum += sc_bf16_to_f32(s->scales[column * blocks + i]) *
               (float)sum_nibbles(s, column, s->block, &w);
    return sum;
}

static void pack_dot_column(const sc_pack_source *s, size_t column, uint8_t *panel) {
    const size_t at = column % SC_PANEL, depth = depth_of(s);
    uint8_t *scales = panel + 16 * SC_PANEL;
    uint8_t *weights = scales + sc_panel_scale_bytes(depth, s->block);
    uint8_t *sums = panel + 4 * (3 * SC_PANEL + at);
    walk w = {0};
    int32_t sum;
    pack_head(s, column, panel, SC_PANEL, at);
    if (s->type == SC_DTYPE_I4) {
        (is_in_fours(s) ? pack_fours : pack_halves)(s, column, weights, at);
        sum = s->block ? 0 : sum_nibbles(s, column, depth, &w);
    } else {
        sum = pack_rows(s, column, weights, (rows_shape){SC_PANEL, 4, 4}, at);
    }
    memcpy(sums, &sum, 4);
    if (!s->block) return;
    const float scaled = sum_blocks(s, column);
    pack_scales(s, column, scales, at);
    memcpy(sums, &scaled, 4);
}

static void pack_dot_panel(const sc_pack_source *s, size_t first, uint8_t *panel) {
    for (size_t k = 0; k < width_of(s, first); k++) pack_dot_column(s, first + k, panel);
}

void sc_pack_columns_dot(const sc_pack_source *s, void *packed) {
    pack_all(s, packed, sc_panel_dot_bytes(depth_of(s), s->type == SC_DTYPE_I4, s->block),
             pack_dot_panel);
}

// --- Channels, f32 -------------------------------------------------------------------------------

uint64_t sc_pack_channels_f32_bytes(uint64_t channels, uint64_t taps) {
    return sc_align_up(channels, 4) * (taps + 1) * sizeof(float);
}

static void pack_channel(const sc_pack_source *s, size_t channel, float *to) {
    const float *from = (const float *)s->weight + (int64_t)channel * s->column_step;
    const float scale = scale_of(s, channel);
    *to = begin_of(s, channel);
    walk w = {0};
    for (size_t taps = depth_of(s); taps > 0; taps--, advance(s, &w))
        *(to += 4) = from[w.offset] * scale;
}

void sc_pack_channels_f32(const sc_pack_source *s, float *packed) {
    const size_t rows = depth_of(s) + 1;
    for (size_t c = 0; c < s->columns; c += 4, packed += 4 * rows) {
        const size_t first = c + 4 <= s->columns ? c : s->columns - 4;
        for (size_t i = 0; i < 4; i++) pack_channel(s, first + i, packed + i);
    }
}

// --- Channels, i8 --------------------------------------------------------------------------------

// Groups of shape.pitch channels, in `bytes` each.
static void pack_channels(const sc_pack_source *s, uint8_t *packed, rows_shape shape,
                          size_t bytes) {
    const size_t lanes = shape.pitch;
    for (size_t c = 0; c < s->columns; c += lanes, packed += bytes) {
        const size_t first = c + lanes <= s->columns ? c : s->columns - lanes;
        memset(packed, 0, bytes);
        for (size_t i = 0; i < lanes; i++) {
            pack_head(s, first + i, packed, lanes, i);
            const int32_t sum = pack_rows(s, first + i, packed + 16 * lanes, shape, i);
            memcpy(packed + 12 * lanes + 4 * i, &sum, 4);
        }
    }
}

uint64_t sc_pack_channels_i8_bytes(uint64_t channels, uint64_t taps) {
    return sc_align_up(channels, 8) * (16 + sc_align_up(taps, 2));
}

void sc_pack_channels_i8(const sc_pack_source *s, uint8_t *packed) {
    const size_t bytes = 8 * (16 + (depth_of(s) + 1) / 2 * 2);
    pack_channels(s, packed, (rows_shape){8, 2, 2}, bytes);
}

uint64_t sc_pack_channels_dot_bytes(uint64_t channels, uint64_t taps) {
    return sc_align_up(channels, 16) * (16 + taps / 3 * 4);
}

void sc_pack_channels_dot(const sc_pack_source *s, uint8_t *packed) {
    const size_t bytes = 16 * (16 + depth_of(s) / 3 * 4);
    pack_channels(s, packed, (rows_shape){16, 4, 3}, bytes);
}
