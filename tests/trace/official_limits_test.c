// Expansions for the official runtime that go up to a number (trace/official/limits.def): a call at
// the number is expanded, and the next one is reported with that number.
#include "harness.h"
#include "ir_file.h"
#include "passes/passes.h"
#include "trace/coverage.h"

// A program of one node, "call", with the number in all its places.
typedef struct numbered {
    sc_limit limit;
    int64_t most;
    const char *program;
} numbered;

static const numbered LIMITS[] = {
    {SC_LIMIT_SAMPLES, SC_UP_TO_SAMPLES,
     "  input %%x: f32[1, 1, 4, 4]\n  input %%boxes: f32[1, 5]\n"
     "  call: (%%y: f32[1, 1, 1, 1]) = torchvision::roi_align(%%x, %%boxes, 1.0, 1, 1, %lld, "
     "False)\n"},
    {SC_LIMIT_GROUPS, SC_UP_TO_GROUPS,
     "  input %%rows: f32[4096, 8]\n  input %%matrices: f32[%lld, 8, 8]\n"
     "  input %%ends: i32[%lld]\n"
     "  call: (%%y: f32[4096, 8]) = transformers::grouped_mm_fallback(%%rows, %%matrices, "
     "%%ends)\n"},
    {SC_LIMIT_DERIVATIVES, SC_UP_TO_DERIVATIVES,
     "  input %%x: f32[4]\n  call: (%%y: f32[4]) = aten::polygamma(%lld, %%x)\n"},
    {SC_LIMIT_LARGE_INTEGER, INT64_C(1) << SC_UP_TO_LARGE_INTEGER,
     "  call: (%%y: i64[4]) = aten::randint(%lld, [4])\n"},
    {SC_LIMIT_LARGE_INTEGER, INT64_C(1) << SC_UP_TO_LARGE_INTEGER,
     "  call: (%%y: i64[4]) = aten::randint.low(-%lld, -9007199254740000, [4])\n"},
    {SC_LIMIT_SPAN, (INT64_C(1) << SC_UP_TO_SPAN) - 1000,
     "  call: (%%y: i64[4]) = aten::randint.low(-1000, %lld, [4])\n"},
};

// Is the node still there when the pass has run on that number?
static bool stays(setup *s, const numbered *n, int64_t number) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.env = {.options = &options}};
    sc_program *program;
    const char *body =
        test_format(n->program, (long long)number, (long long)number, (long long)number);
    const char *text = test_format("method forward {\n%s  return %%y\n}\n", body);
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), &program))) return false;
    sc_method *method = program->methods.data[0];
    method->facts = SC_FACT_SPECS | SC_FACT_EDGE | SC_FACT_CORE;
    CHECK_OK(sc_pipeline_pass(&s->ctx, &pipeline, sc_pass_find(SC_STR("official")), method));
    for (const sc_node *node = method->graph->first; node; node = node->next)
        if (sc_str_equal(sc_name_str(node->name), SC_STR("call"))) return true;
    return false;
}

static const sc_diag *warning(const setup *s) {
    for (uint32_t i = 0; i < s->ctx.diags.count; i++)
        if (s->ctx.diags.data[i].severity == SC_WARNING) return &s->ctx.diags.data[i];
    return NULL;
}

static void check_at_and_beyond(const numbered *n) {
    const char *calls = sc_limit_calls(n->limit);
    setup at, beyond;
    setup_begin(&at);
    setup_begin(&beyond);
    if (stays(&at, n, n->most) || warning(&at)) FAIL("%lld is not within", (long long)n->most);
    if (!stays(&beyond, n, n->most + 1)) FAIL("%lld is not beyond", (long long)n->most + 1);
    const sc_diag *reported = warning(&beyond);
    if (CHECK(reported) && !sc_str_ends_with(reported->message, test_format(": %s", calls)))
        FAIL("is told: " SC_STR_FMT, SC_STR_ARG(reported->message));
    setup_end(&beyond);
    setup_end(&at);
}

TEST_CASES(calls_up_to_a_number_are_expanded_and_the_next_is_not) {
    CHECK_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(LIMITS); i++)
        if (test_case("%s, %zu", sc_limit_calls(LIMITS[i].limit), i))
            check_at_and_beyond(&LIMITS[i]);
}

// A limit with a number is in the table above, so that the number is one that holds.
TEST(every_number_of_a_limit_is_tried) {
    static const sc_limit numbers[] = {
#define LIMIT(id, calls, hint)
#define UP_TO(id, most, before, after, hint) SC_LIMIT_##id,
#include "trace/official/limits.def"
    };
    for (size_t i = 0; i < SC_COUNT_OF(numbers); i++) {
        bool is_tried = false;
        for (size_t k = 0; k < SC_COUNT_OF(LIMITS); k++)
            is_tried = is_tried || LIMITS[k].limit == numbers[i];
        if (!is_tried) FAIL("no program is at the limit: %s", sc_limit_calls(numbers[i]));
    }
}
