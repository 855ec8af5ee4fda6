// The module's functions: unpack arguments, call the core, hand the result back. Which functions
// exist and what they take is said in exports.def alone. Job pointers come from outside and are
// checked; other pointers lie in memory that the host got from memory_alloc.
#include "core/spec.h"
#include "sconce.h"

#define EXPORT(result, name, parameters) \
    __attribute__((export_name(#name))) result wasm_##name parameters;
#include "exports.def"
#undef EXPORT

// Panics go to the host straight from base.c; the other imports are called from here.
#define IMPORT(result, name, parameters)                                 \
    __attribute__((import_module("sconce"), import_name(#name), unused)) \
    result host_##name parameters;
#include "imports.def"
#undef IMPORT

// The largest of the whole numbers that doubles count without gaps.
#define EXACT_MAX (UINT64_C(1) << 53)

enum { NUMBERS_SIZES = 8, NUMBERS_DIM_ORDER = NUMBERS_SIZES + SC_RANK_MAX };

static sc_str text_of(const char *data, uint32_t bytes) { return (sc_str){data, bytes}; }

// The text result that waits for text_data and text_size.
static int32_t keep_text(sc_job *job, sc_status status, sc_str text) {
    sc_job_keep_text(job, status == SC_OK ? text : (sc_str){NULL, 0});
    return (int32_t)status;
}

static void check(const sc_job *job) { SC_ASSERT(sc_job_is_open(job)); }

static bool on_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    (void)user;
    return host_progress(phase, (double)done, (double)total) != 0;
}

static void on_log(void *user, sc_severity severity, sc_str text) {
    (void)user;
    host_log((int32_t)severity, text.data, (uint32_t)text.size);
}

static double on_now(void *user) {
    (void)user;
    return host_now();
}

const char *wasm_version(void) { return SC_VERSION; }

void *wasm_memory_alloc(uint32_t bytes) { return sc_try_alloc(bytes); }

void wasm_memory_free(void *memory) { sc_free(memory); }

sc_job *wasm_job_open(void) {
    sc_host host = {.progress = on_progress, .log = on_log, .now_ms = on_now};
    return sc_job_open(&host);
}

void wasm_job_close(sc_job *job) {
    check(job);
    sc_job_close(job);
}

const char *wasm_text_data(sc_job *job) {
    check(job);
    return sc_job_kept_text(job).data;
}

uint32_t wasm_text_size(sc_job *job) {
    check(job);
    return (uint32_t)sc_job_kept_text(job).size;
}

int32_t wasm_report(sc_job *job, int32_t status) {
    check(job);
    int32_t result = keep_text(job, SC_OK, sc_job_report(job, (sc_status)status));
    sc_job_forget_diagnostics(job);
    return result;
}

int32_t wasm_meta(sc_job *job) {
    check(job);
    return keep_text(job, SC_OK, sc_meta_json(job));
}

// --- Sources -------------------------------------------------------------------------------------

static sc_status read_from_host(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                                size_t bytes) {
    if (host_read(source->host_id, (double)offset, out, (uint32_t)bytes) != 0)
        return sc_fail(ctx, SC_ERR_IO, NULL, "cannot read %zu bytes at offset %llu of the file",
                       bytes, (unsigned long long)offset);
    return SC_OK;
}

sc_source *wasm_source_host(sc_job *job, uint32_t id, double bytes, bool is_slow) {
    check(job);
    uint64_t size = 0;
    if (!sc_u64_from_f64(bytes, EXACT_MAX, &size)) {
        sc_ctx *ctx = sc_job_ctx(job);
        (void)sc_fail(ctx, SC_ERR_IO, "Pass a source whose size is a whole number of bytes.",
                      "a file of %g bytes cannot be read", bytes);
        return NULL;
    }
    sc_source *source = sc_new(sc_job_ctx(job)->arena, sc_source);
    *source = (sc_source){.read = read_from_host, .size = size, .host_id = id, .is_slow = is_slow};
    return source;
}

sc_source *wasm_source_memory(sc_job *job, const void *data, uint32_t bytes) {
    check(job);
    return sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
}

// --- Compiling -----------------------------------------------------------------------------------

int32_t wasm_detect(sc_job *job, sc_source *source) {
    check(job);
    if (!source) return SC_ERR_IO;
    sc_str kind = {0};
    sc_status status = sc_detect(job, source, &kind);
    return keep_text(job, status, kind);
}

int32_t wasm_archive_compressed(sc_job *job, sc_source *archive) {
    check(job);
    if (!archive) return SC_ERR_IO;
    sc_str json = {0};
    sc_status status = sc_archive_compressed(job, archive, &json);
    return keep_text(job, status, json);
}

int32_t wasm_archive_inflated(sc_job *job, sc_source *archive, sc_source *const *entries,
                              uint32_t count, sc_source **inflated) {
    check(job);
    if (!archive) return SC_ERR_IO;
    return (int32_t)sc_archive_inflated(job, archive, entries, count, inflated);
}

int32_t wasm_compile_open(sc_job *job, sc_source *source, const char *method, uint32_t method_bytes,
                          const char *model, uint32_t model_bytes) {
    check(job);
    if (!source) return SC_ERR_IO;
    return (int32_t)sc_compile_open(job, source, text_of(method, method_bytes),
                                    text_of(model, model_bytes));
}

int32_t wasm_compile_constant_method(sc_job *job, const char *name, uint32_t name_bytes,
                                     const char *value, uint32_t value_bytes) {
    check(job);
    return (int32_t)sc_compile_constant_method(job, text_of(name, name_bytes),
                                               text_of(value, value_bytes));
}

int32_t wasm_compile_to_edge(sc_job *job, const char *options, uint32_t options_bytes,
                             uint32_t *edge) {
    check(job);
    return (int32_t)sc_compile_to_edge(job, text_of(options, options_bytes), edge);
}

int32_t wasm_compile_transform(sc_job *job, uint32_t edge, const char *method,
                               uint32_t method_bytes, const char *passes, uint32_t passes_bytes,
                               uint32_t *transformed) {
    check(job);
    return (int32_t)sc_compile_transform(job, edge, text_of(method, method_bytes),
                                         text_of(passes, passes_bytes), transformed);
}

int32_t wasm_compile_to_executorch(sc_job *job, uint32_t edge, const char *options,
                                   uint32_t options_bytes, uint32_t *executorch) {
    check(job);
    return (int32_t)sc_compile_to_executorch(job, edge, text_of(options, options_bytes),
                                             executorch);
}

int32_t wasm_compile_inspect(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_inspect(job, &json);
    return keep_text(job, status, json);
}

int32_t wasm_compile_text(sc_job *job, uint32_t program, const char *method,
                          uint32_t method_bytes) {
    check(job);
    sc_str text = {0};
    sc_status status = sc_compile_text(job, program, text_of(method, method_bytes), &text);
    return keep_text(job, status, text);
}

int32_t wasm_compile_nodes(sc_job *job, uint32_t program, const char *method,
                           uint32_t method_bytes) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_nodes(job, program, text_of(method, method_bytes), &json);
    return keep_text(job, status, json);
}

// --- Outputs -------------------------------------------------------------------------------------

uint32_t wasm_output_count(sc_job *job) {
    check(job);
    return sc_output_count(job);
}

int32_t wasm_output_name(sc_job *job, uint32_t output) {
    check(job);
    return keep_text(job, SC_OK, sc_output_name(job, output));
}

double wasm_output_bytes(sc_job *job, uint32_t output) {
    check(job);
    return (double)sc_output_bytes(job, output);
}

uint32_t wasm_output_chunk_count(sc_job *job, uint32_t output) {
    check(job);
    return sc_output_chunk_count(job, output);
}

int32_t wasm_output_chunk(sc_job *job, uint32_t output, uint32_t chunk, double *five) {
    check(job);
    sc_output_chunk c = sc_output_chunk_at(job, output, chunk);
    five[0] = c.kind;
    five[1] = (double)(uintptr_t)c.bytes;
    five[2] = c.host_id;
    five[3] = (double)c.source_offset;
    five[4] = (double)c.size;
    return SC_OK;
}

int32_t wasm_output_read(sc_job *job, uint32_t output, uint32_t chunk, double offset, void *out,
                         uint32_t bytes) {
    check(job);
    uint64_t at = 0;
    if (!sc_u64_from_f64(offset, EXACT_MAX, &at))
        return (int32_t)sc_fail(sc_job_ctx(job), SC_ERR_ARGUMENT, NULL,
                                "there is no byte %g in a chunk", offset);
    return (int32_t)sc_output_read(job, output, chunk, at, out, bytes);
}

// --- Running -------------------------------------------------------------------------------------

int32_t wasm_run_open(sc_job *job, sc_source *pte, sc_source *const *ptds, uint32_t ptd_count,
                      const char *options, uint32_t options_bytes) {
    check(job);
    if (!pte) return SC_ERR_IO;
    for (uint32_t i = 0; i < ptd_count; i++)
        if (!ptds[i]) return SC_ERR_IO;
    return (int32_t)sc_run_open(job, pte, ptds, ptd_count, text_of(options, options_bytes));
}

int32_t wasm_run_inspect(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_run_inspect(job, &json);
    return keep_text(job, status, json);
}

int32_t wasm_run_select(sc_job *job, const char *method, uint32_t method_bytes) {
    check(job);
    return (int32_t)sc_run_select(job, text_of(method, method_bytes));
}

int32_t wasm_run_set_tensor(sc_job *job, uint32_t index, uint32_t dtype, uint32_t rank,
                            const double *sizes, const void *data, uint32_t bytes) {
    check(job);
    int64_t whole[SC_RANK_MAX] = {0};
    // A rank that is too large is refused behind this border, before anybody reads the sizes.
    for (uint32_t d = 0; d < rank && d < SC_RANK_MAX; d++) {
        uint64_t size = 0;
        if (!sc_u64_from_f64(sizes[d], EXACT_MAX, &size))
            return (int32_t)sc_fail(sc_job_ctx(job), SC_ERR_INPUT, NULL,
                                    "dimension %u of input %u is %g, which is no size", d, index,
                                    sizes[d]);
        whole[d] = (int64_t)size;
    }
    sc_io io = {.kind = SC_KIND_TENSOR,
                .dtype = dtype,
                .rank = rank,
                .sizes = whole,
                .data = data,
                .bytes = bytes};
    return (int32_t)sc_run_set_input(job, index, &io);
}

int32_t wasm_run_set_int(sc_job *job, uint32_t index, uint32_t low, int32_t high) {
    check(job);
    int64_t value = (int64_t)((uint64_t)(uint32_t)high << 32 | low);
    sc_io io = {.kind = SC_KIND_INT, .i = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

int32_t wasm_run_set_double(sc_job *job, uint32_t index, double value) {
    check(job);
    sc_io io = {.kind = SC_KIND_DOUBLE, .d = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

int32_t wasm_run_set_bool(sc_job *job, uint32_t index, bool value) {
    check(job);
    sc_io io = {.kind = SC_KIND_BOOL, .i = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

int32_t wasm_run_set_string(sc_job *job, uint32_t index, const char *text, uint32_t bytes) {
    check(job);
    sc_io io = {.kind = SC_KIND_STRING, .str = text_of(text, bytes)};
    return (int32_t)sc_run_set_input(job, index, &io);
}

int32_t wasm_run_set_none(sc_job *job, uint32_t index) {
    check(job);
    sc_io io = {.kind = SC_KIND_NONE};
    return (int32_t)sc_run_set_input(job, index, &io);
}

int32_t wasm_run_execute(sc_job *job) {
    check(job);
    return (int32_t)sc_run_execute(job);
}

uint32_t wasm_run_output_count(sc_job *job) {
    check(job);
    return sc_run_output_count(job);
}

int32_t wasm_run_output(sc_job *job, uint32_t index, double *numbers) {
    check(job);
    sc_io io = {.kind = SC_KIND_NONE};
    sc_status status = sc_run_output(job, index, &io);
    if (status != SC_OK) return (int32_t)status;
    bool is_text = io.kind == SC_KIND_STRING;
    numbers[0] = io.kind;
    numbers[1] = (double)(uint32_t)io.i;
    numbers[2] = (double)(int32_t)(io.i >> 32);
    numbers[3] = io.d;
    numbers[4] = io.dtype;
    numbers[5] = io.rank;
    numbers[6] = (double)(uintptr_t)(is_text ? (const void *)io.str.data : io.data);
    numbers[7] = (double)(is_text ? io.str.size : io.bytes);
    for (uint32_t d = 0; d < io.rank; d++) {
        numbers[NUMBERS_SIZES + d] = (double)io.sizes[d];
        numbers[NUMBERS_DIM_ORDER + d] = io.dim_order[d];
    }
    return SC_OK;
}

int32_t wasm_run_reset(sc_job *job) {
    check(job);
    return (int32_t)sc_run_reset(job);
}
