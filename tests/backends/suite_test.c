// Duties of every row of backends.def: programs of all kinds, handed to it method by method, give
// PyTorch's numbers when they run here.
#include <stdio.h>

#include "api/compile/backends.h"
#include "api/compile/delegate.h"
#include "api/compiling.h"
#include "api/run/backends.h"
#include "api/run/running.h"
#include "harness.h"
#include "rt/look/look.h"
#include "rt/replay.h"

// Rows of backends.def. Backends that another test has registered stay for the whole process and
// are not meant here.
static const sc_backend *row_at(uint32_t index) {
#define BACKEND(...) +1
    const uint32_t count = 0
#include "backends/backends.def"
        ;
#undef BACKEND
    return index < count ? sc_all_backends.at(NULL, index) : NULL;
}

static bool exists(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

static void report_failure(const char *what, sc_job *job) {
    const sc_ctx *ctx = sc_job_ctx(job);
    const sc_diag *diag = ctx->diags.count ? &sc_vec_last(&ctx->diags) : NULL;
    FAIL("%s: %.*s (%.*s)", what, diag ? (int)diag->message.size : 0,
         diag ? diag->message.data : "", diag ? (int)diag->where.node.size : 0,
         diag ? diag->where.node.data : "");
}

static bool open_model(sc_job *job, const char *model, const char *method) {
    size_t bytes = 0;
    const char *data = test_read(model, &bytes);
    sc_source *source = sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
    return sc_compile_open(job, source, sc_str_from(method), (sc_str){0}) == SC_OK;
}

static bool lower(sc_job *job, const char *partitioners, const char *options) {
    uint32_t edge, delegated, executorch;
    return sc_compile_to_edge(job, 0, (sc_str){0}, &edge) == SC_OK &&
           sc_compile_to_backend(job, edge, sc_str_from(partitioners), (sc_str){0}, &delegated) ==
               SC_OK &&
           sc_compile_to_executorch(job, delegated, sc_str_from(options), &executorch) == SC_OK;
}

// Two models have tolerances of their own. The static quantized_cnn may be one quantum of its
// output away, whose scale is 1.8e-3: what lies halfway may fall to either. In quantized_mlp
// activations that the program quantizes as a whole are quantized by rows, with other zero points:
// a step of the last layer's is 5e-4 of its sums.
static const char *tolerances_of(const char *stem, bool is_null) {
    const char *own = test_path(test_format("backends/%s.tolerance.json", stem));
    return !is_null && exists(own) ? own : test_path("models/tolerance.json");
}

// The files that were made: the program, and the file of weights if there is one.
static void replay_job(sc_job *job, const char *stem, const char *method, bool is_null) {
    replay r = {.program = sc_source_from_cord(&job->arena, &job->outputs.data[0].cord),
                .backends = &sc_all_rt_backends,
                .method = method,
                .reference = test_path(test_format("models/%s", stem)),
                .tolerances = tolerances_of(stem, is_null),
                .optimize = true};
    if (job->outputs.count > 1)
        r.data = sc_source_from_cord(&job->arena, &job->outputs.data[1].cord);
    if (!replay_run(&r)) FAIL("%s", r.message);
}

static void run_model(const sc_backend *backend, const char *stem, const char *specs,
                      const char *options) {
    sc_job *job = sc_job_open(NULL);
    const char *partitioners =
        test_format("{\"all\": [{\"backend\": \"%s\"%s}]}", backend->name, specs);
    if (open_model(job, test_format("models/%s.pt2", stem), "forward") &&
        lower(job, partitioners, options))
        replay_job(job, stem, "forward", strcmp(backend->name, "null") == 0);
    else
        report_failure("lowering", job);
    sc_job_close(job);
}

TEST_CASES(every_backend_gives_the_numbers_of_every_model) {
    size_t count;
    const char **files = test_list("models", ".ref.json", &count);
    const sc_backend *backend;
    CHECK(count > 0);
    for (uint32_t b = 0; (backend = row_at(b)) != NULL; b++)
        for (size_t i = 0; i < count; i++) {
            const bool is_null = strcmp(backend->name, "null") == 0;
            const char *base = strrchr(files[i], '/') + 1;
            const char *stem = test_format("%.*s", (int)(strlen(base) - strlen(".ref.json")), base);
            if (!exists(test_path(test_format("models/%s.pt2", stem)))) continue;
            if (test_case("%s on %s", stem, backend->name)) run_model(backend, stem, "", "");
            if (test_case("%s on %s, weights outside", stem, backend->name))
                run_model(backend, stem, "", "{\"external_constants\": true}");
            if (is_null && test_case("%s on null with its state", stem))
                run_model(backend, stem, ", \"specs\": [{\"key\": \"state\", \"value\": \"\"}]",
                          "");
        }
}

static uint32_t count_parts(const sc_program *program) {
    uint32_t count = 0;
    for (uint32_t m = 0; m < program->methods.count; m++)
        for (const sc_node *n = program->methods.data[m]->graph->first; n; n = n->next)
            count += sc_node_part(n) != NULL;
    return count;
}

// A backend that takes nothing would pass all of the above.
TEST_CASES(every_backend_takes_a_perceptron) {
    const sc_backend *backend;
    uint32_t b = 0;
    for (; (backend = row_at(b)) != NULL; b++) {
        if (!test_case("%s", backend->name)) continue;
        sc_job *job = sc_job_open(NULL);
        const char *all = test_format("{\"all\": [{\"backend\": \"%s\"}]}", backend->name);
        if (open_model(job, "models/mlp.pt2", "forward") && lower(job, all, ""))
            CHECK(count_parts(sc_vec_last(&sc_job_compiling(job)->versions).program) > 0);
        else
            report_failure("lowering", job);
        sc_job_close(job);
    }
    CHECK(b > 0);
}

TEST(xnnpack_takes_no_compile_specs) {
    sc_job *job = sc_job_open(NULL);
    uint32_t edge, delegated;
    CHECK(open_model(job, "models/mlp.pt2", "forward"));
    CHECK_OK(sc_compile_to_edge(job, 0, (sc_str){0}, &edge));
    CHECK(sc_compile_to_backend(job, edge,
                                SC_STR("{\"all\": [{\"backend\": \"xnnpack\", \"specs\": "
                                       "[{\"key\": \"k\", \"value\": \"\"}]}]}"),
                                (sc_str){0}, &delegated) == SC_ERR_ARGUMENT);
    sc_job_close(job);
}

// --- Several methods -----------------------------------------------------------------------------

static uint64_t weight_bytes(const sc_program *program) {
    sc_map seen;
    uint64_t sum = 0;
    sc_map_init(&seen, program->ctx->arena);
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++) {
            const sc_constant *c = method->inputs.data[i].constant;
            if (c && sc_map_add(&seen, method->inputs.data[i].target, (void *)(uintptr_t)1))
                sum += c->data.size;
        }
    }
    return sum;
}

