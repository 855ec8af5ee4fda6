// Memory planners of the host: the request, plans that hold, and every plan that is refused.
#include <stdio.h>

#include "api/compiling.h"
#include "edit_pass.h"
#include "harness.h"

// Values in the order of the request: two inputs of 32 bytes, and results of 32 bytes.
static const char SOURCE[] = "method forward {\n"
                             "  input %x: f32[2, 4]\n"
                             "  input %y: f32[2, 4]\n"
                             "  %relu: f32[2, 4] = aten::relu(%x)\n"
                             "  %add: f32[2, 4] = aten::add.Tensor(%relu, %y)\n"
                             "  %mul: f32[2, 4] = aten::mul.Tensor(%add, %add)\n"
                             "  return %mul\n"
                             "}\n"
                             "method other {\n"
                             "  input %z: f32[2, 4]\n"
                             "  %neg: f32[2, 4] = aten::neg(%z)\n"
                             "  return %neg\n"
                             "}\n";

static const char REQUEST[] =
    "{\"method\":\"forward\",\"alignment\":16,\"momentCount\":5,\"items\":["
    "{\"name\":\"x\",\"kind\":\"input\",\"bytes\":32,\"first\":0,\"last\":1},"
    "{\"name\":\"y\",\"kind\":\"input\",\"bytes\":32,\"first\":0,\"last\":2},"
    "{\"name\":\"relu\",\"kind\":\"value\",\"bytes\":32,\"first\":1,\"last\":2},"
    "{\"name\":\"add\",\"kind\":\"value\",\"bytes\":32,\"first\":2,\"last\":3},"
    "{\"name\":\"mul\",\"kind\":\"value\",\"bytes\":32,\"first\":3,\"last\":4}]}";

// The answer of the planner; NULL: it fails, "": it gives none. How its answer was taken.
static const char *answer;
static sc_status taken;
static char asked[256];

static bool run_planner(void *user, uint32_t number, sc_str method) {
    sc_str json = {0};
    CHECK_EQ_UINT(number, 3);
    snprintf(asked, sizeof asked, SC_STR_FMT, SC_STR_ARG(method));
    CHECK_OK(sc_plan_request_json(user, &json));
    if (sc_str_is(method, "forward"))
        CHECK_EQ_STR(test_format(SC_STR_FMT, SC_STR_ARG(json)), REQUEST);
    if (!answer) return false;
    if (*answer) taken = sc_plan_request_answer(user, sc_str_from(answer));
    return taken == SC_OK;
}

static sc_status plan(sc_job *job, const char *options, const char *offsets) {
    uint32_t number = 0;
    answer = offsets;
    taken = SC_OK;
    asked[0] = 0;
    sc_job_set_host_functions(job, (sc_host_functions){run_planner, job});
    return sc_compile_to_executorch(job, 0, sc_str_from(options), &number);
}

static const char FORWARD[] = "{\"memory_planning\": {\"forward\": 3, \"other\": \"naive\"}}";

TEST(a_planner_places_the_values_of_its_method) {
    sc_job *job = pass_open(SOURCE);
    REQUIRE_OK(plan(job, FORWARD, "[0, 32, 64, 0, 32]"));
    CHECK_EQ_STR(asked, "forward");
    REQUIRE(sc_job_compiling(job)->plans.count == 2);
    const sc_place_report *report = &sc_job_compiling(job)->plans.data[0].report;
    CHECK_EQ_STR(report->algorithm, "host");
    CHECK_EQ_UINT(report->planned_bytes, 96);
    CHECK_EQ_UINT(report->items.data[4].offset, 32);
    CHECK_EQ_STR(sc_job_compiling(job)->plans.data[1].report.algorithm, "naive");
    sc_job_close(job);
}

TEST(methods_without_a_planner_get_the_best_one) {
    sc_job *job = pass_open(SOURCE);
    REQUIRE_OK(plan(job, "{\"memory_planning\": {\"other\": 3}}", "[32, 0]"));
    CHECK_EQ_STR(asked, "other");
    CHECK_EQ_STR(sc_job_compiling(job)->plans.data[0].report.algorithm, "greedy");
    CHECK_EQ_UINT(sc_job_compiling(job)->plans.data[1].report.planned_bytes, 64);
    sc_job_close(job);
}

TEST_CASES(plans_that_cannot_be_are_refused) {
    static const struct {
        const char *name, *offsets, *message;
        sc_status code;
    } CASES[] = {
        {"overlap", "[0, 16, 64, 0, 32]",
         "the planner put 'y' at 16 to 48, but 'add' is at 0 to 32 at the same time",
         SC_ERR_ARGUMENT},
        {"unaligned", "[0, 32, 72, 0, 32]",
         "the planner put 'relu' at 72, which is not a multiple of 16", SC_ERR_ARGUMENT},
        {"few", "[0, 32, 64, 0]", "too few offsets", SC_ERR_ARGUMENT},
        {"many", "[0, 32, 64, 0, 32, 0]", "too many offsets", SC_ERR_ARGUMENT},
        {"negative", "[0, 32, 64, 0, -16]", "no whole number", SC_ERR_ARGUMENT},
        {"fraction", "[0, 32, 64, 0, 0.5]", "no whole number", SC_ERR_ARGUMENT},
        {"text", "[0, 32, 64, 0, \"0\"]", "no whole number", SC_ERR_ARGUMENT},
        {"object", "{}", "is no array", SC_ERR_ARGUMENT},
        {"json", "[0, 32", "", SC_ERR_FORMAT},
        {"missing", "", "is missing", SC_ERR_ARGUMENT},
        {"large", "[0, 32, 64, 0, 4611686018427387904]", "but memory ends at", SC_ERR_LIMIT},
        {"larger", "[0, 32, 64, 0, 9223372036854775807]", "but memory ends at", SC_ERR_LIMIT},
        {"failed", NULL, "planner 3 of the host failed on method 'forward'", SC_ERR_CANCELLED},
    };
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        if (!test_case("%s", CASES[i].name)) continue;
        sc_job *job = pass_open(SOURCE);
        sc_status status = plan(job, FORWARD, CASES[i].offsets);
        bool is_found = false;
        for (uint32_t d = 0; d < job->ctx.diags.count; d++)
            is_found |= strstr(job->ctx.diags.data[d].message.data, CASES[i].message) != NULL;
        for (uint32_t d = 0; d < job->ctx.diags.count; d++)
            CHECK_EQ_UINT(job->ctx.diags.data[d].where.node.size, 0);
        CHECK(is_found);
        // The host has seen why its answer is wrong, and says that it failed.
        CHECK_EQ_INT(taken == SC_OK ? status : taken, CASES[i].code);
        sc_job_close(job);
    }
}

TEST(planners_are_asked_for_methods_that_are_there) {
    sc_job *job = pass_open(SOURCE);
    sc_str json;
    CHECK_EQ_INT(plan(job, "{\"memory_planning\": {\"none\": 3}}", "[]"), SC_ERR_NOT_FOUND);
    CHECK_EQ_INT(sc_plan_request_json(job, &json), SC_ERR_STATE);
    CHECK_EQ_INT(sc_plan_request_answer(job, SC_STR("[]")), SC_ERR_STATE);
    uint32_t number;
    sc_job_set_host_functions(job, (sc_host_functions){0});
    CHECK_EQ_INT(sc_compile_to_executorch(job, 0, SC_STR("{\"memory_planning\": 3}"), &number),
                 SC_ERR_ARGUMENT);
    sc_job_close(job);
}
