// Finds the runtime's half of a backend: one of this build (backends/backends.def), or one that the
// host has registered.
//
// Backends of the host belong to the process, like the module to an engine, because files name
// backends and know no jobs.
#include "api/run/backends.h"

#include "api/job/job.h"
#include "backends/host/run/host_run.h"

enum { ID_BYTES_MAX = 255 };

#define BACKEND(name, ...) extern const sc_rt_backend sc_rt_backend_##name;
#include "backends/backends.def"
#undef BACKEND

static const sc_rt_backend *const OWN[] = {
#define BACKEND(name, ...) &sc_rt_backend_##name,
#include "backends/backends.def"
#undef BACKEND
};

typedef struct hosted {
    sc_rt_backend run;
    sc_host_backend host;
    char id[ID_BYTES_MAX + 1];
} hosted;

static hosted *rows[SC_HOSTED_MAX];
static uint32_t count;

const sc_host_backend *sc_hosted_at(uint32_t index) {
    return index < count ? &rows[index]->host : NULL;
}

// Files contain ids only.
static const sc_rt_backend *find(void *user, sc_str id) {
    (void)user;
    for (uint32_t i = 0; i < SC_COUNT_OF(OWN); i++)
        if (sc_str_is(id, OWN[i]->id)) return OWN[i];
    for (uint32_t i = 0; i < count; i++)
        if (sc_str_equal(id, rows[i]->host.id)) return &rows[i]->run;
    return NULL;
}

const sc_rt_backends sc_all_rt_backends = {.find = find};

static bool is_taken(sc_str id) {
    static const char *const NAMES[] = {
#define BACKEND(name, ...) #name,
#include "backends/backends.def"
#undef BACKEND
    };
    for (size_t i = 0; i < SC_COUNT_OF(NAMES); i++)
        if (sc_str_is(id, NAMES[i])) return true;
    return find(NULL, id) != NULL;
}

static sc_status check(sc_ctx *ctx, sc_str id) {
    if (is_taken(id))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give it another id.",
                       "a backend '" SC_STR_FMT "' is registered already", SC_STR_ARG(id));
    if (id.size == 0 || id.size > ID_BYTES_MAX || memchr(id.data, 0, id.size))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give it a short id that no other backend has.",
                       "the id of a backend must be text of 1 to %d bytes", ID_BYTES_MAX);
    if (count == SC_HOSTED_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL,
                       "the host has registered %d backends already, which is the most",
                       SC_HOSTED_MAX);
    return SC_OK;
}

sc_status sc_backend_register(sc_job *job, const sc_host_backend *backend) {
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(check(ctx, backend->id));
    hosted *made = sc_try_alloc(sizeof *made);
    if (!made) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a backend");
    *made = (hosted){.host = *backend};
    memcpy(made->id, backend->id.data, backend->id.size);
    made->host.id = (sc_str){made->id, backend->id.size};
    made->run = sc_host_run(&made->host);
    rows[count++] = made;
    return SC_OK;
}
