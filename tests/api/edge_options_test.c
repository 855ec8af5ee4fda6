// Options of to_edge that choose what the edge program may hold, and the sizes that to_executorch
// plans for.
#include "api/compiling.h"
#include "harness.h"

// A job whose source program is the text.
static sc_job *open_program(const char *text) {
    sc_job *job = sc_job_open(NULL);
    sc_program *program = NULL;
    SC_ASSERT(job && sc_ops_init() == SC_OK);
    if (!CHECK_OK(sc_program_parse(&job->ctx, sc_str_from(text), &program)))
        FAIL("%s", sc_str_dup(&job->arena, sc_vec_last(&job->ctx.diags).message));
    sc_job_add_version(job, SC_DIALECT_source, program, 0);
    return job;
}

static const char *message_of(sc_job *job) {
    return job->ctx.diags.count ? sc_str_dup(&job->arena, sc_vec_last(&job->ctx.diags).message)
                                : "";
}

static const char *text_of(sc_job *job, uint32_t number) {
    sc_str text = {0};
    CHECK_OK(sc_compile_text(job, number, (sc_str){0}, &text));
    return sc_str_dup(&job->arena, text);
}

// Does the text call the operator?
static bool calls(const char *text, const char *op) {
    return strstr(text, test_format("= %s(", op)) != NULL;
}

static const char *edge_text(sc_job *job, const char *options, uint32_t *edge) {
    if (!CHECK_OK(sc_compile_to_edge(job, 0, sc_str_from(options), edge)))
        FAIL("%s: %s", options, message_of(job));
    return text_of(job, *edge);
}

static void check_file(sc_job *job, uint32_t edge) {
    uint32_t made = 0;
    if (!CHECK_OK(sc_compile_to_executorch(job, edge, (sc_str){0}, &made)))
        FAIL("%s", message_of(job));
}

static void check_edge_refused(const char *source, const char *options, sc_status code,
                               const char *message) {
    sc_job *job = open_program(source);
    uint32_t edge = 0;
    CHECK_STATUS(sc_compile_to_edge(job, 0, sc_str_from(options), &edge), code);
    if (!strstr(message_of(job), message)) FAIL("'%s', not '%s'", message_of(job), message);
    sc_job_close(job);
}

// --- preserve_ops --------------------------------------------------------------------------------

static const char ACTIVATIONS[] = "method forward {\n"
                                  "  input %x: f32[2, 4]\n"
                                  "  %silu: f32[2, 4] = aten::silu(%x)\n"
                                  "  %mish: f32[2, 4] = aten::mish(%silu)\n"
                                  "  return %mish\n"
                                  "}\n";

TEST(operators_stay_whole_by_name) {
    sc_job *job = open_program(ACTIVATIONS);
    uint32_t edge = 0;
    const char *plain = edge_text(job, "{}", &edge);
    CHECK(!calls(plain, "aten::silu") && !calls(plain, "aten::mish"));
    const char *one = edge_text(job, "{\"preserve_ops\": [\"aten::silu.default\"]}", &edge);
    CHECK(calls(one, "aten::silu") && !calls(one, "aten::mish"));
    check_file(job, edge);
    const char *both =
        edge_text(job, "{\"preserve_ops\": [\"aten::mish\", \"aten::silu\"]}", &edge);
    CHECK(calls(both, "aten::silu") && calls(both, "aten::mish"));
    // No backend takes them, so the file has what they decompose into.
    check_file(job, edge);
    const char *planned = text_of(job, sc_job_compiling(job)->versions.count - 1);
    CHECK(!calls(planned, "aten::mish"));
    sc_job_close(job);
}

TEST(operators_stay_whole_in_programs_with_partitioners) {
    sc_job *job = open_program(ACTIVATIONS);
    uint32_t made = 0;
    CHECK_OK(sc_compile_to_edge_transform_and_lower(
        job, 0, SC_STR("[]"), SC_STR("{\"all\": [{\"backend\": \"xnnpack\"}]}"),
        SC_STR("{\"preserve_ops\": [\"aten::mish\"]}"), (sc_str){0}, &made));
    const char *text = text_of(job, made);
    CHECK(calls(text, "aten::mish") && !calls(text, "aten::silu"));
    check_file(job, made);
    sc_job_close(job);
}

