// The backends of this build (backends/backends.def) and those that the host has registered, as the
// two halves are handed them.
#include "api/job.h"
#include "backends/host/aot/host_aot.h"
#include "backends/host/run/host_run.h"

#define BACKEND(name, ...)                     \
    extern const sc_backend sc_backend_##name; \
    extern const sc_rt_backend sc_rt_backend_##name;
#include "backends/backends.def"
#undef BACKEND

typedef struct row {
    const sc_backend *aot;
    const sc_rt_backend *run;
} row;

static const row ROWS[] = {
#define BACKEND(name, ...) {&sc_backend_##name, &sc_rt_backend_##name},
#include "backends/backends.def"
#undef BACKEND
};

// --- Of the host ---------------------------------------------------------------------------------

enum { HOSTED_MAX = 64, ID_BYTES_MAX = 255 };

typedef struct hosted {
    sc_host_backend host;
    sc_backend aot;
    sc_rt_backend run;
    char id[ID_BYTES_MAX + 1];
} hosted;

// Of the process, as the module of an engine is: files name backends, and know no jobs.
static hosted *host_rows[HOSTED_MAX];
static uint32_t host_count;

// --- All of them ---------------------------------------------------------------------------------

static const sc_backend *at(void *user, uint32_t index) {
    (void)user;
    if (index < SC_COUNT_OF(ROWS)) return ROWS[index].aot;
    index -= SC_COUNT_OF(ROWS);
    return index < host_count ? &host_rows[index]->aot : NULL;
}

static const sc_backend *find(void *user, sc_str name) {
    const sc_backend *backend;
    for (uint32_t i = 0; (backend = at(user, i)) != NULL; i++)
        if (sc_str_is(name, backend->name) || sc_str_is(name, backend->id)) return backend;
    return NULL;
}

// Files name ids only.
static const sc_rt_backend *find_run(void *user, sc_str id) {
    (void)user;
    for (uint32_t i = 0; i < SC_COUNT_OF(ROWS); i++)
        if (sc_str_is(id, ROWS[i].aot->id)) return ROWS[i].run;
    for (uint32_t i = 0; i < host_count; i++)
        if (sc_str_is(id, host_rows[i]->id)) return &host_rows[i]->run;
    return NULL;
}

const sc_backends sc_all_backends = {.find = find, .at = at};
const sc_rt_backends sc_all_rt_backends = {.find = find_run};

static sc_status check_id(sc_ctx *ctx, sc_str id) {
    if (id.size == 0 || id.size > ID_BYTES_MAX || memchr(id.data, 0, id.size))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give it a short name of its own.",
                       "the id of a backend is text of 1 to %d bytes", ID_BYTES_MAX);
    if (find(NULL, id))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give it an id of its own.",
                       "there is already a backend '" SC_STR_FMT "'", SC_STR_ARG(id));
    if (host_count == HOSTED_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "there are already %d backends of the host",
                       HOSTED_MAX);
    return SC_OK;
}

sc_status sc_backend_register(sc_job *job, const sc_host_backend *backend) {
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(check_id(ctx, backend->id));
    hosted *made = sc_try_alloc(sizeof *made);
    if (!made) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a backend");
    *made = (hosted){.host = *backend};
    memcpy(made->id, backend->id.data, backend->id.size);
    made->host.id = (sc_str){made->id, backend->id.size};
    made->aot = sc_host_aot(&made->host);
    made->run = sc_host_run(&made->host);
    host_rows[host_count++] = made;
    return SC_OK;
}

// --- While the host is asked ---------------------------------------------------------------------

void sc_ask_answer(sc_ask *ask, void *answer, uint32_t json_bytes, uint32_t bytes) {
    sc_free(ask->answer);
    ask->answer = answer;
    ask->json_bytes = json_bytes;
    ask->bytes = bytes;
}

sc_status sc_ask_progress(sc_ask *ask, uint32_t part) {
    sc_status status = sc_progress(ask->ctx, SC_STEP_to_backend, ask->done + part, ask->total);
    ask->is_cancelled = status == SC_ERR_CANCELLED;
    return status;
}

static const sc_part *part_of(const sc_ask *ask, uint32_t part) {
    return part < ask->part_count ? ((sc_part *const *)ask->parts)[part] : NULL;
}

const char *sc_ask_part_text(sc_ask *ask, uint32_t part) {
    const sc_part *found = part_of(ask, part);
    sc_sb sb;
    sc_sb_init(&sb, &ask->arena);
    if (found) sc_graph_print(&sb, found->method->graph, (sc_print_options){.signature = true});
    return sc_sb_terminate(&sb);
}

// Weights may lie in another order than their sizes.
static sc_extent row_major(sc_arena *arena, const sc_constant *c) {
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    for (uint32_t d = 0; d < c->spec.rank; d++) {
        sizes[d] = c->spec.sizes[d].value;
        strides[d] = c->spec.strides[d].value;
    }
    return sc_extent_strided(arena, c->data, sc_dtype_bytes((sc_dtype)c->spec.dtype), c->spec.rank,
                             sizes, strides, 0);
}

sc_status sc_ask_read_constant(sc_ask *ask, uint32_t part, uint32_t constant, void *out,
                               uint32_t bytes) {
    const sc_part *found = part_of(ask, part);
    for (uint32_t i = 0; found && i < found->method->inputs.count; i++) {
        const sc_constant *c = found->method->inputs.data[i].constant;
        if (c && constant-- == 0 && c->data.size == bytes)
            return sc_extent_read(ask->ctx, row_major(ask->ctx->arena, c), 0, out, bytes);
    }
    return sc_fail(ask->ctx, SC_ERR_NOT_FOUND, NULL, "there is no such constant in part %u", part);
}
