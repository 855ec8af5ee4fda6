// Convolution as a matrix product that gathers its right operand. It takes 16 output positions at a
// time. Every input value that they need becomes a row of a panel, which is multiplied with all
// output channels. The weights are used in place if their taps are dense, else from a packed copy.
// In wasm: -O3
#include "compute/conv.h"
#include "compute/simd/gemm_f32.h"
#include "compute/simd/simd.h"

// Consecutive columns of a panel row that read the input at a constant step; the rest are zero.
typedef struct segment {
    size_t column, count;
    int64_t offset;  // input elements from the channel's start
} segment;

// Consecutive columns of a panel that lie in one output row.
typedef struct stretch {
    size_t column, count;
    int64_t at[3];  // output position of the first
} stretch;

typedef struct gather {
    const sc_conv *conv;
    const float *input;  // of this batch item and group
    int64_t channel_step;
    size_t row_channel, row_tap;  // panel rows from one channel / one tap to the next
    int64_t column_step;          // input elements between neighbouring columns of a segment
    const int64_t *reach;         // per tap column: first and end of the outputs that read inside
    stretch stretches[SC_GEMM_PANEL];
    size_t stretch_count, width;
} gather;

// --- The input of a tap --------------------------------------------------------------------------

// For each tap column the range of output columns whose input is not in the padding.
static void find_reach(const sc_conv *c, int64_t *reach) {
    const int64_t s = c->stride[2];
    for (int64_t k = 0; k < c->kernel[2]; k++) {
        int64_t before = c->pad[2] - k * c->dilation[2];  // outputs o with o * s < before miss
        int64_t end = c->in[2] + before;
        reach[2 * k] = before > 0 ? (before + s - 1) / s : 0;
        reach[2 * k + 1] = end > 0 ? (end + s - 1) / s : 0;
    }
}

// The part of a stretch that a tap reads; false if it is empty.
static bool clip(const gather *g, const stretch *in, int64_t row, int64_t tap, segment *out) {
    const sc_conv *c = g->conv;
    int64_t first = sc_max_i64(in->at[2], g->reach[2 * tap]);
    int64_t end = sc_min_i64(in->at[2] + (int64_t)in->count, g->reach[2 * tap + 1]);
    if (first >= end) return false;
    int64_t x = first * c->stride[2] - c->pad[2] + tap * c->dilation[2];
    *out = (segment){in->column + (size_t)(first - in->at[2]), (size_t)(end - first),
                     row + x * c->in_step[4]};
    return true;
}

// A transposed convolution reads the input at every stride-th column only: one segment each.
static size_t find_scattered(const gather *g, const stretch *in, int64_t row, int64_t tap,
                             segment *out) {
    size_t count = 0;
    for (size_t j = 0; j < in->count; j++) {
        int64_t x;
        if (sc_conv_input_at(g->conv, 2, in->at[2] + (int64_t)j, tap, &x))
            out[count++] = (segment){in->column + j, 1, row + x * g->conv->in_step[4]};
    }
    return count;
}

// Finds all reads of one tap, as segments; returns their number.
static size_t find_segments(const gather *g, const int64_t tap[3], segment out[SC_GEMM_PANEL]) {
    const sc_conv *c = g->conv;
    size_t count = 0;
    for (size_t s = 0; s < g->stretch_count; s++) {
        const stretch *in = &g->stretches[s];
        int64_t z, y;
        if (!sc_conv_input_at(c, 0, in->at[0], tap[0], &z) ||
            !sc_conv_input_at(c, 1, in->at[1], tap[1], &y))
            continue;
        int64_t row = z * c->in_step[2] + y * c->in_step[3];
        if (c->transposed)
            count += find_scattered(g, in, row, tap[2], out + count);
        else
            count += clip(g, in, row, tap[2], &out[count]);
    }
    return count;
}

// --- Filling a panel -----------------------------------------------------------------------------

