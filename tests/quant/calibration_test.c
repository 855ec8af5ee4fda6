// Observers in a program that runs: states are mutable buffers that begin with zeros, go from one
// observer of a group to the next, and are outputs too.
#include "emit/emit.h"
#include "ir/parse.h"
#include "observe/error.h"
#include "observe/observe.h"
#include "plan/place.h"
#include "quant/numbers.h"
#include "rt/method.h"

enum { CHANNELS = 8, SIDE = 16, IMAGE = CHANNELS * SIDE * SIDE };
enum { COUNT = 10, STATE = SC_OBSERVED_HEADER + SC_BINS };

static const char numbers[] =
    "method forward {\n"
    "input %b_s: f32[2056] buffer \"s\" persistent const f32[2056] 8224\n"
    "input %b_e: f64[5] buffer \"e\" persistent const f64[5] 40\n"
    "input %x: f32[2, 5]\n"
    "%a: f32[2056] = sconce::observe(%x, %b_s, 2, 0)\n"
    "%y: f32[2, 5] = aten::relu(%x)\n"
    "%b: f32[2056] = sconce::observe(%y, %a, 2, 0)\n"
    "%e: f64[5] = sconce::observe_error(%x, %y, %b_e)\n"
    "%copy_: f32[2056] = aten::copy_(%b_s, %b)\n"
    "%copy_1: f64[5] = aten::copy_(%b_e, %e)\n"
    "return %copy_ buffer_mutation \"s\", %copy_1 buffer_mutation \"e\", %b, %e\n}\n";

// `text` with what its parameters hold; its buffers begin with zeros.
static sc_source *write_program(setup *s, const char *text, const float *parameter) {
    const sc_options options = sc_options_default();
    sc_place_report *reports = NULL;
    sc_storage_table *tables;
    sc_program *program;
    sc_emit_result result;
    if (!CHECK_OK(sc_ops_init())) return NULL;
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), &program))) return NULL;
    const sc_method *method = program->methods.data[0];
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        sc_constant *constant = method->inputs.data[i].constant;
        if (!constant) continue;
        const uint64_t bytes = constant->data.size;
        constant->data =
            sc_extent_whole(method->inputs.data[i].kind == SC_INPUT_BUFFER
                                ? sc_source_zeros(&s->arena, bytes)
                                : sc_source_from_memory(&s->arena, parameter, (size_t)bytes));
    }
    if (!CHECK_OK(sc_place_program(&s->ctx, program, &options, NULL, &tables, &reports)) ||
        !CHECK_OK(sc_emit_program(&s->ctx, program, tables, &options, &result)))
        return NULL;
    return sc_source_from_cord(&s->arena, &result.program);
}

static void run(setup *s, sc_rt_method *method, const float *x) {
    static const int64_t sizes[] = {2, 5};
    const sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                               .dtype = SC_DTYPE_F32,
                               .rank = 2,
                               .sizes = sizes,
                               .data = x,
                               .bytes = COUNT * sizeof *x};
    CHECK_OK(sc_rt_method_set_input(&s->ctx, method, 0, &input));
    CHECK_OK(sc_rt_method_run(&s->ctx, method));
}

static void observe(float *state, const float *x) {
    static sc_bins bins;
    sc_value_range range = SC_VALUE_RANGE_NONE;
    sc_value_range_add(&range, x, COUNT);
    sc_observe_bins(state, &range, &bins);
    sc_bins_count(&bins, x, COUNT);
    sc_observe_end(SC_OBSERVE_HISTOGRAM, state, &range, &bins);
}

static void check_output(const sc_rt_method *method, uint32_t index, const void *expected,
                         size_t bytes) {
    uint8_t *found = test_alloc(bytes);
    const sc_evalue *output = sc_rt_method_output(method, index);
    if (!CHECK(output && output->tag == SC_EVALUE_TENSOR)) return;
    sc_rt_tensor_read(output->tensor, found, bytes);
    CHECK_EQ_MEM(found, expected, bytes);
}

TEST(states_go_from_run_to_run) {
    static const float batches[][COUNT] = {{1, -2, 3, 0.5f, -0.25f, 7, 2, 2, -1, 0},
                                           {-9, 2.5f, 3, 1, -1, 4, 8, -3, 0.75f, 1}};
    setup s;
    setup_begin(&s);
    sc_rt_program *program = NULL;
    sc_rt_method *method = NULL;
    sc_source *source = write_program(&s, numbers, NULL);
    float *state = sc_new_array(&s.arena, float, STATE);
    double error[SC_ERROR_VALUES] = {0};
    if (source && CHECK_OK(sc_rt_program_open(&s.ctx, source, NULL, &program)) &&
        CHECK_OK(sc_rt_method_load(&s.ctx, program, SC_STR("forward"), &method))) {
        for (uint32_t i = 0; i < 4; i++) {
            const float *x = batches[i % 2];
            float y[COUNT];
            for (uint32_t k = 0; k < COUNT; k++) y[k] = fmaxf(x[k], 0);
            run(&s, method, x);
            observe(state, x);
            observe(state, y);
            sc_observe_error(error, x, y, COUNT);
            check_output(method, 0, state, STATE * sizeof *state);
            check_output(method, 1, error, sizeof error);
        }
        CHECK_SAME_FLOAT(state[SC_OBSERVED_TENSORS], 8);
        CHECK_SAME_FLOAT(error[SC_ERROR_LARGEST], 9);
    }
    if (program) sc_rt_program_close(program);
    setup_end(&s);
}

