// Passes of the host: every change, every refusal, and what the check behind a pass finds.
#include <stdio.h>

#include "edit_pass.h"
#include "harness.h"

// Ids: inputs are values 0 and 1; nodes 0 (relu), 1 (add), 2 (mul) make the values 2, 3, 4.
static const char SOURCE[] = "method forward {\n"
                             "  input %x: f32[2, 4]\n"
                             "  input %y: f32[2, 4]\n"
                             "  %relu: f32[2, 4] = aten::relu(%x)\n"
                             "  %add: f32[2, 4] = aten::add.Tensor(%relu, %y)\n"
                             "  %mul: f32[2, 4] = aten::mul.Tensor(%add, %add)\n"
                             "  return %mul\n"
                             "}\n";

static sc_status transform(sc_job **job, pass_body *pass, uint32_t *made) {
    *job = pass_open(SOURCE);
    return pass_transform(*job, pass, made);
}

// The program that the pass leaves has the line.
static void gives(pass_body *pass, const char *line) {
    sc_job *job;
    uint32_t made = 0;
    REQUIRE_OK(transform(&job, pass, &made));
    CHECK_EQ_UINT(made, 1);
    pass_check_text(job, made, line);
    pass_check_text(job, 0, "%relu: f32[2, 4] = aten::relu(%x)");  // the one before is as it was
    sc_job_close(job);
}

static void put_gelu(sc_job *job) {
    const sc_str made =
        pass_change(job, "{\"do\": \"insert\", \"graph\": 0, \"before\": 0, \"like\": 0, "
                         "\"target\": \"aten::gelu\", \"args\": [{\"v\": 0}], "
                         "\"kwargs\": {\"approximate\": \"tanh\"}}");
    CHECK(strstr(made.data,
                 "\"parameters\":{\"names\":[\"self\",\"approximate\"],\"positional\":1}"));
    CHECK(strstr(made.data, "\"dtype\":\"float32\",\"shape\":[2,4]}"));
    CHECK(strstr(pass_change(job, "{\"do\": \"origin\", \"node\": 3}").data,
                 "\"fromNode\":\"relu\""));
    const sc_str users = pass_change(job, "{\"do\": \"replaceUses\", \"from\": 2, \"to\": 5}");
    CHECK(strstr(users.data, "\"name\":\"add\""));
    pass_change(job, "{\"do\": \"erase\", \"node\": 0}");
    pass_refuse(job, "{\"do\": \"erase\", \"node\": 0}", SC_ERR_STATE, "no such node");
}

TEST(a_call_takes_the_place_of_another) {
    gives(put_gelu, "%add: f32[2, 4] = aten::add.Tensor(%gelu, %y");
}

static void unsqueeze(sc_job *job) {
    pass_change(job, "{\"do\": \"insert\", \"graph\": 0, \"before\": 1, \"like\": 1, \"target\": "
                     "\"aten::unsqueeze_copy\", \"args\": [{\"v\": 2}, 0]}");
    const sc_str changed =
        pass_change(job, "{\"do\": \"replaceInput\", \"node\": 1, \"from\": 2, \"to\": 5}");
    CHECK(strstr(changed.data,
                 "\"name\":\"mul\",\"kind\":\"tensor\",\"dtype\":\"float32\",\"shape\":[1,2,4]"));
}

TEST(types_follow_a_change_downstream) {
    gives(unsqueeze, "%mul: f32[1, 2, 4] = aten::mul.Tensor(%add, %add)");
}

enum { CHAIN = 300 };

// The first call of a long chain takes y in the place of x: all others follow.
static void lengthen(sc_job *job) {
    const sc_str changed =
        pass_change(job, "{\"do\": \"replaceInput\", \"node\": 0, \"from\": 0, \"to\": 1}");
    CHECK(strstr(changed.data, "\"name\":\"relu_299\",\"kind\":\"tensor\",\"dtype\":\"float32\","
                               "\"shape\":[3,4]"));
}

