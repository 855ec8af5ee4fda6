// A backend of the host at run time, as programs call it: what its answers may leave out.
#include "api/job.h"
#include "backends/host/run/host_run.h"
#include "setup.h"

// A header for `inputs` inputs, one output and no keys, and nothing behind it.
#define PROCESSED(inputs) "SH01" inputs "\0\0\0\1\0\0\0\0\0\0\0"

static const char *answer;
static uint32_t answer_bytes;

static bool ask(uint32_t number, sc_ask *question, sc_ask_kind kind, uint32_t delegate,
                sc_str json) {
    (void)number, (void)delegate, (void)json;
    if (kind != SC_ASK_EXECUTE) return true;
    const size_t json_bytes = strlen(answer);
    char *given = sc_try_alloc(json_bytes + answer_bytes + 1);
    memcpy(given, answer, json_bytes);
    memset(given + json_bytes, 0, answer_bytes);
    sc_ask_answer(question, given, (uint32_t)json_bytes, answer_bytes);
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
    return backend->execute(&s->ctx, state, &(sc_rt_delegate_call){args, count - 1, count});
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
                                   .processed = (const uint8_t *)PROCESSED("\0"),
                                   .processed_bytes = 16,
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