static void check_stored_once(sc_job *job) {
    sc_rt_program *program = NULL;
    sc_rt_program_info info;
    sc_ctx *ctx = sc_job_ctx(job);
    sc_source *pte = sc_source_from_cord(&job->arena, &job->outputs.data[0].cord);
    REQUIRE_OK(sc_rt_program_open(ctx, pte, NULL, &program));
    sc_rt_program_info_get(program, ctx->scratch, &info);
    uint64_t weights = weight_bytes(sc_job_compiling(job)->versions.data[0].program);
    if (info.constant_bytes + info.named_bytes > weights + weights / 4 + 256)
        FAIL("%llu bytes of weights are stored in %llu", (unsigned long long)weights,
             (unsigned long long)(info.constant_bytes + info.named_bytes));
    sc_rt_program_close(program);
}

TEST_CASES(methods_share_the_weights_of_their_parts) {
    static const char *const methods[] = {"encode", "decode", "forward"};
    const sc_backend *backend;
    for (uint32_t b = 0; (backend = row_at(b)) != NULL; b++) {
        if (!test_case("%s", backend->name)) continue;
        sc_job *job = sc_job_open(NULL);
        bool ok = true;
        for (uint32_t i = 0; i < SC_COUNT_OF(methods) && ok; i++)
            ok = open_model(job, test_format("models/encdec.%s.pt2", methods[i]), methods[i]);
        ok = ok && lower(job, test_format("{\"all\": [{\"backend\": \"%s\"}]}", backend->name), "");
        if (!ok) report_failure("lowering", job);
        for (uint32_t i = 0; i < SC_COUNT_OF(methods) && ok; i++)
            replay_job(job, test_format("encdec.%s", methods[i]), methods[i], true);
        if (ok) check_stored_once(job);
        sc_job_close(job);
    }
}

// --- Faults --------------------------------------------------------------------------------------

// A row whose callbacks fail one at a time, after they have done what the real ones do.
typedef enum fault { NO_FAULT, IN_SURVEY, IN_PREPROCESS, NOTHING_MADE, IN_INIT, IN_EXECUTE } fault;

static struct {
    fault at;
    const sc_backend *aot;
    sc_backend faulty;
    const sc_rt_backend *run;
    uint32_t started, ended;
    uint32_t count;  // of delegates in the program
} injected;

static sc_status fail(sc_ctx *ctx, const char *where) {
    return sc_fail(ctx, SC_ERR_DELEGATE, NULL, "injected in %s", where);
}

static sc_status faulty_survey(const sc_backend *backend, sc_survey *s) {
    (void)backend;
    SC_TRY(injected.aot->survey(injected.aot, s));
    return injected.at == IN_SURVEY ? fail(s->ctx, "survey") : SC_OK;
}

static sc_status faulty_preprocess(const sc_backend *backend, sc_ctx *ctx,
                                   const sc_backend_env *env, sc_part *part) {
    (void)backend;
    SC_TRY(injected.aot->preprocess(injected.aot, ctx, env, part));
    if (injected.at == NOTHING_MADE) part->processed = NULL;
    return injected.at == IN_PREPROCESS ? fail(ctx, "preprocess") : SC_OK;
}

static const sc_backend *find_faulty(void *user, sc_str name) {
    (void)user;
    return sc_str_is(name, "faulty") ? &injected.faulty : NULL;
}

