// Values inside of a delegate, found by debug handles, are those that the kernels compute without
// it: the handles behind XNNPACK's events, their order, and the layout in which values are shown.
#include <stdio.h>

#include "api/compile/backends.h"
#include "api/compile/executable.h"
#include "api/compiling.h"
#include "api/run/backends.h"
#include "api/run/running.h"
#include "harness.h"
#include "rt/event.h"
#include "rt/setup.h"

enum { HANDLES = 512 };

typedef struct seen {
    float *numbers;  // NULL: no text
    uint32_t rank, count;
    int64_t sizes[SC_RANK_MAX];
} seen;

typedef struct watcher {
    sc_rt_sink sink;
    const sc_emit_plan *plan;
    seen values[HANDLES];  // the last one of each handle
} watcher;

static uint32_t handle_of_event(const sc_emit_plan *plan, const sc_rt_event *event) {
    for (uint32_t i = 0; i < plan->part_calls.count; i++) {
        const sc_emit_part_call *call = &plan->part_calls.data[i];
        if (call->instruction != event->origins[0].index) continue;
        for (uint32_t k = 0; k < call->part->events.count; k++) {
            const sc_part_event *mapped = &call->part->events.data[k];
            if (sc_str_equal(mapped->name, event->delegate_id))
                return mapped->handle_count ? mapped->handles[mapped->handle_count - 1] : 0;
        }
    }
    return 0;
}

static void no_begin(sc_rt_sink *sink, const sc_rt_event *event) {
    (void)sink;
    (void)event;
}

static void no_end(sc_rt_sink *sink, const sc_rt_event *event, sc_status status) {
    (void)sink;
    (void)event;
    CHECK_OK(status);
}

static void keep_value(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value) {
    watcher *w = sink->user;
    uint32_t handle = 0;
    if (event->kind == SC_RT_EVENT_DELEGATE) handle = handle_of_event(w->plan, event);
    if (event->kind == SC_RT_EVENT_INSTRUCTION && event->work != SC_RT_DELEGATE)
        handle = w->plan->debug_handles[event->origins[event->origin_count - 1].index];
    if (handle == 0 || handle >= HANDLES || value->tag != SC_EVALUE_TENSOR ||
        value->tensor->dtype != SC_DTYPE_F32)
        return;
    const sc_tensor *t = value->tensor;
    seen *s = &w->values[handle];
    *s = (seen){.rank = t->rank, .count = (uint32_t)t->numel};
    memcpy(s->sizes, t->sizes, t->rank * sizeof *t->sizes);
    s->numbers = test_alloc((size_t)t->numel * sizeof(float) + 1);
    sc_rt_tensor_read(t, s->numbers, (size_t)t->numel * sizeof(float));
}

// Values of a made program, run as it is written.
static watcher *watch(sc_job *job, const sc_emit_result *made) {
    watcher *w = test_alloc(sizeof *w);
    setup s;
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.backends = &sc_all_rt_backends;
    options.optimize = false;
    memset(w, 0, sizeof *w);
    w->plan = &made->plans.data[0];
    w->sink = (sc_rt_sink){no_begin, no_end, keep_value, w};
    setup_begin(&s);
    sc_source *pte = sc_source_from_cord(&job->arena, &made->program);
    if (CHECK_OK(sc_rt_program_open(&s.ctx, pte, &options, &s.program)) &&
        setup_load(&s, "forward")) {
        setup_fill(&s);
        sc_rt_program_listen(s.program, &w->sink);
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
    }
    setup_end(&s);
    return w;
}

static watcher *watch_version(sc_job *job, uint32_t version) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.verify = true, .arena = &job->arena, .env = {.options = &options}};
    sc_program *program = NULL;
    sc_executable made;
    if (!CHECK_OK(
            sc_program_clone(sc_job_compiling(job)->versions.data[version].program, &program)) ||
        !CHECK_OK(sc_make_executable(sc_job_ctx(job), &pipeline, program, &made)))
        return NULL;
    return watch(job, &made.result);
}

static void compare(uint32_t handle, const seen *inside, const seen *outside) {
    // A view that is no instruction may have given the last value of a node other sizes.
    const bool same =
        inside->rank != outside->rank
            ? inside->count == outside->count
            : memcmp(inside->sizes, outside->sizes, inside->rank * sizeof *inside->sizes) == 0;
    if (!same) {
        FAIL("what is behind handle %u has other sizes", handle);
        return;
    }
    for (uint32_t i = 0; i < inside->count; i++) {
        const float want = outside->numbers[i], got = inside->numbers[i];
        if (want - got <= 1e-4f && got - want <= 1e-4f) continue;
        FAIL("number %u behind handle %u is %g, not %g", i, handle, (double)got, (double)want);
        return;
    }
}

static void check_model(const char *model, uint32_t wanted) {
    sc_job *job = sc_job_open(NULL);
    size_t bytes = 0;
    uint32_t edge = 0, delegated = 0, compared = 0;
    const char *data = test_read(test_format("models/%s.pt2", model), &bytes);
    sc_source *source = sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
    REQUIRE_OK(sc_compile_open(job, source, SC_STR("forward"), (sc_str){0}));
    REQUIRE_OK(sc_compile_to_edge(job, 0, (sc_str){0}, &edge));
    REQUIRE_OK(sc_compile_to_backend(job, edge, SC_STR("{\"all\": [{\"backend\": \"xnnpack\"}]}"),
                                     (sc_str){0}, &delegated));
    const watcher *outside = watch_version(job, edge), *inside = watch_version(job, delegated);
    for (uint32_t h = 1; h < HANDLES && inside && outside; h++) {
        if (!inside->values[h].numbers || !outside->values[h].numbers) continue;
        compare(h, &inside->values[h], &outside->values[h]);
        compared++;
    }
    if (compared < wanted) FAIL("%u values were compared, not %u", compared, wanted);
    sc_job_close(job);
}

TEST_CASES(values_inside_of_delegates_are_those_of_their_nodes) {
    static const struct {
        const char *model;
        uint32_t values;
    } cases[] = {{"mlp", 2},     {"cnn", 4},         {"channels_last_input", 2},
                 {"cnn_dyn", 4}, {"tinyformer", 10}, {"weight_layouts", 2},
                 {"lstm", 2}};
    for (uint32_t i = 0; i < SC_COUNT_OF(cases); i++)
        if (test_case("%s", cases[i].model)) check_model(cases[i].model, cases[i].values);
}
