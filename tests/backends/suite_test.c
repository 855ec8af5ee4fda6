// What every row of backends.def has to do: programs of all kinds, handed to it method by method,
// give PyTorch's numbers when they run here.
#include <stdio.h>

#include "api/job.h"
#include "harness.h"
#include "rt/replay.h"

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

// The program of the version that was made last, as a source.
static sc_source *program_of(sc_job *job) {
    return sc_source_from_cord(&job->arena, &job->outputs.data[job->outputs.count - 1].cord);
}

static bool lower(sc_job *job, const char *model, const char *method, const char *partitioners) {
    size_t bytes = 0;
    const char *data = test_read(model, &bytes);
    sc_source *source = sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
    uint32_t edge, delegated, executorch;
    return sc_compile_open(job, source, sc_str_from(method), (sc_str){0}) == SC_OK &&
           sc_compile_to_edge(job, (sc_str){0}, &edge) == SC_OK &&
           sc_compile_to_backend(job, edge, sc_str_from(partitioners), (sc_str){0}, &delegated) ==
               SC_OK &&
           sc_compile_to_executorch(job, delegated, (sc_str){0}, &executorch) == SC_OK;
}

static void run_model(const sc_backend *backend, const char *stem, const char *specs) {
    sc_job *job = sc_job_open(NULL);
    const char *partitioners =
        test_format("{\"all\": [{\"backend\": \"%s\"%s}]}", backend->name, specs);
    const char *model = test_format("models/%s.pt2", stem);
    if (!lower(job, model, "forward", partitioners)) {
        report_failure("lowering", job);
    } else {
        replay r = {.program = program_of(job),
                    .backends = &sc_all_rt_backends,
                    .method = "forward",
                    .reference = test_path(test_format("models/%s", stem)),
                    .tolerances = test_path("models/tolerance.json"),
                    .optimize = true};
        if (!replay_run(&r)) FAIL("%s", r.message);
    }
    sc_job_close(job);
}

TEST_CASES(every_backend_gives_the_numbers_of_every_model) {
    size_t count;
    const char **files = test_list("models", ".ref.json", &count);
    const sc_backend *backend;
    for (uint32_t b = 0; (backend = sc_all_backends.at(NULL, b)) != NULL; b++)
        for (size_t i = 0; i < count; i++) {
            const bool is_null = strcmp(backend->name, "null") == 0;
            const char *base = strrchr(files[i], '/') + 1;
            const char *stem = test_format("%.*s", (int)(strlen(base) - strlen(".ref.json")), base);
            if (!exists(test_path(test_format("models/%s.pt2", stem)))) continue;
            if (test_case("%s on %s", stem, backend->name)) run_model(backend, stem, "");
            if (is_null && test_case("%s on null with its state", stem))
                run_model(backend, stem, ", \"specs\": [{\"key\": \"state\", \"value\": \"\"}]");
        }
}