static const sc_backend *faulty_at(void *user, uint32_t index) {
    (void)user;
    return index == 0 ? &injected.faulty : NULL;
}

static sc_status lower_faulty(sc_ctx *ctx, const sc_program *edge, fault at) {
    static const sc_backends table = {.find = find_faulty, .at = faulty_at};
    const sc_options options = sc_options_default();
    const sc_json *json = NULL;
    sc_program *program = NULL;
    sc_delegation delegation = {0};
    injected.at = at;
    SC_TRY(sc_program_clone(edge, &program));
    SC_TRY(sc_json_parse(ctx, ctx->arena, SC_STR("{\"all\": [{\"backend\": \"faulty\"}]}"), &json));
    return sc_delegate_program(ctx, NULL, program, json, &options, &table, false, &delegation);
}

TEST_CASES(faults_ahead_of_time_are_errors_and_leave_no_traces) {
    static const struct {
        fault at;
        const char *says;
    } rows[] = {{IN_SURVEY, "injected in survey"},
                {IN_PREPROCESS, "injected in preprocess"},
                {NOTHING_MADE, "backend 'faulty' returned no bytes for lowered_module_0"}};
    for (uint32_t b = 0; (injected.aot = row_at(b)) != NULL; b++)
        for (uint32_t i = 0; i < SC_COUNT_OF(rows); i++) {
            if (!test_case("%s, %s", injected.aot->name, rows[i].says)) continue;
            injected.faulty = *injected.aot;
            injected.faulty.name = "faulty";
            injected.faulty.survey = faulty_survey;
            injected.faulty.preprocess = faulty_preprocess;
            sc_job *job = sc_job_open(NULL);
            sc_ctx *ctx = sc_job_ctx(job);
            uint32_t edge = 0;
            if (!open_model(job, "models/mlp.pt2", "forward") ||
                sc_compile_to_edge(job, 0, (sc_str){0}, &edge) != SC_OK)
                report_failure("lowering", job);
            const sc_program *program = sc_job_compiling(job)->versions.data[edge].program;
            CHECK(lower_faulty(ctx, program, rows[i].at) == SC_ERR_DELEGATE);
            CHECK(sc_str_starts_with(sc_vec_last(&ctx->diags).message, rows[i].says));
            if (lower_faulty(ctx, program, NO_FAULT) != SC_OK) report_failure("again", job);
            sc_job_close(job);
        }
}

static sc_status faulty_init(sc_ctx *ctx, const sc_rt_start *start, void **state,
                             uint32_t *input_count) {
    if (injected.at == IN_INIT && injected.started + 1 == injected.count) return fail(ctx, "init");
    SC_TRY(injected.run->init(ctx, start, state, input_count));
    injected.started++;
    return SC_OK;
}

static sc_status faulty_execute(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call) {
    SC_TRY(injected.run->execute(ctx, state, call));
    return injected.at == IN_EXECUTE ? fail(ctx, "execute") : SC_OK;
}

static void faulty_destroy(void *state) {
    injected.run->destroy(state);
    injected.ended++;
}

static const sc_rt_backend *find_faulty_run(void *user, sc_str id) {
    static sc_rt_backend faulty;
    (void)user;
    injected.run = sc_all_rt_backends.find(sc_all_rt_backends.user, id);
    if (!injected.run) return NULL;
    faulty = *injected.run;
    faulty.init = faulty_init;
    faulty.execute = faulty_execute;
    faulty.destroy = faulty_destroy;
    return &faulty;
}

TEST_CASES(faults_at_run_time_are_errors_and_end_what_was_started) {
    static const fault faults[] = {IN_INIT, IN_EXECUTE};
    static const sc_rt_backends table = {.find = find_faulty_run};
    const sc_backend *backend;
    for (uint32_t b = 0; (backend = row_at(b)) != NULL; b++)
        for (uint32_t i = 0; i < SC_COUNT_OF(faults); i++) {
            if (!test_case("%s, fault %d", backend->name, (int)faults[i])) continue;
            sc_job *job = sc_job_open(NULL);
            const char *all = test_format("{\"all\": [{\"backend\": \"%s\"}]}", backend->name);
            if (!open_model(job, "models/tinyformer.pt2", "forward") || !lower(job, all, ""))
                report_failure("lowering", job);
            replay r = {.program = sc_source_from_cord(&job->arena, &job->outputs.data[0].cord),
                        .backends = &table,
                        .method = "forward",
                        .reference = test_path("models/tinyformer"),
                        .tolerances = test_path("models/tolerance.json"),
                        .optimize = true};
            injected.at = NO_FAULT;
            injected.started = injected.ended = 0;
            CHECK(replay_run(&r));
            CHECK(injected.started > 0 && injected.started == injected.ended);
            injected.at = faults[i];
            injected.count = injected.started;
            injected.started = injected.ended = 0;
            CHECK(!replay_run(&r));
            CHECK(strstr(r.message, "injected"));
            CHECK(injected.started == injected.ended);
            CHECK(injected.started == injected.count - (faults[i] == IN_INIT));
            sc_job_close(job);
        }
}
