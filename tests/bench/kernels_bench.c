// The hot kernels on the shapes of real models: every row of src/compute/variants.def on each layer
// of MobileNetV2 and each product of a transformer that it fits.
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "bench.h"
#include "compute/conv.h"
#include "compute/matmul.h"

static float *floats(size_t count) {
    float *values = sc_try_alloc((count + 16) * sizeof(float));
    for (size_t i = 0; i < count + 16; i++) values[i] = (float)(i % 13) - 6;
    return values;
}

typedef struct row_run {
    const sc_variant *variant;
    const sc_record *record;
    void *packed, *scratch;
} row_run;

static void run_row(void *user) {
    const row_run *r = user;
    sc_variant_run(r->variant, r->record, r->packed, r->scratch);
}

// Every row but the reference that fits, under its name and that of the shape.
static void bench_rows(const sc_record *record, const char *shape, double flops) {
    for (uint32_t i = 0; i + 1 < sc_variant_count; i++) {
        const sc_variant *v = &sc_variants[i];
        char name[128];
        if (v->kind != record->kind || v->in == SC_DTYPE_NONE || !sc_variant_fits(v, record))
            continue;
        snprintf(name, sizeof name, "%s %s", strchr(v->name, '_') + 1, shape);
        if (!bench_wanted(name)) continue;
        row_run r = {v, record, NULL, sc_try_alloc(sc_variant_scratch_bytes(v, record))};
        if (v->algorithm->pack) {
            r.packed = sc_try_alloc(sc_variant_pack_bytes(v, record));
            v->algorithm->pack(record, r.packed);
        }
        bench_run(name, flops, run_row, &r);
        sc_free(r.packed);
        sc_free(r.scratch);
    }
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

// Steps of planes, or of pixels whose channels lie side by side.
static void set_steps(int64_t step[5], int64_t channels, int64_t size, bool nhwc) {
    const int64_t area = size * size, planes[5] = {channels * area, area, area, size, 1};
    const int64_t pixels[5] = {channels * area, 1, channels * area, channels * size, channels};
    memcpy(step, nhwc ? pixels : planes, sizeof planes);
}

// The same layer on pixels of 8 bits, requantized.
static void bench_byte_layer(sc_conv conv, const char *shape, double flops) {
    const size_t in = (size_t)conv.in_step[0], out = (size_t)conv.out_step[0];
    const size_t channels = (size_t)sc_conv_channels(&conv);
    const size_t weights = channels * (size_t)(conv.in_channels * sc_conv_taps(&conv));
    const int32_t zero = 3;
    const float scale = 0x1p-8f;
    int8_t *input = sc_try_alloc(in), *weight = sc_try_alloc(weights);
    for (size_t i = 0; i < in; i++) input[i] = (int8_t)(i * 7);
    for (size_t i = 0; i < weights; i++) weight[i] = (int8_t)(i * 5);
    char name[112];
    snprintf(name, sizeof name, "%s qs8", shape);
    conv.input = input, conv.weight = weight, conv.output = sc_try_alloc(out);
    conv.record.in = conv.record.weight = conv.record.out = SC_DTYPE_I8;
    conv.record.quant.zero = &zero;
    conv.record.finish.scale = &scale;
    bench_rows(&conv.record, name, flops);
    sc_free(input);
    sc_free(weight);
    sc_free(conv.output);
}

static void bench_layer(const layer *l, bool nhwc) {
    const int64_t out = (l->size - 1) / l->stride + 1, pad = l->kernel / 2;
    const int64_t in_c = l->in / l->groups, out_c = l->out / l->groups, k = l->kernel;
    const int64_t area = (int64_t)l->size * l->size;
    float *input = floats((size_t)(l->in * area));
    float *weight = floats((size_t)(l->out * in_c * k * k));
    float *output = floats((size_t)(l->out * out * out));
    sc_conv conv = {.record = {.kind = SC_RECORD_CONV,
                               .in = SC_DTYPE_F32,
                               .weight = SC_DTYPE_F32,
                               .out = SC_DTYPE_F32},
                    .batch = 1,
                    .groups = l->groups,
                    .in_channels = in_c,
                    .out_channels = out_c,
                    .in = {1, l->size, l->size},
                    .out = {1, out, out},
                    .kernel = {1, k, k},
                    .stride = {1, l->stride, l->stride},
                    .pad = {0, pad, pad},
                    .dilation = {1, 1, 1},
                    .weight_step = {in_c * k * k, k * k, k * k, k, 1},
                    .weight_group = out_c * in_c * k * k,
                    .input = input,
                    .weight = weight,
                    .output = output};
    set_steps(conv.in_step, l->in, l->size, nhwc);
    set_steps(conv.out_step, l->out, out, nhwc);
    char shape[96];
    snprintf(shape, sizeof shape, "%dx%dx%d k%d s%d g%d -> %d%s", l->in, l->size, l->size,
             l->kernel, l->stride, l->groups, l->out, nhwc ? " nhwc" : "");
    const double flops = 2.0 * (double)(l->out * in_c * k * k * out * out);
    bench_rows(&conv.record, shape, flops);
    if (nhwc) bench_byte_layer(conv, shape, flops);
    sc_free(input);
    sc_free(weight);
    sc_free(output);
}

// A transposed layer of stride 2, as decoders have them: twice the size, weights [in, out, k, k].
static void bench_decoder(int64_t in, int64_t out, int64_t size, int64_t k) {
    const int64_t area = size * size, taps = k * k;
    float *input = floats((size_t)(in * area)), *weight = floats((size_t)(in * out * taps));
    float *output = floats((size_t)(out * area * 4));
    const sc_conv conv = {.record = {.kind = SC_RECORD_CONV,
                                     .in = SC_DTYPE_F32,
                                     .weight = SC_DTYPE_F32,
                                     .out = SC_DTYPE_F32},
                          .batch = 1,
                          .groups = 1,
                          .in_channels = in,
                          .out_channels = out,
                          .in = {1, size, size},
                          .out = {1, 2 * size, 2 * size},
                          .kernel = {1, k, k},
                          .stride = {1, 2, 2},
                          .pad = {0, k / 2 - 1, k / 2 - 1},
                          .dilation = {1, 1, 1},
                          .transposed = true,
                          .in_step = {in * area, area, area, size, 1},
                          .out_step = {out * area * 4, area * 4, area * 4, 2 * size, 1},
                          .weight_step = {taps, out * taps, taps, k, 1},
                          .weight_group = in * out * taps,
                          .input = input,
                          .weight = weight,
                          .output = output};
    char shape[96];
    snprintf(shape, sizeof shape, "%dx%dx%d k%d up2 -> %d", (int)in, (int)size, (int)size, (int)k,
             (int)out);
    bench_rows(&conv.record, shape, 2.0 * (double)(in * out * taps * area));
    sc_free(input);
    sc_free(weight);
    sc_free(output);
}

BENCH(conv) {
    for (size_t i = 0; i < 2 * SC_COUNT_OF(layers); i++) bench_layer(&layers[i / 2], i % 2);
    bench_decoder(512, 256, 4, 4);
    bench_decoder(256, 128, 14, 2);
    bench_decoder(128, 64, 32, 4);
}

static void bench_product(sc_matmul *mm, const char *kind) {
    char shape[64];
    const size_t count = (size_t)(mm->m * mm->n);
    mm->c = floats(count);
    mm->c_row = mm->n, mm->c_column = 1;
    mm->batch = 1, mm->alpha = mm->beta = 1;
    mm->record.kind = SC_RECORD_MATMUL;
    snprintf(shape, sizeof shape, "%lldx%lldx%lld%s", (long long)mm->m, (long long)mm->n,
             (long long)mm->k, kind);
    bench_rows(&mm->record, shape, 2.0 * (double)count * (double)mm->k);
    sc_free(mm->c);
}

// Weights as [N, K], as a linear layer has them, or as [K, N].
static void bench_floats(int64_t m, int64_t n, int64_t k, bool weight_nk) {
    float *a = floats((size_t)(m * k)), *b = floats((size_t)(n * k));
    const sc_record record = {.in = SC_DTYPE_F32, .weight = SC_DTYPE_F32, .out = SC_DTYPE_F32};
    sc_matmul mm = {.record = record,
                    .m = m,
                    .n = n,
                    .k = k,
                    .a = {a, 0, k, 1},
                    .b = {b, 0, weight_nk ? 1 : n, weight_nk ? k : 1}};
    bench_product(&mm, weight_nk ? "" : " kn");
    sc_free(a);
    sc_free(b);
}

// Weights of fewer bits with floats.
static void bench_few_bits(int64_t m, int64_t n, int64_t k) {
    static const struct {
        uint8_t type;
        const char *name;
    } types[] = {{SC_DTYPE_I8, " qc8w"}, {SC_DTYPE_I4, " qc4w"}, {SC_DTYPE_BF16, " bf16"}};
    float *a = floats((size_t)(m * k)), *b = floats((size_t)(n * k)), *scale = floats((size_t)n);
    for (size_t i = 0; i < SC_COUNT_OF(types); i++) {
        const sc_record record = {.in = SC_DTYPE_F32,
                                  .weight = types[i].type,
                                  .out = SC_DTYPE_F32,
                                  .finish = {.scale = scale, .scale_step = 1}};
        sc_matmul mm = {
            .record = record, .m = m, .n = n, .k = k, .a = {a, 0, k, 1}, .b = {b, 0, 1, k}};
        bench_product(&mm, types[i].name);
    }
    sc_free(a);
    sc_free(b);
    sc_free(scale);
}

// 8 bits: requantized, and to floats from rows that have a zero point and a scale each.
static void bench_bytes(int64_t m, int64_t n, int64_t k) {
    int8_t *a = sc_try_alloc((uint64_t)(m * k)), *b = sc_try_alloc((uint64_t)(n * k));
    float *scale = floats((size_t)(m + n));
    int32_t *zero = sc_try_alloc((uint64_t)m * sizeof *zero);
    for (int64_t i = 0; i < m; i++) zero[i] = (int32_t)(i % 7);
    for (int64_t i = 0; i < m * k; i++) a[i] = (int8_t)(i * 7);
    for (int64_t i = 0; i < n * k; i++) b[i] = (int8_t)(i * 5);
    const sc_record record = {.in = SC_DTYPE_I8,
                              .weight = SC_DTYPE_I8,
                              .out = SC_DTYPE_I8,
                              .quant = {.zero = zero},
                              .finish = {.scale = scale, .scale_step = 1}};
    sc_matmul mm = {.record = record, .m = m, .n = n, .k = k, .a = {a, 0, k, 1}, .b = {b, 0, 1, k}};
    bench_product(&mm, " qs8");
    mm.record.out = SC_DTYPE_F32;
    mm.record.quant = (sc_input_quant){zero, scale, 1};
    bench_product(&mm, " qd8");
    mm.record.weight = SC_DTYPE_I4;
    bench_product(&mm, " qd8 qc4w");
    if (k % 32 == 0) {
        uint16_t *scales = sc_try_alloc((uint64_t)(n * k / 32) * sizeof *scales);
        for (int64_t i = 0; i < n * k / 32; i++) scales[i] = sc_f32_to_bf16(0.5f);
        mm.record.weights = (sc_weight_quant){.scales = scales, .block = 32};
        bench_product(&mm, " qd8 qb4w");
        sc_free(scales);
    }
    sc_free(a);
    sc_free(b);
    sc_free(scale);
    sc_free(zero);
}

BENCH(gemm) {
    static const int64_t shapes[][3] = {{1, 512, 64},    {1, 768, 768},   {1, 4096, 1024},
                                        {16, 64, 64},    {192, 384, 384}, {192, 768, 768},
                                        {512, 512, 512}, {64, 64, 8}};
    for (size_t i = 0; i < SC_COUNT_OF(shapes); i++) {
        const int64_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
        bench_floats(m, n, k, false);
        bench_floats(m, n, k, true);
        bench_few_bits(m, n, k);
        bench_bytes(m, n, k);
    }
}
