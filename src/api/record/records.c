// Records of a job: the versions of the program that they name, and the queries of hosts. A version
// never changes once a record names it, so records can share programs.
#include "api/record/records.h"

#include "api/compiling.h"
#include "api/job/call_memory.h"
#include "backend/node_json.h"
#include "devtools/etrecord/maps.h"
#include "format/magic.h"
#include "ir/print.h"

// --- Which record --------------------------------------------------------------------------------

sc_status sc_job_record(sc_job *job, uint32_t number, sc_etrecord **out) {
    if (number >= sc_job_compiling(job)->records.items.count)
        return sc_fail(&job->ctx, SC_ERR_NOT_FOUND, NULL, "there is no record %u", number);
    *out = sc_job_compiling(job)->records.items.data[number];
    return SC_OK;
}

static void push_record(sc_job *job, sc_etrecord *record, uint32_t *number) {
    *number = sc_job_compiling(job)->records.items.count;
    sc_vec_push(&job->arena, &sc_job_compiling(job)->records.items, record);
    sc_vec_push(&job->arena, &sc_job_compiling(job)->records.memories, (sc_record_memory){0});
}

static sc_etrecord *new_record(sc_job *job, uint32_t *number) {
    sc_etrecord *record = sc_new(&job->arena, sc_etrecord);
    push_record(job, record, number);
    return record;
}

sc_status sc_record_new(sc_job *job, uint32_t *record) {
    sc_job_begin(job);
    new_record(job, record);
    return SC_OK;
}

// Refuses files that begin as files of another kind.
static sc_status check_kind(sc_ctx *ctx, sc_source *source) {
    uint8_t head[SC_FILE_HEAD_BYTES];
    if (source->size < sizeof head) return SC_OK;
    SC_TRY(sc_extent_read(ctx, sc_extent_whole(source), 0, head, sizeof head));
    const sc_file_kind kind = sc_file_kind_of(head);
    const char *found = kind == SC_FILE_PTE      ? "a program (.pte)"
                        : kind == SC_FILE_PTD    ? "a data file (.ptd)"
                        : kind == SC_FILE_BPTE   ? "a bundled program (.bpte)"
                        : kind == SC_FILE_PACKED ? "a packed program"
                                                 : NULL;
    if (!found) return SC_OK;
    return sc_fail(ctx, SC_ERR_FORMAT, "Pass the .etrecord file that was saved with the program.",
                   "the file is %s, not an ETRecord", found);
}

sc_status sc_record_open(sc_job *job, sc_source *source, uint32_t *record) {
    sc_etrecord read;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_ops_init());
    SC_TRY(check_kind(ctx, source));
    SC_TRY(sc_etrecord_read(ctx, source, &read));
    *new_record(job, record) = read;
    return SC_OK;
}

sc_status sc_record_copy(sc_job *job, uint32_t record, uint32_t *copy) {
    sc_etrecord *from = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &from));
    sc_etrecord_copy(ctx, from, new_record(job, copy));
    return SC_OK;
}

// --- While lowering ------------------------------------------------------------------------------

sc_status sc_record_generate(sc_job *job, uint32_t *record) {
    sc_job_begin(job);
    new_record(job, record);
    sc_job_compiling(job)->records.generating = *record + 1;
    return SC_OK;
}

uint32_t sc_job_take_generating(sc_job *job) {
    const uint32_t taken = sc_job_compiling(job)->records.generating;
    sc_job_compiling(job)->records.generating = 0;
    return taken;
}

// Checks that the dialect fits.
static sc_status name_version(sc_job *job, uint32_t number, uint32_t dialects, const char *wanted,
                              sc_version **out) {
    SC_TRY(sc_job_version(job, number, out));
    if (!(dialects >> (*out)->dialect & 1))
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "program %u is the %s program, not %s",
                       number, sc_dialect_name((*out)->dialect), wanted);
    return SC_OK;
}

// Marks the program as fixed if a record names it.
static sc_status keep_version(sc_version *version, sc_status status) {
    version->is_recorded |= status == SC_OK;
    return status;
}

enum {
    IS_SOURCE = 1u << SC_DIALECT_source,
    IS_EDGE = 1u << SC_DIALECT_edge,
    IS_EXECUTORCH = 1u << SC_DIALECT_executorch,
    IS_STAGE = IS_SOURCE | 1u << SC_DIALECT_core | IS_EDGE
};

sc_status sc_record_add_exported_program(sc_job *job, uint32_t record, uint32_t program) {
    sc_etrecord *to = NULL;
    sc_version *version = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    SC_TRY(name_version(job, program, IS_SOURCE, "what was opened", &version));
    return keep_version(version, sc_etrecord_add_exported(ctx, to, version->program));
}

sc_status sc_record_add_edge_dialect_program(sc_job *job, uint32_t record, uint32_t program) {
    sc_etrecord *to = NULL;
    sc_version *version = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    SC_TRY(name_version(job, program, IS_EDGE, "an edge program", &version));
    return keep_version(version, sc_etrecord_add_edge(ctx, to, version->program));
}

sc_status sc_record_add_extra_export_module(sc_job *job, uint32_t record, sc_str name,
                                            uint32_t program) {
    sc_etrecord *to = NULL;
    sc_version *version = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    SC_TRY(
        name_version(job, program, IS_STAGE, "one that was exported or an edge program", &version));
    const bool is_edge = version->dialect == SC_DIALECT_edge;
    return keep_version(version, sc_etrecord_add_stage(ctx, to, name, version->program, is_edge));
}

