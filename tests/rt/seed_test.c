// The seed that random operators begin with, when a program is loaded and when it is reset.
#include "harness.h"
#include "rt/setup.h"

enum { DRAWN = 4 };

// Runs, and keeps what was drawn.
static void draw(setup *s, float drawn[DRAWN]) {
    CHECK_OK(sc_rt_method_run(&s->ctx, s->method));
    memcpy(drawn, sc_rt_method_output(s->method, 0)->tensor->data, DRAWN * sizeof(float));
}

// Two draws one after the other, and the first one again after a reset.
static void draws_of(uint64_t seed, float first[DRAWN], float second[DRAWN]) {
    size_t size = 0;
    const char *bytes = test_read("emit/random.pte", &size);
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.seed = seed;
    setup s;
    setup_begin(&s);
    if (setup_open(&s, bytes, size, &options) && setup_load(&s, "draw")) {
        float again[DRAWN];
        setup_fill(&s);
        draw(&s, first);
        draw(&s, second);
        CHECK_OK(sc_rt_program_reset(&s.ctx, s.program));
        draw(&s, again);
        CHECK(memcmp(first, again, sizeof again) == 0);
    }
    setup_end(&s);
}

TEST(the_seed_says_which_numbers_are_drawn) {
    float unseeded[2][DRAWN] = {0}, one[2][DRAWN] = {0}, same[2][DRAWN] = {0}, two[2][DRAWN] = {0};
    draws_of(0, unseeded[0], unseeded[1]);
    draws_of(1, one[0], one[1]);
    draws_of(1, same[0], same[1]);
    draws_of(2, two[0], two[1]);
    CHECK(memcmp(one, same, sizeof one) == 0);
    CHECK(memcmp(one[0], one[1], sizeof one[0]) != 0);
    CHECK(memcmp(unseeded[0], one[0], sizeof one[0]) != 0);
    CHECK(memcmp(one[0], two[0], sizeof one[0]) != 0);
    // Neighbouring seeds do not draw each other's numbers one call later.
    CHECK(memcmp(one[1], two[0], sizeof one[1]) != 0);
}
