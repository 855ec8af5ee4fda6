// Calls that runs leave out while an input is the same: an encoder's output that each step of a
// decoder projects into its cache.
#include "harness.h"
#include "rt/expansion.h"
#include "rt/setup.h"

enum { X_FLOATS = 2 * 512, Q_FLOATS = 8 };

#define CACHE                                                               \
    "  input %cache: f32[2, 2] buffer \"cache\" const f32[2, 2] 16 lifted " \
    "00000000000000000000000000000000\n"

static const char step[] = "method forward {\n" CACHE "  input %x: f32[2, 512]\n"
                           "  input %q: f32[4, 2]\n"
                           "  %t: f32[512, 2] = aten::permute_copy(%x, [1, 0])\n"
                           "  %k: f32[2, 2] = aten::mm(%x, %t)\n"
                           "  %i: i64[2] = aten::arange.start_step(0, 2, dtype=i64, "
                           "layout=strided, device=device(\"cpu\"), pin_memory=False)\n"
                           "  %put: f32[2, 2] = aten::index_put(%cache, [%i], %k)\n"
                           "  %o: f32[4, 2] = aten::mm(%q, %put)\n"
                           "  return %put buffer_mutation \"cache\", %o\n"
                           "}\n";

// The number of instructions that runs may leave out.
static uint32_t remembered_in(const char *text) {
    uint32_t count = 0;
    setup s;
    if (expansion_load(&s, text, true)) {
        for (uint32_t i = 0; i < s.method->code_count; i++)
            count += s.method->code[i].is_remembered;
        CHECK_EQ_INT(count > 0, s.method->remembered.input > 0);
    }
    setup_end(&s);
    return count;
}

static bool set(setup *s, float x, float q) {
    float xs[X_FLOATS], qs[Q_FLOATS];
    for (int i = 0; i < X_FLOATS; i++) xs[i] = x * (float)(i % 13 - 5);
    for (int i = 0; i < Q_FLOATS; i++) qs[i] = q * (float)(i % 5 - 1);
    return CHECK_OK(setup_set(s, 0, setup_floats(xs, 2, (int64_t[]){2, 512}))) &&
           CHECK_OK(setup_set(s, 1, setup_floats(qs, 2, (int64_t[]){4, 2})));
}

static void run(setup *s, float x, float q, float out[Q_FLOATS]) {
    if (!set(s, x, q) || !CHECK_OK(sc_rt_method_run(&s->ctx, s->method))) return;
    sc_rt_tensor_read(sc_rt_method_output(s->method, 0)->tensor, out, Q_FLOATS * sizeof(float));
}

static sc_tensor *state_of(setup *s) {
    for (uint32_t i = 0; i < s->method->value_count; i++)
        if (s->method->places[i].is_state) return s->method->values[i].tensor;
    return NULL;
}

TEST(results_are_those_of_all_calls) {
    static const float calls[][2] = {{1, 1}, {1, 2}, {1, -3}, {2, -3}, {2, 1}, {1, 1}, {1, 1}};
    setup s, written;
    REQUIRE_OK(sc_ops_init());
    if (expansion_load(&s, step, true) && expansion_load(&written, step, false)) {
        CHECK_EQ_INT(s.method->remembered.input, 1);
        for (size_t i = 0; i < SC_COUNT_OF(calls); i++) {
            float a[Q_FLOATS], b[Q_FLOATS];
            if (i == 5) {
                CHECK_OK(sc_rt_program_reset(&s.ctx, s.program));
                CHECK_OK(sc_rt_program_reset(&written.ctx, written.program));
            }
            run(&s, calls[i][0], calls[i][1], a);
            run(&written, calls[i][0], calls[i][1], b);
            for (int k = 0; k < Q_FLOATS; k++) CHECK_CLOSE(a[k], b[k], 0);
        }
    }
    setup_end(&s);
    setup_end(&written);
}

// The bytes of the state show if a run has written it.
TEST(only_the_same_input_leaves_calls_out) {
    float out[Q_FLOATS];
    setup s;
    REQUIRE_OK(sc_ops_init());
    if (expansion_load(&s, step, true)) {
        sc_tensor *state = state_of(&s);
        float *cache = state->data;
        run(&s, 1, 1, out);
        CHECK(cache[0] != 0);
        cache[0] = 12345;
        run(&s, 1, 2, out);
        CHECK_EQ_INT((int)cache[0], 12345);
        run(&s, 2, 2, out);
        CHECK(cache[0] != 12345);
        cache[0] = 12345;
        CHECK_OK(sc_rt_program_reset(&s.ctx, s.program));
        CHECK(cache[0] == 0);
        run(&s, 2, 2, out);
        CHECK(cache[0] != 0 && cache[0] != 12345);
        // A run that fails leaves unknown bytes.
        s.ctx.limits.instruction_max = 0;
        CHECK(set(&s, 2, 3));
        cache[0] = 12345;
        CHECK_STATUS(sc_rt_method_run(&s.ctx, s.method), SC_ERR_BUDGET);
        s.ctx.limits.instruction_max = 1000;
        run(&s, 2, 3, out);
        CHECK(cache[0] != 12345);
    }
    setup_end(&s);
}

static const char other[] = "method other {\n" CACHE "  input %y: f32[2, 2]\n"
                            "  %sum: f32[2, 2] = aten::add.Tensor(%cache, %y)\n"
                            "  return %sum buffer_mutation \"cache\"\n"
                            "}\n";

#define Q4 "%q4: f32[2, 2] = aten::slice_copy.Tensor(%q, 0, 0, 2, 1)\n  "

TEST(calls_that_others_depend_on_are_not_left_out) {
    static const near_miss changes[] = {
        // The product is a result itself.
        {"\"cache\", %o\n", "\"cache\", %o, %k\n", 0},
        // Adding the same again is something else than writing it again.
        {"[%i], %k)", "[%i], %k, True)", 0},
        // It depends on both inputs.
        {"= aten::mm(%x, %t)",
         "= aten::mm(%x, %t)\n  " Q4 "%both: f32[2, 2] = aten::add.Tensor(%k, %q4)", 0},
        // Another call writes the state, too.
        {"  %o: f32", "  " Q4 "%put2: f32[2, 2] = aten::index_put(%put, [%i], %q4)\n  %o: f32", 0},
    };
    REQUIRE_OK(sc_ops_init());
    CHECK(remembered_in(step) > 1);
    for (size_t i = 0; i < SC_COUNT_OF(changes); i++) {
        char *text = expansion_changed(step, changes[i].from, changes[i].to);
        if (text && strstr(text, "%both"))
            text = expansion_changed(text, "[%i], %k)", "[%i], %both)");
        if (text && strstr(text, "%put2"))
            text = expansion_changed(text, "return %put ", "return %put2 ");
        CHECK_EQ_INT(remembered_in(text), changes[i].calls);
    }
    // The input is too small to be worth a comparison.
    char *small = expansion_changed(step, "%x: f32[2, 512]", "%x: f32[2, 511]");
    CHECK_EQ_INT(remembered_in(expansion_changed(small, "f32[512, 2]", "f32[511, 2]")), 0);
    // Another method has the same state.
    CHECK_EQ_INT(remembered_in(test_format("%s%s", step, other)), 0);
}
