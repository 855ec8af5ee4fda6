// Expansion (passes/official.c) for either runtime: which calls, what is noted of memory, and what
// it costs where inputs are many.
#include <stdio.h>

#include "api/job/options.h"
#include "lowering.h"
#include "plan/place.h"

typedef struct made {
    setup s;
    sc_method *method;
} made;

static void start(made *m, const char *text) {
    sc_program *program;
    setup_begin(&m->s);
    m->method = NULL;
    if (!CHECK_OK(sc_program_parse(&m->s.ctx, (sc_str){text, strlen(text)}, &program))) return;
    m->method = program->methods.data[0];
    m->method->facts = SC_FACT_SPECS | SC_FACT_EDGE | SC_FACT_CORE;
}

static void expand(made *m, const sc_options *options) {
    static const char *const names[] = {"official", "growth"};
    sc_pipeline pipeline = {.env = {.options = options}};
    for (size_t i = 0; m->method && i < SC_COUNT_OF(names); i++) {
        const sc_pass *pass = sc_pass_find(sc_str_from(names[i]));
        CHECK_OK(sc_pipeline_pass(&m->s.ctx, &pipeline, pass, m->method));
    }
}

static uint32_t left_of(const made *m, const char *name) {
    uint32_t count = 0;
    for (const sc_node *node = m->method ? m->method->graph->first : NULL; node; node = node->next)
        if (strcmp(node->op->name, name) == 0) count++;
    return count;
}

// --- Memory --------------------------------------------------------------------------------------

// Bytes that the plan of a program takes after expansion.
static uint64_t planned_bytes(const char *text) {
    const sc_options options = sc_options_default();
    setup s;
    sc_program *program;
    sc_storage_table *tables;
    sc_place_report *reports;
    uint64_t bytes = 0;
    setup_begin(&s);
    if (CHECK_OK(sc_program_parse(&s.ctx, (sc_str){text, strlen(text)}, &program)) &&
        CHECK_OK(lower_whole(&s, program)) &&
        CHECK_OK(sc_place_program(&s.ctx, program, &options, NULL, &tables, &reports)))
        bytes = reports[0].planned_bytes;
    setup_end(&s);
    return bytes;
}

// Loops hold what they carry, and what their bodies make in addition.
TEST(what_loops_hold_is_noted_about_as_it_is_planned) {
    static const char *const programs[] = {
        "method forward {\n  input %x: f32[4, 100, 100]\n"
        "  inv: (%y: f32[4, 100, 100]{10000, 1, 100}, %info: i32[4]) = aten::linalg_inv_ex(%x)\n"
        "  return %y\n}\n",
        "method forward {\n  input %x: f32[4, 100, 100]\n  input %b: f32[4, 100, 100]\n"
        "  %xx: f32[4, 100, 100] = aten::bmm(%x, %x)\n"
        "  inv: (%y: f32[4, 100, 100]{10000, 1, 100}, %info: i32[4]) = aten::linalg_inv_ex(%xx)\n"
        "  %z: f32[4, 100, 100] = aten::bmm(%y, %b)\n"
        "  return %xx, %z\n}\n",
    };
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(programs); i++) {
        const sc_options options = sc_options_default();
        made m;
        start(&m, programs[i]);
        expand(&m, &options);
        const sc_diag *note = m.s.ctx.diags.count ? &m.s.ctx.diags.data[0] : NULL;
        const uint64_t planned = planned_bytes(programs[i]);
        unsigned long long reported = 0;
        if (CHECK(note) && CHECK_EQ_INT(note->code, SC_ERR_LIMIT))
            CHECK_EQ_INT(sscanf(note->message.data, "%*[^0-9]%llu", &reported), 1);
        if (reported < planned / 4 * 3 || reported > planned / 4 * 5)
            FAIL("program %zu: %llu told, %llu planned", i, reported, (unsigned long long)planned);
        setup_end(&m.s);
    }
}

// --- Expansions that this runtime is faster with ------------------------------------------------

// How many nodes of that operator are left of a program that is lowered for this runtime; without
// any warning.
static uint32_t left_here(const char *name, const char *text) {
    const sc_options options = sc_options_here();
    made m;
    start(&m, text);
    expand(&m, &options);
    const uint32_t count = left_of(&m, name);
    CHECK_EQ_UINT(m.s.ctx.diags.count, 0);
    setup_end(&m.s);
    return count;
}

static const char *of_one(const char *op, const char *sizes, const char *more) {
    return test_format("method forward {\n  symbol s0 [2, 1000]\n  input %%x: f32[%s]\n"
                       "  %%y: f32[%s] = %s(%%x%s)\n  return %%y\n}\n",
                       sizes, sizes, op, more);
}

static const char *pooled(const char *results) {
    return test_format("method forward {\n  input %%x: f32[1, 4, 8, 8, 8]\n"
                       "  pool: (%%y: f32[1, 4, 4, 4, 4], %%at: i64[1, 4, 4, 4, 4]) = "
                       "aten::max_pool3d_with_indices(%%x, [2, 2, 2])\n  return %s\n}\n",
                       results);
}

