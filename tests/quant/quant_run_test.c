// Quantized programs run, and say what became of every node.
#include "quant/calibrate.h"

#include <math.h>
#include <string.h>

#include "observe/observe.h"

// --- Running -------------------------------------------------------------------------------------

typedef struct outputs {
    float *data[8];
    uint64_t counts[8];
    uint32_t count;
} outputs;

static void keep_outputs(setup *s, const sc_rt_method *method, outputs *out) {
    const uint32_t count = sc_rt_method_output_count(method);
    for (uint32_t i = 0; i < count && out->count < SC_COUNT_OF(out->data); i++) {
        const sc_evalue *value = sc_rt_method_output(method, i);
        if (value->tag != SC_EVALUE_TENSOR || value->tensor->dtype != SC_DTYPE_F32) continue;
        const uint64_t floats = value->tensor->numel;
        out->data[out->count] = sc_new_array(&s->arena, float, floats + 1);
        sc_rt_tensor_read(value->tensor, out->data[out->count], floats * sizeof(float));
        out->counts[out->count++] = floats;
    }
}

static sc_status run(setup *s, const sc_program *program, const char *backend, double below,
                     outputs *out) {
    sc_program *copy = NULL;
    sc_rt_program *running = NULL;
    sc_rt_method *method = NULL;
    SC_TRY(sc_program_clone(program, &copy));
    SC_TRY(quant_open(s, copy, backend, &running));
    sc_status status =
        sc_rt_method_load(&s->ctx, running, sc_rt_program_method_name(running, 0), &method);
    if (status == SC_OK) status = quant_set_inputs(s, program->methods.data[0], method, 1, below);
    if (status == SC_OK) status = sc_rt_method_run(&s->ctx, method);
    if (status == SC_OK) keep_outputs(s, method, out);
    sc_rt_program_close(running);
    return status;
}

// 10 log10 of what is right over what is not.
static double decibels(const outputs *expected, const outputs *found) {
    double signal = 0, noise = 0;
    if (!CHECK(expected->count == found->count && found->count > 0)) return -1;
    for (uint32_t o = 0; o < found->count; o++)
        for (uint64_t i = 0; i < found->counts[o] && i < expected->counts[o]; i++) {
            const double x = expected->data[o][i], y = found->data[o][i];
            signal += x * x;
            noise += (x - y) * (x - y);
        }
    return noise == 0 ? 200 : 10 * log10(signal / noise);
}

// A test that lets NaN pass would say nothing of programs that give it.
TEST(decibels_are_of_numbers_alone) {
    float one[] = {1, 2}, nan[] = {1, NAN}, infinite[] = {1, INFINITY};
    const outputs expected = {.data = {one}, .counts = {2}, .count = 1};
    const outputs found[] = {{.data = {nan}, .counts = {2}, .count = 1},
                             {.data = {infinite}, .counts = {2}, .count = 1}};
    CHECK(decibels(&expected, &expected) >= 200);
    for (size_t i = 0; i < SC_COUNT_OF(found); i++) {
        CHECK(!(decibels(&expected, &found[i]) >= 0));
        CHECK(!(decibels(&found[i], &expected) >= 0));
    }
}

static void run_quantized(const char *program_path, const quant_configs *configs, double below,
                          double wanted) {
    static const char *const backends[] = {NULL, "xnnpack"};
    sc_program *program = NULL;
    outputs expected = {0};
    setup s;
    setup_begin(&s);
    sc_status status = quant_import(&s, test_format("%s.pt2", program_path), &program);
    if (status == SC_OK) status = run(&s, program, NULL, below, &expected);
    if (status == SC_OK) status = quant_quantize(&s, program->methods.data[0], configs, below);
    if (status == SC_OK) status = sc_verify(&s.ctx, program);
    for (size_t b = 0; b < SC_COUNT_OF(backends) && status == SC_OK; b++) {
        outputs found = {0};
        status = run(&s, program, backends[b], below, &found);
        const double db = status == SC_OK ? decibels(&expected, &found) : 0;
        if (!(db >= wanted))
            FAIL("%s on %s: %.1f dB", program_path, backends[b] ? backends[b] : "kernels", db);
    }
    if (!CHECK_OK(status)) FAIL("%s: %s", program_path, setup_message(&s));
    setup_end(&s);
}

