// Largest sizes that are given when lowering: what a name means, what is refused, and that the
// program is then what it would be if the file had said so.
#include <stdio.h>
#include <stdlib.h>

#include "api/compile/dynamic_shapes.h"
#include "api/compiling.h"
#include "setup.h"

static const char SOURCE[] = "method prefill {\n"
                             "  symbol s77 [2, inf] hint 4\n"
                             "  symbol s3 [1, 64] hint 4\n"
                             "  symbol s9 [1, inf] hint 2\n"
                             "  symbol u0 [0, inf]\n"
                             "  input %tokens: i64[s3, s77]\n"
                             "  input %pairs: i64[2*s77 + 1, 5]\n"
                             "  input %tiles: i64[s9*s77, 9 - s3]\n"
                             "  %neg: i64[s3, s77] = aten::neg(%tokens)\n"
                             "  return %neg\n"
                             "}\n"
                             "method decode {\n"
                             "  symbol s1 [1, 8] hint 2\n"
                             "  symbol s77 [1, inf] hint 1\n"
                             "  input %tokens: i64[s1, 1]\n"
                             "  input %mask: i64[s77]\n"
                             "  %neg: i64[s77] = aten::neg(%mask)\n"
                             "  return %neg\n"
                             "}\n";

static const sc_symbol *symbol_of(const sc_program *program, const char *method, const char *name) {
    const sc_method *one = sc_program_method(program, sc_str_from(method));
    return sc_exprs_symbol(one->exprs, sc_str_from(name));
}

static int64_t most(const sc_program *program, const char *method, const char *name) {
    return symbol_of(program, method, name)->range.max;
}

// Bounds sizes of the program above by "NAME=N NAME=N".
static sc_status bound(setup *s, const char *given, sc_program **out) {
    sc_bound items[4];
    sc_bounds bounds = {items, 0};
    for (const char *at = given; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, "=");
        items[bounds.count++] = (sc_bound){{at, size}, atoll(at + size + 1)};
        at += strcspn(at, " ");
    }
    CHECK_OK(sc_ops_init());
    CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(SOURCE), out));
    sc_status status = sc_bound_sizes(&s->ctx, *out, &bounds);
    if (status == SC_OK) CHECK_OK(sc_verify(&s->ctx, *out));
    return status;
}

static void check_most(const char *given, int64_t prefill, int64_t decode) {
    setup s;
    sc_program *program = NULL;
    setup_begin(&s);
    if (!CHECK_OK(bound(&s, given, &program))) FAIL("%s: %s", given, setup_message(&s));
    CHECK_EQ_INT(most(program, "prefill", "s77"), prefill);
    CHECK_EQ_INT(most(program, "decode", "s77"), decode);
    CHECK_EQ_INT(most(program, "prefill", "s3"), 64);
    setup_end(&s);
}

TEST(a_name_is_a_symbol_or_a_size_linear_in_one) {
    check_most("", SC_DIM_INF, SC_DIM_INF);
    check_most("s77=128", 128, 128);
    check_most("prefill:s77=128 decode:mask.0=16", 128, 16);
    check_most("tokens.1=128", 128, SC_DIM_INF);
    check_most("pairs.0=10", 4, SC_DIM_INF);
    check_most("pairs.0=11 tokens.1=5 s77=5", 5, 5);
    check_most("decode:s77=1", SC_DIM_INF, 1);
    check_most("s77=9223372036854775806", INT64_MAX - 1, INT64_MAX - 1);
    check_most("u0=7 prefill:s9=3", SC_DIM_INF, SC_DIM_INF);
}

static void check_refused(const char *given, sc_status status, const char *message,
                          const char *hint) {
    setup s;
    sc_program *program = NULL;
    setup_begin(&s);
    CHECK_EQ_INT(bound(&s, given, &program), status);
    CHECK_EQ_STR(setup_message(&s), message);
    sc_str found = s.ctx.diags.count ? sc_vec_last(&s.ctx.diags).hint : (sc_str){0};
    CHECK_EQ_STR(sc_str_dup(&s.arena, found), hint);
    setup_end(&s);
}

TEST(what_contradicts_the_file_is_refused) {
    static const char known[] = "Use one of: prefill:s77 (tokens.1, pairs.0, tiles.0), "
                                "prefill:s3 (tokens.0, tiles.1), prefill:s9 (tiles.0), prefill:u0, "
                                "decode:s1 (tokens.0), decode:s77 (mask.0).";
    static const char *const unknown[] = {
        "s78",     "tokens",           "tokens.2",        "tokens.1x", "tokens.",
        "pairs.1", "mask.-1",          "decode:pairs.0",  "else:s77",  "decode:",
        ":s77",    "mask.00000000000", "mask.4294967296", ".0",        "."};
    for (size_t i = 0; i < SC_COUNT_OF(unknown); i++) {
        char given[64], message[96];
        snprintf(given, sizeof given, "%s=8", unknown[i]);
        snprintf(message, sizeof message, "there is no dynamic size '%s'", unknown[i]);
        check_refused(given, SC_ERR_NOT_FOUND, message, known);
    }
    static const char file[] = "Give a value within the limits of the file, and not below the "
                               "example. METHOD:NAME sets it for one method only.";
    check_refused("s77=1", SC_ERR_OPTION,
                  "the largest value 1 of 's77' (size s77) is below the smallest that the file "
                  "allows, 2",
                  file);
    check_refused("pairs.0=4", SC_ERR_OPTION,
                  "the largest value 4 of 'pairs.0' (size 2*s77 + 1) is below the smallest that "
                  "the file allows, 5",
                  file);
    check_refused("pairs.0=8", SC_ERR_OPTION,
                  "the largest value 8 of 'pairs.0' (size 2*s77 + 1) is below the size of the "
                  "example input, 9",
                  file);
    check_refused(
        "s3=65", SC_ERR_OPTION,
        "the largest value 65 of 's3' (size s3) is above the largest that the file allows, "
        "64",
        file);
    static const char symbols[] = "Give a largest value for each symbol in it.";
    check_refused("tiles.0=65", SC_ERR_OPTION,
                  "'tiles.0' is s9*s77, and one largest value cannot bound it", symbols);
    check_refused("tiles.1=5", SC_ERR_OPTION,
                  "'tiles.1' is -s3 + 9, and one largest value cannot bound it", symbols);
    check_refused("tokens.1=8 pairs.0=20", SC_ERR_OPTION,
                  "'tokens.1' = 8 and 'pairs.0' = 20 contradict each other: both bound the symbol "
                  "s77",
                  "Give one largest value for each symbol.");
}

