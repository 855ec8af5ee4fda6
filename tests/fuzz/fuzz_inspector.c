// Any bytes as a record, two dumps with a debug buffer, and a program: an inspector of all that
// opens, and every query of it. Answers are JSON that parses, failures say why.
//
// The input: a byte of choices; how many bytes record, dump, other dump and debug buffer have, in
// three bytes each; these four; the program. Half of all changes are made to one of these files
// alone, or to an entry of the record, which stays an archive that way.
#include "api/compiling.h"
#include "api/inspect/inspector.h"
#include "bytes.h"
#include "context.h"
#include "format/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

typedef enum file_kind { RECORD, DUMP, OTHER_DUMP, BUFFER, PROGRAM, FILES } file_kind;

enum {
    NUMBER_BYTES = 3,
    HEAD_BYTES = 1 + NUMBER_BYTES * PROGRAM,
    STAGES_MAX = 4,  // that nodes, text and differences are asked of
    WORK_BYTES_MAX = 1 << 18
};

// The meaning of an input. `choices`: the lowest two bits are the time scales, the next one leaves
// the record away from the other dump, the next two the reference.
typedef struct parts {
    uint8_t choices;
    sc_str files[FILES];
} parts;

static uint32_t take_u24(const uint8_t *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
}

static bool split(const uint8_t *data, size_t size, parts *out) {
    if (size < HEAD_BYTES) return false;
    size_t at = HEAD_BYTES;
    out->choices = data[0];
    for (uint32_t i = 0; i < FILES; i++) {
        const size_t left = size - at;
        const size_t said = i == PROGRAM ? left : take_u24(data + 1 + (size_t)NUMBER_BYTES * i);
        const size_t bytes = said < left ? said : left;
        out->files[i] = (sc_str){(const char *)data + at, bytes};
        at += bytes;
    }
    return true;
}

// --- Opening -------------------------------------------------------------------------------------

static void limit(sc_ctx *ctx) {
    ctx->limits.json_bytes_max = 1 << 20;
    ctx->limits.planned_bytes_max = WORK_BYTES_MAX;
    ctx->limits.constant_bytes_max = WORK_BYTES_MAX;
    ctx->limits.inflated_bytes_max = WORK_BYTES_MAX;
    ctx->limits.instruction_max = 200;
}

static sc_source *source_of(sc_job *job, const parts *p, file_kind kind) {
    const sc_str file = p->files[kind];
    return file.size ? sc_source_from_memory(sc_job_ctx(job)->arena, file.data, file.size) : NULL;
}

static sc_str options_of(const parts *p) {
    static const char *const SCALES[] = {"", "{\"targetTimeScale\": \"ns\"}",
                                         "{\"sourceTimeScale\": \"cycles\"}",
                                         "{\"sourceTimeScale\": \"us\", \"method\": \"forward\"}"};
    return sc_str_from(SCALES[p->choices & 3]);
}

// A file that cannot be read is left out, so that the rest is looked at, too.
static sc_job *open_with(const parts *p, file_kind dump, bool with_record, bool with_program) {
    sc_job *job = sc_job_open(NULL);
    sc_ctx *ctx = sc_job_ctx(job);
    limit(ctx);
    const sc_status status = sc_inspector_open(
        job, source_of(job, p, dump), with_record ? source_of(job, p, RECORD) : NULL,
        source_of(job, p, BUFFER), with_program ? source_of(job, p, PROGRAM) : NULL, options_of(p));
    if (status == SC_OK) return job;
    SC_ASSERT(ctx->error_count > 0);
    sc_job_close(job);
    return NULL;
}

// --- Asking --------------------------------------------------------------------------------------

typedef struct query {
    const char *what;
    sc_str method, stage, from, to, reference;
} query;

static sc_str query_text(sc_arena *arena, const query *q) {
    sc_sb text;
    sc_json_writer w;
    sc_sb_init(&text, arena);
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_text(&w, "what", q->what);
    sc_json_put_str(&w, "method", q->method);
    sc_json_put_str(&w, "stage", q->stage);
    sc_json_put_str(&w, "from", q->from);
    sc_json_put_str(&w, "to", q->to);
    sc_json_put_str(&w, "reference", q->reference);
    sc_json_end_object(&w);
    return sc_sb_str(&text);
}

