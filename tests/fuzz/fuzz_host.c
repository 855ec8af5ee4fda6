// A part of a backend of the host, with any answers of the host: started, called, reset, called
// again and ended. Questions to the host are JSON. While it is started, the host looks up the name
// that the payload is.
//
// The input: how many arguments; for each a letter of its kind; the size of the payload in two
// bytes; the payload; the size of the JSON in two bytes; the answer, JSON and what it speaks of.
#include "backends/host/run/host_run.h"
#include "bytes.h"
#include "context.h"
#include "format/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARGUMENTS_MAX = 6 };

typedef struct host {
    const uint8_t *answer;
    uint32_t json_bytes, bytes;
    uint32_t open;  // delegates that were started and not ended
    bool fails;
    sc_str wanted;  // named data
} host;

static host now;

static bool ask(uint32_t number, sc_host_question *question, sc_host_question_kind kind,
                uint32_t delegate, sc_str json) {
    (void)number;
    SC_ASSERT(delegate);
    if (kind == SC_HOST_QUESTION_DESTROY) {
        now.open--;
        return true;
    }
    if (kind == SC_HOST_QUESTION_RESET) return !now.fails;
    const sc_json *parsed;
    sc_status status = sc_json_parse(question->ctx, question->ctx->scratch, json, &parsed);
    SC_ASSERT(status == SC_OK);
    question->answer = sc_try_alloc((size_t)now.json_bytes + now.bytes + 1);
    SC_ASSERT(question->answer);
    memcpy(question->answer, now.answer, (size_t)now.json_bytes + now.bytes);
    question->json_bytes = now.json_bytes;
    question->bytes = now.bytes;
    const uint8_t *bytes;
    uint64_t size;
    if (kind == SC_HOST_QUESTION_INIT) {
        (void)question->named(question, now.wanted, &bytes, &size);
        status = sc_json_parse(question->ctx, question->ctx->scratch, question->names(question),
                               &parsed);
        SC_ASSERT(status == SC_OK);
    }
    now.open += kind == SC_HOST_QUESTION_INIT && !now.fails;
    return !now.fails;
}

// Names that begin with 'n' are not there.
static sc_status find_named(void *user, sc_ctx *ctx, sc_str key, const uint8_t **bytes,
                            uint64_t *size) {
    uint32_t *found = user;
    if (key.size && key.data[0] == 'n')
        return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "there is no such data");
    *bytes = (const uint8_t *)"some bytes";
    *size = key.size;
    ++*found;
    return SC_OK;
}

static void release_named(void *user, sc_str key) {
    (void)key;
    --*(uint32_t *)user;
}

static sc_str named_key(void *user, uint32_t index, uint64_t *bytes) {
    (void)user;
    *bytes = index;
    return index ? SC_STR("name\n\"") : SC_STR("n");
}

static sc_tensor *make_tensor(sc_ctx *ctx, uint8_t dtype) {
    sc_tensor *t = sc_new(ctx->arena, sc_tensor);
    *t = (sc_tensor){.dtype = dtype, .rank = 2, .numel = 6, .is_dynamic = true};
    t->sizes = sc_new_array(ctx->arena, int64_t, 2);
    t->strides = sc_new_array(ctx->arena, int64_t, 2);
    t->dim_order = sc_new_array(ctx->arena, uint8_t, 2);
    t->sizes[0] = 2;
    t->sizes[1] = t->strides[0] = 3;
    t->strides[1] = t->dim_order[1] = 1;
    t->capacity_bytes = 6u * sc_dtype_bytes((sc_dtype)dtype);
    t->data = sc_arena_alloc(ctx->arena, (size_t)t->capacity_bytes);
    return t;
}

static sc_evalue make_argument(sc_ctx *ctx, uint8_t kind) {
    switch (kind) {
    case 'i': return (sc_evalue){.tag = SC_EVALUE_INT, .i = -3};
    case 'd': return (sc_evalue){.tag = SC_EVALUE_DOUBLE, .d = 0.5};
    case 'b': return (sc_evalue){.tag = SC_EVALUE_BOOL, .b = true};
    case 'l': return (sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = make_tensor(ctx, SC_DTYPE_I64)};
    default: return (sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = make_tensor(ctx, SC_DTYPE_F32)};
    }
}

static uint32_t next_size(byte_stream *b) {
    const uint32_t low = next_byte(b), size = low | (uint32_t)next_byte(b) << 8;
    return (uint32_t)sc_min_u64(size, b->size - b->at);
}

static void run(sc_ctx *ctx, const sc_rt_start *start) {
    void *state;
    uint32_t inputs;
    if (start->backend->init(ctx, start, &state, &inputs) != SC_OK) {
        SC_ASSERT(ctx->error_count > 0);
        return;
    }
    SC_ASSERT(inputs <= start->arg_count);
    sc_rt_delegate_call call = {start->args, inputs, start->arg_count, NULL};
    for (int i = 0; i < 2; i++) {
        sc_status status = start->backend->execute(ctx, state, &call);
        SC_ASSERT(status == SC_OK || ctx->error_count > 0);
        status = start->backend->reset(ctx, state);
        SC_ASSERT(status == SC_OK || ctx->error_count > 0);
    }
    start->backend->destroy(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_context c;
    sc_evalue values[ARGUMENTS_MAX], *args[ARGUMENTS_MAX];
    byte_stream b = {.data = data, .size = size};
    sc_ctx *ctx = fuzz_begin(&c, 1 << 20);
    const uint8_t head = next_byte(&b);
    const uint32_t count = head % (ARGUMENTS_MAX + 1);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = make_argument(ctx, next_byte(&b));
        args[i] = &values[i];
    }
    uint32_t found = 0;
    const sc_host_backend backend = {.id = SC_STR("Fuzz"), .number = 1, .ask = ask};
    const sc_rt_backend half = sc_host_run(&backend);
    sc_rt_start start = {.backend = &half,
                         .id = backend.id,
                         .method = SC_STR("forward"),
                         .named = {find_named, release_named, &found, 2, named_key},
                         .args = args,
                         .arg_count = count,
                         .known_count = count - (head >= 8 && count)};
    start.processed_bytes = next_size(&b);
    start.processed = data + b.at;
    b.at += start.processed_bytes;
    now = (host){.json_bytes = next_size(&b), .fails = head >= 0xf0};
    now.answer = data + b.at;
    now.wanted = (sc_str){(const char *)start.processed, start.processed_bytes};
    now.bytes = (uint32_t)(b.size - b.at - now.json_bytes);
    run(ctx, &start);
    // Everything that was found is let go, everything that was started is ended.
    SC_ASSERT(found == 0 && now.open == 0);
    fuzz_end(&c);
    return 0;
}
