// Changes of a pass that are refused after they have begun: the graph is as it was, and the pass
// may go on. Bodies of control flow and operators of unknown libraries.
#include <stdio.h>
#include <stdlib.h>

#include "edit_pass.h"
#include "harness.h"

// The bodies are graphs 1 and 2.
static const char SOURCE[] = "method forward {\n"
                             "input %p: b8[]\n"
                             "input %x: f32[4]\n"
                             "input %wide: f64[4]\n"
                             "input %long: f32[3]\n"
                             "input %late: f32[4]\n"
                             "%neg: f32[4] = aten::neg(%late)\n"
                             "%relu: f32[4] = aten::relu(%x)\n"
                             "%own: f32[4] = demo::own(%relu, 2)\n"
                             "%cond: f32[4] = higher_order::cond(%p, graph t {\n"
                             "input %a: f32[4]\n"
                             "input %b: f32[4]\n"
                             "%sin: f32[4] = aten::sin(%a)\n"
                             "return %sin\n"
                             "}, graph e {\n"
                             "input %a: f32[4]\n"
                             "input %b: f32[4]\n"
                             "%cos: f32[4] = aten::cos(%a)\n"
                             "return %cos\n"
                             "}, [%own, %neg])\n"
                             "%add: f32[4] = aten::add.Tensor(%cond, %relu)\n"
                             "return %add\n"
                             "}\n";

static void check_pass(pass_body *pass, const char *line) {
    sc_job *job = pass_open(SOURCE);
    uint32_t made = 0;
    REQUIRE_OK(pass_transform(job, pass, &made));
    pass_check_text(job, made, line);
    sc_job_close(job);
}

// The number of the value with that name.
static int value_of(sc_job *job, const char *name) {
    for (uint32_t i = 0; i < sc_job_compiling(job)->edit->values.count; i++)
        if (strcmp(sc_job_compiling(job)->edit->values.data[i]->name->text, name) == 0)
            return (int)i;
    FAIL("there is no value %s", name);
    return -1;
}

static int node_of(sc_job *job, const char *name) {
    for (uint32_t i = 0; i < sc_job_compiling(job)->edit->nodes.count; i++)
        if (strcmp(sc_job_compiling(job)->edit->nodes.data[i]->name->text, name) == 0)
            return (int)i;
    FAIL("there is no node %s", name);
    return -1;
}

// A change with the numbers of named nodes and values: N(name) and V(name).
static const char *json_of(sc_job *job, const char *text) {
    static char json[500];
    char *to = json;
    while (*text) {
        const bool is_node = strncmp(text, "N(", 2) == 0, is_value = strncmp(text, "V(", 2) == 0;
        if (!is_node && !is_value) {
            *to++ = *text++;
            continue;
        }
        char name[20];
        const size_t length = strcspn(text + 2, ")");
        SC_ASSERT(length < sizeof name && to < json + sizeof json - 20);
        memcpy(name, text + 2, length);
        name[length] = '\0';
        to += sprintf(to, "%d", is_node ? node_of(job, name) : value_of(job, name));
        text += length + 3;
    }
    *to = '\0';
    return json;
}

static const char *changes[4];

static void make_changes(sc_job *job) {
    for (int i = 0; changes[i]; i++) pass_change(job, json_of(job, changes[i]));
}