TEST_CASES(quantized_programs_run_on_kernels_and_delegates) {
    for (size_t i = 0; i < QUANT_CASES; i++) {
        const quant_configs configs = quant_configs_of(quant_cases[i].recipe);
        if (test_case("%s %s", quant_cases[i].program, quant_cases[i].recipe))
            run_quantized(quant_cases[i].program, &configs, quant_cases[i].below, 15);
    }
}

TEST(halves_are_widened_when_the_program_runs) {
    const quant_configs configs = {.items = {{.mode = SC_QUANT_HALF_WEIGHTS}}, .count = 1};
    run_quantized("models/mlp", &configs, 0, 50);
    run_quantized("models/cnn", &configs, 0, 50);
    run_quantized("quant/embedded", &configs, 16, 50);
}

TEST(tables_of_embeddings_are_quantized_with_the_weights) {
    const quant_configs bytes = quant_configs_of("int8_channel"),
                        nibbles = quant_configs_of("int4_group");
    const quant_configs whole_rows = {.items = {{.mode = SC_QUANT_WEIGHT_ONLY, .weight_bits = 4}},
                                      .count = 1};
    run_quantized("quant/embedded", &bytes, 16, 35);
    run_quantized("quant/embedded", &nibbles, 16, 15);
    run_quantized("quant/embedded", &whole_rows, 16, 15);
}

// --- Reasons -------------------------------------------------------------------------------------

typedef struct reason {
    const char *program, *recipe, *node, *why_not;  // NULL: it is quantized
} reason;

static const reason REASONS[] = {
    {"quant/conv_bn_relu.pt2", "static_channel", "conv2d", NULL},
    {"quant/conv_bn_relu.pt2", "static_channel", "batch_norm", NULL},
    {"quant/conv_bn_relu.pt2", "static_channel", "max_pool2d", NULL},
    {"quant/late_norm.pt2", "static_channel", "batch_norm",
     "a batch norm becomes part of a convolution only in eval mode, and only if it alone reads the "
     "convolution's result"},
    {"quant/conv1d.pt2", "static_channel", "conv_transpose1d_1",
     "a transposed convolution must have one group"},
    {"quant/conv1d.pt2", "dynamic_channel", "conv1d",
     "only convolutions of images are quantized dynamically"},
    {"quant/images.pt2", "dynamic_channel", "conv2d_1",
     "a depthwise convolution is not quantized dynamically"},
    {"quant/embedded.pt2", "static_channel", "add", "'b_at' is int64"},
    {"quant/embedded.pt2", "static_channel", "gelu",
     "the quantizer has no pattern with this operator"},
    {"quant/embedded.pt2", "int8_channel", "embedding", NULL},
    {"quant/embedded.pt2", "int4_group", "linear", NULL},
    {"quant/embedded.pt2", "int8_channel", "gelu", "it is not a layer with a weight"},
    {"quant/embedded.pt2", "8da4w_channel", "embedding",
     "only linear layers get weights of 4 bits with dynamic activations"},
    {"models/cnn.pt2", "int8_channel", "conv2d",
     "weight-only quantization takes linear layers and embeddings only"},
    {"quant/pools.pt2", "static_channel", "adaptive_avg_pool2d_2",
     "it takes the scale of its input, and its input has no scale"},
    {"quant/pools.pt2", "dynamic_channel", "mul",
     "only linear layers and convolutions are quantized dynamically"},
    {"models/counter_buffer.pt2", "static_channel", "mul_", "its result is written in place"},
    {"models/counter_buffer.pt2", "static_channel", "add__1",
     "it writes in place to a value that other nodes read"},
};

static const sc_quant_row *find_row(const sc_quant_plan *plan, const char *name) {
    for (uint32_t i = 0; i < sc_quant_row_count(plan); i++)
        if (strcmp(sc_quant_row_at(plan, i)->node->text, name) == 0)
            return sc_quant_row_at(plan, i);
    return NULL;
}