static void copy_whole_rows(const gather *g, const float *in, float *row) {
    for (int64_t i = 0; i < g->conv->in_channels; i++) {
        for (size_t j = 0; j < SC_GEMM_PANEL; j += 4) v4f_store(row + j, v4f_load(in + j));
        in += g->channel_step;
        row += g->row_channel * SC_GEMM_PANEL;
    }
}

// Reads sixteen columns, two apart, without touching memory after the last one.
static void copy_every_second(const gather *g, const float *in, float *row) {
    for (int64_t i = 0; i < g->conv->in_channels; i++) {
        for (size_t j = 0; j < SC_GEMM_PANEL - 4; j += 4)
            v4f_store(row + j, __builtin_shufflevector(v4f_load(in + 2 * j),
                                                       v4f_load(in + 2 * j + 4), 0, 2, 4, 6));
        v4f_store(row + 12,
                  __builtin_shufflevector(v4f_load(in + 23), v4f_load(in + 27), 1, 3, 5, 7));
        in += g->channel_step;
        row += g->row_channel * SC_GEMM_PANEL;
    }
}

static void copy_segment(const segment *s, const float *in, int64_t step, float *row) {
    const float *from = in + s->offset;
    float *to = row + s->column;
    if (step != 1) {
        for (size_t j = 0; j < s->count; j++) to[j] = from[(int64_t)j * step];
        return;
    }
    size_t j = 0;
    for (; j + 4 <= s->count; j += 4) v4f_store(to + j, v4f_load(from + j));
    for (; j < s->count; j++) to[j] = from[j];
}

static void copy_segments(const gather *g, const segment *segments, size_t count, float *row) {
    const float *in = g->input;
    for (int64_t i = 0; i < g->conv->in_channels; i++) {
        for (size_t j = 0; j < SC_GEMM_PANEL; j += 4) v4f_store(row + j, v4f_zero());
        for (size_t s = 0; s < count; s++) copy_segment(&segments[s], in, g->column_step, row);
        in += g->channel_step;
        row += g->row_channel * SC_GEMM_PANEL;
    }
}

// Fills one row of the panel per input channel, for the tap of `segments`.
static void copy_tap(const gather *g, const segment *segments, size_t count, float *row) {
    const bool whole = count == 1 && segments[0].count == SC_GEMM_PANEL;
    if (whole && g->column_step == 1)
        copy_whole_rows(g, g->input + segments[0].offset, row);
    else if (whole && g->column_step == 2)
        copy_every_second(g, g->input + segments[0].offset, row);
    else
        copy_segments(g, segments, count, row);
}

static void fill_panel(const gather *g, float *panel) {
    const sc_conv *c = g->conv;
    int64_t tap[3];
    float *row = panel;
    for (tap[0] = 0; tap[0] < c->kernel[0]; tap[0]++) {
        for (tap[1] = 0; tap[1] < c->kernel[1]; tap[1]++) {
            for (tap[2] = 0; tap[2] < c->kernel[2]; tap[2]++) {
                segment segments[SC_GEMM_PANEL];
                copy_tap(g, segments, find_segments(g, tap, segments), row);
                row += g->row_tap * SC_GEMM_PANEL;
            }
        }
    }
}

static void set_columns(gather *g, int64_t first, size_t width) {
    const int64_t *out = g->conv->out;
    int64_t x = first % out[2], y = first / out[2] % out[1], z = first / out[2] / out[1];
    g->width = width;
    g->stretch_count = 0;
    for (size_t j = 0; j < width;) {
        size_t count = (size_t)sc_min_i64((int64_t)(width - j), out[2] - x);
        g->stretches[g->stretch_count++] = (stretch){j, count, {z, y, x}};
        j += count;
        x = 0;
        if (++y == out[1]) y = 0, z++;
    }
}

// --- Weights and results -------------------------------------------------------------------------

static size_t depth_of(const sc_conv *c) { return (size_t)(c->in_channels * sc_conv_taps(c)); }

typedef enum weight_order { TAPS_INNER, CHANNELS_INNER, SCATTERED } weight_order;

