// Quantizing as a host calls it: in which order, what is left after a failure, and what the report
// says.
#include <math.h>
#include <string.h>

#include "api/compiling.h"
#include "api/quantize/quantize.h"
#include "api/run/running.h"
#include "observe/observe.h"
#include "quant/calibrate.h"

typedef struct session {
    setup s;
    sc_job *job;
    uint32_t quantized;
} session;

static void open_session(session *t, const sc_host *host, const char *path) {
    setup_begin(&t->s);
    t->job = sc_job_open(host);
    SC_ASSERT(t->job);
    CHECK_OK(sc_compile_open(t->job, setup_file(&t->s, path).source, SC_STR(""), SC_STR("")));
}

static void close_session(session *t) {
    sc_job_close(t->job);
    setup_end(&t->s);
}

static sc_status begin(session *t, const char *config) {
    return sc_quantize_begin(t->job, 0, sc_str_from(config), SC_STR(""), SC_STR(""));
}

static sc_status convert(session *t) { return sc_quantize_convert(t->job, &t->quantized); }

static sc_method *source_method(const session *t, uint32_t index) {
    return sc_job_compiling(t->job)->versions.data[0].program->methods.data[index];
}

static const sc_diag *last_diag(const session *t) {
    static const sc_diag empty = {.message = {"", 0}, .hint = {"", 0}};
    const sc_ctx *ctx = sc_job_ctx(t->job);
    return ctx->diags.count ? &sc_vec_last(&ctx->diags) : &empty;
}

static void check_message(const session *t, const char *part) {
    CHECK(strstr(last_diag(t)->message.data, part) != NULL);
}

static sc_status run_batch(session *t, uint32_t method) {
    const sc_method *of = source_method(t, method);
    SC_TRY(sc_run_select(t->job, sc_name_str(of->name)));
    SC_TRY(quant_set_inputs(&t->s, of, sc_job_running(t->job)->method, 0, 4));
    return sc_quantize_batch(t->job);
}

// A number among those of the last weight of a method.
static void spoil(session *t, uint32_t method, float x) {
    sc_method *of = source_method(t, method);
    for (uint32_t i = of->inputs.count; i-- > 0;) {
        sc_constant *constant = of->inputs.data[i].constant;
        if (!constant || constant->spec.rank != 2) continue;
        uint8_t *bytes = sc_arena_alloc(&t->s.arena, (size_t)constant->data.size);
        CHECK_OK(sc_extent_read(&t->s.ctx, constant->data, 0, bytes, (size_t)constant->data.size));
        memcpy(bytes, &x, sizeof x);
        constant->data =
            sc_extent_whole(sc_source_from_memory(&t->s.arena, bytes, constant->data.size));
        return;
    }
    FAIL("method %u has no weight", method);
}

// --- Whole batches ------------------------------------------------------------------------------

// A method that lacks calibration can still be calibrated: programs are changed, or closed, only
// once all methods have it.
TEST(methods_that_lack_batches_can_get_them_after_converting_was_refused) {
    session t;
    open_session(&t, NULL, "models/encdec.package.pt2");
    const uint32_t count = sc_job_compiling(t.job)->versions.data[0].program->methods.count;
    REQUIRE(count > 1);
    REQUIRE_OK(begin(&t, "{\"all\": {\"mode\": \"static\"}}"));
    REQUIRE_OK(run_batch(&t, 0));
    CHECK_STATUS(convert(&t), SC_ERR_STATE);
    check_message(&t, "was not calibrated");
    for (uint32_t i = 1; i < count; i++) REQUIRE_OK(run_batch(&t, i));
    CHECK_OK(convert(&t));
    close_session(&t);
}

// Observations are checked before anything is changed, too.
TEST(no_node_is_converted_before_all_scales_are_known) {
    session t;
    sc_str json;
    open_session(&t, NULL, "models/encdec.package.pt2");
    const uint32_t count = sc_job_compiling(t.job)->versions.data[0].program->methods.count;
    REQUIRE_OK(begin(&t, "{\"all\": {\"mode\": \"static\"}}"));
    for (uint32_t i = 0; i < count; i++) REQUIRE_OK(run_batch(&t, i));
    float *state = sc_job_compiling(t.job)->quantizing->methods[count - 1].states[0];
    state[SC_OBSERVED_NANS] = 1;
    CHECK_STATUS(convert(&t), SC_ERR_NUMERIC);
    CHECK_STATUS(sc_quantize_report(t.job, &json), SC_ERR_STATE);
    REQUIRE_OK(run_batch(&t, 0));
    state[SC_OBSERVED_NANS] = 0;
    CHECK_OK(convert(&t));
    close_session(&t);
}

