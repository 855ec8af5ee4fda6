// Jobs and what every one of them has: sources and outputs.
#include "exports.h"

#include "base/parallel.h"

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

static bool on_keeps_value(void *user, sc_str id, int64_t number) {
    (void)user;
    return host_keeps_value(id.data, (uint32_t)id.size, (double)number) != 0;
}

static bool on_pass(void *user, uint32_t pass, sc_str method) {
    (void)user;
    return host_pass(pass, method.data, (uint32_t)method.size) != 0;
}

// The version of this build; zero-terminated.
EXPORT(version) const char *wasm_version(void) { return SC_VERSION; }

// Memory for the host to write into; NULL when there is none.
EXPORT(memory_alloc) void *wasm_memory_alloc(uint32_t bytes) { return sc_try_alloc(bytes); }

EXPORT(memory_free) void wasm_memory_free(void *memory) { sc_free(memory); }

// The flavour of this build: 1 with relaxed SIMD, 2 with threads, 3 with both.
EXPORT(flavour) uint32_t wasm_flavour(void) {
#ifdef SC_RELAXED_SIMD
    const uint32_t relaxed = 1;
#else
    const uint32_t relaxed = 0;
#endif
#ifdef __wasm_atomics__
    return relaxed | 2;
#else
    return relaxed;
#endif
}

// The number of threads that may work on one call, this one included.
EXPORT(parallel_set_width) void wasm_parallel_set_width(uint32_t width) {
    sc_parallel_set_width(width);
}

// Serves as thread `thread` until parallel_end, in an instance of its own with the same memory.
EXPORT(parallel_serve) void wasm_parallel_serve(uint32_t thread) { sc_parallel_serve(thread); }

EXPORT(parallel_end) void wasm_parallel_end(void) { sc_parallel_end(); }

// Says that the calling thread broke in the middle of its work.
EXPORT(parallel_fail) void wasm_parallel_fail(void) { sc_parallel_fail(); }

// The number of ranges of work, some microseconds each, that threads would have taken.
EXPORT(parallel_missed) double wasm_parallel_missed(void) { return sc_parallel_missed(); }

// NULL when there is no memory.
EXPORT(job_open) sc_job *wasm_job_open(void) {
    sc_host host = {
        .progress = on_progress, .log = on_log, .now_ms = on_now, .keeps_value = on_keeps_value};
    sc_job *job = sc_job_open(&host);
    if (job) sc_job_set_host_functions(job, (sc_host_functions){.run = on_pass});
    return job;
}

EXPORT(job_close) void wasm_job_close(sc_job *job) {
    check(job);
    sc_job_close(job);
}

EXPORT(text_data) const char *wasm_text_data(sc_job *job) {
    check(job);
    return sc_job_kept_text(job).data;
}

EXPORT(text_size) uint32_t wasm_text_size(sc_job *job) {
    check(job);
    return (uint32_t)sc_job_kept_text(job).size;
}

EXPORT(report) int32_t wasm_report(sc_job *job, int32_t status) {
    check(job);
    int32_t result = keep_text(job, SC_OK, sc_job_report(job, (sc_status)status));
    sc_job_forget_diagnostics(job);
    return result;
}

// Status codes and dtypes; a text result.
EXPORT(tables) int32_t wasm_tables(sc_job *job) {
    check(job);
    return keep_text(job, SC_OK, sc_tables_json(job));
}

// --- Sources -------------------------------------------------------------------------------------

static sc_status read_from_host(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                                size_t bytes) {
    if (host_read(source->host_id, (double)offset, out, (uint32_t)bytes) != 0)
        return sc_fail(ctx, SC_ERR_IO, NULL, "cannot read %zu bytes at offset %llu of the file",
                       bytes, (unsigned long long)offset);
    return SC_OK;
}

// Makes a source of bytes that the host reads on request, under its own number. Each read of a slow
// one is a round trip. NULL for a size that is not valid. The call that gets the NULL fails, and
// its report says why.
EXPORT(source_host)
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

EXPORT(source_memory) sc_source *wasm_source_memory(sc_job *job, const void *data, uint32_t bytes) {
    check(job);
    return sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
}

// --- Outputs -------------------------------------------------------------------------------------

EXPORT(output_count) uint32_t wasm_output_count(sc_job *job) {
    check(job);
    return sc_output_count(job);
}

EXPORT(output_name) int32_t wasm_output_name(sc_job *job, uint32_t output) {
    check(job);
    return keep_text(job, SC_OK, sc_output_name(job, output));
}

EXPORT(output_bytes) double wasm_output_bytes(sc_job *job, uint32_t output) {
    check(job);
    return (double)sc_output_bytes(job, output);
}

// The host has read a file that belongs to no program.
EXPORT(output_free) void wasm_output_free(sc_job *job, uint32_t output) {
    check(job);
    sc_output_free(job, output);
}

EXPORT(output_chunk_count) uint32_t wasm_output_chunk_count(sc_job *job, uint32_t output) {
    check(job);
    return sc_output_chunk_count(job, output);
}

// Five numbers: kind (0 bytes, 1 extent, 2 zeros), address, host source number, offset in that
// source, size.
EXPORT(output_chunk)
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

EXPORT(output_read)
int32_t wasm_output_read(sc_job *job, uint32_t output, uint32_t chunk, double offset, void *out,
                         uint32_t bytes) {
    check(job);
    uint64_t at = 0;
    if (!sc_u64_from_f64(offset, EXACT_MAX, &at))
        return (int32_t)sc_fail(sc_job_ctx(job), SC_ERR_ARGUMENT, NULL,
                                "there is no byte %g in a chunk", offset);
    return (int32_t)sc_output_read(job, output, chunk, at, out, bytes);
}
