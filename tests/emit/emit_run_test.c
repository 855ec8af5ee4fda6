// Our own runtime runs the emitter's files: control flow and state of tests/emit, with the numbers
// that tests/conformance/emit_files.py has PyTorch and the official runtime agree on.
#include "harness.h"
#include "rt/method.h"

typedef struct setup {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_rt_program *program;
    sc_rt_method *method;
} setup;

static sc_status load(setup *s, const char *path) {
    memset(s, 0, sizeof *s);
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
    size_t size = 0;
    const char *bytes = test_read(path, &size);
    sc_source *source = sc_source_from_memory(&s->arena, bytes, size);
    SC_TRY(sc_rt_program_open(&s->ctx, source, NULL, &s->program));
    return sc_rt_method_load(&s->ctx, s->program, SC_STR("forward"), &s->method);
}

static void begin(setup *s, const char *path) { CHECK_OK(load(s, path)); }

static void end(setup *s) {
    if (s->program) sc_rt_program_close(s->program);
    sc_arena_deinit(&s->arena);
    sc_arena_deinit(&s->scratch);
}

static void set(setup *s, uint32_t index, sc_dtype dtype, const void *data, uint32_t rank,
                const int64_t *sizes) {
    uint64_t bytes = sc_dtype_bytes(dtype);
    for (uint32_t i = 0; i < rank; i++) bytes *= (uint64_t)sizes[i];
    sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                         .dtype = (uint8_t)dtype,
                         .rank = (uint8_t)rank,
                         .sizes = sizes,
                         .data = data,
                         .bytes = bytes};
    CHECK_OK(sc_rt_method_set_input(&s->ctx, s->method, index, &input));
}

static void check_floats(setup *s, uint32_t index, const float *wanted, uint32_t count) {
    const sc_evalue *output = sc_rt_method_output(s->method, index);
    float actual[16] = {0};
    if (!CHECK(output && output->tag == SC_EVALUE_TENSOR && count <= 16)) return;
    sc_rt_tensor_read(output->tensor, actual, count * sizeof *actual);
    for (uint32_t i = 0; i < count; i++) CHECK_CLOSE(actual[i], wanted[i], 1e-6);
}

static const int64_t two[] = {2}, three[] = {3}, four[] = {4}, rows[] = {3, 2};

// a + (x * x or -x) + n * c, and a: the results of two conds live side by side.
TEST(results_of_conds_do_not_share_memory) {
    static const float x[] = {1, 2, 3, 4}, w[] = {1, 0, -1, 0.75f};
    setup s;
    begin(&s, "emit/cond.pte");
    for (int run = 0; s.method && run < 3; run++) {
        bool flag = run != 1;
        float total[4], a[4];
        set(&s, 0, SC_DTYPE_BOOL, &flag, 0, NULL);
        set(&s, 1, SC_DTYPE_F32, x, 1, four);
        REQUIRE_OK(sc_rt_method_run(&s.ctx, s.method));
        for (int i = 0; i < 4; i++) {
            a[i] = flag ? (x[i] + w[i]) * 2 : x[i] - w[i];
            total[i] = a[i] + (flag ? x[i] * x[i] + 2 * x[i] : -x[i] + 3 * w[i]);
        }
        check_floats(&s, 0, total, 4);
        check_floats(&s, 1, a, 4);
    }
    end(&s);
}

TEST(a_map_runs_its_body_for_every_slice) {
    static const float xs[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20};
    static const float wanted[] = {11, 44, 39, 96, 75, 156};
    setup s;
    begin(&s, "emit/map.pte");
    for (int run = 0; s.method && run < 2; run++) {
        set(&s, 0, SC_DTYPE_F32, xs, 2, rows);
        set(&s, 1, SC_DTYPE_F32, y, 1, two);
        REQUIRE_OK(sc_rt_method_run(&s.ctx, s.method));
        check_floats(&s, 0, wanted, 6);
    }
    end(&s);
}

