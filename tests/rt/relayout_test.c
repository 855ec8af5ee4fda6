// Images with their channels last (tests/emit/images.ir, fused.ir): which of them change, that
// nobody sees it, and that weights are let go of once they are packed. All numbers of images.ir are
// multiples of 1/4 and small, so sums are exact in any order.
#include "harness.h"
#include "rt/operands.h"
#include "rt/setup.h"

enum { FLOATS = 1 << 16 };

static bool open(setup *s, const char *file, sc_rt_options options, bool is_read) {
    size_t size = 0;
    const char *bytes = test_read(file, &size);
    setup_begin(s);
    sc_source *source = is_read ? setup_read(&s->arena, bytes, size)
                                : sc_source_from_memory(&s->arena, bytes, size);
    return CHECK_OK(sc_rt_program_open(&s->ctx, source, &options, &s->program)) &&
           setup_load(s, "forward");
}

static bool is_last(const sc_tensor *t) { return t->rank == 4 && t->dim_order[1] == 2; }

// How many results of instructions that run have their channels last.
static uint32_t count_last(const sc_rt_method *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->code_count; i++) {
        sc_rt_operands o = sc_rt_operands_of(m, &m->code[i], SC_RT_WRITES);
        while (sc_rt_operands_next(&o)) count += o.tensor && is_last(o.tensor);
    }
    return count;
}

static size_t run(setup *s, float results[FLOATS]) {
    size_t count = 0;
    setup_fill(s);
    if (!CHECK_OK(sc_rt_method_run(&s->ctx, s->method))) return 0;
    for (uint32_t i = 0; i < sc_rt_method_output_count(s->method); i++) {
        const sc_tensor *t = sc_rt_method_output(s->method, i)->tensor;
        CHECK(!is_last(t));
        if (!CHECK(count + (size_t)t->numel <= FLOATS)) return 0;
        sc_rt_tensor_read(t, results + count, (size_t)t->numel * sizeof(float));
        count += (size_t)t->numel;
    }
    return count;
}

static uint32_t count_copies(const sc_rt_method *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->code_count; i++) count += m->code[i].kind == SC_RT_COPY;
    return count;
}

static void compare(const char *file, sc_rt_when when, uint32_t expected_last,
                    uint32_t expected_copies, double tolerance) {
    static float results[FLOATS], expected[FLOATS];
    setup changed, written;
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.channels_last = when;
    if (open(&changed, file, options, true)) {
        CHECK_EQ_UINT(count_last(changed.method), expected_last);
        CHECK_EQ_UINT(count_copies(changed.method), expected_copies);
        CHECK(!is_last(sc_rt_method_input(changed.method, 0)->tensor));
        options.optimize = false;
        if (open(&written, file, options, false)) {
            const size_t count = run(&written, expected);
            CHECK_EQ_UINT(count_last(written.method), 0);
            CHECK(count > 0);
            for (int i = 0; i < 2; i++) {
                CHECK_EQ_UINT(run(&changed, results), count);
                for (size_t k = 0; k < count; k++)
                    if (!CHECK_CLOSE(results[k], expected[k], tolerance)) break;
            }
        }
        setup_end(&written);
    }
    setup_end(&changed);
}

// All but what the method returns and what a view shows: relu, which its convolution writes, the
// two convolutions behind it, the sum, what is pooled and where it was, deep and cat.
TEST(images_change_between_convolutions) {
    compare("emit/images.pte", SC_RT_ALWAYS, 8, 0, 0);
    compare("emit/images.pte", SC_RT_FASTER, 8, 0, 0);
    compare("emit/images.pte", SC_RT_NEVER, 0, 0, 0);
}

// The first convolution's result is copied to where relu puts it, in the order that the second one
// reads. That one's result is gone when its relu runs: only the normalisation moves into it. The
// last one's result is copied into the method's result, and keeps that order.
TEST(images_change_where_results_are_copied) {
    compare("emit/fused.pte", SC_RT_ALWAYS, 9, 2, 1e-5);
    compare("emit/fused.pte", SC_RT_NEVER, 0, 2, 1e-5);
}

// Only the packings are left of weights that all their calls have packed.
TEST(packed_weights_are_let_go_of) {
    setup s;
    sc_rt_options options;
    sc_rt_options_default(&options);
    if (open(&s, "emit/images.pte", options, true)) {
        CHECK_EQ_UINT(s.program->constant_blocks.count, 0);
        CHECK(s.method->packed != NULL);
    }
    setup_end(&s);
    options.optimize = false;
    if (open(&s, "emit/images.pte", options, true))
        CHECK_EQ_UINT(s.program->constant_blocks.count, 1);
    setup_end(&s);
}
