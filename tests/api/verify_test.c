// Verifying as hosts call it: a program against itself without delegates, on the file's own inputs.
#include "api/compiling.h"
#include "api/verify/compare.h"
#include "setup.h"

static sc_str verify(sc_job *job, const char *model, const char *partitioners) {
    size_t bytes = 0;
    const char *data = test_read(test_format("models/%s.pt2", model), &bytes);
    sc_source *source = sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
    uint32_t delegated = 0, executorch = 0;
    sc_str json = {0};
    CHECK(sc_compile_open(job, source, SC_STR("forward"), (sc_str){0}) == SC_OK);
    CHECK(sc_compile_to_edge_transform_and_lower(job, 0, SC_STR("[]"), sc_str_from(partitioners),
                                                 (sc_str){0}, (sc_str){0}, &delegated) == SC_OK);
    CHECK(sc_compile_to_executorch(job, delegated, (sc_str){0}, &executorch) == SC_OK);
    CHECK(sc_compile_verify(job, delegated, &json) == SC_ERR_STATE);
    CHECK(sc_compile_verify(job, executorch, &json) == SC_OK);
    return json;
}

static bool says(sc_str json, const char *text) {
    return strstr(test_format("%.*s", (int)json.size, json.data), text) != NULL;
}

TEST(what_is_the_same_is_close) {
    static const char *const models[] = {"mlp", "mlp_dyn", "cond", "counter_buffer", "pytree_io"};
    for (uint32_t i = 0; i < SC_COUNT_OF(models); i++) {
        sc_job *job = sc_job_open(NULL);
        sc_str json = verify(job, models[i], "{\"all\": [{\"backend\": \"null\"}]}");
        if (!says(json, "\"inputs\":\"example\"")) FAIL("%s: %.*s", models[i], 200, json.data);
        CHECK(says(json, "\"isClose\":true"));
        CHECK(!says(json, "\"isClose\":false"));
        const bool has_bodies = strcmp(models[i], "cond") == 0;
        CHECK(says(json, "\"reason\":\"it was not called\"") == has_bodies);
        CHECK(says(json, "\"graph\":\"true_graph_0\"") == has_bodies);
        sc_job_close(job);
    }
}

// Rounded once where the graph rounds twice: right to a step.
TEST(quantized_delegates_are_right_to_a_step) {
    static const char *const models[] = {"quantized_cnn", "quantized_layers", "quantized_mlp"};
    for (uint32_t i = 0; i < SC_COUNT_OF(models); i++) {
        sc_job *job = sc_job_open(NULL);
        sc_str json = verify(job, models[i], "{\"all\": [{\"backend\": \"xnnpack\"}]}");
        if (says(json, "\"isClose\":false")) FAIL("%s: %.*s", models[i], (int)json.size, json.data);
        CHECK(says(json, "\"backend\":\"XnnpackBackend\""));
        for (uint32_t k = 0; k < sc_job_ctx(job)->diags.count; k++)
            CHECK(sc_job_ctx(job)->diags.data[k].severity != SC_WARNING);
        sc_job_close(job);
    }
}

static bool is_close(sc_job *job, double right, double found, sc_quantization_steps quantum) {
    const sc_evalue a = {.tag = SC_EVALUE_DOUBLE, .d = right};
    const sc_evalue b = {.tag = SC_EVALUE_DOUBLE, .d = found};
    sc_closeness c;
    CHECK(sc_compare_values(sc_job_ctx(job), &a, &b, quantum, &c) == SC_OK);
    return c.is_close;
}

TEST(steps_are_allowed_where_something_is_quantized) {
    const sc_quantization_steps exact = {0}, computed = {.times = 1};
    const sc_quantization_steps constant = {.times = 1, .step = 0.5};
    sc_job *job = sc_job_open(NULL);
    CHECK(!is_close(job, 4, 4.03, exact));
    CHECK(is_close(job, 4, 4.03, computed));
    CHECK(!is_close(job, 4, 4.1, computed));
    CHECK(is_close(job, 4, 4.5, constant));
    CHECK(!is_close(job, 4, 5, constant));
    CHECK(is_close(job, 4, 5, (sc_quantization_steps){.times = 2, .step = 0.5}));
    sc_job_close(job);
}

