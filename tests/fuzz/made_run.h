// Running what a job has made, in a job of its own: for fuzzers that compare two ways of lowering.
#ifndef MADE_RUN_H
#define MADE_RUN_H

#include "api/compiling.h"

enum { MADE_OUTPUTS = 4, MADE_BYTES = 1 << 12, MADE_SYMBOL = 3 };

// The outputs of a run, tensors and numbers as bytes.
typedef struct made_results {
    sc_status status;
    uint32_t count;
    uint32_t bytes[MADE_OUTPUTS];
    uint8_t data[MADE_OUTPUTS][MADE_BYTES];
} made_results;

static inline sc_source *made_file(sc_job *job, uint32_t output, sc_arena *arena) {
    const size_t size = (size_t)sc_output_bytes(job, output);
    uint8_t *bytes = sc_arena_alloc(arena, size + 1);
    size_t at = 0;
    for (uint32_t c = 0; c < sc_output_chunk_count(job, output); c++) {
        const size_t part = (size_t)sc_output_chunk_at(job, output, c).size;
        SC_ASSERT(sc_output_read(job, output, c, 0, bytes + at, part) == SC_OK);
        at += part;
    }
    return sc_source_from_memory(arena, bytes, size);
}

static inline sc_status made_set_inputs(sc_job *run, const sc_method *method) {
    for (uint32_t i = 0, at = 0; i < method->inputs.count; i++) {
        if (method->inputs.data[i].kind != SC_INPUT_USER) continue;
        const sc_spec *spec = &method->graph->inputs.data[i]->spec;
        int64_t sizes[SC_RANK_MAX], count = 1;
        static float data[MADE_BYTES / sizeof(float)];
        static int64_t whole[MADE_BYTES / sizeof(int64_t)];
        static uint8_t bytes[MADE_BYTES];  // of other dtypes, bool among them
        for (uint32_t d = 0; d < spec->rank; d++)
            count *= sizes[d] = spec->sizes[d].expr ? MADE_SYMBOL : spec->sizes[d].value;
        const bool is_float = spec->dtype == SC_DTYPE_F32, is_whole = spec->dtype == SC_DTYPE_I64;
        const uint32_t width = sc_dtype_bytes((sc_dtype)spec->dtype);
        SC_ASSERT(count * 16 <= MADE_BYTES && width <= 16);
        for (int64_t n = 0; n < count; n++) {
            data[n] = (float)(n % 5) - 1.5f + (float)i;
            whole[n] = n;
        }
        for (int64_t n = 0; n < count * width; n++) bytes[n] = n % 2;
        sc_io io = {.kind = SC_KIND_TENSOR,
                    .dtype = spec->dtype,
                    .rank = spec->rank,
                    .sizes = sizes,
                    .data = is_float   ? (void *)data
                            : is_whole ? (void *)whole
                                       : (void *)bytes,
                    .bytes = (uint64_t)count * width};
        SC_TRY(sc_run_set_input(run, at++, &io));
    }
    return SC_OK;
}

static inline void made_keep(made_results *results, uint32_t index, const sc_io *io) {
    const bool is_tensor = io->kind == SC_KIND_TENSOR;
    const void *data = is_tensor ? io->data : (const void *)&io->i;
    const uint64_t bytes = is_tensor ? io->bytes : sizeof io->i;
    SC_ASSERT(bytes <= MADE_BYTES);
    results->bytes[index] = (uint32_t)bytes;
    if (bytes) memcpy(results->data[index], data, (size_t)bytes);
}

// Runs a program that the job has made: its output number `output`, whose method is `method`.
static inline void made_run(sc_job *job, uint32_t output, const sc_method *method,
                            made_results *results) {
    sc_job *run = sc_job_open(NULL);
    sc_source *file = made_file(job, output, &run->arena);
    *results = (made_results){0};
    results->status =
        sc_run_open(run, file, NULL, 0, SC_STR("{\"optimize\": false, \"instruction_max\": 4000}"));
    if (results->status == SC_OK) results->status = sc_run_select(run, sc_name_str(method->name));
    if (results->status == SC_OK) results->status = made_set_inputs(run, method);
    if (results->status == SC_OK) results->status = sc_run_execute(run, false);
    if (results->status == SC_OK) {
        results->count = sc_min_u32(sc_run_output_count(run), MADE_OUTPUTS);
        for (uint32_t i = 0; i < results->count; i++) {
            sc_io io = {0};
            SC_ASSERT(sc_run_output(run, i, &io) == SC_OK);
            made_keep(results, i, &io);
        }
    }
    sc_job_close(run);
}

static inline void made_check_same(const made_results *a, const made_results *b) {
    SC_ASSERT(a->status == b->status && a->count == b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        SC_ASSERT(a->bytes[i] == b->bytes[i]);
        SC_ASSERT(memcmp(a->data[i], b->data[i], a->bytes[i]) == 0);
    }
}

#endif
