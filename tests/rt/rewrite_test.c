// Load-time rewriting on programs made to be hard for it: what comes out has to be what comes out
// of the program as it is written.
#include <math.h>
#include <stdio.h>
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

// --- Drawn programs ------------------------------------------------------------------------------

enum {
    NAMES = 10,  // tensors, which share PLACES
    VIEWS = 6,   // from here on never written: shows another value
    PLACES = 4,
    NEVER = TINY_MORE + 8,
    ALWAYS,
    FIRST,  // has a loop been through?
    SECOND,
    PROGRAMS = 30000
};
#define NOBODY UINT32_MAX

// As a planner would have them: what is read of a value is what was written as that value, and
// nothing else has been written there since; and views show one value each.
typedef struct drawing {
    tiny t;
    uint64_t state;
    uint32_t owner[PLACES];  // the value that lies there
    uint32_t base[NAMES];    // of views that have been read: the value that they show
    bool is_kept[PLACES];    // by the stretch that is drawn: only its owner may be written there
} drawing;

static uint32_t draw(drawing *d, uint32_t below) {
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(d->state >> 33) % below;
}

static int32_t name_at(uint32_t i) {
    return i == 0 ? TINY_INPUT : i == 1 ? TINY_OUT : TINY_EXTRA + (int32_t)i - 2;
}

static tiny_tensor *tensor_at(tiny *t, uint32_t i) {
    return i == 0 ? &t->input : i == 1 ? &t->out : i == 2 ? &t->extra : &t->more[i - 3];
}

static uint32_t place_of(drawing *d, uint32_t i) { return tensor_at(&d->t, i)->offset_low / 64; }

static bool can_read(drawing *d, uint32_t i) {
    const uint32_t owner = d->owner[place_of(d, i)];
    if (i < VIEWS) return owner == i;
    return owner != NOBODY && (d->base[i] == NOBODY || d->base[i] == owner);
}

static bool can_write(drawing *d, uint32_t i) {
    const uint32_t place = place_of(d, i);
    return i < VIEWS && (!d->is_kept[place] || d->owner[place] == i);
}

static uint32_t draw_read(drawing *d) {
    const uint32_t start = draw(d, NAMES);
    for (uint32_t k = 0; k < NAMES; k++) {
        const uint32_t i = (start + k) % NAMES;
        if (!can_read(d, i)) continue;
        d->base[i] = d->owner[place_of(d, i)];
        return i;
    }
    return NOBODY;
}

static tiny_instruction *add(drawing *d, tiny_instruction in) {
    d->t.code[d->t.code_count] = in;
    return &d->t.code[d->t.code_count++];
}

static void add_call(drawing *d, uint32_t a, uint32_t b, uint32_t out) {
    const int32_t x = name_at(a), y = draw(d, 2) ? TINY_CONSTANT : name_at(b), z = name_at(out);
    switch (draw(d, 4)) {
    case 0: add(d, (tiny_instruction){1, 0, 0, {x, y, z, z}, 4}); break;
    case 1: add(d, (tiny_instruction){1, 1, 0, {x, z, z}, 3}); break;
    case 2: add(d, (tiny_instruction){1, 2, 0, {draw(d, 4) ? x : TINY_CONSTANT, z, z}, 3}); break;
    default: add(d, (tiny_instruction){1, 3, 0, {z, x, NEVER, z}, 4});
    }
}

// One that writes where it does not read, if chance has it.
static void draw_call(drawing *d) {
    const uint32_t a = draw_read(d), b = draw_read(d), out = 1 + draw(d, VIEWS - 1);
    if (a == NOBODY) return;
    const uint32_t at = place_of(d, out), read[2] = {place_of(d, a), place_of(d, b)};
    if (at == read[0] || at == read[1] || !can_write(d, out)) return;
    add_call(d, a, b, out);
    d->owner[at] = out;
}

static void draw_calls(drawing *d, uint32_t count) {
    while (count--) draw_call(d);
}

