// Passes on small programs (tests/passes/*.ir): a line "# pass: NAME ..." says which to run, what
// stands above the line "----" goes in, what stands below must come out. With "# meta" the meta of
// nodes is compared too, with "# warnings" the warnings of passes; a failing pass is compared by
// its diagnostics.
// "# keeps: all but NAME" keeps whole all calls but those of that node. --update rewrites.
#include "passes/passes.h"

#include "api/compile/evaluate.h"
#include "api/job/job.h"
#include "ir_file.h"
#include "passes/facts.h"

static sc_str line_after(const char *text, const char *key) {
    const char *found = strstr(text, key);
    if (!found) return (sc_str){"", 0};
    found += strlen(key);
    return (sc_str){found, strcspn(found, "\n")};
}

static bool keeps_others(void *user, const sc_node *node) {
    return !sc_str_equal(*(const sc_str *)user, sc_name_str(sc_node_origin(node)));
}

static sc_status run_named(setup *s, sc_program *program, sc_str names, sc_str other) {
    sc_options options = sc_options_default();
    options.fold_constants = options.last_logits = options.float32 = true;
    const sc_keep keep = {keeps_others, &other};
    const sc_pass_env env = {
        .options = &options, .evaluator = &sc_own_evaluator, .keep = other.size ? &keep : NULL};
    while (names.size) {
        ptrdiff_t space = sc_str_find(names, ' ');
        sc_str name = space < 0 ? names : sc_str_slice(names, 0, (size_t)space);
        names = space < 0 ? (sc_str){0} : sc_str_slice(names, (size_t)space + 1, names.size);
        const sc_pass *pass = sc_pass_find(name);
        if (!pass) {
            FAIL("no pass is called '" SC_STR_FMT "'", SC_STR_ARG(name));
            return SC_ERR_NOT_FOUND;
        }
        for (uint32_t i = 0; i < program->methods.count; i++) {
            s->ctx.where.pass = name;
            sc_where_set_method(&s->ctx, program->methods.data[i]);
            SC_TRY(sc_pass_run(&s->ctx, pass, program->methods.data[i], &env));
        }
        CHECK_OK(sc_verify(&s->ctx, program));
    }
    return SC_OK;
}

static void check_file(const char *path) {
    setup s;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    const ir_file file = ir_file_open(path);
    sc_program *program;
    sc_print_options options = {.signature = true, .meta = strstr(file.text, "# meta\n") != NULL};
    if (!CHECK_OK(sc_program_parse(&s.ctx, file.input, &program)) ||
        !CHECK_OK(sc_verify(&s.ctx, program)))
        FAIL("%s", setup_message(&s));
    sc_sb actual;
    sc_sb_init(&actual, &s.arena);
    const bool passed = run_named(&s, program, line_after(file.text, "# pass: "),
                                  line_after(file.text, "# keeps: all but ")) == SC_OK;
    if (passed) sc_program_print(&actual, program, options);
    if (!passed || strstr(file.text, "# warnings\n")) setup_print_diags(&actual, &s);
    ir_file_check(&file, sc_sb_terminate(&actual));
    setup_end(&s);
}

TEST_CASES(passes_turn_one_graph_into_another) {
    size_t count;
    const char **files = test_list("passes", ".ir", &count);
    for (size_t i = 0; i < count; i++)
        if (test_case("%s", files[i])) check_file(files[i]);
}

// Facts are checked without any model: every need is made by what precedes and not broken since.
TEST(only_symbols_of_the_file_are_offered_to_be_bounded) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    CHECK_OK(sc_program_parse(&s.ctx,
                              SC_STR("method forward {\n  symbol u0 [0, inf]\n  input %n: int(u0)\n"
                                     "  %full: f32[u0] = aten::full([%n], 1)\n"
                                     "  return %full\n}\n"),
                              &program));
    sc_method *method = program->methods.data[0];
    CHECK_EQ_INT(sc_pass_bounds(&s.ctx, method), SC_ERR_UNBOUNDED);
    CHECK(strstr(sc_vec_last(&s.ctx.diags).hint.data, "Give it one: --max-size u0=N, "));
    sc_exprs_symbol(method->exprs, SC_STR("u0"))->is_fresh = true;
    CHECK_EQ_INT(sc_pass_bounds(&s.ctx, method), SC_ERR_UNBOUNDED);
    CHECK(sc_str_starts_with(sc_vec_last(&s.ctx.diags).hint, "Export with torch._check"));
    setup_end(&s);
}

static const char *check_hint(sc_method *method, setup *s, const char *code) {
    const char *frame = "File \"m.py\", line 3, in forward\n    %s";
    method->graph->first->meta.stack_trace = sc_str_format(s->ctx.scratch, frame, code);
    CHECK_EQ_INT(sc_pass_bounds(&s->ctx, method), SC_ERR_UNBOUNDED);
    return sc_vec_last(&s->ctx.diags).hint.data;
}