TEST(a_scan_carries_and_stacks) {
    static const float init[] = {10, 20}, xs[] = {1, 2, 3, 4, 5, 6};
    static const float last[] = {19, 32}, before[] = {10, 20, 11, 22, 14, 26};
    setup s;
    begin(&s, "emit/scan.pte");
    for (int run = 0; s.method && run < 2; run++) {
        set(&s, 0, SC_DTYPE_F32, init, 1, two);
        set(&s, 1, SC_DTYPE_F32, xs, 2, rows);
        REQUIRE_OK(sc_rt_method_run(&s.ctx, s.method));
        check_floats(&s, 0, last, 2);
        check_floats(&s, 1, before, 6);
    }
    end(&s);
}

TEST(a_while_loop_runs_as_often_as_it_must) {
    static const float x[] = {1, -2};
    setup s;
    begin(&s, "emit/while.pte");
    for (int64_t start = 0; s.method && start < 5; start++) {
        float scale = (float)(start < 3 ? 1 << (3 - start) : 1);
        float wanted[] = {x[0] * scale, x[1] * scale};
        set(&s, 0, SC_DTYPE_I64, &start, 0, NULL);
        set(&s, 1, SC_DTYPE_F32, x, 1, two);
        REQUIRE_OK(sc_rt_method_run(&s.ctx, s.method));
        check_floats(&s, 1, wanted, 2);
    }
    end(&s);
}

TEST(empty_views_lie_inside_of_their_memory) {
    static const int64_t sizes[] = {4, 0};
    setup s;
    begin(&s, "emit/nothing.pte");
    if (s.method) {
        // And calls without elements cost nothing.
        for (uint32_t i = 0; i < s.method->code_count; i++)
            CHECK_EQ_UINT(s.method->code[i].kind, SC_RT_SKIP);
        set(&s, 0, SC_DTYPE_F32, sizes, 2, sizes);
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        check_floats(&s, 0, NULL, 0);
    }
    end(&s);
}

TEST(state_starts_from_its_bytes_and_is_kept) {
    static const float x[] = {1, 2, 3};
    float state[3], wanted[3];
    setup s;
    begin(&s, "emit/counter.pte");
    for (uint32_t i = 0; i < 3; i++) state[i] = (float)((int)((i * 7 + 't') % 11) - 5) / 4;
    for (int run = 0; s.method && run < 3; run++) {
        set(&s, 0, SC_DTYPE_F32, x, 1, three);
        REQUIRE_OK(sc_rt_method_run(&s.ctx, s.method));
        for (int i = 0; i < 3; i++) {
            wanted[i] = (state[i] + x[i]) * x[i] - state[i];
            state[i] += x[i];
        }
        check_floats(&s, 0, wanted, 3);
        const sc_evalue *seven = sc_rt_method_output(s.method, 1);
        CHECK(seven->tag == SC_EVALUE_INT && seven->i == 7);
    }
    end(&s);
}

// Two calls of rand draw their own numbers, each run new ones, and a reset begins again.
TEST(random_numbers_begin_again_with_a_reset) {
    static const float x[] = {0, 0, 0, 0};
    float drawn[3][8];
    setup s;
    begin(&s, "emit/random.pte");
    REQUIRE_OK(sc_rt_method_load(&s.ctx, s.program, SC_STR("draw"), &s.method));
    for (int run = 0; run < 3; run++) {
        if (run == 2) CHECK_OK(sc_rt_program_reset(&s.ctx, s.program));
        set(&s, 0, SC_DTYPE_F32, x, 1, four);
        REQUIRE_OK(sc_rt_method_run(&s.ctx, s.method));
        for (uint32_t i = 0; i < 2; i++)
            sc_rt_tensor_read(sc_rt_method_output(s.method, i)->tensor, drawn[run] + 4 * i,
                              4 * sizeof(float));
    }
    CHECK(memcmp(drawn[0], drawn[0] + 4, 4 * sizeof(float)) != 0);
    CHECK(memcmp(drawn[0], drawn[1], sizeof drawn[0]) != 0);
    CHECK(memcmp(drawn[0], drawn[2], sizeof drawn[0]) == 0);
    end(&s);
}

// Without a backend to hand the part to, the program is refused by the backend's name.
TEST(delegated_parts_are_refused_by_name) {
    setup s;
    CHECK_STATUS(load(&s, "emit/delegate.pte"), SC_ERR_DELEGATE);
    CHECK(strstr(sc_vec_last(&s.ctx.diags).message.data, "TestBackend") != NULL);
    end(&s);
}