TEST(names_of_operators_that_cannot_stay_whole_are_refused) {
    check_edge_refused(ACTIVATIONS, "{\"preserve_ops\": [\"aten::sulu\"]}", SC_ERR_OPTION,
                       "preserve_ops names 'aten::sulu', which is not a known operator");
    check_edge_refused(ACTIVATIONS, "{\"preserve_ops\": [\"aten::view\"]}", SC_ERR_OPTION,
                       "'aten::view', which is a view and cannot stay whole");
    check_edge_refused(ACTIVATIONS, "{\"preserve_ops\": [\"aten::reshape\"]}", SC_ERR_OPTION,
                       "'aten::reshape', which is a view and cannot stay whole");
    check_edge_refused(ACTIVATIONS, "{\"preserve_ops\": [\"torchvision::nms\"]}", SC_ERR_OPTION,
                       "'torchvision::nms', which is not an operator of ATen");
    static const char *const wrong[] = {"\"aten::silu\"", "[1]", "[\"\"]", "{}", "[[\"a\"]]"};
    for (size_t i = 0; i < SC_COUNT_OF(wrong); i++)
        check_edge_refused(ACTIVATIONS, test_format("{\"preserve_ops\": %s}", wrong[i]),
                           SC_ERR_OPTION, "option 'preserve_ops' must be a list of names");
}

TEST(operators_that_write_in_place_cannot_be_preserved) {
    sc_job *job = open_program("method forward {\n"
                               "  input %x: f32[2, 4]\n"
                               "  %relu: f32[2, 4] = aten::relu(%x)\n"
                               "  %silu: f32[2, 4] = aten::silu_(%relu)\n"
                               "  return %silu\n"
                               "}\n");
    uint32_t edge = 0;
    const char *text = edge_text(job, "{\"preserve_ops\": [\"aten::silu_\"]}", &edge);
    CHECK(!calls(text, "aten::silu_") && !calls(text, "aten::silu"));
    CHECK(strstr(message_of(job), "preserve_ops names aten::silu_, which has no effect"));
    CHECK_EQ_INT(sc_vec_last(&job->ctx.diags).severity, SC_WARNING);
    sc_job_close(job);
}

// Whatever stays whole is in the file in some form, or the error says why it cannot be.
TEST(preserved_layers_are_in_the_file) {
    sc_job *job = open_program("method forward {\n"
                               "  input %w: f32[4, 4] parameter \"w\" const f32[4, 4] 64\n"
                               "  input %x: f32[2, 4]\n"
                               "  %a: f32[2, 4] = aten::linear(%x, %w)\n"
                               "  %b: f32[2, 4] = aten::layer_norm(%a, [4])\n"
                               "  %c: f32[2, 4] = aten::softmax.int(%b, 1)\n"
                               "  %d: f32[2, 4] = aten::hardswish(%c)\n"
                               "  %e: f32[2, 4] = aten::dropout(%d, 0.5, False)\n"
                               "  return %e\n"
                               "}\n");
    uint32_t edge = 0;
    static const char *const names[] = {"aten::linear", "aten::layer_norm", "aten::softmax.int",
                                        "aten::hardswish", "aten::dropout"};
    const char *text = edge_text(job,
                                 "{\"preserve_ops\": [\"aten::linear\", \"aten::layer_norm\", "
                                 "\"aten::softmax.int\", \"aten::hardswish\", \"aten::dropout\"]}",
                                 &edge);
    for (size_t i = 0; i < SC_COUNT_OF(names); i++)
        if (!calls(text, names[i])) FAIL("%s is not whole", names[i]);
    check_file(job, edge);
    sc_job_close(job);
}

