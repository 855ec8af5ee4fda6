// What the tables say of operators (trace/coverage.h), held to what lowering makes of the programs
// of tests/decompose: where every operator of a program is said to run on a runtime, nothing that
// is left of it lacks a kernel there.
#include "trace/coverage.h"

#include "api/job.h"
#include "passes/passes.h"
#include "setup.h"

typedef struct claims {
    bool here, official;
    uint32_t count;
} claims;

static sc_status gather(sc_ctx *ctx, sc_graph *graph, void *user) {
    claims *c = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_coverage covered = sc_op_coverage(node->op);
        c->here = c->here && covered.here != SC_COVERED_NOT;
        c->official = c->official && covered.official != SC_COVERED_NOT;
        c->count++;
    }
    return SC_OK;
}

// Pairs and complex numbers share their memory where sizes are known: no kernel runs.
static bool shows_the_same_bytes(const sc_node *node) {
    return node->op->id == SC_OP_view_as_complex_copy && sc_spec_is_static(&node->outs[0]->spec);
}

static sc_status check_nodes(sc_ctx *ctx, sc_graph *graph, void *user) {
    const claims *c = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next) {
        if (sc_op_has(node->op, SC_SYMBOLIC) || shows_the_same_bytes(node)) continue;
        const sc_coverage covered = sc_op_coverage(node->op);
        if (c->here && covered.here == SC_COVERED_NOT) FAIL("%s does not run here", node->op->name);
        if (c->official && covered.official == SC_COVERED_NOT)
            FAIL("%s does not run there", node->op->name);
    }
    return SC_OK;
}

static sc_status lowered(setup *s, sc_program *program) {
    static const sc_phase steps[] = {SC_STEP_decompose, SC_STEP_to_edge, SC_STEP_to_executorch};
    const sc_options options = sc_options_default();
    const sc_pass_env env = {.options = &options, .evaluator = &sc_own_evaluator};
    sc_pipeline pipeline = {.arena = &s->arena, .env = env};
    for (size_t i = 0; i < SC_COUNT_OF(steps); i++)
        SC_TRY(sc_pipeline_run(&s->ctx, &pipeline, program, steps[i]));
    return SC_OK;
}

// Counts the programs that could be judged.
static void check_case(sc_str text, uint32_t *judged) {
    setup s;
    sc_program *program;
    claims c = {.here = true, .official = true};
    setup_begin(&s);
    if (sc_program_parse(&s.ctx, text, &program) == SC_OK) {
        (void)sc_graphs_visit(&s.ctx, program->methods.data[0]->graph, gather, &c);
        if (lowered(&s, program) == SC_OK) {
            (*judged)++;
            (void)sc_graphs_visit(&s.ctx, program->methods.data[0]->graph, check_nodes, &c);
        }
    }
    setup_end(&s);
}

TEST_CASES(what_is_said_to_run_comes_to_what_runs) {
    size_t count, bytes;
    uint32_t judged = 0;
    const char **files = test_list("decompose", ".ir", &count);
    CHECK_OK(sc_ops_init());
    for (size_t i = 0; i < count; i++) {
        char *text = test_read(files[i], &bytes);
        for (const char *at = strstr(text, "\n=== "); at;) {
            const char *body = strchr(at + 5, '\n') + 1, *next = strstr(body, "\n=== ");
            const char *end = strstr(body, "\n----\n");
            if (end && test_case("%s %.*s", files[i], (int)(body - at - 6), at + 5))
                check_case((sc_str){body, (size_t)(end + 1 - body)}, &judged);
            at = next;
        }
    }
    CHECK(judged >= 500);
}

static sc_coverage of(const char *name) {
    const sc_op *op = sc_op_find(sc_str_from(name));
    if (!op) FAIL("no operator is called %s", name);
    return op ? sc_op_coverage(op) : (sc_coverage){.here = SC_COVERED_NOT};
}

TEST(coverage_follows_the_tables) {
    CHECK_OK(sc_ops_init());
    CHECK_EQ_INT(of("aten::mm").official, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::mm").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::linear").official, SC_COVERED_EXPANDED);
    CHECK_EQ_INT(of("aten::sort").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::sort").official, SC_COVERED_EXPANDED);
    CHECK_EQ_INT(of("aten::view").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::add_.Tensor").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::igamma").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::igamma").official, SC_COVERED_NOT);
    CHECK(of("aten::igamma").lacks == sc_op_get(SC_OP_igamma));
    CHECK(of("aten::mm").is_pytorch && !of("aten::view_copy").is_pytorch);
}

TEST(what_is_missing_is_in_no_table) {
    CHECK_OK(sc_ops_init());
    CHECK(sc_coverage_missing_count() > 0);
    for (uint32_t i = 0; i < sc_coverage_missing_count(); i++) {
        const char *name = sc_coverage_missing(i);
        CHECK(sc_str_starts_with(sc_str_from(name), "aten::"));
        if (sc_op_find(sc_str_from(name))) FAIL("%s is known", name);
    }
    CHECK(strcmp(sc_coverage_pytorch_version(), "2.") > 0);
}
