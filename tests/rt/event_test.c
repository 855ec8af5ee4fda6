// The reports to a listener, in which order and with which values, written down for small programs.
#include "rt/event.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "rt/setup.h"
#include "rt/tiny.h"

typedef struct scribe {
    sc_rt_sink sink;
    char text[2048];
    size_t size;
} scribe;

static void note(sc_rt_sink *sink, const char *text) {
    scribe *s = sink->user;
    s->size += (size_t)snprintf(s->text + s->size, sizeof s->text - s->size, "%s", text);
    if (!CHECK(s->size < sizeof s->text)) s->size = 0;
}

static void note_begin(sc_rt_sink *sink, const sc_rt_event *event) {
    static const char *const names[] = {"load", "run", ""};
    note(sink, names[event->kind]);
    for (uint32_t i = 0; i < event->origin_count; i++) {
        const sc_rt_origin *origin = &event->origins[i];
        note(sink, test_format("%s%u:%u %.*s", i ? " + " : "", origin->chain, origin->index,
                               SC_STR_ARG(origin->op_name)));
    }
    CHECK((event->kind == SC_RT_EVENT_INSTRUCTION) == (event->origin_count > 0));
    CHECK(sc_str_is(event->method, "forward"));
    if (event->work == SC_RT_SKIP) note(sink, " skip");
    if (event->work == SC_RT_COPY) note(sink, " copy");
    note(sink, " (");
}

static void note_end(sc_rt_sink *sink, const sc_rt_event *event, sc_status status) {
    (void)event;
    note(sink, status ? test_format(" failed: %s", sc_status_slug(status)) : "");
    note(sink, ")\n");
}

static void note_output(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value) {
    (void)event;
    if (value->tag == SC_EVALUE_INT) note(sink, test_format("= %lld\n", (long long)value->i));
    if (value->tag != SC_EVALUE_TENSOR) return;
    float numbers[16] = {0};
    if (!CHECK(value->tensor->dtype == SC_DTYPE_F32 && value->tensor->numel <= 16)) return;
    sc_rt_tensor_read(value->tensor, numbers, (size_t)value->tensor->numel * sizeof(float));
    note(sink, "=");
    for (int64_t i = 0; i < value->tensor->numel; i++) note(sink, test_format(" %g", numbers[i]));
    note(sink, "\n");
}

static void scribe_init(scribe *s) {
    *s = (scribe){.sink = {.begin = note_begin, .end = note_end, .output = note_output}};
    s->sink.user = s;
}

static const int64_t square[] = {2, 2};

// Opens the program, listens, and runs it on 1 -2 3 4.
static void listen_to(tiny *t, bool optimize, scribe *heard, sc_status status) {
    static const float x[] = {1, -2, 3, 4};
    sc_rt_options options;
    setup s;
    scribe_init(heard);
    tiny_build(t);
    sc_rt_options_default(&options);
    options.optimize = optimize;
    setup_begin(&s);
    if (setup_open(&s, t->data, t->size, &options)) {
        sc_rt_program_listen(s.program, &heard->sink);
        if (setup_load(&s, "forward") && CHECK_OK(setup_set(&s, 0, setup_floats(x, 2, square))))
            CHECK_STATUS(sc_rt_method_run(&s.ctx, s.method), status);
    }
    setup_end(&s);
    free(t->data);
}

static void begin_square(tiny *t) {
    tiny_init(t);
    t->input.sizes[1] = t->constant.sizes[1] = t->out.sizes[1] = 2;
    t->extra = t->more[0] = t->more[1] = t->more[2] = t->out;
    t->extra.offset_low = 64;
    t->memory_size = 192;
}

TEST(events_come_in_order_with_what_was_written) {
    scribe heard;
    tiny t;
    begin_square(&t);
    t.code[1] = t.code[0];
    t.code[1].args[0] = TINY_OUT;
    t.code[1].args[3] = t.code[1].args[4] = t.outputs[0] = TINY_EXTRA;
    t.code_count = 2;
    listen_to(&t, true, &heard, SC_OK);
    CHECK_EQ_STR(heard.text, "load ()\n"
                             "run (0:0 aten::add.out ()\n"
                             "= 2 0 6 8\n"
                             "0:1 aten::add.out ()\n"
                             "= 3 2 9 12\n"
                             ")\n"
                             "= 3 2 9 12\n");
}

TEST(chains_are_kept_apart) {
    scribe heard;
    tiny t;
    begin_square(&t);
    t.code[1] = t.code[2] = t.code[0];
    t.code_count = 3;
    t.second_chain = 1;
    listen_to(&t, true, &heard, SC_OK);
    CHECK_EQ_STR(heard.text, "load ()\n"
                             "run (0:0 aten::add.out ()\n"
                             "= 2 0 6 8\n"
                             "1:0 aten::add.out ()\n"
                             "= 2 0 6 8\n"
                             "1:1 aten::add.out ()\n"
                             "= 2 0 6 8\n"
                             ")\n"
                             "= 2 0 6 8\n");
}

// A jump in the second chain leads into that chain; what it leaps over is not reported, what it
// comes back to is reported again.
TEST(jumps_count_what_is_reached) {
    scribe heard;
    tiny t;
    begin_square(&t);
    t.code[1] = tiny_code(4, TINY_EXTRA, 2);
    t.code[2] = tiny_code(5, TINY_OUT, 0);
    t.code[3] = t.code[0];
    t.code_count = 4;
    t.second_chain = 1;
    t.extra_kind = 3;
    listen_to(&t, true, &heard, SC_OK);
    CHECK_EQ_STR(heard.text, "load ()\n"
                             "run (0:0 aten::add.out ()\n"
                             "= 2 0 6 8\n"
                             "1:0  ()\n"
                             "1:2 aten::add.out ()\n"
                             "= 2 0 6 8\n"
                             ")\n"
                             "= 2 0 6 8\n");
}