// Rows may come in parts, and the first of equal elements is the greatest.
TEST(rows_with_another_greatest_element_are_counted) {
    static const float expected[] = {1, 3, 2, 5, 5, 0, -3, -2, -1, 1, 2, 3};
    static const float found[] = {1, 4, 2, 4, 5, 0, -3, -2, -1, 3, 2, 1};
    for (size_t part = 1; part <= SC_COUNT_OF(found); part++) {
        double state[SC_ERROR_ALL] = {0};
        sc_error_rows rows = {.length = 3};
        for (size_t i = 0; i < SC_COUNT_OF(found); i += part)
            sc_observe_rows(&rows, state, expected + i, found + i,
                            sc_min_u64(part, SC_COUNT_OF(found) - i));
        CHECK_SAME_FLOAT(state[SC_ERROR_ROWS], 4);
        CHECK_SAME_FLOAT(state[SC_ERROR_CHANGED], 2);
    }
}

// --- Images --------------------------------------------------------------------------------------

static const char images[] =
    "method forward {\n"
    "input %p_w: f32[8, 8, 1, 1] parameter \"w\" const f32[8, 8, 1, 1] 256\n"
    "input %b_s: f32[2056] buffer \"s\" persistent const f32[2056] 8224\n"
    "input %x: f32[1, 8, 16, 16]\n"
    "%y: f32[1, 8, 16, 16] = aten::convolution(%x, %p_w, None, [1, 1], [0, 0], [1, 1], False, "
    "[0, 0], 1)\n"
    "%a: f32[2056] = sconce::observe(%y, %b_s, 2, 0)\n"
    "%z: f32[1, 8, 16, 16] = aten::convolution(%y, %p_w, None, [1, 1], [0, 0], [1, 1], False, "
    "[0, 0], 1)\n"
    "%b: f32[2056] = sconce::observe(%z, %a, 2, 0)\n"
    "%copy_: f32[2056] = aten::copy_(%b_s, %b)\n"
    "return %copy_ buffer_mutation \"s\", %b\n}\n";

// How many images have their channels last where an observer sees them.
static uint32_t count_last(const sc_rt_method *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->code_count; i++) {
        const sc_rt_instruction *in = &m->code[i];
        if (in->kind == SC_RT_KERNEL && in->call.op->id == SC_OP_sconce_observe)
            count += sc_call_tensor(&in->call, 0)->dim_order[1] == 2;
    }
    return count;
}

static void observe_images(sc_rt_when when, uint32_t expected_last, float state[STATE]) {
    float weight[CHANNELS * CHANNELS], x[IMAGE];
    const int64_t sizes[] = {1, CHANNELS, SIDE, SIDE};
    sc_rt_program *program = NULL;
    sc_rt_method *method = NULL;
    sc_rt_options options;
    setup s;
    setup_begin(&s);
    for (uint32_t i = 0; i < CHANNELS * CHANNELS; i++) weight[i] = (float)(i % 5) - 2;
    for (uint32_t i = 0; i < IMAGE; i++) x[i] = (float)(i % 7) - 3;
    const sc_rt_input input = {SC_EVALUE_TENSOR, .dtype = SC_DTYPE_F32, .rank = 4, .sizes = sizes,
                               .data = x,        .bytes = sizeof x};
    sc_rt_options_default(&options);
    options.channels_last = when;
    sc_source *source = write_program(&s, images, weight);
    if (source && CHECK_OK(sc_rt_program_open(&s.ctx, source, &options, &program)) &&
        CHECK_OK(sc_rt_method_load(&s.ctx, program, SC_STR("forward"), &method)) &&
        CHECK_OK(sc_rt_method_set_input(&s.ctx, method, 0, &input)) &&
        CHECK_OK(sc_rt_method_run(&s.ctx, method))) {
        CHECK_EQ_UINT(count_last(method), expected_last);
        sc_rt_tensor_read(sc_rt_method_output(method, 0)->tensor, state, STATE * sizeof *state);
    }
    if (program) sc_rt_program_close(program);
    setup_end(&s);
}

// The program that runs a batch is as fast as any other: observers leave convolutions their layout.
TEST(images_are_observed_as_they_lie) {
    float *changed = test_alloc(STATE * sizeof(float)), *kept = test_alloc(STATE * sizeof(float));
    observe_images(SC_RT_ALWAYS, 2, changed);
    observe_images(SC_RT_NEVER, 0, kept);
    CHECK_EQ_MEM(changed, kept, STATE * sizeof(float));
    CHECK(kept[SC_OBSERVED_TENSORS] == 2 && kept[SC_OBSERVED_HIGH] > 3);
}