// Its statistics are state of the program, and only decomposition writes them out.
TEST(norms_stay_whole_unless_they_write_statistics) {
    for (int training = 0; training < 2; training++) {
        sc_job *job = open_program(test_format(
            "method forward {\n"
            "  input %%m: f32[4] buffer \"m\" const f32[4] 16 lifted %s\n"
            "  input %%v: f32[4] buffer \"v\" const f32[4] 16 lifted %s\n"
            "  input %%x: f32[2, 4]\n"
            "  %%n: f32[2, 4] = aten::batch_norm(%%x, None, None, %%m, %%v, %s, 0.1, 1e-05, True)\n"
            "  return %%n\n"
            "}\n",
            "0000803f0000803f0000803f0000803f", "0000803f0000803f0000803f0000803f",
            training ? "True" : "False"));
        uint32_t edge = 0;
        const char *text = edge_text(job, "{\"preserve_ops\": [\"aten::batch_norm\"]}", &edge);
        CHECK(calls(text, "aten::batch_norm") == !training);
        CHECK(!training || strstr(text, "buffer_mutation"));
        check_file(job, edge);
        sc_job_close(job);
    }
}

// --- skip_dim_order ------------------------------------------------------------------------------

static const char FORMATS[] = "method forward {\n"
                              "  input %x: f32[1, 2, 3, 3]\n"
                              "  %a: f64[1, 2, 3, 3] = aten::to.dtype(%x, f64)\n"
                              "  %b: f64[1, 2, 3, 3] = aten::clone(%a)\n"
                              "  %c: f32[1, 2, 3, 3] = aten::to.dtype(%b, f32)\n"
                              "  return %c\n"
                              "}\n";

TEST(memory_formats_stay_on_request) {
    sc_job *job = open_program(FORMATS);
    uint32_t edge = 0, transformed = 0;
    CHECK(strstr(edge_text(job, "{}", &edge), "dim_order_ops::"));
    const char *text = edge_text(job, "{\"skip_dim_order\": true}", &edge);
    CHECK(!strstr(text, "dim_order_ops::") && calls(text, "aten::_to_copy"));
    // A later pass by that name respects the choice.
    CHECK_OK(sc_compile_transform(job, edge, (sc_str){0}, SC_STR("[\"dim_order\"]"), &transformed));
    CHECK(!strstr(text_of(job, transformed), "dim_order_ops::"));
    check_file(job, transformed);
    sc_job_close(job);
}

// --- skip_type_promotion -------------------------------------------------------------------------

static const char MIXED[] = "method forward {\n"
                            "  input %x: f32[4]\n"
                            "  input %i: i32[4]\n"
                            "  %sum: f32[4] = aten::add.Tensor(%x, %i)\n"
                            "  return %sum\n"
                            "}\n";

TEST(operands_stay_mixed_on_request) {
    sc_job *job = open_program(MIXED);
    uint32_t edge = 0;
    CHECK(strstr(edge_text(job, "{}", &edge), "_to_dim_order_copy"));
    const char *text = edge_text(job, "{\"skip_type_promotion\": true}", &edge);
    CHECK(calls(text, "aten::add.Tensor") && !strstr(text, "copy"));
    check_file(job, edge);
    sc_job_close(job);
}

// --- check_ir_validity, core_aten_ops_exception_list ---------------------------------------------

static const char UNKNOWN[] = "method forward {\n"
                              "  input %x: f32[4]\n"
                              "  %a: f32[4] = aten::poisson(%x)\n"
                              "  %b: f32[4] = aten::binomial(%a, %x)\n"
                              "  return %b\n"
                              "}\n";

static void check_not_written(sc_job *job, uint32_t edge, const char *message) {
    uint32_t made = 0;
    CHECK_STATUS(sc_compile_to_executorch(job, edge, (sc_str){0}, &made), SC_ERR_UNSUPPORTED_OP);
    if (!strstr(message_of(job), message)) FAIL("'%s', not '%s'", message_of(job), message);
}