static void check_json(sc_str json) {
    fuzz_context c;
    const sc_json *parsed;
    sc_ctx *ctx = fuzz_begin(&c, WORK_BYTES_MAX);
    SC_ASSERT(sc_json_parse(ctx, ctx->arena, json, &parsed) == SC_OK);
    fuzz_end(&c);
}

static void ask(sc_job *job, query q) {
    fuzz_context c;
    sc_ctx *ctx = sc_job_ctx(job);
    sc_str answer = {0};
    const sc_str text = query_text(fuzz_begin(&c, WORK_BYTES_MAX)->arena, &q);
    sc_job_forget_diagnostics(job);
    const uint32_t errors = ctx->error_count;
    const sc_status status = sc_inspector_query(job, text, &answer);
    SC_ASSERT(status == SC_OK || ctx->error_count > errors);
    if (status == SC_OK && strcmp(q.what, "text") != 0) check_json(answer);
    check_json(sc_job_report(job, status));
    fuzz_end(&c);
}

static void ask_stages(sc_job *job) {
    const sc_etrecord_program *last = NULL, *p;
    for (uint32_t i = 0; i < STAGES_MAX; i++) {
        if (!sc_job_compiling(job)->inspector->has_record ||
            !(p = sc_inspector_program_at(sc_job_compiling(job)->inspector, i)))
            break;
        ask(job, (query){.what = "nodes", .stage = p->stage, .method = p->method_name});
        ask(job, (query){.what = "text", .stage = p->stage, .method = p->method_name});
        if (last)
            ask(job,
                (query){
                    .what = "diff", .from = last->stage, .to = p->stage, .method = p->method_name});
        if (last) ask(job, (query){.what = "diff", .from = p->stage, .to = p->stage});
        last = p;
    }
}

static void ask_gaps(sc_job *job, const parts *p) {
    static const char *const REFERENCES[] = {"", SC_ETRECORD_EXPORTED, SC_ETRECORD_EDGE,
                                             "edge_after_transform"};
    const sc_str reference = sc_str_from(REFERENCES[p->choices >> 3 & 3]);
    ask(job, (query){.what = "gap", .reference = reference});
    for (uint32_t i = 0; i < sc_job_compiling(job)->inspector->method_count && i < 2; i++)
        ask(job, (query){.what = "gap",
                         .method = sc_job_compiling(job)->inspector->methods[i].name,
                         .reference = reference});
}

static void ask_all(sc_job *job, const parts *p) {
    static const char *const PLAIN[] = {"report", "events",     "ops",    "modules", "timeline",
                                        "trace",  "delegation", "memory", "nothing"};
    for (uint32_t i = 0; i < SC_COUNT_OF(PLAIN); i++) ask(job, (query){.what = PLAIN[i]});
    ask_stages(job);
    ask_gaps(job, p);
}

