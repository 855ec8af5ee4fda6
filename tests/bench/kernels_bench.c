// The hot kernels on the shapes of real models: every convolution algorithm on each layer of
// MobileNetV2 that it fits, and matrix products of transformers.
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "kernels/conv.h"
#include "kernels/simd/gemm_f32.h"

static float *floats(size_t count) {
    float *values = calloc(count + 16, sizeof(float));
    for (size_t i = 0; i < count; i++) values[i] = (float)(i % 13) - 6;
    return values;
}

typedef struct layer {
    int in, out, size, kernel, stride, groups;
} layer;

// Distinct shapes of MobileNetV2 at 224 x 224, and dense 3 x 3 layers of a ResNet and a detector.
static const layer layers[] = {
    {3, 32, 224, 3, 2, 1},     {32, 32, 112, 3, 1, 32},   {32, 16, 112, 1, 1, 1},
    {16, 96, 112, 1, 1, 1},    {96, 96, 112, 3, 2, 96},   {96, 24, 56, 1, 1, 1},
    {24, 144, 56, 1, 1, 1},    {144, 144, 56, 3, 1, 144}, {144, 24, 56, 1, 1, 1},
    {144, 144, 56, 3, 2, 144}, {144, 32, 28, 1, 1, 1},    {32, 192, 28, 1, 1, 1},
    {192, 192, 28, 3, 1, 192}, {192, 32, 28, 1, 1, 1},    {192, 192, 28, 3, 2, 192},
    {192, 64, 14, 1, 1, 1},    {64, 384, 14, 1, 1, 1},    {384, 384, 14, 3, 1, 384},
    {384, 64, 14, 1, 1, 1},    {384, 96, 14, 1, 1, 1},    {96, 576, 14, 1, 1, 1},
    {576, 576, 14, 3, 1, 576}, {576, 96, 14, 1, 1, 1},    {576, 576, 14, 3, 2, 576},
    {576, 160, 7, 1, 1, 1},    {160, 960, 7, 1, 1, 1},    {960, 960, 7, 3, 1, 960},
    {960, 160, 7, 1, 1, 1},    {960, 320, 7, 1, 1, 1},    {320, 1280, 7, 1, 1, 1},
    {64, 64, 56, 3, 1, 1},     {256, 256, 14, 3, 1, 1},   {16, 32, 60, 3, 1, 1},
};

typedef struct conv_run {
    sc_conv conv;
    sc_conv_fn run;
    void *scratch;
} conv_run;

static void run_conv(void *user) {
    conv_run *r = user;
    r->run(&r->conv, r->scratch);
}

static void bench_layer(const layer *l) {
    const int64_t out = (l->size - 1) / l->stride + 1, pad = l->kernel / 2;
    const int64_t in_c = l->in / l->groups, out_c = l->out / l->groups, k = l->kernel;
    const int64_t area = (int64_t)l->size * l->size;
    conv_run r = {.conv = {.batch = 1,
                           .groups = l->groups,
                           .in_channels = in_c,
                           .out_channels = out_c,
                           .in = {1, l->size, l->size},
                           .out = {1, out, out},
                           .kernel = {1, k, k},
                           .stride = {1, l->stride, l->stride},
                           .pad = {0, pad, pad},
                           .dilation = {1, 1, 1},
                           .in_step = {l->in * area, area, area, l->size, 1},
                           .out_step = {l->out * out * out, out * out, out * out, out, 1},
                           .weight_step = {in_c * k * k, k * k, k * k, k, 1},
                           .weight_group = out_c * in_c * k * k}};
    char row[96];
    r.conv.input = floats((size_t)(l->in * area));
    r.conv.weight = floats((size_t)(l->out * in_c * k * k));
    r.conv.output = floats((size_t)(l->out * out * out));
    for (uint32_t v = 0; v + 1 < sc_conv_variant_count; v++) {
        const sc_conv_variant *variant = sc_conv_variants[v];
        if (!variant->fits(&r.conv)) continue;
        snprintf(row, sizeof row, "%s %dx%dx%d k%d s%d g%d -> %d", variant->name, l->in, l->size,
                 l->size, l->kernel, l->stride, l->groups, l->out);
        r.run = variant->run;
        r.scratch = malloc(variant->scratch ? (size_t)variant->scratch(&r.conv) + 64 : 64);
        bench_run(row, 2.0 * (double)(l->out * in_c * k * k * out * out), run_conv, &r);
        free(r.scratch);
    }
    free((void *)(uintptr_t)r.conv.input);
    free((void *)(uintptr_t)r.conv.weight);
    free(r.conv.output);
}

BENCH(conv) {
    for (size_t i = 0; i < SC_COUNT_OF(layers); i++) bench_layer(&layers[i]);
}

typedef struct gemm_run {
    sc_gemm_f32 gemm;
    float *scratch;
    void (*volatile nt)(const sc_gemm_f32 *);  // so that the loop around it stays out of line
    void (*volatile nn)(const sc_gemm_f32 *, float *);
} gemm_run;

static void run_gemm(void *user) {
    gemm_run *r = user;
    if (r->nt)
        r->nt(&r->gemm);
    else
        r->nn(&r->gemm, r->scratch);
}

BENCH(gemm) {
    static const size_t shapes[][3] = {{1, 512, 64},    {1, 768, 768},   {1, 4096, 1024},
                                       {16, 64, 64},    {192, 384, 384}, {192, 768, 768},
                                       {512, 512, 512}, {64, 64, 8}};
    for (size_t i = 0; i < SC_COUNT_OF(shapes); i++) {
        const size_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
        for (int nt = 0; nt < 2; nt++) {
            gemm_run r = {.gemm = {.m = m,
                                   .n = n,
                                   .k = k,
                                   .a = floats(m * k),
                                   .a_row = k,
                                   .b = floats(n * k),
                                   .b_row = nt ? k : n,
                                   .c = floats(m * n),
                                   .c_row = n},
                          .scratch = malloc((size_t)sc_gemm_nn_scratch(m, n, k) + 64),
                          .nt = nt ? sc_gemm_nt_f32 : NULL,
                          .nn = sc_gemm_nn_f32};
            char row[64];
            snprintf(row, sizeof row, "%s %zux%zux%zu", nt ? "nt" : "nn", m, n, k);
            bench_run(row, 2.0 * (double)m * (double)n * (double)k, run_gemm, &r);
            free((void *)(uintptr_t)r.gemm.a);
            free((void *)(uintptr_t)r.gemm.b);
            free(r.gemm.c);
            free(r.scratch);
        }
    }
}