static weight_order order_of(const sc_conv *c) {
    int64_t depth = (int64_t)depth_of(c), taps = sc_conv_taps(c);
    const int64_t *w = c->weight_step, *k = c->kernel;
    bool row_dense = w[0] == depth || c->out_channels == 1;
    if (row_dense && w[1] == taps && sc_conv_planes(w, k)) return TAPS_INNER;
    if (row_dense && w[1] == 1 && w[4] == c->in_channels && w[3] == k[2] * w[4] &&
        w[2] == k[1] * w[3])
        return CHANNELS_INNER;
    return SCATTERED;
}

static void pack_weights(const sc_conv *c, const float *weight, float *to) {
    const int64_t *w = c->weight_step;
    for (int64_t o = 0; o < c->out_channels; o++)
        for (int64_t i = 0; i < c->in_channels; i++)
            for (int64_t d = 0; d < c->kernel[0]; d++)
                for (int64_t y = 0; y < c->kernel[1]; y++)
                    for (int64_t x = 0; x < c->kernel[2]; x++)
                        *to++ = weight[o * w[0] + i * w[1] + d * w[2] + y * w[3] + x * w[4]];
}

static void scatter_tile(const gather *g, const float *tile, float *output) {
    const sc_conv *c = g->conv;
    for (size_t s = 0; s < g->stretch_count; s++) {
        const stretch *in = &g->stretches[s];
        float *to = output + in->at[0] * c->out_step[2] + in->at[1] * c->out_step[3] +
                    in->at[2] * c->out_step[4];
        for (size_t j = 0; j < in->count; j++, to += c->out_step[4])
            for (int64_t o = 0; o < c->out_channels; o++)
                to[o * c->out_step[1]] = tile[o * SC_GEMM_PANEL + (int64_t)(in->column + j)];
    }
}

// Scratch in order: reach, panel, scale and shift of all channels, tile of results, and a group's
// weights if every run must pack them.
typedef struct layout {
    uint64_t panel, scale, shift, tile, weight, total;  // in floats
} layout;

static layout layout_of(const sc_conv *c) {
    uint64_t depth = depth_of(c), out = (uint64_t)c->out_channels;
    layout l = {0};
    l.panel = sc_align_up((uint64_t)c->kernel[2] * 2 * sizeof(int64_t) / sizeof(float), 16);
    l.scale = l.panel + depth * SC_GEMM_PANEL;
    l.shift = l.scale + out * (uint64_t)c->groups;
    l.tile = l.shift + out * (uint64_t)c->groups;
    l.weight = l.tile + out * SC_GEMM_PANEL;
    l.total = l.weight + (order_of(c) == SCATTERED ? depth * out : 0);
    return l;
}

static bool fits(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->out_channels > 1 || c->in_channels > 1;
}

// For weights that would have to be packed in every run.
static bool fits_packed(const sc_record *record) {
    return fits(record) && order_of(sc_conv_of(record)) == SCATTERED;
}

static uint64_t packed_floats(const sc_conv *c) { return depth_of(c) * (uint64_t)c->out_channels; }

// The weights of all groups, then scale and shift of all channels.
static uint64_t pack_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    const uint64_t weights = (uint64_t)c->groups * packed_floats(c);
    return (weights + 2 * (uint64_t)sc_conv_channels(c)) * sizeof(float);
}

static void set_finish(const sc_conv *c, float *scale, float *shift) {
    for (int64_t o = 0; o < sc_conv_channels(c); o++) {
        scale[o] = sc_finish_scale(&c->record.finish, o);
        shift[o] = sc_conv_shift(c, o);
    }
}

static void pack(const sc_record *record, void *packed) {
    const sc_conv *c = sc_conv_of(record);
    for (int64_t group = 0; group < c->groups; group++)
        pack_weights(c, (const float *)c->weight + group * c->weight_group,
                     (float *)packed + (uint64_t)group * packed_floats(c));
    float *scale = (float *)packed + (uint64_t)c->groups * packed_floats(c);
    set_finish(c, scale, scale + sc_conv_channels(c));
}

