// Training on the device: parameters and gradients that constant methods describe, rightly or
// wrongly, and the optimizer's numbers. Files are emitted from IR text; parameters start as zeros.
#include "rt/train.h"

#include "../setup.h"
#include "emit/emit.h"
#include "plan/place.h"

typedef struct trained {
    setup s;
    sc_rt_program *program;
    sc_rt_trainer *trainer;
    sc_rt_sgd *sgd;
} trained;

static const char method[] = "method forward {\n"
                             "  input %w: f32[2] parameter \"w\" trained const f32[2] 8\n"
                             "  input %c: f32[2] parameter \"c\" const f32[2] 8\n"
                             "  input %x: f32[2]\n"
                             "  %add: f32[2] = aten::add.Tensor(%w, %x)\n"
                             "  %sum: f32[] = aten::sum.dim_IntList(%add, [])\n"
                             "  %ge: b8[2] = aten::ge.Tensor(%add, %x)\n"
                             "  return %sum, GRADIENT, PARAMETER\n"
                             "}\n";
static const char described[] = "constant __et_training_gradients_index_forward = 1\n"
                                "constant __et_training_fqn_forward = [\"w\"]\n"
                                "constant __et_training_parameters_index_forward = 2\n";

static const char *with(const char *text, const char *word, const char *other) {
    const char *at = strstr(text, word);
    SC_ASSERT(at);
    return test_format("%.*s%s%s", (int)(at - text), text, other, at + strlen(word));
}

static const char *method_of(const char *gradient, const char *parameter) {
    return with(with(method, "GRADIENT", gradient), "PARAMETER", parameter);
}

static sc_status emit(setup *s, const char *text, sc_source **pte) {
    sc_options options = sc_options_default();
    sc_program *program;
    sc_storage_table *tables;
    sc_place_report *reports;
    sc_emit_result result;
    const uint8_t *bytes;
    SC_TRY(sc_program_parse(&s->ctx, sc_str_from(text), &program));
    SC_TRY(sc_place_program(&s->ctx, program, &options, NULL, &tables, &reports));
    SC_TRY(sc_emit_program(&s->ctx, program, tables, &options, &result));
    SC_TRY(sc_cord_flatten(&s->ctx, &result.program, &s->arena, 1 << 20, &bytes));
    *pte = sc_source_from_memory(&s->arena, bytes, result.program.size);
    return SC_OK;
}

static sc_status open(trained *t, const char *constants, const char *text) {
    sc_source *pte;
    *t = (trained){0};
    setup_begin(&t->s);
    CHECK_OK(sc_ops_init());
    SC_TRY(emit(&t->s, test_format("%s%s", constants, text), &pte));
    SC_TRY(sc_rt_program_open(&t->s.ctx, pte, NULL, &t->program));
    return sc_rt_trainer_open(&t->s.ctx, t->program, SC_STR("forward"), &t->trainer);
}

static void end(trained *t) {
    if (t->sgd) sc_rt_sgd_close(t->sgd);
    if (t->trainer) sc_rt_trainer_close(t->trainer);
    if (t->program) sc_rt_program_close(t->program);
    setup_end(&t->s);
}

static void run(trained *t, const float *x) {
    static const int64_t sizes[] = {2};
    sc_rt_method *m = sc_rt_trainer_method(t->trainer);
    const sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                               .dtype = SC_DTYPE_F32,
                               .rank = 1,
                               .sizes = sizes,
                               .data = x,
                               .bytes = 8};
    CHECK_OK(sc_rt_method_set_input(&t->s.ctx, m, 0, &input));
    CHECK_OK(sc_rt_method_run(&t->s.ctx, m));
    CHECK_OK(sc_rt_trainer_keep(&t->s.ctx, t->trainer));
}

// --- Descriptions --------------------------------------------------------------------------------

TEST(parameters_are_found) {
    trained t;
    if (CHECK_OK(open(&t, described, method_of("%add", "%w")))) {
        CHECK_EQ_UINT(sc_rt_trainer_count(t.trainer), 1);
        CHECK_EQ_UINT(sc_rt_trainer_result_count(t.trainer), 1);
        CHECK(sc_str_is(sc_rt_trainer_name(t.trainer, 0), "w"));
        CHECK(!sc_rt_trainer_gradient(t.trainer, 0));
    }
    end(&t);
}

// The official exporter counts a buffer that the method writes among the outputs.
TEST(indices_may_count_written_buffers) {
    trained t;
    const char *more = with(with(described, "= 1", "= 3"), "= 2", "= 4");
    if (CHECK_OK(open(&t, more, method_of("%add", "%w"))))
        CHECK_EQ_UINT(sc_rt_trainer_result_count(t.trainer), 1);
    end(&t);
}