static void check_reason(const reason *r) {
    const sc_quant_config config = quant_config_of(r->recipe);
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    setup s;
    setup_begin(&s);
    sc_status status = quant_import(&s, r->program, &program);
    if (status == SC_OK)
        status = sc_quant_prepare(&s.ctx, program->methods.data[0], &config, 1, &plan);
    if (CHECK_OK(status)) {
        const sc_quant_row *row = find_row(plan, r->node);
        if (CHECK(row != NULL)) {
            CHECK_EQ_STR(sc_str_dup(&s.arena, row->why_not), r->why_not ? r->why_not : "");
            CHECK(row->is_quantized == !r->why_not);
        }
    }
    setup_end(&s);
}

TEST_CASES(every_node_is_quantized_or_has_a_reason) {
    for (size_t i = 0; i < SC_COUNT_OF(REASONS); i++)
        if (test_case("%s %s", REASONS[i].program, REASONS[i].node)) check_reason(&REASONS[i]);
}

// A module that the user names stays as it is, with everything below it.
TEST(what_is_asked_for_is_skipped) {
    static const sc_str skip[] = {{"a", 1}, {"batch_*", 7}, {"aten::max_pool2d", 16}};
    sc_quant_config config = quant_config_of("static_channel");
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    setup s;
    config.skip = skip;
    config.skip_count = SC_COUNT_OF(skip);
    setup_begin(&s);
    CHECK_OK(quant_import(&s, "quant/conv_bn_relu.pt2", &program));
    CHECK_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, 1, &plan));
    CHECK(!find_row(plan, "conv2d")->is_quantized);
    CHECK_EQ_STR(sc_str_dup(&s.arena, find_row(plan, "conv2d")->why_not), "`skip` leaves it out");
    CHECK(!find_row(plan, "max_pool2d")->is_quantized);
    CHECK(find_row(plan, "conv2d_1")->is_quantized);
    setup_end(&s);
}

// --- Found scales --------------------------------------------------------------------------------

TEST(scales_are_reported_with_their_places) {
    const sc_quant_config config = quant_config_of("static_tensor");
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    const float *states[16];
    uint32_t weights = 0;
    setup s;
    setup_begin(&s);
    REQUIRE_OK(quant_import(&s, "models/mlp.pt2", &program));
    sc_method *method = program->methods.data[0];
    REQUIRE_OK(sc_quant_prepare(&s.ctx, method, &config, 1, &plan));
    REQUIRE_OK(quant_calibrate(&s, plan, method, 0, states));
    REQUIRE_OK(sc_quant_choose_scales(&s.ctx, plan, states));
    for (uint32_t i = 0; i < sc_quant_range_count(plan); i++) {
        const sc_quant_range *range = sc_quant_range_at(plan, i);
        CHECK(range->count == 1 && range->low <= range->high && range->scales[0] > 0);
        CHECK(range->place_count > 0 && sc_quant_place(plan, i, 0) != NULL);
        weights += range->is_weight;
    }
    CHECK(weights > 0);
    setup_end(&s);
}

typedef struct reported_weight {
    const char *recipe;
    uint32_t bits, scales, group_size;
    uint64_t bytes_after;
} reported_weight;

// The first linear layer has 16 rows of 8 numbers.
static const reported_weight TOLD_WEIGHTS[] = {
    {"int8_channel", 8, 16, 0, 128 + 64},   {"int4_group", 4, 16, 8, 64 + 64},
    {"8da4w_channel", 4, 16, 0, 64 + 64},   {"half", 16, 0, 0, 256},
    {"static_channel", 8, 16, 0, 128 + 64}, {"static_tensor", 8, 1, 0, 128 + 4},
};

// From `low` to `high`.
static void put_ramp(sc_method *method, const char *name, float low, float high, setup *s) {
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        sc_constant *constant = method->inputs.data[i].constant;
        if (!constant || !sc_str_is(method->inputs.data[i].target, name)) continue;
        const size_t count = (size_t)constant->data.size / sizeof(float);
        float *x = sc_new_array(&s->arena, float, count);
        for (size_t k = 0; k < count; k++)
            x[k] = low + (high - low) * (float)k / (float)(count - 1);
        constant->data = sc_extent_whole(sc_source_from_memory(&s->arena, x, count * sizeof *x));
    }
}

