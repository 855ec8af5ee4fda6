// Messages about programs that cannot be lowered (tests/refused/programs.ir): cases as in
// tests/decompose, with all that is said below the line "----". And that what is advised is taken:
// the programs of advised.ir lower, maybe with warnings. --update rewrites what is said.
#include "ir_file.h"
#include "lowering.h"

// Every error names a node and the author's line, and says what to do; nobody is asked to report
// what they can write otherwise.
static void check_errors(const setup *s) {
    for (uint32_t i = 0; i < s->ctx.diags.count; i++) {
        const sc_diag *diag = &s->ctx.diags.data[i];
        if (diag->severity != SC_ERROR) continue;
        CHECK(diag->where.node.size > 0);
        CHECK(diag->where.stack_trace.size > 0);
        CHECK(diag->code != SC_ERR_INTERNAL);
        CHECK(sc_str_ends_with(diag->hint, "."));
        CHECK(!sc_str_starts_with(diag->hint, "Report"));
    }
}

static const char *said_of(setup *s, sc_str text, bool is_refused) {
    sc_program *program;
    sc_sb said;
    sc_sb_init(&said, &s->arena);
    if (!CHECK_OK(sc_program_parse(&s->ctx, text, &program))) FAIL("%s", setup_message(s));
    if (!s->ctx.error_count) {
        const sc_status status = lower_whole(s, program);
        CHECK((status != SC_OK) == is_refused);
        check_errors(s);
    }
    setup_print_diags(&said, s);
    return sc_sb_terminate(&said);
}

// Cases with what is said of each; the whole file as it should be.
static void check_file(const char *path, bool is_refused, uint32_t least) {
    setup whole;
    size_t bytes;
    uint32_t count = 0;
    setup_begin(&whole);
    char *text = test_read(path, &bytes);
    sc_sb all;
    sc_sb_init(&all, &whole.arena);
    const char *at = strstr(text, "=== ");
    sc_sb_add(&all, (sc_str){text, at ? (size_t)(at - text) : bytes});
    while (at) {
        setup s;
        const char *body = strchr(at, '\n') + 1, *divider = strstr(body, "\n----\n");
        if (!divider) break;
        const char *expected = divider + 6, *next = strstr(divider, "\n=== ");
        next = next ? next + 1 : NULL;
        const sc_str said = {expected, (size_t)((next ? next : text + bytes) - expected)};
        setup_begin(&s);
        if (test_case("%.*s", (int)(body - 5 - at), at + 4)) {
            const sc_str program = {body, (size_t)(divider + 1 - body)};
            const char *actual = said_of(&s, program, is_refused);
            if (!test_updating()) CHECK_EQ_STR(actual, sc_str_dup(&s.arena, said));
            sc_sb_add(&all, (sc_str){at, (size_t)(expected - at)});
            sc_sb_add_text(&all, actual);
        } else {
            sc_sb_add(&all, (sc_str){at, (size_t)(expected + said.size - at)});
        }
        setup_end(&s);
        count++;
        at = next;
    }
    CHECK(count >= least);
    if (test_updating()) test_write(path, all.data, all.size);
    setup_end(&whole);
}

TEST_CASES(what_is_refused_says_what_to_write) {
    CHECK_OK(sc_ops_init());
    check_file("refused/programs.ir", true, 20);
}

// The node that needs most is one that nobody wrote: what is named is what it was made of.
TEST(growth_is_reported_by_the_name_that_the_author_gave) {
    setup s;
    sc_program *program;
    const sc_diag *note = NULL;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    REQUIRE_OK(sc_program_parse(
        &s.ctx,
        SC_STR("method forward {\n  input %x: f32[64, 256]\n"
               "  %mine: f32[64, 256] = aten::cumprod(%x, 1) !(trace \"  "
               "File \\\"model.py\\\", line 7, in forward\\n    x.cumprod(1)\\n\")\n"
               "  return %mine\n}\n"),
        &program));
    CHECK_OK(lower_whole(&s, program));
    for (uint32_t i = 0; i < s.ctx.diags.count; i++)
        if (s.ctx.diags.data[i].code == SC_ERR_LIMIT) note = &s.ctx.diags.data[i];
    if (CHECK(note)) {
        CHECK_EQ_TEXT(note->where.node.data, note->where.node.size, "mine");
        CHECK_EQ_UINT(note->where.op.size, 0);
        CHECK(sc_str_find(note->where.stack_trace, '7') > 0);
    }
    setup_end(&s);
}

// Every row of the table is the advice for some program: one of PyTorch's, or one of ours
// where this release makes none.
TEST(all_advice_is_given) {
    static const struct {
        const char *name, *hint;
    } rows[] = {
#define FOREIGN(name, hint) {name, hint},
#include "ops/foreign.def"
#undef FOREIGN
    };
    size_t bytes;
    const char *text = test_format("%s%s", (char *)test_read("refused/programs.ir", &bytes),
                                   (char *)test_read("passes/unsupported.ir", &bytes));
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        const char *start = test_format("%.*s", (int)strcspn(rows[i].name, "*"), rows[i].name);
        if (!strstr(text, start)) FAIL("no program of tests/refused has %s", rows[i].name);
        if (!strstr(text, rows[i].hint)) FAIL("nobody is told: %s", rows[i].hint);
    }
}

TEST_CASES(what_is_advised_lowers) {
    CHECK_OK(sc_ops_init());
    check_file("refused/advised.ir", false, 20);
}