TEST(values_of_other_kinds_are_not_close) {
    sc_job *job = sc_job_open(NULL);
    sc_ctx *ctx = sc_job_ctx(job);
    const sc_evalue absent = {.tag = SC_EVALUE_NONE}, list = {.tag = SC_EVALUE_INT_LIST};
    const sc_evalue a = {.tag = SC_EVALUE_STRING, .str = SC_STR("a")};
    const sc_evalue b = {.tag = SC_EVALUE_STRING, .str = SC_STR("b")};
    const sc_quantization_steps quantum = {0};
    sc_closeness c;
    CHECK(sc_compare_values(ctx, &absent, &absent, quantum, &c) == SC_OK && c.is_close &&
          !c.is_other);
    CHECK(sc_compare_values(ctx, &a, &a, quantum, &c) == SC_OK && c.is_close && !c.is_other);
    CHECK(sc_compare_values(ctx, &a, &b, quantum, &c) == SC_OK && !c.is_close && c.is_other);
    CHECK(sc_compare_values(ctx, &a, &absent, quantum, &c) == SC_OK && !c.is_close && c.is_other);
    CHECK(sc_compare_values(ctx, &list, &list, quantum, &c) == SC_ERR_UNSUPPORTED);
    sc_job_close(job);
}

// --- Times and steps -----------------------------------------------------------------------------

// One that is quantized and dequantized again, with a scale, in its own words.
static const char *twice(const char *from, const char *to, const char *scale) {
    return test_format(
        "%%q_%s: i8[4] = quantized_decomposed::quantize_per_tensor(%%%s, %s, 0, -128, 127, i8)\n"
        "%%%s: f32[4] = quantized_decomposed::dequantize_per_tensor(%%q_%s, %s, 0, -128, 127, "
        "i8)\n",
        to, from, scale, to, to, scale);
}

static sc_quantization_steps quantum_of_text(setup *s, const char *text) {
    sc_program *program = NULL;
    CHECK_OK(sc_ops_init());
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), &program)))
        FAIL("%s", setup_message(s));
    return program ? sc_output_quantization(&s->ctx, program->methods.data[0]->graph, 1)[0]
                   : (sc_quantization_steps){0};
}

TEST(parts_one_after_the_other_are_counted_together) {
    setup s;
    setup_begin(&s);
    const sc_quantization_steps found = quantum_of_text(
        &s,
        test_format("method f {\ninput %%x: f32[4]\n"
                    "%%y: f32[4] = higher_order::executorch_call_delegate(\n"
                    "part p \"TestBackend\" {\ninput %%a: f32[4]\n%s%sreturn %%c\n}\n, [%%x])\n"
                    "%%z: f32[4] = higher_order::executorch_call_delegate(\n"
                    "part q \"TestBackend\" {\ninput %%a: f32[4]\n%s%s%sreturn %%d\n}\n, [%%y])\n"
                    "return %%z\n}\n",
                    twice("a", "b", "0.5"), twice("b", "c", "0.25"), twice("a", "b", "0.5"),
                    twice("b", "c", "0.5"), twice("c", "d", "0.125")));
    CHECK_EQ_INT(found.times, 5);
    CHECK(found.step == 0.125);
    setup_end(&s);
}

TEST(a_part_that_dequantizes_what_it_is_passed_has_steps) {
    setup s;
    setup_begin(&s);
    const sc_quantization_steps found = quantum_of_text(
        &s, "method f {\ninput %x: f32[4]\n"
            "%q: i8[4] = quantized_decomposed::quantize_per_tensor(%x, 0.5, 0, -128, 127, i8)\n"
            "%y: f32[4] = higher_order::executorch_call_delegate(\n"
            "part p \"TestBackend\" {\ninput %a: i8[4]\n"
            "%b: f32[4] = quantized_decomposed::dequantize_per_tensor(%a, 0.5, 0, -128, 127, i8)\n"
            "return %b\n}\n, [%q])\nreturn %y\n}\n");
    CHECK_EQ_INT(found.times, 1);
    CHECK(found.step == 0.5);
    setup_end(&s);
}

TEST(bodies_rest_on_what_their_node_reads) {
    setup s;
    setup_begin(&s);
    const sc_quantization_steps found = quantum_of_text(
        &s, test_format("method f {\ninput %%p: b8[]\ninput %%x: f32[4]\n%s"
                        "%%y: f32[4] = higher_order::cond(%%p, graph t {\ninput %%a: f32[4]\n"
                        "%sreturn %%b\n}, graph e {\ninput %%a: f32[4]\n"
                        "%%b: f32[4] = aten::neg(%%a)\nreturn %%b\n}, [%%w])\n"
                        "return %%y\n}\n",
                        twice("x", "w", "0.5"), twice("a", "b", "0.25")));
    CHECK_EQ_INT(found.times, 2);
    setup_end(&s);
}
