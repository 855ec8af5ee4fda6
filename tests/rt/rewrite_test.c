// Load-time rewriting on programs made to be hard for it: what comes out has to be what comes out
// of the program as it is written.
#include <stdlib.h>

#include "harness.h"
#include "rt/setup.h"
#include "rt/tiny.h"

static void run(const tiny *t, bool optimize, float out[2][4]) {
    static const float x[] = {1, -2, 3, 4};
    static const int64_t sizes[] = {2, 2};
    sc_rt_options options;
    setup s;
    sc_rt_options_default(&options);
    options.optimize = optimize;
    setup_begin(&s);
    if (setup_open(&s, t->data, t->size, &options) && setup_load(&s, "forward") &&
        CHECK_OK(setup_set(&s, 0, setup_floats(x, 2, sizes))) &&
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method))) {
        for (uint32_t i = 0; i < 2; i++)
            sc_rt_tensor_read(sc_rt_method_output(s.method, i)->tensor, out[i], 16);
    }
    setup_end(&s);
}

// a = x @ w, b = x @ x, relu(a) where x was, relu(b) where a was. The first product may not write
// relu(a) while the second reads x; the second may not write relu(b) while the first's result is
// still to be copied from there.
TEST(products_that_interleave) {
    enum { A = TINY_EXTRA, B = TINY_MORE, RELU_A, RELU_B };
    float written[2][4] = {0}, rewritten[2][4] = {0};
    tiny t;
    tiny_init(&t);
    t.input.sizes[1] = t.constant.sizes[1] = 2;
    t.more[0] = t.more[1] = t.more[2] = t.extra = t.input;
    t.extra.offset_low = t.more[2].offset_low = 64;
    t.more[0].offset_low = 128;
    t.more_count = 3;
    t.memory_size = 192;
    t.op = "aten::mm";
    t.more_op[0] = "aten::relu";
    t.more_overload[0] = "out";
    t.code[0] = (tiny_instruction){1, 0, 0, {TINY_INPUT, TINY_CONSTANT, A, A}, 4};
    t.code[1] = (tiny_instruction){1, 0, 0, {TINY_INPUT, TINY_INPUT, B, B}, 4};
    t.code[2] = (tiny_instruction){1, 1, 0, {A, RELU_A, RELU_A}, 3};
    t.code[3] = (tiny_instruction){1, 1, 0, {B, RELU_B, RELU_B}, 3};
    t.code_count = 4;
    t.outputs[0] = RELU_A;
    t.outputs[1] = RELU_B;
    t.output_count = 2;
    tiny_build(&t);
    run(&t, false, written);
    run(&t, true, rewritten);
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < 4; k++) CHECK_CLOSE(rewritten[i][k], written[i][k], 1e-6);
    }
    free(t.data);
}