static void compare(sc_job *job, sc_job *other) {
    sc_ctx *ctx = sc_job_ctx(job);
    sc_str answer = {0};
    const uint32_t errors = ctx->error_count;
    const sc_status status = sc_inspector_compare(job, other, &answer);
    SC_ASSERT(status == SC_OK || ctx->error_count > errors);
    if (status == SC_OK) check_json(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    parts p;
    if (!split(data, size, &p)) return 0;
    SC_ASSERT(sc_ops_init() == SC_OK);
    sc_job *job = open_with(&p, DUMP, true, true);
    if (!job) job = open_with(&p, DUMP, true, false);
    if (!job) return 0;
    ask_all(job, &p);
    sc_job *other = open_with(&p, OTHER_DUMP, !(p.choices >> 2 & 1), false);
    compare(job, other ? other : job);
    if (other) compare(other, job);
    if (other) sc_job_close(other);
    sc_job_close(job);
    return 0;
}

// --- Changing one file alone ---------------------------------------------------------------------

static void put_u24(uint8_t *at, size_t value) {
    for (uint32_t i = 0; i < NUMBER_BYTES; i++) at[i] = (uint8_t)(value >> 8 * i);
}

// The bytes changed on `arena`; at most `room` of them.
static sc_str changed(sc_arena *arena, sc_str bytes, size_t room) {
    uint8_t *copy = sc_arena_alloc(arena, room + 1);
    const size_t size = bytes.size < room ? bytes.size : room;
    if (size) memcpy(copy, bytes.data, size);
    return (sc_str){(const char *)copy, LLVMFuzzerMutate(copy, size, room)};
}

// With one entry changed; empty when it is no archive, or came out too large.
static sc_str change_entry(sc_ctx *ctx, sc_str archive, size_t room, byte_stream *b) {
    sc_source *source = sc_source_from_memory(ctx->arena, archive.data, archive.size);
    sc_zip zip;
    sc_zip_writer writer;
    sc_cord cord;
    const uint8_t *bytes;
    if (sc_zip_open(ctx, ctx->arena, sc_extent_whole(source), &zip) != SC_OK || !zip.count ||
        sc_zip_is_compressed(&zip))
        return (sc_str){0};
    const uint32_t chosen = next_noise(b) % zip.count;
    sc_cord_init(&cord, ctx->arena);
    sc_zip_writer_init(&writer, &cord, 1);
    for (uint32_t i = 0; i < zip.count; i++) {
        sc_str content;
        if (sc_zip_load(ctx, ctx->arena, &zip.entries[i], room, &content) != SC_OK)
            return (sc_str){0};
        if (i == chosen) content = changed(ctx->arena, content, 2 * content.size + 64);
        if (sc_zip_add_bytes(ctx, &writer, zip.entries[i].name, content.data, content.size) !=
            SC_OK)
            return (sc_str){0};
    }
    sc_zip_finish(&writer);
    if (cord.size > room || sc_cord_flatten(ctx, &cord, ctx->arena, room, &bytes) != SC_OK)
        return (sc_str){0};
    return (sc_str){(const char *)bytes, (size_t)cord.size};
}

static size_t put_parts(const parts *p, uint8_t *data) {
    size_t at = HEAD_BYTES;
    data[0] = p->choices;
    for (uint32_t i = 0; i < FILES; i++) {
        if (i < PROGRAM) put_u24(data + 1 + (size_t)NUMBER_BYTES * i, p->files[i].size);
        if (p->files[i].size) memcpy(data + at, p->files[i].data, p->files[i].size);
        at += p->files[i].size;
    }
    return at;
}

// 0 when the bytes are too few, or it did not work out.
static size_t change_file(sc_ctx *ctx, uint8_t *data, size_t size, size_t max_size,
                          byte_stream *b) {
    parts p;
    // The files borrow what is about to be written over.
    const char *copy = sc_str_dup(ctx->arena, (sc_str){(char *)data, size});
    if (!split((const uint8_t *)copy, size, &p) || max_size < size) return 0;
    const uint32_t kind = next_noise(b) % (FILES + 2) % FILES;  // most often the record or the dump
    sc_str *file = &p.files[kind];
    const size_t room = file->size + (max_size - size);
    if (!room) return 0;
    if (kind == RECORD && next_noise(b) % 8)
        *file = change_entry(ctx, *file, room, b);
    else
        *file = changed(ctx->arena, *file, room);
    if (!file->size) return 0;
    if (next_noise(b) % 16 == 0) p.choices = (uint8_t)next_noise(b);
    return put_parts(&p, data);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    byte_stream b = {.random = seed};
    fuzz_context c;
    size_t made = 0;
    sc_ctx *ctx = fuzz_begin(&c, WORK_BYTES_MAX);
    if (next_noise(&b) % 2) made = change_file(ctx, data, size, max_size, &b);
    fuzz_end(&c);
    return made ? made : LLVMFuzzerMutate(data, size, max_size);
}