TEST(types_follow_through_a_long_chain) {
    static char text[CHAIN * 64];
    size_t at =
        (size_t)snprintf(text, sizeof text,
                         "method forward {\n  input %%x: f32[2, 4]\n  input %%y: f32[3, 4]\n"
                         "  %%relu_0: f32[2, 4] = aten::relu(%%x)\n");
    for (int i = 1; i < CHAIN; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "  %%relu_%d: f32[2, 4] = aten::relu(%%relu_%d)\n", i, i - 1);
    snprintf(text + at, sizeof text - at, "  return %%relu_%d\n}\n", CHAIN - 1);
    uint32_t made = 0;
    sc_job *job = pass_open(text);
    REQUIRE_OK(pass_transform(job, lengthen, &made));
    pass_check_text(job, made, "%relu_299: f32[3, 4] = aten::relu(%relu_298)");
    sc_job_close(job);
}

static void set_arguments(sc_job *job) {
    pass_change(job, "{\"do\": \"set\", \"node\": 1, \"index\": 2, \"value\": {\"f\": 1.5}}");
    const sc_str outputs = pass_change(
        job, "{\"do\": \"set\", \"node\": {\"outputs\": 0}, \"index\": 0, \"value\": {\"v\": 3}}");
    CHECK(strstr(outputs.data, "\"outputs\":[{\"v\":3}]"));
    CHECK(strstr(pass_change(job, "{\"do\": \"eraseDead\", \"graph\": 0}").data, "\"erased\":[2]"));
}

TEST(arguments_and_outputs_are_set) {
    gives(set_arguments, "%add: f32[2, 4] = aten::add.Tensor(%relu, %y, alpha=1.5)\n  return %add");
}

static void put_silu(sc_job *job) {
    const sc_str made =
        pass_change(job, "{\"do\": \"insert\", \"graph\": 0, \"before\": 1, \"like\": null, "
                         "\"target\": \"aten::silu\", \"args\": [{\"v\": 2}]}");
    CHECK(strstr(made.data, "\"shape\":[2,4]"));
    pass_change(job, "{\"do\": \"replaceInput\", \"node\": 1, \"from\": 2, \"to\": 5}");
}

TEST(a_composite_stays_whole) { gives(put_silu, "%silu: f32[2, 4] = aten::silu(%relu)"); }