TEST(operators_that_no_runtime_has_are_in_edge_programs_on_request) {
    check_edge_refused(UNKNOWN, "{}", SC_ERR_UNSUPPORTED_OP, "aten::binomial is not supported");
    check_edge_refused(UNKNOWN, "{\"core_aten_ops_exception_list\": [\"aten::poisson\"]}",
                       SC_ERR_UNSUPPORTED_OP, "aten::binomial is not supported");
    static const char *const options[] = {
        "{\"core_aten_ops_exception_list\": [\"aten::poisson\", \"aten::binomial\"]}",
        "{\"check_ir_validity\": false}"};
    for (size_t i = 0; i < SC_COUNT_OF(options); i++) {
        sc_job *job = open_program(UNKNOWN);
        uint32_t edge = 0;
        const char *text = edge_text(job, options[i], &edge);
        CHECK(calls(text, "aten::poisson") && calls(text, "aten::binomial"));
        check_not_written(job, edge, "aten::binomial is not supported");
        sc_job_close(job);
    }
}

// --- sym_shape_eval ------------------------------------------------------------------------------

static const char SIZES[] = "method forward {\n"
                            "  symbol s77 [2, 512] hint 4\n"
                            "  symbol s3 [1, inf] hint 2\n"
                            "  input %x: f32[s77, 8]\n"
                            "  input %y: f32[s3]\n"
                            "  %neg: f32[s77, 8] = aten::neg(%x)\n"
                            "  %sin: f32[s3] = aten::sin(%y)\n"
                            "  return %neg, %sin\n"
                            "}\n";

static const char *planned(sc_job *job, const char *options, sc_status expected) {
    uint32_t edge = 0, made = 0;
    CHECK_OK(sc_compile_to_edge(job, 0, (sc_str){0}, &edge));
    CHECK_STATUS(sc_compile_to_executorch(job, edge, sc_str_from(options), &made), expected);
    return expected == SC_OK ? text_of(job, made) : "";
}

static void check_planned(const char *options, const char *s77, const char *s3) {
    sc_job *job = open_program(SIZES);
    const char *text = planned(job, options, SC_OK);
    if (!strstr(text, s77) || !strstr(text, s3)) FAIL("%s: %s", options, text);
    sc_job_close(job);
}

TEST(memory_is_planned_for_the_sizes_that_are_chosen) {
    check_planned("{\"sym_shape_eval\": \"hint\"}", "symbol s77 [2, 4] hint 4",
                  "symbol s3 [1, 2] hint 2");
    check_planned("{\"sym_shape_eval\": {\"s3\": {\"max\": 16}}}", "symbol s77 [2, 512] hint 4",
                  "symbol s3 [1, 16] hint 2");
    check_planned("{\"sym_shape_eval\": {\"forward\": \"hint\", \"x.0\": {\"max\": 64}}}",
                  "symbol s77 [2, 64] hint 4", "symbol s3 [1, 2] hint 2");
}

static void check_sizes_refused(const char *options, sc_status code, const char *message) {
    sc_job *job = open_program(SIZES);
    planned(job, options, code);
    if (!strstr(message_of(job), message)) FAIL("'%s', not '%s'", message_of(job), message);
    // The edge program is as it was.
    CHECK(strstr(text_of(job, sc_job_compiling(job)->versions.count - 1),
                 "symbol s77 [2, 512] hint 4"));
    sc_job_close(job);
}

