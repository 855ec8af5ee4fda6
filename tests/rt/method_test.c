// Methods as their users meet them: inputs that fit and inputs that do not, state and reset,
// constant methods, what can be known without loading.
#include <math.h>
#include <stdlib.h>

#include "harness.h"
#include "rt/look/look.h"
#include "rt/setup.h"
#include "rt/tiny.h"

TEST(inputs_are_checked) {
    setup s;
    const float data[64] = {0};
    if (setup_open_file(&s, "models/official/linear.pte", "forward")) {
        CHECK_STATUS(sc_rt_method_run(&s.ctx, s.method), SC_ERR_STATE);  // not set yet
        CHECK_STATUS(setup_set(&s, 0, setup_floats(data, 1, (int64_t[]){64})), SC_ERR_INPUT);
        CHECK_STATUS(setup_set(&s, 0, setup_floats(data, 2, (int64_t[]){2, 16})), SC_ERR_INPUT);
        CHECK_STATUS(setup_set(&s, 1, setup_floats(data, 2, (int64_t[]){4, 16})), SC_ERR_INPUT);
        sc_rt_input input = setup_floats(data, 2, (int64_t[]){4, 16});
        input.dtype = SC_DTYPE_F64;
        CHECK_STATUS(setup_set(&s, 0, input), SC_ERR_INPUT);
        input = setup_floats(data, 2, (int64_t[]){4, 16});
        input.bytes--;
        CHECK_STATUS(setup_set(&s, 0, input), SC_ERR_INPUT);
        CHECK_STATUS(setup_set(&s, 0, (sc_rt_input){.tag = SC_EVALUE_INT}), SC_ERR_INPUT);
        CHECK_OK(setup_set(&s, 0, setup_floats(data, 2, (int64_t[]){4, 16})));
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));  // inputs stay
    }
    setup_end(&s);
}

TEST(dynamic_inputs_have_bounds) {
    setup s;
    static const float data[4096];
    if (setup_open_file(&s, "models/official/mlp_dyn.pte", "forward")) {
        const sc_tensor *declared = sc_rt_method_input(s.method, 0)->tensor;
        int64_t most = declared->sizes[0], features = declared->sizes[1];
        CHECK(declared->is_dynamic);
        CHECK_STATUS(setup_set(&s, 0, setup_floats(data, 2, (int64_t[]){most + 1, features})),
                     SC_ERR_INPUT);
        CHECK_OK(setup_set(&s, 0, setup_floats(data, 2, (int64_t[]){1, features})));
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        CHECK_EQ_INT(sc_rt_method_output(s.method, 0)->tensor->sizes[0], 1);
        CHECK_OK(setup_set(&s, 0, setup_floats(data, 2, (int64_t[]){most, features})));
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        CHECK_EQ_INT(sc_rt_method_output(s.method, 0)->tensor->sizes[0], most);
    }
    setup_end(&s);
}

static sc_rt_input whole(int64_t i) { return (sc_rt_input){.tag = SC_EVALUE_INT, .i = i}; }
static sc_rt_input real(double d) { return (sc_rt_input){.tag = SC_EVALUE_DOUBLE, .d = d}; }
static sc_rt_input truth(bool b) { return (sc_rt_input){.tag = SC_EVALUE_BOOL, .b = b}; }

// x + constant, both without dimensions, in a dtype of 8, 4 or 1 bytes.
static bool open_scalar(setup *s, tiny *t, sc_dtype dtype) {
    tiny_init(t);
    t->input.dtype = t->out.dtype = t->constant.dtype = t->extra.dtype = (int8_t)dtype;
    t->input.rank = t->input.order_rank = t->out.rank = t->out.order_rank = 0;
    t->constant.rank = t->constant.order_rank = t->extra.rank = t->extra.order_rank = 0;
    t->code[0].args[1] = TINY_INPUT;
    tiny_build(t);
    setup_begin(s);
    return setup_open(s, t->data, t->size, NULL) && setup_load(s, "forward");
}