// quant/embedded.pt2 by that recipe, with a ramp as the first weight if one is given.
static sc_status quantize_embedded(setup *s, const char *recipe, const float *ramp,
                                   sc_quant_plan **plan) {
    const bool is_half = strcmp(recipe, "half") == 0;
    sc_quant_config *config = sc_new(&s->arena, sc_quant_config);
    const float *states[32];
    sc_program *program = NULL;
    *config = is_half ? (sc_quant_config){.mode = SC_QUANT_HALF_WEIGHTS} : quant_config_of(recipe);
    SC_TRY(quant_import(s, "quant/embedded.pt2", &program));
    sc_method *method = program->methods.data[0];
    if (ramp) put_ramp(method, "up.weight", ramp[0], ramp[1], s);
    SC_TRY(sc_quant_prepare(&s->ctx, method, config, 1, plan));
    SC_TRY(quant_calibrate(s, *plan, method, 16, states));
    SC_TRY(sc_quant_choose_scales(&s->ctx, *plan, states));
    return sc_quant_convert(&s->ctx, *plan, NULL);
}

static void check_reported_weight(const reported_weight *w) {
    sc_quant_plan *plan = NULL;
    setup s;
    setup_begin(&s);
    REQUIRE_OK(quantize_embedded(&s, w->recipe, NULL, &plan));
    const sc_quant_row *row = find_row(plan, "linear");
    const sc_quant_range *range = row ? sc_quant_range_at(plan, row->weight) : NULL;
    if (CHECK(range != NULL)) {
        CHECK(range->is_weight && range->low < 0 && range->high > 0);
        CHECK_EQ_STR(sc_quant_place(plan, row->weight, 0)->text, "p_up_weight");
        CHECK_EQ_INT(range->bits, w->bits);
        CHECK_EQ_INT(range->count, w->scales);
        CHECK_EQ_INT(range->group_size, w->group_size);
        CHECK_EQ_INT(range->bytes_before, 512);
        CHECK_EQ_INT(range->bytes_after, w->bytes_after);
        for (uint32_t i = 0; i < range->count; i++) CHECK(range->scales[i] > 0);
    }
    CHECK(find_row(plan, "gelu")->weight == SC_QUANT_NO);
    setup_end(&s);
}

TEST_CASES(weights_are_reported_with_the_nodes_that_read_them) {
    for (size_t i = 0; i < SC_COUNT_OF(TOLD_WEIGHTS); i++)
        if (test_case("%s", TOLD_WEIGHTS[i].recipe)) check_reported_weight(&TOLD_WEIGHTS[i]);
}

static void check_one_sided(const char *recipe, float low, float high) {
    sc_quant_plan *plan = NULL;
    setup s;
    setup_begin(&s);
    REQUIRE_OK(quantize_embedded(&s, recipe, (const float[]){low, high}, &plan));
    const sc_quant_row *row = find_row(plan, "linear");
    const sc_quant_range *range = row ? sc_quant_range_at(plan, row->weight) : NULL;
    if (CHECK(range != NULL)) {
        CHECK_SAME_FLOAT(range->low, low);
        CHECK_SAME_FLOAT(range->high, high);
    }
    setup_end(&s);
}

// 0 is in a range only where it was among the numbers, or between them.
TEST_CASES(weights_of_one_sign_have_a_range_without_zero) {
    for (size_t i = 0; i < SC_COUNT_OF(TOLD_WEIGHTS); i++) {
        const char *recipe = TOLD_WEIGHTS[i].recipe;
        if (test_case("%s, above", recipe)) check_one_sided(recipe, 1.0004f, 1.25f);
        if (test_case("%s, below", recipe)) check_one_sided(recipe, -1.25f, -1.0004f);
    }
}

static void put_first(sc_method *method, const char *name, float x, setup *s) {
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        sc_constant *constant = method->inputs.data[i].constant;
        if (!constant || !sc_str_is(method->inputs.data[i].target, name)) continue;
        uint8_t *bytes = sc_arena_alloc(&s->arena, (size_t)constant->data.size);
        CHECK_OK(sc_extent_read(&s->ctx, constant->data, 0, bytes, (size_t)constant->data.size));
        memcpy(bytes, &x, sizeof x);
        constant->data =
            sc_extent_whole(sc_source_from_memory(&s->arena, bytes, constant->data.size));
    }
}