// A weight is read while methods are converted, some of which are then integers, others not.
TEST(after_converting_has_failed_the_quantization_can_only_end) {
    static const char HALF_DONE[] = "failed while it was converted";
    session t;
    sc_str json;
    open_session(&t, NULL, "models/encdec.package.pt2");
    spoil(&t, 1, NAN);
    REQUIRE_OK(begin(&t, "{\"all\": {\"mode\": \"weight_only\"}}"));
    CHECK_STATUS(convert(&t), SC_ERR_ARGUMENT);
    CHECK_STATUS(convert(&t), SC_ERR_STATE);
    check_message(&t, HALF_DONE);
    CHECK_STATUS(sc_quantize_compare(t.job), SC_ERR_STATE);
    check_message(&t, HALF_DONE);
    CHECK_STATUS(sc_quantize_batch(t.job), SC_ERR_STATE);
    check_message(&t, HALF_DONE);
    CHECK_STATUS(sc_quantize_report(t.job, &json), SC_ERR_STATE);
    check_message(&t, HALF_DONE);
    sc_quantize_end(t.job);
    spoil(&t, 1, 0.5f);
    REQUIRE_OK(begin(&t, "{\"all\": {\"mode\": \"weight_only\"}}"));
    CHECK_OK(convert(&t));
    CHECK_OK(sc_quantize_report(t.job, &json));
    close_session(&t);
}

// --- Batches -------------------------------------------------------------------------------------

// Dynamic quantization observes what is no plain weight.
TEST(what_observes_takes_batches_whatever_the_mode) {
    static const struct {
        const char *path, *config;
        bool takes;
    } CASES[] = {{"models/mlp.pt2", "{\"all\": {\"mode\": \"static\"}}", true},
                 {"models/mlp.pt2", "{\"all\": {\"mode\": \"dynamic\"}}", false},
                 {"quant/weights.pt2", "{\"all\": {\"mode\": \"dynamic\"}}", true},
                 {"quant/weights.pt2", "{\"all\": {\"mode\": \"weight_only\"}}", false}};
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        session t;
        open_session(&t, NULL, CASES[i].path);
        const sc_str method = sc_name_str(source_method(&t, 0)->name);
        CHECK(!sc_quantize_takes_batches(t.job, method));
        REQUIRE_OK(begin(&t, CASES[i].config));
        CHECK(sc_quantize_takes_batches(t.job, method) == CASES[i].takes);
        if (CASES[i].takes) CHECK_OK(run_batch(&t, 0));
        REQUIRE_OK(convert(&t));
        CHECK(!sc_quantize_takes_batches(t.job, method));
        close_session(&t);
    }
}

// --- Progress ------------------------------------------------------------------------------------

typedef struct counted {
    uint64_t calls, last, total;
    bool cancels;
} counted;

static bool count_choosing(void *user, const char *phase, uint64_t done, uint64_t total) {
    counted *c = user;
    if (strcmp(phase, "settle") != 0) return false;
    CHECK(done <= total);
    c->calls++;
    c->last = done;
    c->total = total;
    return c->cancels && done == 2;
}

// Progress of observers, whose ranges are searched, and of weights, which are read.
TEST(choosing_scales_is_progress_and_can_be_cancelled) {
    static const char *const CONFIGS[] = {"{\"all\": {\"mode\": \"static\"}}",
                                          "{\"all\": {\"mode\": \"weight_only\"}}"};
    for (size_t i = 0; i < SC_COUNT_OF(CONFIGS); i++) {
        counted c = {.cancels = true};
        const sc_host host = {.user = &c, .progress = count_choosing};
        session t;
        open_session(&t, &host, "models/mlp.pt2");
        REQUIRE_OK(begin(&t, CONFIGS[i]));
        if (i == 0) REQUIRE_OK(run_batch(&t, 0));
        CHECK_STATUS(convert(&t), SC_ERR_CANCELLED);
        check_message(&t, "cancelled during settle");
        CHECK_EQ_UINT(c.last, 2);
        sc_quantize_end(t.job);
        c = (counted){0};
        REQUIRE_OK(begin(&t, CONFIGS[i]));
        if (i == 0) REQUIRE_OK(run_batch(&t, 0));
        CHECK_OK(convert(&t));
        CHECK(c.total > 2 && c.last == c.total && c.calls > c.total);
        close_session(&t);
    }
}

// --- The report ----------------------------------------------------------------------------------

static bool report_has(session *t, const char *part) {
    sc_str json;
    return CHECK_OK(sc_quantize_report(t->job, &json)) &&
           strstr(sc_str_dup(&t->s.arena, json), part) != NULL;
}

