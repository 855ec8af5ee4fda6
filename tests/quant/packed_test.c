// Weights of 4 bits that no backend took: two a byte in the file, and the numbers that they were.
#include "passes/passes.h"
#include "quant/calibrate.h"

#include <string.h>

enum { ROWS = 6, COLUMNS = 64, ELEMENTS = ROWS * COLUMNS };

typedef struct weight {
    int8_t integers[ELEMENTS];
    float scales[ELEMENTS];
    int8_t zeros[ELEMENTS];
} weight;

// Every integer there is, and scales of all sizes.
static void fill(weight *w) {
    memset(w, 0, sizeof *w);
    for (int i = 0; i < ELEMENTS; i++) {
        w->integers[i] = (int8_t)(i * 7 % 16 - 8);
        w->scales[i] = (float)(i + 1) * 0.37f / (float)(1 << i % 24);
    }
}

static void hold(setup *s, const sc_program *program, const char *name, const void *bytes) {
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++) {
            sc_constant *constant = method->inputs.data[i].constant;
            if (!constant || !sc_str_is(method->inputs.data[i].target, name)) continue;
            constant->data =
                sc_extent_whole(sc_source_from_memory(&s->arena, bytes, constant->data.size));
        }
    }
}

static sc_program *parse(setup *s, const char *text, const weight *w) {
    sc_program *program = NULL;
    CHECK_OK(sc_ops_init());
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), &program))) {
        FAIL("%s", setup_message(s));
        return NULL;
    }
    hold(s, program, "w", w->integers);
    hold(s, program, "s", w->scales);
    hold(s, program, "z", w->zeros);
    return program;
}

static uint32_t count_of(const sc_program *program, const char *op) {
    uint32_t count = 0;
    for (uint32_t m = 0; m < program->methods.count; m++)
        for (const sc_node *n = program->methods.data[m]->graph->first; n; n = n->next)
            count += strcmp(n->op->name, op) == 0;
    return count;
}

static const char PACKED[] = "quantized_decomposed::embedding_4bit";

static const char *text_of(int group) {
    const int groups = COLUMNS / group;
    return test_format("method f {\n"
                       "  input %%w: i8[6, 64] parameter \"w\" const i8[6, 64] 384\n"
                       "  input %%s: f32[6, %d] parameter \"s\" const f32[6, %d] %d\n"
                       "  input %%z: i8[6, %d] parameter \"z\" const i8[6, %d] %d\n"
                       "  input %%v: i8[6, 64]\n"
                       "  %%a: f32[6, 64] = torchao::dequantize_affine(%%w, [1, %d], %%s, %%z, i8, "
                       "-8, 7)\n"
                       "  %%b: f32[6, 64] = torchao::dequantize_affine(%%v, [1, %d], %%s, %%z, i8, "
                       "-8, 7)\n"
                       "  return %%a, %%b\n"
                       "}\n",
                       groups, groups, 24 * groups, groups, groups, 6 * groups, group, group);
}

static sc_status set_integers(setup *s, sc_rt_method *method, const weight *w) {
    static const int64_t sizes[] = {ROWS, COLUMNS};
    const sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                               .dtype = SC_DTYPE_I8,
                               .rank = 2,
                               .sizes = sizes,
                               .data = w->integers,
                               .bytes = ELEMENTS};
    return sc_rt_method_set_input(&s->ctx, method, 0, &input);
}

static void read_output(const sc_rt_method *method, uint32_t index, float *to) {
    const sc_evalue *value = sc_rt_method_output(method, index);
    if (CHECK(value && value->tag == SC_EVALUE_TENSOR && value->tensor->numel == ELEMENTS))
        sc_rt_tensor_read(value->tensor, to, ELEMENTS * sizeof(float));
}

// The constant is packed; what was passed is widened as it always was.
static void compare(int group, const char *backend) {
    static weight w;
    static float a[ELEMENTS], b[ELEMENTS];
    sc_rt_program *running = NULL;
    sc_rt_method *method = NULL;
    setup s;
    setup_begin(&s);
    fill(&w);
    sc_program *program = parse(&s, text_of(group), &w);
    sc_status status = quant_open(&s, program, backend, &running);
    CHECK_EQ_UINT(count_of(program, PACKED), 1);
    if (status == SC_OK) status = sc_rt_method_load(&s.ctx, running, SC_STR("f"), &method);
    if (status == SC_OK) status = set_integers(&s, method, &w);
    if (status == SC_OK) status = sc_rt_method_run(&s.ctx, method);
    if (CHECK_OK(status)) {
        read_output(method, 0, a);
        read_output(method, 1, b);
        CHECK(memcmp(a, b, sizeof a) == 0);
        CHECK(a[0] == -8 * w.scales[0]);
    } else {
        FAIL("%s", setup_message(&s));
    }
    sc_rt_program_close(running);
    setup_end(&s);
}

TEST(packed_weights_are_the_numbers_that_they_were) {
    static const int groups[] = {2, 8, 32, 64};
    for (size_t i = 0; i < SC_COUNT_OF(groups); i++) {
        compare(groups[i], NULL);
        compare(groups[i], "xnnpack");
    }
}

// --- Which ones ----------------------------------------------------------------------------------

#define INPUTS                                                                \
    "method f {\n  input %w: i8[6, 64] parameter \"w\" const i8[6, 64] 384\n" \
    "  input %s: f32[6, 2] parameter \"s\" const f32[6, 2] 48\n"              \
    "  input %z: i8[6, 2] parameter \"z\" const i8[6, 2] 12\n"