static sc_status add_executorch(sc_job *job, sc_etrecord *to, uint32_t program) {
    sc_version *version = NULL;
    SC_TRY(name_version(job, program, IS_EXECUTORCH, "an executorch program", &version));
    return keep_version(version, sc_etrecord_add_emitted(&job->ctx, to, version->emitted));
}

sc_status sc_record_add_executorch_program(sc_job *job, uint32_t record, uint32_t program) {
    sc_etrecord *to = NULL;
    (void)sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    return add_executorch(job, to, program);
}

sc_status sc_job_fill_record(sc_job *job, uint32_t taken, uint32_t edge, uint32_t transformed) {
    if (!taken) return SC_OK;
    const uint32_t record = taken - 1;
    SC_TRY(sc_record_add_exported_program(job, record,
                                          sc_job_compiling(job)->versions.data[edge].source));
    SC_TRY(sc_record_add_edge_dialect_program(job, record, edge));
    if (transformed == edge) return SC_OK;
    return sc_record_add_extra_export_module(job, record, SC_STR("edge_after_transform"),
                                             transformed);
}

// Chooses `forward`, or the only method.
static sc_status add_examples(sc_ctx *ctx, sc_etrecord *record) {
    const sc_etrecord_program *of = record->edge.count == 1 ? &record->edge.data[0] : NULL;
    if (!of) of = sc_etrecord_find(record, SC_STR(SC_ETRECORD_EDGE), SC_STR("forward"));
    return of ? sc_etrecord_examples(ctx, of->method, &record->representative_inputs) : SC_OK;
}

sc_status sc_record_complete(sc_job *job, uint32_t record, uint32_t executorch,
                             uint32_t *complete) {
    sc_etrecord *from = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &from));
    sc_etrecord *made = sc_new(&job->arena, sc_etrecord);
    sc_etrecord_copy(ctx, from, made);
    SC_TRY(add_executorch(job, made, executorch));
    SC_TRY(add_examples(ctx, made));
    push_record(job, made, complete);
    return SC_OK;
}

// --- Writing -------------------------------------------------------------------------------------

static sc_status read_save_options(sc_ctx *ctx, const sc_json *json, sc_etrecord_options *out) {
    *out = (sc_etrecord_options){0};
    if (json->kind != SC_JSON_OBJECT)
        return sc_fail(ctx, SC_ERR_OPTION, NULL, "options of a record are not an object");
    const sc_json *key = sc_json_first(json);
    for (uint32_t n = json->size; n--; key = sc_json_next(key + 1)) {
        const sc_json *value = key + 1;
        bool is_taken = false;
        if (sc_json_is_str(key, "light")) is_taken = sc_json_bool(value, &out->light);
        if (sc_json_is_str(key, "method")) {
            is_taken = value->kind == SC_JSON_STRING;
            out->as_forward = sc_json_str(ctx->arena, value);
        }
        if (!is_taken)
            return sc_fail(ctx, SC_ERR_OPTION, "Use light (true or false) or method (a name).",
                           "'" SC_STR_FMT
                           "' is not an option of a record, or its value has the wrong type",
                           SC_STR_ARG(sc_json_str(ctx->scratch, key)));
    }
    return SC_OK;
}

static sc_status write_record(sc_job *job, const sc_etrecord *from, sc_str options_json,
                              sc_cord *cord) {
    sc_etrecord_options options;
    const sc_json *json = NULL;
    sc_ctx *ctx = &job->ctx;
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, options_json), &json));
    SC_TRY(read_save_options(ctx, json, &options));
    sc_cord_init(cord, ctx->arena);
    return sc_etrecord_write(ctx, from, &options, cord);
}

sc_output sc_job_record_output(const sc_job *job, uint32_t record, sc_str name) {
    sc_output output = {.program = SC_NO_PROGRAM, .name = name, .memories = {sc_call_memory_new()}};
    for (uint32_t i = 0; i < SC_RECORD_VALUES; i++)
        output.memories[1 + i] =
            sc_call_memory_share(sc_job_compiling(job)->records.memories.data[record].of_values[i]);
    return output;
}

sc_status sc_job_keep_output(sc_job *job, sc_status status, sc_output *output, uint32_t *number) {
    if (status == SC_OK)
        *number = sc_job_add_output(job, output);
    else
        for (uint32_t i = 0; i < SC_COUNT_OF(output->memories); i++)
            sc_call_memory_drop(job, output->memories[i]);
    return status;
}

// The version whose edge program the record has; NULL if it has none of this job.
static sc_version *version_of(sc_job *job, const sc_etrecord *record) {
    for (uint32_t i = sc_job_compiling(job)->versions.count; i-- > 0;)
        for (uint32_t k = 0; k < record->edge.count; k++) {
            const sc_method *method = record->edge.data[k].method;
            if (method && method->program == sc_job_compiling(job)->versions.data[i].program)
                return &sc_job_compiling(job)->versions.data[i];
        }
    return NULL;
}

sc_status sc_record_save(sc_job *job, uint32_t record, sc_str options_json, uint32_t *output) {
    sc_etrecord *from = NULL;
    (void)sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &from));
    sc_output file = sc_job_record_output(job, record, SC_STR("etrecord"));
    const sc_aside aside = sc_job_step_aside(job, &file.memories[0]->arena);
    const sc_status status = write_record(job, from, options_json, &file.cord);
    sc_job_step_back(job, &aside);
    sc_version *version = status == SC_OK ? version_of(job, from) : NULL;
    if (version) sc_job_take_diags(job, version);
    return sc_job_keep_output(job, status, &file, output);
}