// A number stands for a tensor without dimensions, if the dtype has it.
TEST(numbers_for_tensors_without_dimensions) {
    setup s;
    tiny t;
    if (open_scalar(&s, &t, SC_DTYPE_F32)) {
        CHECK_OK(setup_set(&s, 0, whole(3)));
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        CHECK(*(const float *)sc_rt_method_output(s.method, 0)->tensor->data == 6);
        CHECK_OK(setup_set(&s, 0, real(-0.25)));
        CHECK_OK(setup_set(&s, 0, real(INFINITY)));
        CHECK_STATUS(setup_set(&s, 0, real(1e39)), SC_ERR_INPUT);
        CHECK_STATUS(setup_set(&s, 0, truth(true)), SC_ERR_INPUT);
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));  // what was refused is not set
        CHECK(*(const float *)sc_rt_method_output(s.method, 0)->tensor->data == INFINITY);
    }
    setup_end(&s);
    free(t.data);
    if (open_scalar(&s, &t, SC_DTYPE_I32)) {
        CHECK_OK(setup_set(&s, 0, real(-7)));
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        CHECK_EQ_INT(*(const int32_t *)sc_rt_method_output(s.method, 0)->tensor->data, -14);
        CHECK_OK(setup_set(&s, 0, whole(INT32_MAX)));
        CHECK_STATUS(setup_set(&s, 0, whole((int64_t)INT32_MAX + 1)), SC_ERR_INPUT);
        CHECK_STATUS(setup_set(&s, 0, real(0.5)), SC_ERR_INPUT);
        CHECK_STATUS(setup_set(&s, 0, real(1e30)), SC_ERR_INPUT);
        CHECK_STATUS(setup_set(&s, 0, real(NAN)), SC_ERR_INPUT);
    }
    setup_end(&s);
    free(t.data);
}

// A number that the program was specialised on must be that number again.
TEST(specialised_numbers) {
    setup s;
    if (setup_open_file(&s, "models/official/pytree_io.pte", "forward")) {
        uint32_t numbers = 0;
        for (uint32_t i = 0; i < sc_rt_method_input_count(s.method); i++) {
            const sc_evalue *declared = sc_rt_method_input(s.method, i);
            sc_rt_input input = {.tag = (sc_evalue_tag)declared->tag};
            if (declared->tag == SC_EVALUE_DOUBLE) {
                input.d = declared->d + 5e-5;  // within what the official runtime lets pass
                CHECK_OK(setup_set(&s, i, input));
                input.d = declared->d + 1;
                CHECK_STATUS(setup_set(&s, i, input), SC_ERR_INPUT);
                numbers++;
            } else if (declared->tag == SC_EVALUE_BOOL) {
                input.b = declared->b;
                CHECK_OK(setup_set(&s, i, input));
                input.b = !declared->b;
                CHECK_STATUS(setup_set(&s, i, input), SC_ERR_INPUT);
                numbers++;
            }
        }
        CHECK_EQ_INT(numbers, 2);
    }
    setup_end(&s);
}

// How often it has been called, as the program's own counter says.
static int64_t run_counter(setup *s) {
    const sc_tensor *declared = sc_rt_method_input(s->method, 0)->tensor;
    const float data[64] = {1, 1, 1};
    int64_t count = -1;
    CHECK_OK(setup_set(s, 0, setup_floats(data, declared->rank, declared->sizes)));
    CHECK_OK(sc_rt_method_run(&s->ctx, s->method));
    const sc_evalue *out = sc_rt_method_output(s->method, sc_rt_method_output_count(s->method) - 1);
    if (CHECK(out->tag == SC_EVALUE_TENSOR && out->tensor->dtype == SC_DTYPE_I64))
        sc_rt_tensor_read(out->tensor, &count, sizeof count);
    return count;
}

TEST(state_survives_runs_and_resets) {
    setup s;
    if (setup_open_file(&s, "models/official/counter_buffer.pte", "forward")) {
        CHECK_EQ_INT(run_counter(&s), 1);
        CHECK_EQ_INT(run_counter(&s), 2);
        CHECK_OK(sc_rt_program_reset(&s.ctx, s.program));
        CHECK_EQ_INT(run_counter(&s), 1);
    }
    setup_end(&s);
}

static const sc_evalue *constant(setup *s, const char *method) {
    if (!CHECK_OK(sc_rt_method_load(&s->ctx, s->program, sc_str_from(method), &s->method)) ||
        !CHECK_OK(sc_rt_method_run(&s->ctx, s->method)))
        return NULL;
    CHECK_EQ_INT(sc_rt_method_output_count(s->method), 1);
    return sc_rt_method_output(s->method, 0);
}