// Calls that run twice, once or not at all. The former value is lost, or written as the same value
// only. A call that may be left out leaves no value behind.
static void draw_stretch(drawing *d) {
    const drawing before = *d;
    const bool is_loop = draw(d, 2);
    for (uint32_t i = 0; i < PLACES; i++) d->is_kept[i] = d->owner[i] != NOBODY && draw(d, 2);
    for (uint32_t i = 0; i < PLACES; i++)
        if (!d->is_kept[i]) d->owner[i] = NOBODY;
    if (is_loop) {
        add(d, tiny_code(3, NEVER, FIRST));
        add(d, tiny_code(3, NEVER, SECOND));
        const int32_t start = (int32_t)d->t.code_count;
        draw_calls(d, 2 + draw(d, 6));
        add(d, tiny_code(3, FIRST, SECOND));
        add(d, tiny_code(3, ALWAYS, FIRST));
        add(d, tiny_code(4, SECOND, start));
    } else {
        const uint32_t jump = d->t.code_count;
        add(d, tiny_code(4, draw(d, 2) ? NEVER : ALWAYS, 0));
        draw_calls(d, 1 + draw(d, 4));
        d->t.code[jump].b = (int32_t)d->t.code_count;
        for (uint32_t i = 0; i < PLACES; i++)
            if (d->owner[i] != before.owner[i]) d->owner[i] = NOBODY;
    }
    memset(d->is_kept, 0, sizeof d->is_kept);
}

static void draw_program(drawing *d) {
    tiny *t = &d->t;
    tiny_init(t);
    memset(d->owner, 0xff, sizeof d->owner);
    memset(d->base, 0xff, sizeof d->base);
    d->owner[0] = 0;
    t->input.sizes[1] = t->constant.sizes[1] = 2;
    for (uint32_t i = 1; i <= NAMES; i++) {
        *tensor_at(t, i) = t->input;
        tensor_at(t, i)->offset_low = 64 * (i < PLACES ? i : draw(d, PLACES));
    }
    t->more_count = NEVER - TINY_MORE;
    t->bool_count = 4;
    t->memory_size = 64 * PLACES;
    t->op = "aten::mm";
    t->more_op[0] = "aten::relu";
    t->more_op[1] = "aten::alias_copy";
    t->more_overload[0] = t->more_overload[1] = "out";
    t->more_op[2] = "aten::copy_";
    t->more_overload[2] = "";
    t->code_count = 0;
    draw_calls(d, 1 + draw(d, 6));
    draw_stretch(d);
    draw_calls(d, 1 + draw(d, 6));
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t given = draw_read(d);
        t->outputs[i] = given == NOBODY ? TINY_CONSTANT : name_at(given);
    }
    t->output_count = 2;
    tiny_build(t);
}

static void show(drawing *d, uint32_t number) {
    const tiny *t = &d->t;
    printf("program %u gives v%d and v%d\n", number, t->outputs[0], t->outputs[1]);
    for (uint32_t i = 0; i < NAMES; i++) printf(" v%d@%u", name_at(i), place_of(d, i));
    for (uint32_t i = 0; i < t->code_count; i++) {
        const tiny_instruction *in = &t->code[i];
        printf("\n%2u: kind %u, %d %d:", i, in->kind, in->a, in->b);
        for (uint32_t k = 0; k < in->arg_count; k++) printf(" v%d", in->args[k]);
    }
    printf("\n");
}

static bool is_close(float a, float b) {
    return a == b || (isnan(a) && isnan(b)) || fabsf(a - b) <= 1e-4f * (1 + fabsf(b));
}

TEST(drawn_programs_give_what_they_say) {
    drawing d = {.state = 1};
    bool same = true;
    for (uint32_t n = 0; n < PROGRAMS && same; n++) {
        float written[2][4] = {0}, rewritten[2][4] = {0};
        draw_program(&d);
        run(&d.t, false, written);
        run(&d.t, true, rewritten);
        for (uint32_t i = 0; i < 2; i++)
            for (uint32_t k = 0; k < 4; k++) same &= is_close(rewritten[i][k], written[i][k]);
        free(d.t.data);
        if (!CHECK(same)) show(&d, n);
    }
}
