// Convolution with a single tap and unit stride on planes: a matrix product of the weights with the
// input in place.
// In wasm: -O3
#include "compute/conv.h"
#include "compute/simd/gemm_f32.h"

static bool fits(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    if (c->transposed || sc_conv_taps(c) != 1) return false;
    for (int d = 0; d < 3; d++) {
        if (c->stride[d] != 1 || c->pad[d] != 0 || c->in[d] != c->out[d]) return false;
    }
    bool dense = c->weight_step[1] == 1 || c->in_channels == 1;
    return dense && c->in_step[1] == sc_conv_in_area(c) && c->out_step[1] == sc_conv_out_area(c) &&
           sc_conv_planes(c->in_step, c->in) && sc_conv_planes(c->out_step, c->out);
}

// From this number of positions on, scaling a copy of the weights is cheaper than scaling the
// results.
static bool may_scale_weights(const sc_conv *c) { return sc_conv_in_area(c) >= 512; }

static bool is_vector(const sc_conv *c) { return sc_conv_in_area(c) == 1; }

static uint64_t panel_bytes(const sc_conv *c) {
    return sc_gemm_nn_scratch((uint64_t)c->out_channels, (uint64_t)sc_conv_in_area(c),
                              (uint64_t)c->in_channels);
}

// Scratch: the product's panel, scale and shift of all channels, scaled weights of a group.
static uint64_t scratch_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    uint64_t channels = (uint64_t)sc_conv_channels(c);
    uint64_t weights = may_scale_weights(c) ? (uint64_t)(c->out_channels * c->in_channels) : 0;
    return panel_bytes(c) + (2 * channels + weights) * sizeof(float);
}

// The product of every group, without the operands: one position is a vector times the transposed
// weights.
static sc_gemm_f32 shape_of(const sc_conv *c) {
    const size_t channels = (size_t)c->out_channels, area = (size_t)sc_conv_in_area(c);
    const sc_finish *finish = &c->record.finish;
    return (sc_gemm_f32){.m = is_vector(c) ? 1 : channels,
                         .n = is_vector(c) ? channels : area,
                         .k = (size_t)c->in_channels,
                         .c_row = is_vector(c) ? channels : area,
                         .clamps = finish->clamps,
                         .low = finish->low,
                         .high = finish->high};
}

static int64_t tiles_of_group(const sc_conv *c) {
    const sc_gemm_f32 g = shape_of(c);
    return (int64_t)(is_vector(c) ? sc_gemm_nt_tiles(&g) : sc_gemm_nn_tiles(&g));
}

static int64_t tiles(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->batch * c->groups * tiles_of_group(c);
}

static void scale_weights(const sc_conv *c, const float *weight, const float *scale, float *to) {
    for (int64_t o = 0; o < c->out_channels; o++, weight += c->weight_step[0])
        for (int64_t i = 0; i < c->in_channels; i++) *to++ = weight[i] * scale[o];
}

// Places of buffers in scratch.
typedef struct places {
    float *panel, *scale, *shift, *scaled;
} places;

static void run_vector(const sc_conv *c, sc_gemm_f32 *g, const float *input, const float *weight,
                       int64_t from, int64_t to) {
    g->a = input, g->a_row = g->k;
    g->b = weight, g->b_row = (size_t)c->weight_step[0];
    sc_gemm_nt_f32(g, (size_t)from, (size_t)to);
}

static void run_area(const sc_conv *c, sc_gemm_f32 *g, const float *input, const float *weight,
                     const places *p, int64_t from, int64_t to) {
    g->a = weight, g->a_row = (size_t)c->weight_step[0];
    g->b = input, g->b_row = g->n;
    if (g->row_scale && may_scale_weights(c)) {
        scale_weights(c, weight, g->row_scale, p->scaled);
        g->a = p->scaled, g->a_row = g->k;
        g->row_scale = NULL;
    }
    sc_gemm_nn_f32(g, (size_t)from, (size_t)to, p->panel);
}

// Tiles [from, to) of one group of one batch item.
static void run_group(const sc_conv *c, const places *p, int64_t n, int64_t group, int64_t from,
                      int64_t to) {
    const int64_t first = group * c->out_channels;
    const float *input =
        (const float *)c->input + n * c->in_step[0] + group * c->in_channels * c->in_step[1];
    const float *weight = (const float *)c->weight + group * c->weight_group;
    const float *scale = c->record.finish.scale ? p->scale + first : NULL;
    sc_gemm_f32 g = shape_of(c);
    g.c = (float *)c->output + n * c->out_step[0] + first * c->out_step[1];
    if (is_vector(c)) {
        g.col_scale = scale, g.col_shift = p->shift + first;
        run_vector(c, &g, input, weight, from, to);
    } else {
        g.row_scale = scale, g.row_shift = p->shift + first;
        run_area(c, &g, input, weight, p, from, to);
    }
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const int64_t channels = sc_conv_channels(c), group_tiles = tiles_of_group(c);
    places p = {.panel = scratch};
    (void)packed;
    p.scale = p.panel + panel_bytes(c) / sizeof(float);
    p.shift = p.scale + channels;
    p.scaled = p.shift + channels;
    for (int64_t o = 0; o < channels; o++) {
        p.scale[o] = sc_finish_scale(&record->finish, o);
        p.shift[o] = sc_conv_shift(c, o);
    }
    while (from < to) {
        const int64_t item = from / group_tiles, end = sc_min_i64(to, (item + 1) * group_tiles);
        run_group(c, &p, item / c->groups, item % c->groups, from - item * group_tiles,
                  end - item * group_tiles);
        from = end;
    }
}

SC_ALGORITHM(conv_pointwise, .fits = fits, .scratch_bytes = scratch_bytes, .tiles = tiles,
             .run = run);
