// Convolution with a single tap and unit stride on planes: a matrix product of the weights with the
// input as it lies.
#include "kernels/conv.h"
#include "kernels/simd/gemm_f32.h"

static bool fits(const sc_conv *c) {
    if (c->transposed || sc_conv_taps(c) != 1)
        return false;
    for (int d = 0; d < 3; d++) {
        if (c->stride[d] != 1 || c->pad[d] != 0 || c->in[d] != c->out[d])
            return false;
    }
    bool dense = c->weight_step[1] == 1 || c->in_channels == 1;
    return dense && c->in_step[1] == sc_conv_in_area(c) && c->out_step[1] == sc_conv_out_area(c) &&
           sc_conv_planes(c->in_step, c->in) && sc_conv_planes(c->out_step, c->out);
}

// Scratch: the product's panel, then scale and shift of all channels.
static uint64_t scratch_bytes(const sc_conv *c) {
    uint64_t channels = (uint64_t)(c->groups * c->out_channels);
    return sc_gemm_nn_scratch((uint64_t)c->in_channels) + 2 * channels * sizeof(float);
}

static void run(const sc_conv *c, void *scratch) {
    const size_t area = (size_t)sc_conv_in_area(c);
    float *panel = scratch, *scale = panel + c->in_channels * SC_GEMM_PANEL;
    float *shift = scale + c->groups * c->out_channels;
    for (int64_t o = 0; o < c->groups * c->out_channels; o++) {
        scale[o] = sc_conv_scale(c, o);
        shift[o] = sc_conv_shift(c, o);
    }
    for (int64_t n = 0; n < c->batch; n++) {
        for (int64_t g = 0; g < c->groups; g++) {
            const int64_t channel = g * c->out_channels;
            const float *input = c->input + n * c->in_step[0] + g * c->in_channels * c->in_step[1];
            const float *weight = c->weight + g * c->weight_group;
            float *output = c->output + n * c->out_step[0] + channel * c->out_step[1];
            sc_gemm_f32 gemm = {
                .k = (size_t)c->in_channels, .c = output, .clamps = c->epilogue && c->epilogue->clamps,
                .low = c->epilogue ? c->epilogue->low : 0,
                .high = c->epilogue ? c->epilogue->high : 0,
            };
            if (area == 1) {  // one position: a vector times the transposed weights
                gemm.m = 1, gemm.n = (size_t)c->out_channels;
                gemm.a = input, gemm.a_row = gemm.k;
                gemm.b = weight, gemm.b_row = (size_t)c->weight_step[0];
                gemm.c_row = gemm.n;
                gemm.col_scale = scale + channel, gemm.col_shift = shift + channel;
                sc_gemm_nt_f32(&gemm);
            } else {
                gemm.m = (size_t)c->out_channels, gemm.n = area;
                gemm.a = weight, gemm.a_row = (size_t)c->weight_step[0];
                gemm.b = input, gemm.b_row = area;
                gemm.c_row = area;
                gemm.row_scale = scale + channel, gemm.row_shift = shift + channel;
                sc_gemm_nn_f32(&gemm, panel);
            }
        }
    }
}

const sc_conv_variant sc_conv_pointwise = {"pointwise", fits, scratch_bytes, run};
