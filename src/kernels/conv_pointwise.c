// Convolution with a single tap and unit stride on planes: a matrix product of the weights with the
// input as it lies.
#include "kernels/conv.h"
#include "kernels/simd/gemm_f32.h"

static bool fits(const sc_conv *c) {
    if (c->transposed || sc_conv_taps(c) != 1) return false;
    for (int d = 0; d < 3; d++) {
        if (c->stride[d] != 1 || c->pad[d] != 0 || c->in[d] != c->out[d]) return false;
    }
    bool dense = c->weight_step[1] == 1 || c->in_channels == 1;
    return dense && c->in_step[1] == sc_conv_in_area(c) && c->out_step[1] == sc_conv_out_area(c) &&
           sc_conv_planes(c->in_step, c->in) && sc_conv_planes(c->out_step, c->out);
}

// With this many positions, scaling a copy of the weights is cheaper than scaling the results.
static bool may_scale_weights(const sc_conv *c) { return sc_conv_in_area(c) >= 512; }

static uint64_t panel_bytes(const sc_conv *c) {
    return sc_gemm_nn_scratch((uint64_t)c->out_channels, (uint64_t)sc_conv_in_area(c),
                              (uint64_t)c->in_channels);
}

// Scratch: the product's panel, scale and shift of all channels, scaled weights of a group. Does
// not depend on the epilogue, which may be fused in after the scratch has been asked for.
static uint64_t scratch_bytes(const sc_conv *c) {
    uint64_t channels = (uint64_t)(c->groups * c->out_channels);
    uint64_t weights = may_scale_weights(c) ? (uint64_t)(c->out_channels * c->in_channels) : 0;
    return panel_bytes(c) + (2 * channels + weights) * sizeof(float);
}

static void scale_weights(const sc_conv *c, const float *weight, const float *scale, float *to) {
    for (int64_t o = 0; o < c->out_channels; o++, weight += c->weight_step[0])
        for (int64_t i = 0; i < c->in_channels; i++) *to++ = weight[i] * scale[o];
}

// One position: a vector times the transposed weights.
static void run_vector(const sc_conv *c, sc_gemm_f32 *g, const float *input, const float *weight,
                       const float *scale, const float *shift) {
    g->m = 1, g->n = (size_t)c->out_channels;
    g->a = input, g->a_row = g->k;
    g->b = weight, g->b_row = (size_t)c->weight_step[0];
    g->c_row = g->n;
    g->col_scale = scale, g->col_shift = shift;
    sc_gemm_nt_f32(g);
}

static void run_area(const sc_conv *c, sc_gemm_f32 *g, const float *input, const float *weight,
                     const float *scale, const float *shift, float *panel, float *scaled) {
    const bool scales = c->epilogue && c->epilogue->scale;
    g->m = (size_t)c->out_channels, g->n = (size_t)sc_conv_in_area(c);
    g->a = weight, g->a_row = (size_t)c->weight_step[0];
    g->b = input, g->b_row = g->n;
    g->c_row = g->n;
    g->row_scale = scales ? scale : NULL;
    g->row_shift = shift;
    if (scales && may_scale_weights(c)) {
        scale_weights(c, weight, scale, scaled);
        g->a = scaled, g->a_row = g->k;
        g->row_scale = NULL;
    }
    sc_gemm_nn_f32(g, panel);
}

static void run(const sc_conv *c, void *scratch) {
    const int64_t channels = c->groups * c->out_channels;
    const sc_epilogue *e = c->epilogue;
    float *panel = scratch, *scale = panel + panel_bytes(c) / sizeof(float);
    float *shift = scale + channels, *scaled = shift + channels;
    for (int64_t o = 0; o < channels; o++) {
        scale[o] = sc_conv_scale(c, o);
        shift[o] = sc_conv_shift(c, o);
    }
    for (int64_t n = 0; n < c->batch; n++) {
        for (int64_t g = 0; g < c->groups; g++) {
            const int64_t first = g * c->out_channels;
            const float *input = c->input + n * c->in_step[0] + g * c->in_channels * c->in_step[1];
            const float *weight = c->weight + g * c->weight_group;
            sc_gemm_f32 gemm = {
                .k = (size_t)c->in_channels,
                .c = c->output + n * c->out_step[0] + first * c->out_step[1],
                .clamps = e && e->clamps,
                .low = e ? e->low : 0,
                .high = e ? e->high : 0,
            };
            if (sc_conv_in_area(c) == 1)
                run_vector(c, &gemm, input, weight, scale + first, shift + first);
            else
                run_area(c, &gemm, input, weight, scale + first, shift + first, panel, scaled);
        }
    }
}

const sc_conv_variant sc_conv_pointwise = {"pointwise", fits, scratch_bytes, run};
