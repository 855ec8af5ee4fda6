// Verifying as hosts call it: a program beside itself without delegates, on the file's own inputs.
#include "api/job.h"
#include "harness.h"

static sc_str verify(sc_job *job, const char *model, const char *partitioners) {
    size_t bytes = 0;
    const char *data = test_read(test_format("models/%s.pt2", model), &bytes);
    sc_source *source = sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
    uint32_t delegated = 0, executorch = 0;
    sc_str json = {0};
    CHECK(sc_compile_open(job, source, SC_STR("forward"), (sc_str){0}) == SC_OK);
    CHECK(sc_compile_to_edge_transform_and_lower(job, SC_STR("[]"), sc_str_from(partitioners),
                                                 (sc_str){0}, (sc_str){0}, &delegated) == SC_OK);
    CHECK(sc_compile_to_executorch(job, delegated, (sc_str){0}, &executorch) == SC_OK);
    CHECK(sc_compile_verify(job, delegated, &json) == SC_ERR_STATE);
    CHECK(sc_compile_verify(job, executorch, &json) == SC_OK);
    return json;
}

static bool says(sc_str json, const char *text) {
    return strstr(test_format("%.*s", (int)json.size, json.data), text) != NULL;
}

TEST(what_is_the_same_is_close) {
    static const char *const models[] = {"mlp", "mlp_dyn", "cond", "counter_buffer", "pytree_io"};
    for (uint32_t i = 0; i < SC_COUNT_OF(models); i++) {
        sc_job *job = sc_job_open(NULL);
        sc_str json = verify(job, models[i], "{\"all\": [{\"backend\": \"null\"}]}");
        if (!says(json, "\"inputs\":\"example\"")) FAIL("%s: %.*s", models[i], 200, json.data);
        CHECK(says(json, "\"isClose\":true"));
        CHECK(!says(json, "\"isClose\":false"));
        CHECK(says(json, "\"reason\"") == (strcmp(models[i], "cond") == 0));
        sc_job_close(job);
    }
}
