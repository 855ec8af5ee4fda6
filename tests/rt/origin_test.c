// Every instruction of a file is reported once for each time that it is reached, whatever loading
// has made of it, with the results that it has in the program as written.
#include "harness.h"
#include "rt/event.h"
#include "rt/look/look.h"
#include "rt/setup.h"

enum { INSTRUCTIONS = 1024, VALUES = 4, RUNS = 3 };

typedef struct result {
    const uint8_t *bytes;
    size_t size;
    bool is_f32;
} result;

typedef struct counter {
    sc_rt_sink sink;
    uint32_t reached[INSTRUCTIONS];  // by index; all in one chain
    result results[INSTRUCTIONS][VALUES];
    uint32_t result_count[INSTRUCTIONS];
    uint32_t runs, instructions, outputs;
    uint32_t merged, copies, skipped;
    int depth;
} counter;

static void count_begin(sc_rt_sink *sink, const sc_rt_event *event) {
    counter *c = sink->user;
    c->runs += event->kind == SC_RT_EVENT_RUN;
    CHECK_EQ_INT(c->depth++, event->kind == SC_RT_EVENT_INSTRUCTION);
    if (event->kind != SC_RT_EVENT_INSTRUCTION) return;
    c->instructions++;
    c->merged += event->origin_count > 1;
    c->copies += event->work == SC_RT_COPY;
    c->skipped += event->work == SC_RT_SKIP;
    for (uint32_t i = 0; i < event->origin_count; i++) {
        const sc_rt_origin *origin = &event->origins[i];
        CHECK(i == 0 || event->origins[i - 1].index < origin->index);
        if (CHECK(origin->chain == 0 && origin->index < INSTRUCTIONS)) c->reached[origin->index]++;
    }
}

static void count_end(sc_rt_sink *sink, const sc_rt_event *event, sc_status status) {
    counter *c = sink->user;
    CHECK_OK(status);
    CHECK_EQ_INT(--c->depth, event->kind == SC_RT_EVENT_INSTRUCTION);
}

static void keep_result(counter *c, uint32_t index, const sc_tensor *t) {
    if (c->result_count[index] == VALUES) return;
    size_t size = (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
    uint8_t *bytes = test_alloc(size + 1);
    sc_rt_tensor_read(t, bytes, size);
    c->results[index][c->result_count[index]++] = (result){bytes, size, t->dtype == SC_DTYPE_F32};
}

static void count_output(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value) {
    counter *c = sink->user;
    if (event->kind == SC_RT_EVENT_RUN)
        c->outputs++;
    else if (c->runs == 1 && value->tag == SC_EVALUE_TENSOR)
        keep_result(c, event->origins[event->origin_count - 1].index, value->tensor);
    else if (value->tag == SC_EVALUE_TENSOR_LIST)
        for (uint32_t i = 0; i < value->count; i++) count_output(sink, event, value->tensors[i]);
}

static counter *counter_new(void) {
    counter *c = test_alloc(sizeof *c);
    memset(c, 0, sizeof *c);
    c->sink = (sc_rt_sink){count_begin, count_end, count_output, c};
    return c;
}

// A method's runs, listened to.
static counter *count_runs(const char *bytes, size_t size, const sc_rt_method_info *info,
                           bool optimize) {
    counter *c = counter_new();
    sc_rt_options options;
    setup s;
    sc_rt_options_default(&options);
    options.optimize = optimize;
    options.channels_last = SC_RT_ALWAYS;
    setup_begin(&s);
    if (setup_open(&s, bytes, size, &options) &&
        setup_load(&s, test_format("%.*s", SC_STR_ARG(info->name)))) {
        sc_rt_program_listen(s.program, &c->sink);
        setup_fill(&s);
        for (int i = 0; i < RUNS; i++) CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        CHECK_EQ_INT(c->runs, RUNS);
        CHECK_EQ_INT(c->outputs, RUNS * info->output_count);
    }
    setup_end(&s);
    return c;
}

static void compare(const result *actual, const result *expected) {
    if (!CHECK_EQ_UINT(actual->size, expected->size)) return;
    if (!expected->is_f32) {
        CHECK_EQ_MEM(actual->bytes, expected->bytes, expected->size);
        return;
    }
    for (size_t at = 0; at < expected->size; at += sizeof(float)) {
        float a, b;
        memcpy(&a, actual->bytes + at, sizeof a);
        memcpy(&b, expected->bytes + at, sizeof b);
        if (!CHECK_CLOSE(a, b, 1e-4)) return;
    }
}

static void check_method(const char *bytes, size_t size, const sc_rt_method_info *info) {
    const counter *written = count_runs(bytes, size, info, false);
    const counter *rewritten = count_runs(bytes, size, info, true);
    if (!info->jumps) CHECK_EQ_UINT(written->instructions, info->instruction_count * RUNS);
    CHECK(written->instructions >= RUNS);
    CHECK_EQ_UINT(written->merged + written->copies, 0);
    for (uint32_t i = 0; i < info->instruction_count; i++) {
        if (!info->jumps) CHECK_EQ_UINT(written->reached[i], RUNS);
        CHECK_EQ_UINT(rewritten->reached[i], written->reached[i]);
        // An instruction that moved into another one gives no value any more.
        if (!rewritten->result_count[i]) continue;
        CHECK_EQ_UINT(rewritten->result_count[i], written->result_count[i]);
        for (uint32_t k = 0; k < rewritten->result_count[i]; k++)
            compare(&rewritten->results[i][k], &written->results[i][k]);
    }
}

static void check_file(const char *path) {
    size_t size;
    sc_rt_method_info info;
    setup s;
    const char *bytes = test_read(path, &size);
    setup_begin(&s);
    if (setup_open(&s, bytes, size, NULL)) {
        for (uint32_t i = 0; i < sc_rt_program_method_count(s.program); i++) {
            if (!CHECK_OK(sc_rt_method_info_get(&s.ctx, s.program, i, &s.arena, &info))) continue;
            bool runs = info.instruction_count && !info.external_count && !info.backend_count;
            if (runs) check_method(bytes, size, &info);
        }
    }
    setup_end(&s);
}

TEST_CASES(each_instruction_is_reported_once_in_a_run) {
    static const char *const folders[] = {"models/official", "emit"};
    for (size_t f = 0; f < SC_COUNT_OF(folders); f++) {
        size_t count;
        const char **files = test_list(folders[f], ".pte", &count);
        for (size_t i = 0; i < count; i++)
            if (test_case("%s", files[i])) check_file(files[i]);
    }
}

TEST(loops_are_counted) {
    static const uint32_t expected[] = {1, 1, 3, 3, 2, 2, 2, 2, 2};
    static const float x[] = {1, -2};
    static const int64_t two[] = {2}, start = 1;
    setup s;
    counter *c = counter_new();
    if (setup_open_file(&s, "emit/while.pte", "forward")) {
        sc_rt_input from = {
            .tag = SC_EVALUE_TENSOR, .dtype = SC_DTYPE_I64, .data = &start, .bytes = sizeof start};
        CHECK_OK(setup_set(&s, 0, from));
        CHECK_OK(setup_set(&s, 1, setup_floats(x, 1, two)));
        sc_rt_program_listen(s.program, &c->sink);
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        for (uint32_t i = 0; i < SC_COUNT_OF(expected); i++)
            CHECK_EQ_UINT(c->reached[i], expected[i]);
        CHECK_EQ_UINT(c->instructions, 18);
    }
    setup_end(&s);
}