static uint64_t scratch_bytes(const sc_record *record) {
    return layout_of(sc_conv_of(record)).total * sizeof(float);
}

static uint64_t packed_scratch_bytes(const sc_record *record) {
    return layout_of(sc_conv_of(record)).weight * sizeof(float);
}

static int64_t panels_of(const sc_conv *c) {
    return (sc_conv_out_area(c) + SC_GEMM_PANEL - 1) / SC_GEMM_PANEL;
}

static int64_t tiles(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->batch * c->groups * panels_of(c);
}

// Panels [from, to) of one group of one batch item.
static void run_group(const sc_conv *c, const float *packed, const layout *l, float *scratch,
                      int64_t n, int64_t group, int64_t from, int64_t to) {
    const int64_t channel = group * c->out_channels, area = sc_conv_out_area(c);
    const weight_order order = order_of(c);
    const sc_finish *finish = &c->record.finish;
    const float *weight = (const float *)c->weight + group * c->weight_group;
    const bool planes = sc_conv_planes(c->out_step, c->out);
    float *output = (float *)c->output + n * c->out_step[0] + channel * c->out_step[1];
    const float *scale = scratch + l->scale, *shift = scratch + l->shift;
    if (packed) {
        weight = packed + (uint64_t)group * packed_floats(c);
        scale = packed + (uint64_t)c->groups * packed_floats(c);
        shift = scale + sc_conv_channels(c);
    } else if (order == SCATTERED) {
        pack_weights(c, weight, scratch + l->weight);
        weight = scratch + l->weight;
    }
    gather g = {
        .conv = c,
        .input =
            (const float *)c->input + n * c->in_step[0] + group * c->in_channels * c->in_step[1],
        .channel_step = c->in_step[1],
        .row_channel = order == CHANNELS_INNER ? 1 : (size_t)sc_conv_taps(c),
        .row_tap = order == CHANNELS_INNER ? (size_t)c->in_channels : 1,
        .reach = (const int64_t *)(const void *)scratch,
        .column_step = c->in_step[4] * (c->transposed ? 1 : c->stride[2]),
    };
    sc_gemm_f32 gemm = {
        .m = (size_t)c->out_channels,
        .k = depth_of(c),
        .a = weight,
        .a_row = depth_of(c),
        .c = planes ? output : scratch + l->tile,
        .c_row = planes ? (size_t)c->out_step[1] : SC_GEMM_PANEL,
        .row_scale = finish->scale ? scale + channel : NULL,
        .row_shift = shift + channel,
        .clamps = finish->clamps,
        .low = finish->low,
        .high = finish->high,
    };
    for (int64_t first = from * SC_GEMM_PANEL; first < sc_min_i64(area, to * SC_GEMM_PANEL);
         first += SC_GEMM_PANEL) {
        set_columns(&g, first, (size_t)sc_min_i64(SC_GEMM_PANEL, area - first));
        fill_panel(&g, scratch + l->panel);
        sc_gemm_panel_f32(&gemm, scratch + l->panel, SC_GEMM_PANEL, planes ? (size_t)first : 0,
                          g.width);
        if (!planes) scatter_tile(&g, scratch + l->tile, output);
    }
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    float *floats = scratch;
    const layout l = layout_of(c);
    const int64_t panels = panels_of(c);
    find_reach(c, scratch);
    if (!packed) set_finish(c, floats + l.scale, floats + l.shift);
    while (from < to) {
        const int64_t item = from / panels, end = sc_min_i64(to, (item + 1) * panels);
        run_group(c, packed, &l, floats, item / c->groups, item % c->groups, from - item * panels,
                  end - item * panels);
        from = end;
    }
}

SC_ALGORITHM(conv_packed_panels, .fits = fits_packed, .pack_bytes = pack_bytes, .pack = pack,
             .scratch_bytes = packed_scratch_bytes, .tiles = tiles, .run = run);
SC_ALGORITHM(conv_panels, .fits = fits, .scratch_bytes = scratch_bytes, .tiles = tiles, .run = run);