TEST(constant_methods) {
    setup s;
    if (setup_open_file(&s, "models/official/encdec.pte", "encode")) {
        const sc_evalue *value = constant(&s, "get_vocab_size");
        CHECK(value && value->tag == SC_EVALUE_INT && value->i == 64);
        value = constant(&s, "get_name");
        CHECK(value && value->tag == SC_EVALUE_STRING && sc_str_is(value->str, "encdec"));
        value = constant(&s, "get_scale");
        CHECK(value && value->tag == SC_EVALUE_DOUBLE && value->d == 0.5);
        value = constant(&s, "is_bidirectional");
        CHECK(value && value->tag == SC_EVALUE_BOOL && value->b);
        value = constant(&s, "get_table");
        CHECK(value && value->tag == SC_EVALUE_TENSOR && value->tensor->numel == 4);
        CHECK_STATUS(sc_rt_method_load(&s.ctx, s.program, SC_STR("nobody"), &s.method),
                     SC_ERR_NOT_FOUND);
    }
    setup_end(&s);
}

// Keys of external data are reported before anything is loaded, and whether they were found.
TEST(external_data_is_known_without_loading) {
    static const char *const files[] = {"models/official/encdec_ptd.ptd",
                                        "models/official/mlp_ptd.ptd"};
    for (uint32_t given = 0; given <= 2; given++) {
        setup s;
        size_t size = 0;
        sc_source *sources[2];
        sc_rt_method_info info;
        setup_begin(&s);
        for (uint32_t i = 0; i < given; i++) {
            const char *bytes = test_read(files[i], &size);
            sources[i] = sc_source_from_memory(&s.arena, bytes, size);
        }
        const char *bytes = test_read("models/official/mlp_ptd.pte", &size);
        sc_rt_options options;
        sc_rt_options_default(&options);
        options.data_files = sources;
        options.data_file_count = given;
        sc_source *pte = sc_source_from_memory(&s.arena, bytes, size);
        if (CHECK_OK(sc_rt_program_open(&s.ctx, pte, &options, &s.program)) &&
            CHECK_OK(sc_rt_method_info_get(&s.ctx, s.program, 0, &s.arena, &info))) {
            CHECK(info.external_count > 1);
            for (uint32_t i = 0; i < info.external_count; i++) {
                CHECK(info.externals[i].key.size > 0);
                CHECK_EQ_INT(info.externals[i].is_found, given == 2);
                CHECK_EQ_INT(info.externals[i].file, given == 2 ? 1 : 0);
            }
        }
        setup_end(&s);
    }
}

TEST(known_without_loading) {
    setup s;
    sc_rt_method_info info;
    sc_rt_program_info program;
    if (setup_open_file(&s, "models/official/mlp.pte", "forward")) {
        CHECK_EQ_INT(sc_rt_program_method_count(s.program), 1);
        CHECK_OK(sc_rt_method_info_get(&s.ctx, s.program, 0, &s.arena, &info));
        CHECK_EQ_INT(info.input_count, 1);
        CHECK_EQ_INT(info.inputs[0].rank, 2);
        CHECK_EQ_INT(info.inputs[0].dtype, SC_DTYPE_F32);
        CHECK_EQ_INT(info.planned_count, 1);
        CHECK(info.planned_bytes[0] > 0);
        CHECK_EQ_INT(info.external_count, 0);
        uint32_t calls = 0;
        for (uint32_t i = 0; i < info.op_count; i++) {
            CHECK(info.ops[i].is_known);
            calls += info.ops[i].calls;
        }
        CHECK_EQ_INT(calls, info.kernel_calls);
        CHECK_EQ_INT(calls, info.instruction_count);
        sc_rt_program_info_get(s.program, &s.arena, &program);
        CHECK(program.constant_bytes > 0 && program.file_bytes > program.constant_bytes);
    }
    setup_end(&s);
}

// The file of a delegate: XNNPACK's program and its weights are neither constants nor gaps.
TEST(segments_are_kept_apart) {
    setup s;
    size_t bytes;
    sc_rt_program_info program;
    setup_begin(&s);
    char *data = test_read("data/pte/linear.xnnpack.pte", &bytes);
    sc_source *source = sc_source_from_memory(&s.arena, data, bytes);
    if (CHECK_OK(sc_rt_program_open(&s.ctx, source, NULL, &s.program))) {
        sc_rt_program_info_get(s.program, &s.arena, &program);
        CHECK_EQ_UINT(program.constant_bytes, 0);
        CHECK_EQ_UINT(program.mutable_bytes, 0);
        CHECK_EQ_UINT(program.delegate_bytes, 720);
        CHECK_EQ_UINT(program.named_bytes, 512 + 32);
        CHECK_EQ_UINT(program.other_bytes, 0);
    }
    setup_end(&s);
}