static uint32_t packed_of(const char *text, const weight *w) {
    setup s;
    uint32_t count = UINT32_MAX;
    setup_begin(&s);
    sc_program *program = parse(&s, text, w);
    const sc_pipeline pipeline = {0};
    sc_pipeline running = pipeline;
    if (program && CHECK_OK(sc_pipeline_run(&s.ctx, &running, program, SC_STEP_decompose)) &&
        CHECK_OK(sc_verify(&s.ctx, program)))
        count = count_of(program, PACKED);
    else
        FAIL("%s\n%s", setup_message(&s), text);
    setup_end(&s);
    return count;
}

TEST(what_does_not_fit_into_4_bits_stays) {
    static const char *const texts[] = {
        INPUTS "  %a: f32[6, 64] = torchao::dequantize_affine(%w, [1, 32], %s, %z, i8, -128, 127)\n"
               "  return %a\n}\n",
        INPUTS "  %a: f32[6, 64] = torchao::dequantize_affine(%w, [1, 32], %s, %z, i8, -8, 8)\n"
               "  return %a\n}\n",
        INPUTS "  %a: f32[6, 64] = torchao::dequantize_affine(%w, [1, 32], %s, %z, i8, -8, 7)\n"
               "  return %a, %w\n}\n",
        INPUTS "  %a: f32[6, 64] = torchao::dequantize_affine(%w, [1, 32], %s, %z, i8, -8, 7)\n"
               "  %b: i8[6, 64] = aten::neg(%w)\n  return %a, %b\n}\n",
        "method f {\n  input %w: i8[6, 63] parameter \"w\" const i8[6, 63] 378\n"
        "  input %s: f32[6, 1] parameter \"s\" const f32[6, 1] 24\n"
        "  %a: f32[6, 63] = torchao::dequantize_affine(%w, [1, 63], %s, None, i8, -8, 7)\n"
        "  return %a\n}\n",
        "method f {\n  input %w: i8[6, 64] buffer \"w\" persistent const i8[6, 64] 384\n"
        "  input %s: f32[6, 1] parameter \"s\" const f32[6, 1] 24\n"
        "  %a: f32[6, 64] = torchao::dequantize_affine(%w, [1, 64], %s, None, i8, -8, 7)\n"
        "  return %a\n}\n",
        "method f {\n  input %w: i8[6, 64] parameter \"w\" const i8[6, 64] 384\n"
        "  input %s: f32[3, 2] parameter \"s\" const f32[3, 2] 24\n"
        "  %a: f32[6, 64] = torchao::dequantize_affine(%w, [2, 32], %s, None, i8, -8, 7)\n"
        "  return %a\n}\n",
        "method f {\n  input %w: i8[2, 3, 64] parameter \"w\" const i8[2, 3, 64] 384\n"
        "  input %s: f32[2, 3, 1] parameter \"s\" const f32[2, 3, 1] 24\n"
        "  %a: f32[2, 3, 64] = torchao::dequantize_affine(%w, [1, 1, 64], %s, None, i8, -8, 7)\n"
        "  return %a\n}\n",
        "method f {\n  input %w: i8[6, 64] parameter \"w\" const i8[6, 64] 384\n"
        "  input %s: f16[6, 1] parameter \"t\" const f16[6, 1] 12\n"
        "  %a: f16[6, 64] = torchao::dequantize_affine(%w, [1, 64], %s, None, i8, -8, 7, f16)\n"
        "  return %a\n}\n",
    };
    static weight w;
    fill(&w);
    for (size_t i = 0; i < SC_COUNT_OF(texts); i++)
        if (!CHECK_EQ_UINT(packed_of(texts[i], &w), 0)) FAIL("%s", texts[i]);
}

// The range that a node tells clamps nothing, and a file may hold anything.
TEST(numbers_outside_of_their_range_stay_what_they_are) {
    static const char text[] =
        INPUTS "  %a: f32[6, 64] = torchao::dequantize_affine(%w, [1, 32], %s, %z, i8, -8, 7)\n"
               "  return %a\n}\n";
    static weight w;
    fill(&w);
    CHECK_EQ_UINT(packed_of(text, &w), 1);
    w.integers[ELEMENTS - 1] = 8;
    CHECK_EQ_UINT(packed_of(text, &w), 0);
    w.integers[ELEMENTS - 1] = -9;
    CHECK_EQ_UINT(packed_of(text, &w), 0);
    w.integers[ELEMENTS - 1] = -8;
    w.zeros[11] = 1;
    CHECK_EQ_UINT(packed_of(text, &w), 0);
}

// Two layers of one weight have it packed once.
TEST(nodes_of_one_weight_share_it_packed) {
    static const char text[] =
        INPUTS "  %a: f32[6, 64] = torchao::dequantize_affine(%w, [1, 32], %s, %z, i8, -8, 7)\n"
               "  %b: f32[6, 64] = torchao::dequantize_affine(%w, [1, 32], %s, None, i8, -8, 7)\n"
               "  return %a, %b\n}\n";
    static weight w;
    setup s;
    setup_begin(&s);
    fill(&w);
    sc_program *program = parse(&s, text, &w);
    sc_pipeline pipeline = {0};
    uint32_t packed = 0;
    REQUIRE_OK(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_decompose));
    CHECK_EQ_UINT(count_of(program, PACKED), 2);
    const sc_method *method = program->methods.data[0];
    for (uint32_t i = 0; i < method->inputs.count; i++)
        packed += sc_str_is(method->inputs.data[i].target, "w.packed");
    CHECK_EQ_UINT(packed, 1);
    setup_end(&s);
}
