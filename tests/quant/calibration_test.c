// Observers in a program that runs: states are mutable buffers that begin with zeros, go from one
// observer of a group to the next, and are outputs too.
#include "emit/emit.h"
#include "ir/parse.h"
#include "observe/error.h"
#include "observe/observe.h"
#include "plan/place.h"
#include "quant/numbers.h"
#include "rt/internal.h"

enum { COUNT = 10, STATE = SC_OBSERVED_HEADER + SC_BINS };

static const char text[] =
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

static sc_source *write_program(setup *s) {
    const sc_options options = sc_options_default();
    sc_place_report *reports = NULL;
    sc_storage_table *tables;
    sc_program *program;
    sc_emit_result result;
    if (!CHECK_OK(sc_ops_init())) return NULL;
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), &program))) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        sc_constant *state = program->methods.data[0]->inputs.data[i].constant;
        state->data = sc_extent_whole(sc_source_zeros(&s->arena, state->data.size));
    }
    if (!CHECK_OK(sc_place_program(&s->ctx, program, &options, &tables, &reports)) ||
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
    sc_source *source = write_program(&s);
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
