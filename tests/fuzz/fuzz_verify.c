// Any bytes as a bundled program: opened, its calls read as JSON, and each run and compared with
// what it is expected to return. Half of all changes are made to single values, cases and suites,
// or to the program alone, and written as a bundle again.
#include "api/run/running.h"
#include "bytes.h"
#include "context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum { CASES_MAX = 6, RANK_MAX = SC_RANK_MAX + 2 };

// --- Verifying -----------------------------------------------------------------------------------

static void check_json(sc_str json) {
    fuzz_context c;
    const sc_json *parsed;
    sc_ctx *ctx = fuzz_begin(&c, 1 << 20);
    SC_ASSERT(sc_json_parse(ctx, ctx->arena, json, &parsed) == SC_OK);
    fuzz_end(&c);
}

static void verify(sc_job *job, uint32_t suite, uint32_t test_case) {
    sc_str answer = {0};
    sc_ctx *ctx = sc_job_ctx(job);
    const uint32_t errors = ctx->error_count;
    const sc_status status = sc_bundle_verify(job, suite, test_case, 1e-3, 1e-5, &answer);
    SC_ASSERT(status == SC_OK || ctx->error_count > errors);
    if (status == SC_OK) check_json(answer);
}

// Runs twice, because a failed call must leave the program as good as before. The case after the
// last does not exist.
static void use(sc_job *job) {
    uint32_t left = CASES_MAX;
    sc_str answer = {0};
    const sc_status status = sc_bundle_read(job, &answer);
    SC_ASSERT(status == SC_OK || sc_job_ctx(job)->error_count > 0);
    if (status == SC_OK) check_json(answer);
    for (uint32_t s = 0; s <= sc_job_running(job)->bundle.calls.suite_count && left; s++) {
        const uint32_t cases = s < sc_job_running(job)->bundle.calls.suite_count
                                   ? sc_job_running(job)->bundle.calls.suites[s].case_count
                                   : 0;
        for (uint32_t i = 0; i <= cases && left; i++, left--) verify(job, s, i);
    }
    verify(job, 0, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_job *job = sc_job_open(NULL);
    sc_ctx *ctx = sc_job_ctx(job);
    ctx->limits.planned_bytes_max = 1 << 20;
    sc_source *source = sc_source_from_memory(ctx->arena, data, size);
    const sc_str options = SC_STR("{\"instruction_max\": 300}");
    if (sc_run_open(job, source, NULL, 0, options) == SC_OK)
        use(job);
    else
        SC_ASSERT(ctx->error_count > 0);
    sc_job_close(job);
    return 0;
}

// --- Other calls ---------------------------------------------------------------------------------

static uint32_t below(byte_stream *b, uint32_t limit) { return limit ? next_noise(b) % limit : 0; }

// As many bytes as sizes and dtype come to, those that there were first.
static void fill(sc_arena *arena, sc_bundled_value *v) {
    enum { BYTES_MAX = 1 << 12 };
    uint64_t bytes = sc_dtype_bytes(v->dtype);
    for (uint32_t d = 0; d < v->rank; d++) {
        if (v->sizes[d] < 0 || v->sizes[d] > BYTES_MAX) return;
        bytes *= (uint64_t)v->sizes[d];
        if (bytes > BYTES_MAX) return;
    }
    uint8_t *data = sc_arena_alloc(arena, (size_t)bytes + 1);
    if (v->bytes) memcpy(data, v->data, (size_t)(v->bytes < bytes ? v->bytes : bytes));
    v->data = data;
    v->bytes = bytes;
}

static void change_sizes(sc_arena *arena, byte_stream *b, sc_bundled_value *v) {
    static const int64_t ODD[] = {0, 1, 2, 3, 7, 64, -1, INT32_MAX};
    int64_t *sizes = sc_new_array(arena, int64_t, RANK_MAX);
    uint8_t *order = sc_new_array(arena, uint8_t, RANK_MAX);
    for (uint32_t d = 0; d < RANK_MAX; d++) {
        sizes[d] = d < v->rank ? v->sizes[d] : 1;
        order[d] = d < v->rank ? v->dim_order[d] : (uint8_t)d;
    }
    switch (below(b, 4)) {
    case 0: v->rank = below(b, RANK_MAX); break;
    case 1: order[below(b, v->rank + 1)] = (uint8_t)below(b, v->rank + 1); break;
    case 2:
        order[0] = order[v->rank / 2], order[v->rank / 2] = v->rank ? v->dim_order[0] : 0;
        break;
    default: sizes[below(b, v->rank + 1)] = ODD[below(b, SC_COUNT_OF(ODD))];
    }
    v->sizes = sizes;
    v->dim_order = order;
}

static void change_bytes(sc_arena *arena, byte_stream *b, sc_bundled_value *v) {
    if (!v->bytes) return;
    uint8_t *data = sc_arena_alloc(arena, (size_t)v->bytes);
    memcpy(data, v->data, (size_t)v->bytes);
    for (uint32_t i = 1 + below(b, 4); i > 0; i--)
        data[below(b, (uint32_t)v->bytes)] = below(b, 2) ? 0xff : (uint8_t)next_noise(b);
    v->data = data;
}

static void change_value(sc_arena *arena, byte_stream *b, sc_bundled_value *v) {
    static const double ODD[] = {0, -0.0, 1, 1e300, -1e-320, 0.5};
    switch (below(b, 6)) {
    case 0:
        *v = (sc_bundled_value){.kind = SC_BUNDLED_INT + below(b, 3),
                                .i = (int64_t)next_noise(b) - (1 << 23),
                                .d = ODD[below(b, SC_COUNT_OF(ODD))]};
        if (v->kind == SC_BUNDLED_BOOL) v->i &= 1;
        return;
    case 1: v->dtype = (sc_dtype)below(b, 24); break;
    case 2:
    case 3: change_sizes(arena, b, v); break;
    default: change_bytes(arena, b, v); return;
    }
    if (sc_dtype_is_known(v->dtype)) fill(arena, v);
}

// A copy in which one value is changed, or one is there twice, or gone.
static void change_values(sc_arena *arena, byte_stream *b, sc_bundled_values *values) {
    sc_bundled_value *items = sc_new_array(arena, sc_bundled_value, (size_t)values->count + 2);
    uint32_t count = values->count;
    if (count) memcpy(items, values->items, count * sizeof *items);
    switch (below(b, 8)) {
    case 0: count = below(b, count + 1); break;
    case 1: items[count++] = items[0]; break;
    default:
        if (count) change_value(arena, b, &items[below(b, count)]);
    }
    *values = (sc_bundled_values){items, count};
}

static void change_case(sc_arena *arena, byte_stream *b, sc_bundled_suite *suite) {
    sc_bundled_case *cases = sc_new_array(arena, sc_bundled_case, (size_t)suite->case_count + 1);
    if (!suite->case_count) return;
    memcpy(cases, suite->cases, suite->case_count * sizeof *cases);
    sc_bundled_case *chosen = &cases[below(b, suite->case_count)];
    if (below(b, 8) == 0) cases[suite->case_count++] = *chosen;
    change_values(arena, b, below(b, 2) ? &chosen->inputs : &chosen->expected);
    suite->cases = cases;
}

static void change_program(sc_arena *arena, sc_bundled *bundled) {
    const size_t room = (size_t)bundled->program_bytes + 64;
    uint8_t *program = sc_arena_alloc(arena, room);
    memcpy(program, bundled->program, bundled->program_bytes);
    bundled->program_bytes = (uint32_t)LLVMFuzzerMutate(program, bundled->program_bytes, room);
    bundled->program = program;
}

static void change(sc_arena *arena, byte_stream *b, sc_bundled *bundled) {
    sc_bundled_suite *suites = sc_new_array(arena, sc_bundled_suite, (size_t)bundled->suite_count);
    if (below(b, 3) == 0 || !bundled->suite_count) {
        change_program(arena, bundled);
        return;
    }
    memcpy(suites, bundled->suites, bundled->suite_count * sizeof *suites);
    change_case(arena, b, &suites[below(b, bundled->suite_count)]);
    bundled->suites = suites;
}

// 0 when the bytes are no bundle, or one that cannot be written.
static size_t change_bundle(sc_ctx *ctx, uint8_t *data, size_t size, size_t max_size,
                            byte_stream *b) {
    sc_bundled bundled;
    const uint8_t *head = NULL;
    size_t bytes = 0;
    // The bundle borrows what is about to be written over.
    const uint8_t *copy = (const uint8_t *)sc_str_dup(ctx->arena, (sc_str){(char *)data, size});
    if (sc_bundled_read(ctx, ctx->arena, copy, size, &bundled) != SC_OK || !bundled.program_bytes)
        return 0;
    for (uint32_t i = 1 + below(b, 2); i > 0; i--) change(ctx->arena, b, &bundled);
    if (sc_bundled_write(ctx, ctx->arena, &bundled, &head, &bytes) != SC_OK || bytes > max_size ||
        bundled.program_bytes > max_size - bytes)
        return 0;
    memcpy(data, head, bytes);
    memcpy(data + bytes, bundled.program, bundled.program_bytes);
    return bytes + bundled.program_bytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    byte_stream b = {.random = seed};
    fuzz_context c;
    size_t made = 0;
    sc_ctx *ctx = fuzz_begin(&c, 1 << 20);
    if (below(&b, 2)) made = change_bundle(ctx, data, size, max_size, &b);
    fuzz_end(&c);
    return made ? made : LLVMFuzzerMutate(data, size, max_size);
}