// --- Whole lowerings -----------------------------------------------------------------------------

// Texts of the source program and the edge program, and the .pte.
typedef struct lowering {
    const char *source, *edge;
    sc_str pte;
} lowering;

static const char *text_of(sc_job *job, uint32_t number) {
    sc_str text = {0};
    CHECK_OK(sc_compile_text(job, number, (sc_str){0}, &text));
    return test_format(SC_STR_FMT, SC_STR_ARG(text));
}

static lowering lowered(const char *file, size_t bytes, const char *options) {
    lowering result = {0};
    sc_job *job = sc_job_open(NULL);
    sc_ctx *ctx = sc_job_ctx(job);
    uint32_t edge = 0, made = 0;
    sc_source *source = sc_source_from_memory(ctx->arena, file, bytes);
    CHECK_OK(sc_compile_open(job, source, (sc_str){0}, (sc_str){0}));
    result.source = text_of(job, 0);
    if (!CHECK_OK(sc_compile_to_edge(job, 0, sc_str_from(options), &edge)) ||
        !CHECK_OK(sc_compile_to_executorch(job, edge, (sc_str){0}, &made)))
        FAIL("%s", sc_str_dup(ctx->arena, sc_vec_last(&ctx->diags).message));
    CHECK_EQ_STR(text_of(job, 0), result.source);
    result.edge = text_of(job, edge);
    uint8_t *pte = malloc((size_t)sc_output_bytes(job, 0) + 1);
    for (uint32_t c = 0; c < sc_output_chunk_count(job, 0); c++) {
        size_t part = (size_t)sc_output_chunk_at(job, 0, c).size;
        CHECK_OK(sc_output_read(job, 0, c, 0, pte + result.pte.size, part));
        result.pte.size += part;
    }
    result.pte.data = (const char *)pte;
    sc_job_close(job);
    return result;
}

// The file as if its export had bounded every symbol by a number of four digits.
static char *bounded(const char *file, size_t bytes, const char *digits) {
    static const char open[] = "\"max_val\": null";
    char *copy = malloc(bytes);
    memcpy(copy, file, bytes);
    uint32_t count = 0;
    for (size_t at = 0; at + sizeof open < bytes; at++) {
        if (memcmp(copy + at, open, sizeof open - 1) != 0) continue;
        memcpy(copy + at + sizeof open - 1 - 4, digits, 4);
        count++;
    }
    CHECK(count > 0);
    return copy;
}

static void check_as_if_in_file(const char *path, const char *options) {
    size_t bytes = 0;
    const char *file = test_read(path, &bytes);
    char *closed = bounded(file, bytes, "  64");
    lowering given = lowered(file, bytes, options), said = lowered(closed, bytes, "{}");
    CHECK(strstr(given.source, ", inf]") && !strstr(said.source, ", inf]"));
    CHECK_EQ_STR(given.edge, said.edge);
    CHECK_EQ_UINT(given.pte.size, said.pte.size);
    CHECK(memcmp(given.pte.data, said.pte.data, said.pte.size) == 0);
    free(closed);
    free((void *)(uintptr_t)given.pte.data);
    free((void *)(uintptr_t)said.pte.data);
}

TEST(a_largest_size_is_as_if_the_file_had_said_it) {
#define MAX "\": {\"max\": 64}"
    static const char two[] = "{\"dynamic_shapes\": {\"s33" MAX ", \"s50" MAX "}}";
    check_as_if_in_file("symbolic/slices.pt2", two);
    check_as_if_in_file("symbolic/halves.pt2", two);
    check_as_if_in_file("symbolic/joins.pt2",
                        "{\"dynamic_shapes\": {\"args_0.0" MAX ", \"args_0.1" MAX "}}");
    check_as_if_in_file("symbolic/indices.pt2", "{\"dynamic_shapes\": {\"s33" MAX ", \"args_0.1" MAX
                                                ", \"forward:s6" MAX "}}");
    check_as_if_in_file("symbolic/pyramid.pt2",
                        "{\"dynamic_shapes\": {\"s33" MAX ", \"s69" MAX ", \"s87" MAX "}}");
#undef MAX
}