// Infinity, or a number that becomes infinity, is no half of a weight.
TEST(numbers_that_halves_have_not_stay_floats) {
    static const struct {
        float x;
        const char *why_not;
    } cases[] = {{65504, ""},
                 {-65600, "its weight has numbers outside the range of float16"},
                 {INFINITY, "its weight has infinities or NaN"},
                 {NAN, "its weight has infinities or NaN"}};
    const sc_quant_config config = {.mode = SC_QUANT_HALF_WEIGHTS};
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        sc_program *program = NULL;
        sc_quant_plan *plan = NULL;
        setup s;
        setup_begin(&s);
        REQUIRE_OK(quant_import(&s, "quant/embedded.pt2", &program));
        put_first(program->methods.data[0], "up.weight", cases[i].x, &s);
        REQUIRE_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, 1, &plan));
        CHECK_EQ_STR(sc_str_dup(&s.arena, find_row(plan, "linear")->why_not), cases[i].why_not);
        CHECK(find_row(plan, "linear_1")->is_quantized && s.ctx.error_count == 0);
        setup_end(&s);
    }
}

// A scale that nothing has been seen for would be a guess.
TEST(an_empty_observer_is_an_error_that_names_the_node) {
    const sc_quant_config config = quant_config_of("static_tensor");
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    const float *states[16];
    setup s;
    setup_begin(&s);
    REQUIRE_OK(quant_import(&s, "models/mlp.pt2", &program));
    REQUIRE_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, 1, &plan));
    for (uint32_t i = 0; i < sc_quant_observer_count(plan); i++)
        states[i] = sc_new_array(&s.arena, float, sc_quant_state_floats(plan, i));
    CHECK_STATUS(sc_quant_choose_scales(&s.ctx, plan, states), SC_ERR_STATE);
    CHECK(sc_vec_last(&s.ctx.diags).where.node.size > 0);
    CHECK_EQ_STR(setup_message(&s), "calibration saw no value of 'x'");
    ((float *)(uintptr_t)states[0])[SC_OBSERVED_INFINITIES] = 3;
    CHECK_STATUS(sc_quant_choose_scales(&s.ctx, plan, states), SC_ERR_NUMERIC);
    CHECK_EQ_STR(setup_message(&s), "'x' was infinite in every call of the calibration");
    ((float *)(uintptr_t)states[0])[SC_OBSERVED_NANS] = 1;
    CHECK_STATUS(sc_quant_choose_scales(&s.ctx, plan, states), SC_ERR_NUMERIC);
    CHECK_EQ_STR(setup_message(&s), "'x' was NaN during calibration");
    setup_end(&s);
}

static void check_remark(setup *s, const sc_quant_plan *plan, uint32_t index, const char *wanted) {
    CHECK_EQ_STR(sc_str_dup(&s->arena, sc_quant_remark_at(plan, index)), wanted);
}

// A range of nothing but zeros has the smallest scale, as PT2E's, and is reported.
TEST(odd_ranges_are_reported) {
    const sc_quant_config config = quant_config_of("static_tensor");
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    const float *states[16];
    setup s;
    setup_begin(&s);
    REQUIRE_OK(quant_import(&s, "models/mlp.pt2", &program));
    REQUIRE_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, 1, &plan));
    REQUIRE_OK(quant_calibrate(&s, plan, program->methods.data[0], 0, states));
    CHECK(sc_quant_remark_count(plan) == 0);
    float *state = (float *)(uintptr_t)states[0];
    state[SC_OBSERVED_LOW] = state[SC_OBSERVED_HIGH] = 0;
    state[SC_OBSERVED_INFINITIES] = 2;
    REQUIRE_OK(sc_quant_choose_scales(&s.ctx, plan, states));
    REQUIRE(sc_quant_remark_count(plan) == 2);
    check_remark(&s, plan, 0, "'x' was infinite 2 times, and its scale ignores these values");
    check_remark(&s, plan, 1, "'x' was 0 in all of calibration: its scale is the smallest");
    bool is_found = false;
    for (uint32_t i = 0; i < sc_quant_range_count(plan); i++) {
        const sc_quant_range *range = sc_quant_range_at(plan, i);
        is_found |= range->low == 0 && range->high == 0 && range->scales[0] == 0x1p-12f;
    }
    CHECK(is_found);
    setup_end(&s);
}

