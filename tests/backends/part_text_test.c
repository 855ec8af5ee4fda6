// The text of backends for the parts of a loaded program, as hosts ask for it.
#include "api/compiling.h"
#include "harness.h"

// A loaded program of the model, whose parts went to the backend.
static sc_job *loaded(sc_job *lowering, const char *model, const char *backend) {
    size_t bytes = 0;
    const char *data = test_read(test_format("models/%s.pt2", model), &bytes);
    sc_arena *arena = sc_job_ctx(lowering)->arena;
    sc_str partitioners = sc_str_from(test_format("{\"all\": [{\"backend\": \"%s\"}]}", backend));
    uint32_t delegated = 0, executorch = 0;
    CHECK(sc_compile_open(lowering, sc_source_from_memory(arena, data, bytes), SC_STR("forward"),
                          (sc_str){0}) == SC_OK);
    CHECK(sc_compile_to_edge_transform_and_lower(lowering, 0, SC_STR("[]"), partitioners,
                                                 (sc_str){0}, (sc_str){0}, &delegated) == SC_OK);
    CHECK(sc_compile_to_executorch(lowering, delegated, (sc_str){0}, &executorch) == SC_OK);
    sc_job *job = sc_job_open(NULL);
    sc_source *pte = sc_source_from_cord(arena, &lowering->outputs.data[0].cord);
    CHECK(sc_run_open(job, pte, NULL, 0, (sc_str){0}) == SC_OK);
    return job;
}

static uint32_t lines_of(sc_str text) {
    uint32_t count = 0;
    for (size_t i = 0; i < text.size; i++) count += text.data[i] == '\n';
    return count;
}

TEST(every_part_has_lines) {
    static const char *const models[] = {"mlp",  "cnn",           "tinyformer",
                                         "lstm", "quantized_cnn", "quantized_layers"};
    for (uint32_t i = 0; i < SC_COUNT_OF(models); i++) {
        sc_job *lowering = sc_job_open(NULL), *job = loaded(lowering, models[i], "xnnpack");
        sc_str text = {0};
        uint32_t parts = 0;
        while (sc_run_part_text(job, SC_STR("forward"), parts, &text) == SC_OK) {
            if (lines_of(text) < 2 || !strstr(test_format("%.*s", (int)text.size, text.data), "0 "))
                FAIL("part %u of %s: %.*s", parts, models[i], (int)text.size, text.data);
            parts++;
        }
        CHECK(parts > 0);
        CHECK(sc_run_part_text(job, SC_STR("forward"), parts, &text) == SC_ERR_NOT_FOUND);
        CHECK(sc_run_part_text(job, SC_STR("backward"), 0, &text) == SC_ERR_NOT_FOUND);
        sc_job_close(job);
        sc_job_close(lowering);
    }
}

TEST(parts_that_are_not_there_are_counted) {
    sc_job *lowering = sc_job_open(NULL), *job = loaded(lowering, "mlp", "xnnpack");
    sc_str text = {0};
    CHECK(sc_run_part_text(job, SC_STR("forward"), 3, &text) == SC_ERR_NOT_FOUND);
    CHECK_EQ_STR(test_format(SC_STR_FMT, SC_STR_ARG(sc_vec_last(&sc_job_ctx(job)->diags).message)),
                 "method 'forward' has 1 part, but no part with the number 3");
    sc_job_close(job);
    sc_job_close(lowering);
}

TEST(backends_without_words_give_no_text) {
    sc_job *lowering = sc_job_open(NULL), *job = loaded(lowering, "mlp", "null");
    sc_str text = SC_STR("before");
    CHECK(sc_run_part_text(job, SC_STR("forward"), 0, &text) == SC_OK);
    CHECK(text.size == 0);
    sc_job_close(job);
    sc_job_close(lowering);
}