// A check has the type of the name that the line gives to its result.
TEST(results_without_a_maximum_are_checked_by_their_name) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    CHECK_OK(sc_program_parse(&s.ctx,
                              SC_STR("method forward {\n  symbol u0 [0, inf]\n  input %n: int(u0)\n"
                                     "  %full_1: f32[4, u0] = aten::full([4, %n], 1)\n"
                                     "  return %full_1\n}\n"),
                              &program));
    sc_method *method = program->methods.data[0];
    const char *named = "torch._check(cells_2.shape[1] <= N) after",
               *other = "the result's .shape[1]";
    CHECK(strstr(check_hint(method, &s, "cells_2 = torch.full((4, n), 1)"), named));
    static const char *const others[] = {
        "cells = torch.full((4, n), 1) + 1",
        "cells = g(torch.full((4, n), 1))",
        "cells, b = full(n)",
        "return torch.full((4, n), 1)",
        "cells == torch.full((4, n), 1)",
        "cells = full(",
        "cells = 3",
        "cells = (full)",
        "cells = torch.ful((4, n), 1)",
        "cells = torch.full_((4, n), 1)",
        "cells = torch.full_1_2((4, n), 1)",
        " = full()",
        "",
    };
    for (size_t i = 0; i < SC_COUNT_OF(others); i++)
        CHECK(strstr(check_hint(method, &s, others[i]), other));
    setup_end(&s);
}

TEST(passes_find_the_facts_they_need) {
    uint32_t facts = SC_FACT_SPECS;
    sc_phase step = SC_STEP_decompose;
    for (uint32_t i = 0; i < sc_pass_count(); i++) {
        const sc_pass *pass = sc_pass_at(i);
        if (pass->step < step) FAIL("%s stands after passes of a later step", pass->name);
        step = pass->step;
        if (pass->needs & ~facts)
            FAIL("%s needs facts %x that nothing makes", pass->name, pass->needs & ~facts);
        facts = (facts & ~pass->breaks) | pass->makes;
        CHECK(sc_pass_find(sc_str_from(pass->name)) == pass);
        CHECK(pass->summary[0] && strlen(pass->summary) < 90);
    }
    uint32_t wanted = SC_FACT_SPECS | SC_FACT_EDGE | SC_FACT_WRITTEN | SC_FACT_HANDLES |
                      SC_FACT_EXECUTABLE | SC_FACT_NO_DEAD;
    CHECK_EQ_UINT(facts & wanted, wanted);
}

static bool cancel_at_third(void *user, const char *phase, uint64_t done, uint64_t total) {
    (void)phase;
    CHECK(done <= total);
    return ++*(int *)user == 3;
}

TEST(pipeline_reports_times_and_cancels) {
    setup s;
    int calls = 0;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    sc_program *program;
    REQUIRE_OK(sc_program_parse(&s.ctx,
                                SC_STR("method f {\n  input %x: f32[2]\n"
                                       "  %a: f32[2] = aten::relu(%x)\n  return %a\n}\n"),
                                &program));
    sc_pipeline pipeline = {.verify = true, .arena = &s.arena};
    REQUIRE_OK(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_decompose));
    s.ctx.host.progress = cancel_at_third;
    s.ctx.host.user = &calls;
    CHECK_STATUS(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_to_edge), SC_ERR_CANCELLED);
    CHECK_EQ_UINT(pipeline.timings.count, 6);
    setup_end(&s);
}

// A refusal of one method, of whatever kind, keeps nothing of another method from being reported;
// nor does a method that contradicts itself hide its unknown operators.
TEST(pipeline_reports_what_no_method_can_be_lowered_for) {
    setup s;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    sc_program *program;
    REQUIRE_OK(sc_program_parse(&s.ctx,
                                SC_STR("method refused {\n  input %x: i64[4]\n"
                                       "  %y: i64[4, 7] = aten::one_hot(%x)\n  return %y\n}\n"
                                       "method wrong {\n  input %x: f32[2, 3]\n"
                                       "  %y: f32[3, 3] = aten::silu(%x)\n"
                                       "  %z: f32[3, 3] = aten::late(%y)\n  return %z\n}\n"
                                       "method unknown {\n  input %x: f32[4]\n"
                                       "  %y: f32[4] = aten::other(%x)\n  return %y\n}\n"),
                                &program));
    sc_pipeline pipeline = {.arena = &s.arena};
    CHECK_STATUS(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_decompose),
                 SC_ERR_UNSUPPORTED_OP);
    sc_sb all;
    sc_sb_init(&all, &s.arena);
    setup_print_diags(&all, &s);
    CHECK_EQ_STR(sc_sb_terminate(&all),
                 "unsupported in refused/y: one_hot without a number of classes is not "
                 "supported\n"
                 "  Pass num_classes.\n"
                 "mismatch in wrong/y: 'y' is f32[3, 3] in the file, but f32[2, 3] by its "
                 "expansion\n"
                 "  Export the model again: its file and its operators give different results.\n"
                 "unsupported_op in wrong/z: aten::late is not supported\n"
                 "  Write this line with other operators; `sconce operators` lists them.\n"
                 "unsupported_op in unknown/y: aten::other is not supported\n"
                 "  Write this line with other operators; `sconce operators` lists them.\n");
    setup_end(&s);
}
