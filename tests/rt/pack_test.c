// Packing at load (tests/emit/packed.ir and pixels.ir): constants only, once for all calls and
// methods that want the same bytes, with the results that running on the constants themselves
// gives. All numbers are multiples of 1/4 and small, so sums are exact in any order.
#include "compute/compute.h"
#include "harness.h"
#include "rt/method.h"

typedef struct setup {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_rt_program *program;
} setup;

static bool begin(setup *s, const char *path, bool optimize) {
    size_t size = 0;
    const char *bytes = test_read(path, &size);
    sc_rt_options options;
    memset(s, 0, sizeof *s);
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
    sc_rt_options_default(&options);
    options.optimize = optimize;
    sc_source *source = sc_source_from_memory(&s->arena, bytes, size);
    return CHECK_OK(sc_rt_program_open(&s->ctx, source, &options, &s->program));
}

static void end(setup *s) {
    if (s->program) sc_rt_program_close(s->program);
    sc_arena_deinit(&s->arena);
    sc_arena_deinit(&s->scratch);
}

static sc_rt_method *load(setup *s, sc_str name) {
    sc_rt_method *method = NULL;
    CHECK_OK(sc_rt_method_load(&s->ctx, s->program, name, &method));
    return method;
}

static const void *packed_of(const sc_rt_method *m, uint32_t index) {
    const sc_packing *packing = m->code[index].call.packed;
    return packing ? packing->data : NULL;
}

TEST(constants_are_packed_once) {
    setup s;
    if (begin(&s, "emit/packed.pte", true)) {
        const sc_rt_method *forward = load(&s, SC_STR("forward")),
                           *again = load(&s, SC_STR("again"));
        if (CHECK(forward && again) && CHECK_EQ_UINT(forward->code_count, 3)) {
            const void *packed = packed_of(forward, 0);
            CHECK(packed && packed_of(forward, 1) == packed && packed_of(again, 0) == packed);
            CHECK(!packed_of(forward, 2));  // its weight is an input
            CHECK(forward->packed && !forward->packed->next && !again->packed);
        }
    }
    end(&s);
}

// Which row each instruction of pixels.ir got its weights packed for.
TEST(rows_that_pack_are_chosen) {
    static const char *const expected[] = {"conv_nhwc", "conv_nhwc", "conv_depthwise_nhwc", NULL,
                                           "matmul_packed"};
    setup s;
    if (begin(&s, "emit/pixels.pte", true)) {
        const sc_rt_method *m = load(&s, SC_STR("forward"));
        if (CHECK(m) && CHECK_EQ_UINT(m->code_count, SC_COUNT_OF(expected))) {
            for (uint32_t i = 0; i < m->code_count; i++) {
                const sc_packing *packing = m->code[i].call.packed;
                const sc_variant *row = packing ? packing->how : NULL;
                CHECK_EQ_STR(row ? row->name : NULL, expected[i]);
            }
        }
    }
    end(&s);
}

static void set_input(setup *s, sc_rt_method *m, uint32_t index) {
    static float values[256];
    const sc_tensor *t = sc_rt_method_input(m, index)->tensor;
    for (int i = 0; i < 256; i++) values[i] = (float)(i * 5 % 7) / 4 - (float)index;
    sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                         .dtype = SC_DTYPE_F32,
                         .rank = t->rank,
                         .sizes = t->sizes,
                         .data = values,
                         .bytes = (uint64_t)t->numel * sizeof(float)};
    CHECK_OK(sc_rt_method_set_input(&s->ctx, m, index, &input));
}

// All outputs of a method one after the other; returns how many floats.
static size_t run(setup *s, sc_rt_method *m, float results[256]) {
    size_t count = 0;
    for (uint32_t i = 0; i < sc_rt_method_input_count(m); i++) set_input(s, m, i);
    if (!CHECK_OK(sc_rt_method_run(&s->ctx, m))) return 0;
    for (uint32_t i = 0; i < sc_rt_method_output_count(m); i++) {
        const sc_tensor *t = sc_rt_method_output(m, i)->tensor;
        sc_rt_tensor_read(t, results + count, (size_t)t->numel * sizeof(float));
        count += (size_t)t->numel;
    }
    return count;
}

static void compare(const char *path, const char *name) {
    setup packed, plain;
    if (begin(&packed, path, true) && begin(&plain, path, false)) {
        sc_rt_method *a = load(&packed, sc_str_from(name)), *b = load(&plain, sc_str_from(name));
        float results[256], expected[256];
        if (CHECK(a && b && !b->packed)) {
            const size_t count = run(&plain, b, expected);
            CHECK_EQ_UINT(run(&packed, a, results), count);
            CHECK_EQ_MEM(results, expected, count * sizeof(float));
        }
    }
    end(&packed);
    end(&plain);
}

TEST(packed_constants_give_the_same_results) {
    compare("emit/packed.pte", "forward");
    compare("emit/packed.pte", "again");
    compare("emit/pixels.pte", "forward");
}