// --- Several configurations, bodies --------------------------------------------------------------

TEST(patterns_and_their_misses_are_reported) {
    static const sc_str skip[] = {{"nothing", 7}, {"fc1", 3}, {"=linear_9", 9}, {"fc?", 3}};
    sc_quant_config configs[] = {quant_config_of("static_tensor"),
                                 quant_config_of("int8_channel"),
                                 {.mode = SC_QUANT_HALF_WEIGHTS}};
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    setup s;
    setup_begin(&s);
    configs[0].skip = configs[1].skip = skip;
    configs[0].skip_count = configs[1].skip_count = SC_COUNT_OF(skip);
    REQUIRE_OK(quant_import(&s, "models/mlp.pt2", &program));
    REQUIRE_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], configs, 3, &plan));
    REQUIRE(sc_quant_remark_count(plan) == 4);
    check_remark(&s, plan, 0, "skip: 'nothing' matches no node, module or operator");
    check_remark(&s, plan, 1, "skip: '=linear_9' matches no node, module or operator");
    check_remark(&s, plan, 2, "skip: 'fc?' matches no node, module or operator");
    check_remark(&s, plan, 3, "quantization 2 of 3 has no layer left to quantize");
    CHECK(find_row(plan, "linear")->is_quantized && find_row(plan, "linear_2")->is_quantized);
    CHECK_STATUS(sc_quant_prepare(&s.ctx, program->methods.data[0], configs, 0, &plan),
                 SC_ERR_ARGUMENT);
    setup_end(&s);
}

// One pattern twice, as different people may ask for it, fits as often as it is there.
TEST(patterns_that_are_there_twice_fit_twice) {
    static const sc_str skip[] = {{"=linear", 7}, {"fc2", 3}, {"=linear", 7}, {"fc2", 3}};
    sc_quant_config config = quant_config_of("static_tensor");
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    setup s;
    setup_begin(&s);
    config.skip = skip;
    config.skip_count = SC_COUNT_OF(skip);
    REQUIRE_OK(quant_import(&s, "models/mlp.pt2", &program));
    REQUIRE_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, 1, &plan));
    CHECK_EQ_UINT(sc_quant_remark_count(plan), 0);
    CHECK(!find_row(plan, "linear")->is_quantized && !find_row(plan, "linear_1")->is_quantized);
    setup_end(&s);
}

TEST(bodies_stay_as_they_are_and_have_rows) {
    static const char *const recipes[] = {"static_channel", "dynamic_channel", "int8_channel"};
    for (size_t i = 0; i < SC_COUNT_OF(recipes); i++) {
        const quant_configs configs = quant_configs_of(recipes[i]);
        sc_program *program = NULL;
        sc_quant_plan *plan = NULL;
        setup s;
        setup_begin(&s);
        REQUIRE_OK(quant_import(&s, "models/cond.pt2", &program));
        REQUIRE_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], configs.items, 1, &plan));
        const sc_quant_row *row = find_row(plan, "true_graph_0/linear");
        if (CHECK(row && !row->is_quantized))
            CHECK_EQ_STR(sc_str_dup(&s.arena, row->why_not),
                         "it is in a body of control flow, where weights are operands");
        check_remark(&s, plan, 0,
                     "layers in bodies of control flow are not quantized: true_graph_0/linear, "
                     "false_graph_0/linear");
        setup_end(&s);
    }
}