static void make_mistakes(sc_job *job) {
    static const struct {
        const char *json;
        sc_status code;
        const char *message;
    } rows[] = {
        {"[]", SC_ERR_ARGUMENT, "this change has an unknown name"},
        {"{\"do\": \"insert\"}", SC_ERR_STATE, "no such graph"},
        {"{\"do\": \"insert\", \"graph\": 0, \"target\": \"aten::nope\"}", SC_ERR_NOT_FOUND,
         "no operator 'aten::nope'"},
        {"{\"do\": \"insert\", \"graph\": 0, \"target\": \"aten::relu\", \"args\": []}",
         SC_ERR_ARGUMENT, "needs the argument 'self'"},
        {"{\"do\": \"insert\", \"graph\": 0, \"target\": \"aten::relu\", \"args\": [1, 2]}",
         SC_ERR_ARGUMENT, "takes 1 arguments by position, not 2"},
        {"{\"do\": \"insert\", \"graph\": 0, \"target\": \"aten::relu\", \"args\": [{\"v\": 9}]}",
         SC_ERR_STATE, "no such value"},
        {"{\"do\": \"insert\", \"graph\": 0, \"before\": 0, \"target\": \"aten::relu\", \"args\": "
         "[{\"v\": 3}]}",
         SC_ERR_ARGUMENT, "'add' is not defined where the new call of aten::relu would use it"},
        {"{\"do\": \"insert\", \"graph\": 0, \"target\": \"aten::relu\", \"kwargs\": {\"x\": 1}}",
         SC_ERR_ARGUMENT, "has no argument 'x'"},
        {"{\"do\": \"insert\", \"graph\": 0, \"target\": \"aten::relu\", \"args\": [\"a\"]}",
         SC_ERR_ARGUMENT, "must be a number, a tensor"},
        {"{\"do\": \"insert\", \"graph\": 0, \"target\": \"aten::relu\", \"args\": [[[1]]]}",
         SC_ERR_ARGUMENT, "no list inside of a list"},
        {"{\"do\": \"set\", \"node\": 1, \"index\": 7, \"value\": 1}", SC_ERR_ARGUMENT,
         "'add' has 3 arguments"},
        {"{\"do\": \"set\", \"node\": 1, \"index\": 1, \"value\": [1]}", SC_ERR_ARGUMENT,
         "has the wrong type"},
        {"{\"do\": \"erase\", \"node\": 0}", SC_ERR_STATE,
         "'relu' cannot be erased: 'add' uses it"},
        {"{\"do\": \"replacePattern\", \"pattern\": \"relu(\", \"replacement\": \"x\"}",
         SC_ERR_ARGUMENT, "the pattern cannot be read"},
        {"{\"do\": \"replacePattern\", \"pattern\": \"neg(rela(x))\", \"replacement\": \"x\"}",
         SC_ERR_ARGUMENT, "there is no operator 'aten::rela', at byte 4"},
        {"{\"do\": \"replacePattern\", \"pattern\": \"x\", \"replacement\": \"x\"}",
         SC_ERR_ARGUMENT, "the pattern is not a call"},
        {"{\"do\": \"replacePattern\", \"pattern\": \"relu(x)\", \"replacement\": \"neg(y)\"}",
         SC_ERR_ARGUMENT, "the replacement cannot be read"},
        {"{\"do\": \"replacePattern\", \"pattern\": \"opmath(relu(x))\", \"replacement\": \"x\"}",
         SC_ERR_ARGUMENT, "has a word that only expansions may use"},
        {"{\"do\": \"replacePattern\", \"pattern\": \"relu(x)\", \"replacement\": \"1\"}",
         SC_ERR_ARGUMENT, "the replacement of 'relu' is not a value"},
        {"{\"do\": \"output\", \"value\": 9}", SC_ERR_STATE, "no such value"},
        {"{\"do\": \"replaceUses\", \"from\": 0, \"to\": 4}", SC_ERR_ARGUMENT,
         "'mul' is not defined"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        pass_refuse(job, rows[i].json, rows[i].code, rows[i].message);
}

TEST(mistakes_are_refused_and_leave_the_graph) {
    gives(make_mistakes, "%mul: f32[2, 4] = aten::mul.Tensor(%add, %add)");
}

static const char *left;  // in the graph by the pass

static void leave(sc_job *job) {
    char json[200];
    snprintf(json, sizeof json, "{\"do\": \"insert\", \"graph\": 0, %s}", left);
    pass_change(job, json);
}

TEST(views_and_writes_are_not_of_the_edge_dialect) {
    static const struct {
        const char *call, *message;
    } rows[] = {{"\"target\": \"aten::view\", \"args\": [{\"v\": 0}, [8]]", "is a view"},
                {"\"target\": \"aten::relu_\", \"args\": [{\"v\": 0}]", "writes in place"}};
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        sc_job *job;
        uint32_t made;
        left = rows[i].call;
        CHECK_EQ_INT(transform(&job, leave, &made), SC_ERR_ARGUMENT);
        CHECK(strstr(sc_vec_last(&job->ctx.diags).message.data, rows[i].message));
        CHECK_EQ_UINT(sc_job_compiling(job)->versions.count, 1);
        sc_job_close(job);
    }
}

static void end_early(sc_job *job) {
    left = "\"target\": \"aten::view\", \"args\": [{\"v\": 0}, [8]]";
    leave(job);
    CHECK_EQ_INT(sc_edit_end_pass(job, SC_STR("mine")), SC_ERR_ARGUMENT);
    CHECK(sc_str_is(sc_vec_last(&job->ctx.diags).where.pass, "mine"));
    pass_change(job, "{\"do\": \"eraseDead\", \"graph\": 0}");
}

TEST(the_check_names_the_pass_and_can_be_repeated) {
    gives(end_early, "%mul: f32[2, 4] = aten::mul.Tensor(%add, %add)");
}

static bool fail(void *user, uint32_t pass, sc_str method) {
    (void)user, (void)pass, (void)method;
    return false;
}

TEST(a_pass_has_its_time_and_may_fail) {
    sc_str json;
    uint32_t made;
    sc_job *job = pass_open(SOURCE);
    CHECK_EQ_INT(sc_edit_change(job, SC_STR("{}"), &json), SC_ERR_STATE);
    CHECK_EQ_INT(sc_edit_method_json(job, &json), SC_ERR_STATE);
    CHECK_EQ_INT(sc_compile_transform(job, 0, (sc_str){0}, SC_STR("[7]"), &made), SC_ERR_ARGUMENT);
    sc_job_set_host_functions(job, (sc_host_functions){fail, NULL});
    CHECK_EQ_INT(sc_compile_transform(job, 0, (sc_str){0}, SC_STR("[7]"), &made), SC_ERR_CANCELLED);
    CHECK_EQ_INT(sc_compile_transform(job, 0, (sc_str){0}, SC_STR("[-7]"), &made), SC_ERR_ARGUMENT);
    CHECK_EQ_UINT(sc_job_compiling(job)->versions.count, 1);
    sc_job_close(job);
}

// --- Patterns ------------------------------------------------------------------------------------

static const char *pattern, *replacement;

static void refuse_pattern(sc_job *job) {
    char json[3000];
    snprintf(json, sizeof json,
             "{\"do\": \"replacePattern\", \"pattern\": \"%s\", \"replacement\": \"%s\"}", pattern,
             replacement);
    pass_refuse(job, json, SC_ERR_ARGUMENT, "more than 64 calls");
}

static void replace(sc_job *job) {
    char json[300];
    snprintf(json, sizeof json,
             "{\"do\": \"replacePattern\", \"pattern\": \"%s\", \"replacement\": \"%s\"}", pattern,
             replacement);
    pass_change(job, json);
}

// 65 calls in lists within the parser's bounds.
TEST(a_pattern_of_too_many_calls_is_refused) {
    static char text[2000];
    size_t at = (size_t)snprintf(text, sizeof text, "cat([");
    for (int row = 0; row < 8; row++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%scat([", row ? ", " : "");
        for (int i = 0; i < 8; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%sneg(a)", i ? ", " : "");
        at += (size_t)snprintf(text + at, sizeof text - at, "])");
    }
    snprintf(text + at, sizeof text - at, "])");
    pattern = text;
    replacement = "a";
    gives(refuse_pattern, "%mul: f32[2, 4] = aten::mul.Tensor(%add, %add)");
}

TEST(patterns_take_the_place_of_calls) {
    static const char *const rows[][3] = {
        {"relu(x)", "silu(x)", "%silu: f32[2, 4] = aten::silu(%x)"},
        {"add(relu(a), b)", "maximum(a, b)", "%maximum: f32[2, 4] = aten::maximum(%x, %y)"},
        // Operands that may change places.
        {"add(b, relu(a))", "maximum(a, b)", "%maximum: f32[2, 4] = aten::maximum(%x, %y)"},
        // A name that comes twice is the same value, and one that is defined is matched once.
        {"mul(x, x)", "pow.Tensor_Scalar(x, 2)", "= aten::pow.Tensor_Scalar(%add, 2)"},
        {"s = add(a, b); mul(s, s)", "sub(a, b)", "= aten::sub.Tensor(%relu, %y)"},
        // A default is matched where the pattern leaves it out.
        {"add(a, b, alpha=1)", "a", "aten::mul.Tensor(%relu, %relu)"},
        {"mul(a, neg(a))", "a", "%mul: f32[2, 4] = aten::mul.Tensor(%add, %add)"},
        {"add(a, b, alpha=2)", "a", "%mul: f32[2, 4] = aten::mul.Tensor(%add, %add)"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        pattern = rows[i][0];
        replacement = rows[i][1];
        gives(replace, rows[i][2]);
    }
}

// --- Constants and outputs -----------------------------------------------------------------------

static void use_a_constant(sc_job *job) {
    static const float DATA[4] = {1, 2, 3, 4};
    float read[4];
    sc_str json;
    const sc_str what = SC_STR("{\"name\": \"my.scale\", \"dtype\": \"float32\", \"shape\": [4]}");
    CHECK_OK(sc_edit_add_constant(job, what, DATA, sizeof DATA, &json));
    CHECK(strstr(json.data, "\"kind\":\"constant_tensor\",\"target\":\"my.scale\""));
    CHECK_OK(sc_edit_read_constant(job, 2, read, sizeof read));
    CHECK(memcmp(read, DATA, sizeof DATA) == 0);
    CHECK_EQ_INT(sc_edit_read_constant(job, 0, read, sizeof read), SC_ERR_NOT_FOUND);
    CHECK_EQ_INT(sc_edit_add_constant(job, what, DATA, sizeof DATA, &json), SC_ERR_ARGUMENT);
    CHECK_EQ_INT(sc_edit_add_constant(job,
                                      SC_STR("{\"name\": \"b\", \"dtype\": \"float32\", "
                                             "\"shape\": [4]}"),
                                      DATA, 8, &json),
                 SC_ERR_ARGUMENT);
    CHECK_OK(sc_edit_text(job, &json));
    CHECK(strstr(json.data, "my_scale: f32[4]"));
    pass_change(job, "{\"do\": \"set\", \"node\": 2, \"index\": 1, \"value\": {\"v\": 5}}");
}

TEST(constants_are_added_and_read) {
    gives(use_a_constant, "%mul: f32[2, 4] = aten::mul.Tensor(%add, %my_scale)");
}

static void return_more(sc_job *job) {
    CHECK(strstr(pass_change(job, "{\"do\": \"output\", \"value\": 2}").data,
                 "\"outputs\":[{\"v\":4},{\"v\":2}]"));
}

TEST(outputs_are_added) { gives(return_more, "return %mul, %relu"); }

static void give_integers(sc_job *job) {
    CHECK(strstr(
        pass_change(job, "{\"do\": \"setDType\", \"value\": 0, \"dtype\": \"float64\"}").data,
        "\"dtype\":\"float64\""));
    pass_refuse(job, "{\"do\": \"setDType\", \"value\": 0, \"dtype\": \"int7\"}", SC_ERR_ARGUMENT,
                "the new dtype of 'x' is no dtype");
    pass_refuse(job, "{\"do\": \"setDType\", \"value\": 2, \"dtype\": \"int8\"}", SC_ERR_ARGUMENT,
                "'relu' is not a tensor that callers of the method pass");
}

TEST(inputs_get_another_dtype) { gives(give_integers, "%relu: f64[2, 4] = aten::relu(%x)"); }

static void add_methods(sc_job *job) {
    pass_change(job, "{\"do\": \"constantMethod\", \"name\": \"scale\", \"value\": [0.5, 3]}");
    pass_refuse(job, "{\"do\": \"constantMethod\", \"name\": \"scale\", \"value\": 1}",
                SC_ERR_ARGUMENT, "already a method named 'scale'");
    pass_refuse(job, "{\"do\": \"constantMethod\", \"name\": \"forward\", \"value\": 1}",
                SC_ERR_ARGUMENT, "already a method named 'forward'");
    pass_refuse(job, "{\"do\": \"constantMethod\", \"name\": \"none\"}", SC_ERR_ARGUMENT,
                "a constant method cannot return this value");
    pass_refuse(job,
                "{\"do\": \"constantMethod\", \"name\": \"t\", \"value\": {\"tensor\": \"int8\", "
                "\"sizes\": [1], \"at\": 0}}",
                SC_ERR_ARGUMENT, "a constant method cannot return this value");
}

TEST(constant_methods_are_added) { gives(add_methods, "method forward"); }

// --- Memory of versions --------------------------------------------------------------------------

TEST(versions_that_are_dropped_are_freed_with_those_made_from_them) {
    sc_job *job = pass_open(SOURCE);
    const sc_str passes = SC_STR("[\"dce\"]"), options = SC_STR("{}");
    uint32_t edge = 0, executorch = 0;
    size_t used = 0;
    for (int i = 0; i < 20; i++) {
        REQUIRE_OK(sc_compile_transform(job, 0, (sc_str){0}, passes, &edge));
        REQUIRE_OK(sc_compile_to_executorch(job, edge, options, &executorch));
        sc_compile_drop(job, edge);
        pass_check_text(job, edge, "aten::relu");  // the executorch program was made from it
        CHECK(sc_output_bytes(job, sc_output_count(job) - 1) > 0);
        sc_compile_drop(job, executorch);
        CHECK(!sc_job_compiling(job)->versions.data[edge].program &&
              !sc_job_compiling(job)->versions.data[executorch].program);
        CHECK_EQ_UINT(sc_output_bytes(job, sc_output_count(job) - 1), 0);
        CHECK_EQ_UINT(sc_job_compiling(job)->plans.count, 0);
        if (i == 9) used = job->arena.used_bytes;
    }
    CHECK(job->arena.used_bytes < used + 32 * 1024);  // rows of tables, and no program
    sc_str json;
    CHECK_OK(sc_compile_inspect(job, &json));
    CHECK_EQ_INT(sc_compile_to_executorch(job, edge, options, &executorch), SC_ERR_STATE);
    sc_compile_drop(job, edge);
    sc_compile_drop(job, 999);
    REQUIRE_OK(sc_compile_to_executorch(job, 0, options, &executorch));
    sc_job_close(job);
}