static const char *regions(int samples) {
    return test_format("method forward {\n  input %%x: f32[1, 8, 9, 9]\n  input %%r: f32[4, 5]\n"
                       "  %%y: f32[4, 8, 3, 3] = torchvision::roi_align(%%x, %%r, 1.0, 3, 3, %d, "
                       "False)\n  return %%y\n}\n",
                       samples);
}

TEST(here_is_expanded_what_is_slower_whole_and_no_more) {
    static const char form[] =
        "method forward {\n  input %x: f32[2, 3]\n  input %w: f32[5, 3, 4]\n"
        "  input %y: f32[2, 4]\n  %z: f32[2, 5] = aten::_trilinear(%x, %w, %y, [1, 3], [0], [1, "
        "2], [2, 3])\n  return %z\n}\n";
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_UINT(left_here("aten::_trilinear", form), 0);
    CHECK_EQ_UINT(left_here("aten::i0", of_one("aten::i0", "128", "")), 0);
    CHECK_EQ_UINT(left_here("aten::i0", of_one("aten::i0", "127", "")), 1);
    CHECK_EQ_UINT(left_here("aten::i0", of_one("aten::i0", "s0", "")), 1);
    CHECK_EQ_UINT(left_here("aten::i0", of_one("aten::i0", "s0, 64", "")), 0);
    CHECK_EQ_UINT(left_here("aten::lgamma", of_one("aten::lgamma", "1000", "")), 1);
    CHECK_EQ_UINT(left_here("aten::cumprod", of_one("aten::cumprod", "1000", ", 0")), 1);
    CHECK_EQ_UINT(left_here("aten::max_pool3d_with_indices", pooled("%y")), 0);
    CHECK_EQ_UINT(left_here("aten::max_pool3d_with_indices", pooled("%y, %at")), 1);
    CHECK_EQ_UINT(left_here("torchvision::roi_align", regions(2)), 0);
    CHECK_EQ_UINT(left_here("torchvision::roi_align", regions(0)), 1);
}

// --- Behind an expansion -------------------------------------------------------------------------

// The passes that run when `official` is asked for, by name.
static const char *passes_run(const char *text) {
    const sc_options options = sc_options_default();
    sc_sb names;
    made m;
    start(&m, text);
    sc_pipeline pipeline = {.arena = &m.s.arena, .env = {.options = &options}};
    sc_sb_init(&names, &m.s.arena);
    if (m.method)
        CHECK_OK(sc_pipeline_pass(&m.s.ctx, &pipeline, sc_pass_find(SC_STR("official")), m.method));
    for (uint32_t i = 0; i < pipeline.timings.count; i++)
        sc_sb_addf(&names, "%s" SC_STR_FMT, i ? " " : "",
                   SC_STR_ARG(pipeline.timings.data[i].pass));
    const char *all = test_format("%s", sc_sb_terminate(&names));
    setup_end(&m.s);
    return all;
}

TEST(edge_passes_run_again_behind_an_expansion) {
    static const char whole[] =
        "method forward {\n  input %x: f32[4]\n  %y: f32[4] = aten::relu(%x)\n  return %y\n}\n";
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_STR(passes_run(of_one("aten::i0", "4", "")), "official numbers promote dim_order dce");
    CHECK_EQ_STR(passes_run(whole), "official");
}

// --- Many inputs --------------------------------------------------------------------------------

enum { MANY = 1000 };

// As many inputs, each of an open size of its own, and as many calls that are expanded.
static const char *many_open(sc_arena *arena) {
    sc_sb text;
    sc_sb_init(&text, arena);
    sc_sb_add_text(&text, "method forward {\n");
    for (int i = 0; i < MANY; i++) sc_sb_addf(&text, "  symbol s%d [2, 8]\n", i);
    for (int i = 0; i < MANY; i++) sc_sb_addf(&text, "  input %%x%d: f32[s%d]\n", i, i);
    for (int i = 0; i < MANY; i++)
        sc_sb_addf(&text, "  %%y%d: f32[s%d] = aten::exp2(%%x%d)\n", i, i, i);
    sc_sb_add_text(&text, "  return ");
    for (int i = 0; i < MANY; i++) sc_sb_addf(&text, "%s%%y%d", i ? ", " : "", i);
    sc_sb_add_text(&text, "\n}\n");
    return sc_sb_terminate(&text);
}

TEST(inputs_are_noted_once_and_not_for_each_node) {
    const sc_options options = sc_options_default();
    made m;
    REQUIRE_OK(sc_ops_init());
    sc_arena text;
    sc_arena_init(&text);
    start(&m, many_open(&text));
    const size_t before = m.s.arena.held_bytes;
    expand(&m, &options);
    CHECK_EQ_UINT(left_of(&m, "aten::exp2"), 0);
    if (m.s.arena.held_bytes - before > MANY * 8192)
        FAIL("%llu bytes for %d nodes", (unsigned long long)(m.s.arena.held_bytes - before), MANY);
    setup_end(&m.s);
    sc_arena_deinit(&text);
}