TEST(sizes_that_contradict_the_program_are_refused) {
    check_sizes_refused("{}", SC_ERR_UNBOUNDED, "s3");
    check_sizes_refused("{\"sym_shape_eval\": {\"s77\": {\"max\": 3}}}", SC_ERR_OPTION,
                        "is below the size of the example input, 4");
    check_sizes_refused("{\"sym_shape_eval\": {\"s77\": {\"max\": 1}}}", SC_ERR_OPTION,
                        "is below the smallest that the file allows, 2");
    check_sizes_refused("{\"sym_shape_eval\": {\"s77\": {\"max\": 513}}}", SC_ERR_OPTION,
                        "is above the largest that the file allows, 512");
    check_sizes_refused("{\"sym_shape_eval\": {\"s9\": {\"max\": 4}}}", SC_ERR_NOT_FOUND,
                        "there is no dynamic size 's9'");
    check_sizes_refused("{\"sym_shape_eval\": {\"decode\": \"hint\"}}", SC_ERR_NOT_FOUND,
                        "there is no method 'decode'");
    static const char *const wrong[] = {"\"hints\"", "1", "[]", "{\"a\": \"hints\"}", "{\"a\": 4}"};
    for (size_t i = 0; i < SC_COUNT_OF(wrong); i++)
        check_sizes_refused(test_format("{\"sym_shape_eval\": %s}", wrong[i]), SC_ERR_OPTION,
                            "option 'sym_shape_eval' must be one of: constraint hint, or these");
}

// A hint that the file puts outside of the range changes no bound to nonsense.
TEST(hints_outside_of_the_range_are_harmless) {
    sc_job *job = open_program("method forward {\n"
                               "  symbol s77 [8, 64] hint 4\n"
                               "  input %x: f32[s77]\n"
                               "  %neg: f32[s77] = aten::neg(%x)\n"
                               "  return %neg\n"
                               "}\n");
    CHECK(strstr(planned(job, "{\"sym_shape_eval\": \"hint\"}", SC_OK), "symbol s77 [8, 8] "));
    sc_job_close(job);
}

// --- Splitting -----------------------------------------------------------------------------------

static const char CACHED[] = "method forward {\n"
                             "  symbol s77 [1, 64] hint 4\n"
                             "  input %b_cache: f32[8] buffer \"cache\" const f32[8] 32\n"
                             "  input %x: f32[s77, 8]\n"
                             "  %sum: f32[8] = aten::sum.dim_IntList(%x, [0])\n"
                             "  %add: f32[8] = aten::add_.Tensor(%b_cache, %sum)\n"
                             "  %mul: f32[s77, 8] = aten::mul.Tensor(%x, %b_cache)\n"
                             "  return %mul\n"
                             "}\n";

TEST(a_method_becomes_several_that_share_state) {
    sc_job *job = open_program(CACHED);
    uint32_t edge = 0;
    const char *text = edge_text(
        job, "{\"split\": {\"prefill\": {\"max\": 16}, \"decode\": {\"max\": 1}}}", &edge);
    CHECK(strstr(text, "method prefill") && strstr(text, "symbol s77 [1, 16] hint 4"));
    CHECK(strstr(text, "method decode") && strstr(text, "symbol s77 [1, 1] hint 1"));
    CHECK(!strstr(text, "method forward"));
    check_file(job, edge);
    CHECK(sc_vec_last(&sc_job_compiling(job)->versions).shares_state);
    sc_job_close(job);
}

TEST(programs_that_cannot_be_split_are_refused) {
    static const char split[] = "{\"split\": {\"decode\": {\"max\": 1}}}";
    check_edge_refused(CACHED, "{\"split\": {\"decode\": {\"max\": 65}}}", SC_ERR_OPTION,
                       "is not within those of the file, 1 to 64");
    check_edge_refused(ACTIVATIONS, split, SC_ERR_OPTION, "does not have one dynamic size");
    check_edge_refused(SIZES, split, SC_ERR_OPTION, "");
    const char *two = test_format("%s%s", CACHED,
                                  "method other {\n  input %x: f32[2]\n"
                                  "  return %x\n}\n");
    check_edge_refused(two, split, SC_ERR_OPTION, "only a program of one method can be split");
}

// --- use_edge_ops --------------------------------------------------------------------------------

TEST(names_of_operators_are_those_of_aten_in_every_dialect) {
    sc_job *job = open_program(ACTIVATIONS);
    uint32_t edge = 0;
    CHECK_EQ_STR(edge_text(job, "{\"use_edge_ops\": false}", &edge), edge_text(job, "{}", &edge));
    sc_job_close(job);
}