// A decomposed program has no layers to find, and integers have no scale.
TEST(programs_that_are_too_late_are_refused) {
    static const char *const files[] = {"models/mlp.core.pt2", "models/quantized_mlp.pt2"};
    const sc_quant_config config = quant_config_of("static_tensor");
    for (size_t i = 0; i < SC_COUNT_OF(files); i++) {
        sc_program *program = NULL;
        sc_quant_plan *plan = NULL;
        setup s;
        setup_begin(&s);
        CHECK_OK(quant_import(&s, files[i], &program));
        CHECK_STATUS(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, 1, &plan),
                     SC_ERR_STATE);
        setup_end(&s);
    }
}

// --- Several methods -----------------------------------------------------------------------------

static const sc_constant *constant_of(const sc_method *method, const char *name) {
    for (uint32_t i = 0; i < method->inputs.count; i++)
        if (sc_str_is(method->inputs.data[i].target, name)) return method->inputs.data[i].constant;
    return NULL;
}

// The integers that a method has of a weight of this many bytes.
static const sc_constant *frozen(const sc_method *method, uint64_t bytes) {
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_constant *constant = method->inputs.data[i].constant;
        if (constant && constant->spec.dtype == SC_DTYPE_I8 && constant->data.size == bytes)
            return constant;
    }
    return NULL;
}

// A weight of two methods has equal integers in both, under names that differ, so that files hold
// it once.
TEST(methods_that_share_a_weight_share_its_integers) {
    const quant_configs configs = quant_configs_of("dynamic_channel");
    static const char *const backends[] = {NULL, "xnnpack"};
    sc_program *program = NULL;
    setup s;
    setup_begin(&s);
    REQUIRE_OK(quant_import_all(&s, "models/encdec.package.pt2", &program));
    REQUIRE(program->methods.count > 1);
    for (uint32_t m = 0; m < program->methods.count; m++)
        REQUIRE_OK(quant_quantize(&s, program->methods.data[m], &configs, 4));
    CHECK_OK(sc_verify(&s.ctx, program));
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < program->methods.data[0]->inputs.count; i++) {
        const sc_constant *a = program->methods.data[0]->inputs.data[i].constant;
        if (!a || a->spec.dtype != SC_DTYPE_I8) continue;
        for (uint32_t m = 1; m < program->methods.count; m++) {
            bool is_same = false;
            const sc_constant *b = frozen(program->methods.data[m], a->data.size);
            if (!b) continue;
            CHECK_OK(sc_extent_equal(&s.ctx, a->data, b->data, &is_same));
            CHECK(!constant_of(program->methods.data[m], sc_str_dup(&s.arena, a->name)));
            pairs += is_same;
        }
    }
    CHECK(pairs > 0);
    for (size_t b = 0; b < SC_COUNT_OF(backends); b++) {
        sc_program *copy = NULL;
        sc_rt_program *running = NULL;
        CHECK_OK(sc_program_clone(program, &copy));
        CHECK_OK(quant_open(&s, copy, backends[b], &running));
        if (running) sc_rt_program_close(running);
    }
    setup_end(&s);
}

// --- Names ---------------------------------------------------------------------------------------

static bool has_input(const sc_method *method, const char *name) {
    for (uint32_t i = 0; i < method->graph->inputs.count; i++)
        if (sc_str_is(sc_name_str(method->graph->inputs.data[i]->name), name)) return true;
    return false;
}

// Modules are called as their users like; names of inputs become names of Python where the program
// is recorded.
TEST(added_inputs_have_names_that_python_takes) {
    const quant_configs configs = quant_configs_of("static_channel");
    sc_program *program = NULL;
    setup s;
    setup_begin(&s);
    REQUIRE_OK(quant_import(&s, "quant/conv_bn_relu.pt2", &program));
    sc_method *method = program->methods.data[0];
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        sc_input_sig *sig = &method->inputs.data[i];
        if (!sc_str_is(sig->target, "a.weight")) continue;
        sig->target = sig->constant->name = SC_STR("Block1-0.a b.weight");
    }
    REQUIRE_OK(quant_quantize(&s, method, &configs, 0));
    CHECK_OK(sc_verify(&s.ctx, program));
    CHECK(constant_of(method, "Block1-0.a b.weight_bias"));
    CHECK(has_input(method, "p_block1_0_a_b_weight_bias"));
    CHECK(has_input(method, "b__frozen_param0"));
    setup_end(&s);
}