TEST_CASES(wrong_descriptions_are_refused) {
    static const struct {
        const char *name, *word, *other, *gradient, *parameter;
        sc_status status;
        const char *message;
    } cases[] = {
        {"no names", "fqn", "fqm", "%add", "%w", SC_ERR_NOT_FOUND, "computes no gradients"},
        {"no index", "gradients", "gradient", "%add", "%w", SC_ERR_NOT_FOUND, "no gradients"},
        {"low index", "= 1", "= 0", "%add", "%w", SC_ERR_CORRUPT, "an index does not fit"},
        {"huge index", "= 1", "= 9223372036854775807", "%add", "%w", SC_ERR_CORRUPT, "an index"},
        {"other index", "= 2", "= 1", "%add", "%w", SC_ERR_CORRUPT, "an index does not fit"},
        {"index is text", "= 1", "= \"1\"", "%add", "%w", SC_ERR_CORRUPT, "not one integer"},
        {"two indices", "= 1", "= [1, 1]", "%add", "%w", SC_ERR_CORRUPT, "not one integer"},
        {"names are numbers", "[\"w\"]", "[1]", "%add", "%w", SC_ERR_CORRUPT, "different texts"},
        {"names are equal", "[\"w\"]", "[\"w\", \"w\"]", "%add", "%w", SC_ERR_CORRUPT, "different"},
        {"no name", "[\"w\"]", "[]", "%add", "%w", SC_ERR_CORRUPT, "fewer outputs"},
        {"names too many", "[\"w\"]", "[\"w\", \"v\"]", "%add", "%w", SC_ERR_CORRUPT, "fewer"},
        {"gradient of another dtype", "[\"w\"]", "[\"w\"]", "%ge", "%w", SC_ERR_CORRUPT,
         "another shape or dtype"},
        {"gradient of another shape", "[\"w\"]", "[\"w\"]", "%sum", "%w", SC_ERR_CORRUPT,
         "another shape or dtype"},
        {"gradient is a number", "[\"w\"]", "[\"w\"]", "3", "%w", SC_ERR_CORRUPT, "not a tensor"},
        {"parameter is constant", "[\"w\"]", "[\"w\"]", "%add", "%c", SC_ERR_UNSUPPORTED,
         "is a constant or is written"},
        {"parameter is computed", "[\"w\"]", "[\"w\"]", "%w", "%add", SC_ERR_UNSUPPORTED,
         "is a constant or is written"},
        {"parameter is not real", "[\"w\"]", "[\"w\"]", "%ge", "%ge", SC_ERR_UNSUPPORTED,
         "of dtype bool cannot be trained"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        trained t;
        if (!test_case("%s", cases[i].name)) continue;
        const char *constants = with(described, cases[i].word, cases[i].other);
        CHECK_STATUS(open(&t, constants, method_of(cases[i].gradient, cases[i].parameter)),
                     cases[i].status);
        if (!strstr(setup_message(&t.s), cases[i].message))
            FAIL("'%s' is not in '%s'", cases[i].message, setup_message(&t.s));
        end(&t);
    }
}

// --- Steps ---------------------------------------------------------------------------------------

static const sc_rt_sgd_options options[] = {
    {.lr = 0.1},
    {.lr = 0.1, .weight_decay = 0.5},
    {.lr = 0.2, .momentum = 0.9},
    {.lr = 0.2, .momentum = 0.9, .dampening = 0.25, .weight_decay = 0.125},
    {.lr = 0.2, .momentum = 0.9, .nesterov = true},
};

// The gradient of a step is the parameter plus the input.
TEST_CASES(steps_are_those_of_pytorch) {
    static const float x[] = {1, -2};
    for (size_t i = 0; i < SC_COUNT_OF(options); i++) {
        const sc_rt_sgd_options *o = &options[i];
        trained t;
        double w[2] = {0, 0}, momentum[2] = {0, 0};
        if (!test_case("%zu", i)) continue;
        if (CHECK_OK(open(&t, described, method_of("%add", "%w"))) &&
            CHECK_OK(sc_rt_sgd_open(&t.s.ctx, t.trainer, o, &t.sgd))) {
            CHECK_STATUS(sc_rt_sgd_step(&t.s.ctx, t.sgd), SC_ERR_STATE);
            for (int step = 0; step < 4; step++) {
                run(&t, x);
                CHECK_OK(sc_rt_sgd_step(&t.s.ctx, t.sgd));
                const float *parameter = sc_rt_trainer_parameter(t.trainer, 0)->data;
                for (int k = 0; k < 2; k++) {
                    double g = w[k] + x[k] + o->weight_decay * w[k];
                    momentum[k] = step ? o->momentum * momentum[k] + (1 - o->dampening) * g : g;
                    if (o->nesterov)
                        g += o->momentum * momentum[k];
                    else if (o->momentum != 0)
                        g = momentum[k];
                    w[k] -= o->lr * g;
                    CHECK_CLOSE(parameter[k], w[k], 1e-5);
                }
            }
            CHECK_OK(sc_rt_program_reset(&t.s.ctx, t.program));
            CHECK_EQ_MEM(sc_rt_trainer_parameter(t.trainer, 0)->data, ((float[]){0, 0}), 8);
        }
        end(&t);
    }
}
