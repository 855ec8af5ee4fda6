// The files that a job has made, chunk by chunk.
#include "api/job/job.h"

uint32_t sc_output_count(const sc_job *job) { return job->outputs.count; }

// Indices come from the host, so an absent item is empty.
static const sc_output *output_at(const sc_job *job, uint32_t output) {
    return output < job->outputs.count ? &job->outputs.data[output] : NULL;
}

sc_str sc_output_name(const sc_job *job, uint32_t output) {
    const sc_output *found = output_at(job, output);
    return found ? found->name : (sc_str){0};
}

uint64_t sc_output_bytes(const sc_job *job, uint32_t output) {
    const sc_output *found = output_at(job, output);
    return found ? found->cord.size : 0;
}

uint32_t sc_output_chunk_count(const sc_job *job, uint32_t output) {
    const sc_output *found = output_at(job, output);
    return found ? found->cord.chunks.count : 0;
}

static const sc_chunk *chunk_at(const sc_job *job, uint32_t output, uint32_t chunk) {
    if (chunk >= sc_output_chunk_count(job, output)) return NULL;
    return &job->outputs.data[output].cord.chunks.data[chunk];
}

sc_output_chunk sc_output_chunk_at(const sc_job *job, uint32_t output, uint32_t chunk) {
    const sc_chunk *c = chunk_at(job, output, chunk);
    if (!c) return (sc_output_chunk){.kind = SC_CHUNK_ZEROS};
    sc_output_chunk out = {.kind = c->kind, .size = c->size};
    if (c->kind == SC_CHUNK_BYTES) out.bytes = c->bytes;
    if (c->kind == SC_CHUNK_EXTENT) {
        out.host_id = c->extent.source->host_id;
        out.source_offset = c->extent.offset;
    }
    return out;
}

sc_status sc_output_read(sc_job *job, uint32_t output, uint32_t chunk, uint64_t offset, void *out,
                         size_t bytes) {
    const sc_chunk *c = chunk_at(job, output, chunk);
    if (!c || offset > c->size || bytes > c->size - offset)
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "the range reaches beyond the chunk");
    if (c->kind == SC_CHUNK_EXTENT) return sc_extent_read(&job->ctx, c->extent, offset, out, bytes);
    if (c->kind == SC_CHUNK_BYTES)
        memcpy(out, c->bytes + offset, bytes);
    else
        memset(out, 0, bytes);
    return SC_OK;
}

// --- Files without a program ---------------------------------------------------------------------

uint32_t sc_job_add_output(sc_job *job, const sc_output *output) {
    for (uint32_t i = 0; i < job->outputs.count; i++)
        if (job->outputs.data[i].is_free) {
            job->outputs.data[i] = *output;
            return i;
        }
    sc_vec_push(&job->arena, &job->outputs, *output);
    return job->outputs.count - 1;
}

void sc_output_free(sc_job *job, uint32_t number) {
    sc_output *output = number < job->outputs.count ? &job->outputs.data[number] : NULL;
    if (!output || output->is_free || output->program != SC_NO_PROGRAM) return;
    for (uint32_t i = 0; i < SC_COUNT_OF(output->memories); i++)
        sc_call_memory_drop(job, output->memories[i]);
    *output = (sc_output){.program = SC_NO_PROGRAM, .is_free = true};
}