TEST(operands_of_control_flow_and_unknown_operators_are_exchanged) {
    static const char *const rows[][2] = {
        {"{\"do\": \"replaceInput\", \"node\": N(cond), \"from\": V(own), \"to\": V(relu)}",
         "}, [%relu, %neg])"},
        {"{\"do\": \"set\", \"node\": N(cond), \"index\": 3, \"value\": [{\"v\": V(x)}, {\"v\": "
         "V(neg)}]}",
         "}, [%x, %neg])"},
        {"{\"do\": \"replaceInput\", \"node\": N(own), \"from\": V(relu), \"to\": V(x)}",
         "demo::own(%x, 2)"},
        {"{\"do\": \"replaceInput\", \"node\": N(own), \"from\": V(relu), \"to\": V(wide)}",
         "%own: f32[4] = demo::own(%wide, 2)"},
        {"{\"do\": \"set\", \"node\": N(own), \"index\": 1, \"value\": 3}", "demo::own(%relu, 3)"},
        {"{\"do\": \"replaceUses\", \"from\": V(own), \"to\": V(relu)}", "}, [%relu, %neg])"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        changes[0] = rows[i][0];
        check_pass(make_changes, rows[i][1]);
    }
}

static const char *bad, *message;
static sc_status code;

// The text is the same before and after, and other changes still work.
static void go_on(sc_job *job) {
    sc_str before, after;
    REQUIRE_OK(sc_edit_text(job, &before));
    char *kept = sc_str_dup(job->ctx.arena, before);
    pass_refuse(job, json_of(job, bad), code, message);
    REQUIRE_OK(sc_edit_text(job, &after));
    if (!sc_str_is(after, kept)) FAIL("%s changed the graph to\n%s", bad, after.data);
    pass_change(job, json_of(job, "{\"do\": \"set\", \"node\": N(own), \"index\": 1, "
                                  "\"value\": 5}"));
}

TEST(a_refused_change_leaves_the_graph) {
    static const struct {
        const char *json;
        sc_status code;
        const char *message;
    } rows[] = {
        {"{\"do\": \"replaceInput\", \"node\": N(cond), \"from\": V(own), \"to\": V(wide)}",
         SC_ERR_UNSUPPORTED, "an operand of cond (higher_order::cond) would have another type"},
        {"{\"do\": \"replaceUses\", \"from\": V(x), \"to\": V(long)}", SC_ERR_SHAPE, "broadcast"},
        {"{\"do\": \"replaceInput\", \"node\": N(add), \"from\": V(relu), \"to\": V(long)}",
         SC_ERR_SHAPE, "broadcast"},
        {"{\"do\": \"replaceUses\", \"from\": V(own), \"to\": V(wide)}", SC_ERR_UNSUPPORTED,
         "an operand of cond"},
        {"{\"do\": \"set\", \"node\": N(cond), \"index\": 1, \"value\": {\"g\": 0}}",
         SC_ERR_UNSUPPORTED, "a body of control flow cannot be put into 'cond'"},
        {"{\"do\": \"set\", \"node\": N(cond), \"index\": 1, \"value\": {\"g\": 2}}",
         SC_ERR_UNSUPPORTED, "a body of control flow cannot be put into 'cond'"},
        {"{\"do\": \"setDType\", \"value\": V(late), \"dtype\": \"float64\"}", SC_ERR_UNSUPPORTED,
         "an operand of cond (higher_order::cond) would have another type"},
        {"{\"do\": \"insert\", \"graph\": 0, \"before\": N(sin), \"target\": \"aten::neg\", "
         "\"args\": [{\"v\": V(x)}]}",
         SC_ERR_ARGUMENT, "'sin' is in another graph than the new call"},
        {"{\"do\": \"insert\", \"graph\": 1, \"target\": \"aten::neg\", \"args\": [{\"v\": V(x)}]}",
         SC_ERR_ARGUMENT, "'x' is in another graph than the new call of aten::neg"},
        {"{\"do\": \"set\", \"node\": N(own), \"index\": 0, \"value\": {\"g\": 0}}",
         SC_ERR_UNSUPPORTED, "a body of control flow cannot be put into 'own'"},
        {"{\"do\": \"set\", \"node\": N(own), \"index\": 0, \"value\": [{\"g\": 1}]}",
         SC_ERR_UNSUPPORTED, "a body of control flow cannot be put into 'own'"},
        {"{\"do\": \"set\", \"node\": {\"outputs\": 0}, \"index\": 0, \"value\": {\"g\": 1}}",
         SC_ERR_UNSUPPORTED, "a body of control flow cannot be put into 'output'"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        bad = rows[i].json;
        code = rows[i].code;
        message = rows[i].message;
        check_pass(go_on, "demo::own(%relu, 5)");
    }
}

// --- The check after a pass ----------------------------------------------------------------------

static const char *result;

static void return_another(sc_job *job) {
    const sc_str made = pass_change(job, json_of(job, result));
    const char *value = strstr(made.data, "\"outs\":[{\"id\":");
    REQUIRE(value);
    char json[100];
    snprintf(json, sizeof json,
             "{\"do\": \"set\", \"node\": {\"outputs\": 1}, \"index\": 0, "
             "\"value\": {\"v\": %d}}",
             atoi(value + strlen("\"outs\":[{\"id\":")));
    pass_change(job, json);
}

TEST(bodies_keep_the_types_of_their_results) {
    static const char *const rows[][2] = {
        {"\"aten::unsqueeze_copy\", \"args\": [{\"v\": V(sin)}, 0]",
         "result 0 of 't', a body of 'cond', is f32[1, 4], which does not fit f32[4]"},
        {"\"dim_order_ops::_to_dim_order_copy\", \"args\": [{\"v\": V(sin)}], "
         "\"kwargs\": {\"dtype\": \"float64\"}",
         "result 0 of 't', a body of 'cond', is f64[4], which does not fit f32[4]"},
        {"\"aten::neg\", \"args\": [{\"v\": V(sin)}]", NULL},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        char insert[300];
        uint32_t made = 0;
        snprintf(insert, sizeof insert, "{\"do\": \"insert\", \"graph\": 1, \"target\": %s}",
                 rows[i][0]);
        result = insert;
        sc_job *job = pass_open(SOURCE);
        const sc_status status = pass_transform(job, return_another, &made);
        CHECK_EQ_INT(status, rows[i][1] ? SC_ERR_SHAPE : SC_OK);
        if (status != SC_OK) {
            const sc_diag *diag = &sc_vec_last(&job->ctx.diags);
            if (!rows[i][1] || !strstr(diag->message.data, rows[i][1]))
                FAIL("%s", diag->message.data);
            CHECK(sc_str_is(diag->where.node, "cond"));
        }
        sc_job_close(job);
    }
}

static void widen_an_input(sc_job *job) {
    pass_change(job, json_of(job, "{\"do\": \"setDType\", \"value\": V(x), "
                                  "\"dtype\": \"int64\"}"));
}

TEST(nodes_take_the_new_dtype_of_an_input_in_the_end) {
    uint32_t made = 0;
    sc_job *job = pass_open("method forward {\ninput %x: f32[2, 2]\ninput %y: f32[2, 2]\n"
                            "%mm: f32[2, 2] = aten::mm(%x, %y)\nreturn %mm\n}\n");
    CHECK_EQ_INT(pass_transform(job, widen_an_input, &made), SC_ERR_DTYPE);
    CHECK(sc_str_is(sc_vec_last(&job->ctx.diags).where.node, "mm"));
    sc_job_close(job);
}

// The host reads the error of a change in the middle of the call that runs the pass.
static void read_an_error(sc_job *job) {
    for (int i = 0; i < 3; i++) {
        pass_refuse(job, "{\"do\": \"erase\", \"node\": 99}", SC_ERR_STATE, "no such node");
        const sc_str report = sc_job_report(job, SC_ERR_STATE);
        CHECK(strstr(report.data, "no such node") && !strstr(report.data, "said before"));
        sc_job_forget_diagnostics(job);
    }
}

TEST(what_a_call_has_found_before_a_pass_stays) {
    uint32_t made = 0;
    sc_job *job = pass_open(SOURCE);
    for (int i = 0; i < 5; i++) sc_report(&job->ctx, SC_WARNING, SC_ERR_DTYPE, NULL, "said before");
    REQUIRE_OK(pass_transform(job, read_an_error, &made));
    CHECK_EQ_UINT(job->ctx.diags.count, 5);
    CHECK(strstr(sc_job_report(job, SC_OK).data, "said before"));
    sc_job_close(job);
}

static void use_a_later_value(sc_job *job) {
    const char *round = "{\"do\": \"insert\", \"graph\": 0, \"before\": N(relu), \"target\": "
                        "\"aten::round\", \"args\": [{\"v\": V(x)}]}";
    pass_change(job, json_of(job, round));
    pass_change(job, json_of(job, round));
    pass_refuse(job,
                json_of(job, "{\"do\": \"insert\", \"graph\": 0, \"before\": N(round_1), "
                             "\"target\": \"aten::abs\", \"args\": [{\"v\": V(relu)}]}"),
                SC_ERR_ARGUMENT, "'relu' is not defined where the new call of aten::abs");
}

TEST(order_is_known_after_several_insertions_at_one_place) {
    check_pass(use_a_later_value, "%round_1: f32[4] = aten::round(%x)");
}

static void give_a_number_as_bias(sc_job *job) {
    pass_refuse(job,
                "{\"do\": \"insert\", \"graph\": 0, \"target\": \"aten::linear\", \"args\": "
                "[{\"v\": 0}, {\"v\": 1}, 2.5]}",
                SC_ERR_ARGUMENT, "argument 'bias' of aten::linear must be a tensor or null");
}

TEST(a_number_is_no_optional_tensor) { check_pass(give_a_number_as_bias, "return %add"); }

static void widen_early(sc_job *job) {
    const sc_str made =
        pass_change(job, json_of(job, "{\"do\": \"insert\", \"graph\": 1, \"target\": "
                                      "\"aten::unsqueeze\", \"args\": [{\"v\": V(sin)}, 0]}"));
    const char *value = strstr(made.data, "\"outs\":[{\"id\":");
    char json[100];
    REQUIRE(value);
    snprintf(json, sizeof json,
             "{\"do\": \"set\", \"node\": {\"outputs\": 1}, \"index\": 0, "
             "\"value\": {\"v\": %d}}",
             atoi(value + strlen("\"outs\":[{\"id\":")));
    pass_change(job, json);
}

TEST(bodies_keep_their_types_before_decomposition) {
    sc_job *job = pass_open(SOURCE);
    CHECK_EQ_INT(pass_run_early(job, widen_early), SC_ERR_SHAPE);
    sc_job_close(job);
}

static void return_a_number(sc_job *job) {
    pass_change(job, "{\"do\": \"set\", \"node\": {\"outputs\": 1}, \"index\": 0, \"value\": 3}");
}

TEST(a_body_returns_a_tensor_where_one_is_wanted) {
    uint32_t made = 0;
    sc_job *job = pass_open(SOURCE);
    CHECK_EQ_INT(pass_transform(job, return_a_number, &made), SC_ERR_SHAPE);
    sc_job_close(job);
}

static void insert_a_view(sc_job *job) {
    pass_change(job, json_of(job, "{\"do\": \"insert\", \"graph\": 0, \"target\": "
                                  "\"aten::narrow\", \"args\": [{\"v\": V(x)}, 0, 1, 2]}"));
}

// A call that stays whole is a function of its operands, so a write would miss what a view shows.
TEST(views_are_views_before_decomposition) {
    sc_job *job = pass_open(SOURCE);
    REQUIRE_OK(pass_run_early(job, insert_a_view));
    const sc_graph *graph = sc_job_compiling(job)->versions.data[0].program->methods.data[0]->graph;
    CHECK_EQ_STR(graph->last->op->name, "aten::narrow");
    CHECK(!graph->last->is_kept);
    sc_job_close(job);
}

// --- Writes in place -----------------------------------------------------------------------------

static void replace_products(sc_job *job) {
    pass_change(job, "{\"do\": \"replacePattern\", \"pattern\": \"mul(x, sigmoid(x))\", "
                     "\"replacement\": \"silu(x)\"}");
}

// Before decomposition a value changes where a call writes it.
TEST(a_pattern_does_not_match_across_a_write) {
    static const char *const rows[][2] = {
        {"%s: f32[4] = aten::sigmoid(%x)\n%w: f32[4] = aten::add_.Tensor(%x, 1)\n"
         "%m: f32[4] = aten::mul.Tensor(%x, %s)\n",
         "aten::mul.Tensor(%x, %s)"},
        {"%w: f32[4] = aten::add_.Tensor(%x, 1)\n%s: f32[4] = aten::sigmoid(%x)\n"
         "%m: f32[4] = aten::mul.Tensor(%x, %s)\n",
         "aten::silu(%x)"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        char text[300];
        snprintf(text, sizeof text, "method forward {\ninput %%x: f32[4]\n%sreturn %%m\n}\n",
                 rows[i][0]);
        sc_job *job = pass_open(text);
        CHECK_OK(pass_run_early(job, replace_products));
        pass_check_text(job, 0, rows[i][1]);
        sc_job_close(job);
    }
}