// No number stands for equal and for hopeless alike: the other pair decides.
TEST(errors_without_decibels_differ) {
    static const struct {
        double error[SC_ERROR_VALUES];
        const char *wanted;
    } CASES[] = {
        {{4, 0, 0, 2, 0}, "\"snr\":null,\"largestDifference\":0.0}"},
        {{0, 0, 0, 2, 0}, "\"snr\":null,\"largestDifference\":0.0}"},
        {{0, 1, 0.5, 2, 0}, "\"snr\":null,\"largestDifference\":0.5}"},
        {{0, 0, 0, 0, 3}, "\"snr\":null,\"largestDifference\":0.0,\"nonFiniteMismatches\":3}"},
        {{4, 0, 0, 2, 1}, "\"snr\":null,\"largestDifference\":0.0,\"nonFiniteMismatches\":1}"},
    };
    session t;
    open_session(&t, NULL, "models/mlp.pt2");
    REQUIRE_OK(begin(&t, "{\"all\": {\"mode\": \"weight_only\"}}"));
    REQUIRE_OK(convert(&t));
    REQUIRE_OK(sc_quantize_compare(t.job));
    REQUIRE_OK(run_batch(&t, 0));
    const sc_compared *compared = sc_job_compiling(t.job)->quantizing->methods[0].compared;
    REQUIRE(compared->count > 0);
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        memcpy(compared->rows[compared->count - 1].error, CASES[i].error, sizeof CASES[i].error);
        if (!report_has(&t, CASES[i].wanted)) FAIL("case %zu", i);
    }
    close_session(&t);
}

// The flag says it, so that nobody has to know the sentence.
TEST(what_was_asked_for_has_a_flag) {
    session t;
    open_session(&t, NULL, "models/mlp.pt2");
    REQUIRE_OK(begin(&t, "{\"all\": {\"mode\": \"weight_only\", \"skip\": [\"fc1\"]}}"));
    REQUIRE_OK(convert(&t));
    CHECK(report_has(&t, "\"node\":\"linear\",\"op\":\"aten::linear\",\"isQuantized\":false,"
                         "\"isSkipped\":true,\"reason\":\""));
    CHECK(report_has(&t, "\"isQuantized\":false,\"reason\":\"it is not a layer with a weight\""));
    sc_quantize_end(t.job);
    const uint32_t before = sc_job_ctx(t.job)->diags.count;
    REQUIRE_OK(begin(&t, "{\"all\": {\"mode\": \"weight_only\", \"skip\": [\"*\"]}}"));
    CHECK_EQ_UINT(sc_job_ctx(t.job)->diags.count, before + 1);
    check_message(&t, "is quantized: `skip` leaves out every node that could be");
    close_session(&t);
}

// Weights of halves become integers, and the layers with them compute in float32.
TEST(weights_alone_may_be_halves) {
    static const char *const configs[] = {
        "{\"all\": {\"mode\": \"weight_only\"}}",
        "{\"all\": {\"mode\": \"weight_only\", \"layers\": \"linear\"}}",
        "{\"all\": {\"mode\": \"dynamic_int4\"}}",
    };
    for (size_t i = 0; i < SC_COUNT_OF(configs); i++) {
        session t;
        open_session(&t, NULL, "models/linear_bf16.pt2");
        REQUIRE_OK(begin(&t, configs[i]));
        REQUIRE_OK(convert(&t));
        CHECK(report_has(&t, "\"node\":\"linear\",\"op\":\"aten::linear\",\"isQuantized\":true"));
        close_session(&t);
    }
}

TEST(layers_of_another_kind_are_left) {
    session t;
    open_session(&t, NULL, "models/linear_bf16.pt2");
    CHECK_STATUS(begin(&t, "{\"all\": {\"mode\": \"weight_only\", \"layers\": \"embeddings\"}}"),
                 SC_ERR_UNSUPPORTED);
    check_message(&t, "has no linear layer or embedding whose weight can be; its layers: 1 linear "
                      "layer of bfloat16");
    close_session(&t);
}

TEST(weights_that_become_halves_have_to_be_of_float32) {
    session t;
    open_session(&t, NULL, "models/linear_bf16.pt2");
    CHECK_STATUS(begin(&t, "{\"all\": {\"mode\": \"half_weights\"}}"), SC_ERR_UNSUPPORTED);
    check_message(&t, "have another dtype than this takes");
    CHECK(strstr(last_diag(&t)->hint.data, "model.float()") != NULL);
    close_session(&t);
}
