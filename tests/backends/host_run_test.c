// A backend of the host at run time, as programs call it: what its answers may leave out, and what
// is reported of another part that failed.
#include "api/compiling.h"
#include "api/run/running.h"
#include "api/verify/delegate_check.h"
#include "backends/host/run/host_run.h"
#include "setup.h"

static const char *answer;
static uint32_t answer_bytes;

static bool ask(uint32_t number, sc_host_question *question, sc_host_question_kind kind,
                uint32_t delegate, sc_str json) {
    (void)number, (void)delegate, (void)json;
    if (kind != SC_HOST_QUESTION_EXECUTE) return true;
    const size_t json_bytes = strlen(answer);
    char *given = sc_try_alloc(json_bytes + answer_bytes + 1);
    memcpy(given, answer, json_bytes);
    memset(given + json_bytes, 0, answer_bytes);
    sc_host_question_answer(question, given, (uint32_t)json_bytes, answer_bytes);
    return true;
}

static sc_tensor tensor_of(sc_dtype dtype, void *data, int64_t *size) {
    static int64_t stride = 1;
    static uint8_t order;
    sc_tensor t = {.dtype = (uint8_t)dtype, .rank = size ? 1 : 0, .numel = size ? *size : 1};
    t.sizes = size;
    t.strides = &stride;
    t.dim_order = &order;
    t.data = data;
    t.capacity_bytes = (uint64_t)t.numel * sc_dtype_bytes(dtype);
    return t;
}

static sc_status call(setup *s, const sc_rt_backend *backend, void *state, sc_evalue *values,
                      uint32_t count) {
    sc_evalue *args[4];
    for (uint32_t i = 0; i < count; i++) args[i] = &values[i];
    return backend->execute(&s->ctx, state, &(sc_rt_delegate_call){args, count - 1, count, NULL});
}

TEST(a_scalar_needs_a_shape) {
    static const struct {
        const char *answer, *message;
    } cases[] = {
        {"[{\"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [], \"bytes\": [0, 4]}]", ""},
        {"[{\"kind\": \"tensor\", \"dtype\": \"float32\", \"bytes\": [0, 4]}]",
         "backend 'Scalar' gave a tensor with no list of sizes as its shape as output 0 of a part "
         "of "
         "method 'forward', which declares []"},
        {"[{\"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": 1, \"bytes\": [0, 4]}]",
         "backend 'Scalar' gave a tensor with no list of sizes as its shape as output 0 of a part "
         "of "
         "method 'forward', which declares []"},
        {"[]",
         "backend 'Scalar' gave 0 results for a part of method 'forward', which has 1 output"},
    };
    const sc_host_backend host = {.id = SC_STR("Scalar"), .number = 1, .ask = ask};
    const sc_rt_backend backend = sc_host_run(&host);
    for (uint32_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        setup_begin(&s);
        float out = 1;
        sc_tensor t = tensor_of(SC_DTYPE_F32, &out, NULL);
        sc_evalue value = {.tag = SC_EVALUE_TENSOR, .tensor = &t}, *arg = &value;
        const sc_rt_start start = {.backend = &backend,
                                   .id = host.id,
                                   .method = SC_STR("forward"),
                                   .args = &arg,
                                   .arg_count = 1};
        void *state = NULL;
        uint32_t inputs = 9;
        REQUIRE_OK(backend.init(&s.ctx, &start, &state, &inputs));
        CHECK_EQ_INT(inputs, 0);
        answer = cases[i].answer;
        answer_bytes = 4;
        const bool is_right = cases[i].message[0] == 0;
        CHECK((call(&s, &backend, state, &value, 1) == SC_OK) == is_right);
        CHECK_EQ_STR(setup_message(&s), cases[i].message);
        CHECK(out == (is_right ? 0 : 1));
        backend.destroy(state);
        setup_end(&s);
    }
}

// The backend gives zeros for what it is to pick, wherever that lies; the kernels refuse what lies
// outside.
TEST(a_part_that_failed_once_is_not_compared_later) {
    static const char text[] =
        "method f {\ninput %x: f32[2]\ninput %i: i64[1]\n"
        "%y: f32[1] = higher_order::executorch_call_delegate(\npart p \"Picking\" {\n"
        "processed \"\"\n"
        "input %a: f32[2]\ninput %b: i64[1]\n"
        "%c: f32[1] = aten::index_select(%a, 0, %b)\nreturn %c\n}\n, [%x, %i])\n"
        "return %y\n}\n";
    setup s;
    setup_begin(&s);
    sc_job *job = sc_job_open(NULL);
    CHECK_OK(sc_backend_register(
        job, &(sc_host_backend){.id = SC_STR("Picking"), .number = 2, .ask = ask}));
    sc_program *program = NULL;
    sc_delegate_check *watch = NULL;
    CHECK_OK(sc_ops_init());
    REQUIRE_OK(sc_program_parse(&s.ctx, SC_STR(text), &program));
    const sc_part *part = sc_node_part(program->methods.data[0]->graph->first);
    part->method->facts = SC_FACT_SPECS | SC_FACT_CORE | SC_FACT_EDGE;  // as delegation leaves it
    REQUIRE_OK(sc_delegate_check_new(&s.ctx, program, &watch));
    const sc_rt_backends *backends = sc_delegate_check_backends(watch);
    const sc_rt_backend *backend = backends->find(backends->user, SC_STR("Picking"));
    float in[2] = {0}, out[1] = {1};
    int64_t at[1] = {5}, two = 2, one = 1;
    sc_tensor tensors[] = {tensor_of(SC_DTYPE_F32, in, &two), tensor_of(SC_DTYPE_I64, at, &one),
                           tensor_of(SC_DTYPE_F32, out, &one)};
    sc_evalue values[3], *args[3];
    for (uint32_t i = 0; i < 3; i++) {
        values[i] = (sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = &tensors[i]};
        args[i] = &values[i];
    }
    const sc_rt_start start = {.backend = backend,
                               .id = SC_STR("Picking"),
                               .method = SC_STR("f"),
                               .args = args,
                               .arg_count = 3,
                               .known_count = 2};
    void *state = NULL;
    uint32_t inputs = 0;
    REQUIRE_OK(backend->init(&s.ctx, &start, &state, &inputs));
    const sc_checked_delegate *seen =
        sc_delegate_check_at(watch, program->methods.data[0]->name, 0);
    answer = "[{\"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [1], \"bytes\": [0, 4]}]";
    answer_bytes = 4;
    CHECK_OK(call(&s, backend, state, values, 3));
    const char *reason = seen->why_not ? seen->why_not : "";
    if (!strstr(reason, "its part failed without its backend: ")) FAIL("%s", reason);
    at[0] = 1;
    CHECK_OK(call(&s, backend, state, values, 3));
    CHECK(seen->why_not == reason);
    CHECK(!seen->was_compared);
    backend->destroy(state);
    sc_job_close(job);
    setup_end(&s);
}