TEST(what_fails_ends) {
    scribe heard;
    tiny t;
    begin_square(&t);
    t.code[1] = tiny_code(5, TINY_INPUT, 0);
    t.code[2] = t.code[0];
    t.code_count = 3;
    listen_to(&t, true, &heard, SC_ERR_STATE);
    CHECK_EQ_STR(heard.text, "load ()\n"
                             "run (0:0 aten::add.out ()\n"
                             "= 2 0 6 8\n"
                             "0:1  ()\n"
                             "0:2 aten::add.out ( failed: state)\n"
                             " failed: state)\n");
}

TEST(a_load_that_fails_ends) {
    scribe heard;
    setup s;
    tiny t;
    begin_square(&t);
    t.code[0].args[0] = TINY_ALPHA;
    tiny_build(&t);
    scribe_init(&heard);
    setup_begin(&s);
    if (setup_open(&s, t.data, t.size, NULL)) {
        sc_rt_program_listen(s.program, &heard.sink);
        CHECK_STATUS(sc_rt_method_load(&s.ctx, s.program, SC_STR("forward"), &s.method),
                     SC_ERR_CORRUPT);
        CHECK_EQ_STR(heard.text, "load ( failed: corrupt)\n");
    }
    setup_end(&s);
    free(t.data);
}

// relu(copy of x @ (w + w)): a constant to compute at load, a copy that changes nothing, and a relu
// that can move into its product.
static void begin_rewritten(tiny *t) {
    enum { SUM = TINY_EXTRA, COPY = TINY_MORE, PRODUCT };
    begin_square(t);
    t->more_op[0] = "aten::alias_copy";
    t->more_op[1] = "aten::mm";
    t->more_op[2] = "aten::relu";
    t->more_overload[0] = t->more_overload[1] = t->more_overload[2] = "out";
    t->more[0].offset_low = 96;
    t->more[1].offset_low = 128;
    t->more_count = 2;
    t->code[0].args[0] = TINY_CONSTANT;
    t->code[0].args[3] = t->code[0].args[4] = SUM;
    t->code[1] = (tiny_instruction){1, 1, 0, {TINY_INPUT, COPY, COPY}, 3};
    t->code[2] = (tiny_instruction){1, 2, 0, {COPY, SUM, PRODUCT, PRODUCT}, 4};
    t->code[3] = (tiny_instruction){1, 3, 0, {PRODUCT, TINY_OUT, TINY_OUT}, 3};
    t->code_count = 4;
}

TEST(rewritten_instructions_are_not_forgotten) {
    scribe heard;
    tiny t;
    begin_rewritten(&t);
    listen_to(&t, false, &heard, SC_OK);
    CHECK_EQ_STR(heard.text, "load ()\n"
                             "run (0:0 aten::add.out ()\n"
                             "= 2 4 6 8\n"
                             "0:1 aten::alias_copy.out ()\n"
                             "= 1 -2 3 4\n"
                             "0:2 aten::mm.out ()\n"
                             "= -10 -12 30 44\n"
                             "0:3 aten::relu.out ()\n"
                             "= 0 0 30 44\n"
                             ")\n"
                             "= 0 0 30 44\n");
    begin_rewritten(&t);
    listen_to(&t, true, &heard, SC_OK);
    CHECK_EQ_STR(heard.text, "load ()\n"
                             "run (0:0 aten::add.out skip ()\n"
                             "= 2 4 6 8\n"
                             "0:1 aten::alias_copy.out skip ()\n"
                             "= 1 -2 3 4\n"
                             "0:2 aten::mm.out + 0:3 aten::relu.out ()\n"
                             "= 0 0 30 44\n"
                             ")\n"
                             "= 0 0 30 44\n");
    // The result lies where the product reads: a copy stands for the relu, and until then nothing
    // is anywhere that the file knows.
    begin_rewritten(&t);
    t.out.offset_low = 96;
    t.code[1] = t.code[0];
    t.code[1].args[0] = t.code[1].args[1] = TINY_INPUT;
    t.code[1].args[3] = t.code[1].args[4] = TINY_MORE;
    listen_to(&t, true, &heard, SC_OK);
    CHECK_EQ_STR(heard.text, "load ()\n"
                             "run (0:0 aten::add.out skip ()\n"
                             "= 2 4 6 8\n"
                             "0:1 aten::add.out ()\n"
                             "= 2 -4 6 8\n"
                             "0:2 aten::mm.out ()\n"
                             "0:3 aten::relu.out copy ()\n"
                             "= 0 0 60 88\n"
                             ")\n"
                             "= 0 0 60 88\n");
}

TEST(a_sink_is_heard_from_when_it_is_set) {
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const int64_t sizes[] = {2, 3};
    scribe heard;
    setup s;
    tiny t;
    tiny_init(&t);
    tiny_build(&t);
    scribe_init(&heard);
    heard.sink.output = NULL;
    setup_begin(&s);
    if (setup_open(&s, t.data, t.size, NULL) && setup_load(&s, "forward") &&
        CHECK_OK(setup_set(&s, 0, setup_floats(x, 2, sizes)))) {
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        sc_rt_program_listen(s.program, &heard.sink);
        setup_load(&s, "forward");  // is loaded
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        sc_rt_program_listen(s.program, NULL);
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
    }
    CHECK_EQ_STR(heard.text, "run (0:0 aten::add.out ()\n)\nrun (0:0 aten::add.out ()\n)\n");
    setup_end(&s);
    free(t.data);
}
