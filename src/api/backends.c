// The backends of this build (backends/backends.def) and those that the host has registered, in the
// form that the compiler and the runtime need.
#include "api/backends.h"

#include "api/job.h"

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

static const sc_backend *at(void *user, uint32_t index) {
    (void)user;
    if (index < SC_COUNT_OF(ROWS)) return ROWS[index].aot;
    const sc_hosted *hosted = sc_hosted_at(index - SC_COUNT_OF(ROWS));
    return hosted ? &hosted->aot : NULL;
}

static const sc_backend *find(void *user, sc_str name) {
    const sc_backend *backend;
    for (uint32_t i = 0; (backend = at(user, i)) != NULL; i++)
        if (sc_str_is(name, backend->name) || sc_str_is(name, backend->id)) return backend;
    return NULL;
}

// Files contain ids only.
static const sc_rt_backend *find_run(void *user, sc_str id) {
    (void)user;
    for (uint32_t i = 0; i < SC_COUNT_OF(ROWS); i++)
        if (sc_str_is(id, ROWS[i].aot->id)) return ROWS[i].run;
    const sc_hosted *hosted;
    for (uint32_t i = 0; (hosted = sc_hosted_at(i)) != NULL; i++)
        if (sc_str_is(id, hosted->aot.id)) return &hosted->run;
    return NULL;
}

const sc_backends sc_all_backends = {.find = find, .at = at};
const sc_rt_backends sc_all_rt_backends = {.find = find_run};

sc_status sc_backend_register(sc_job *job, const sc_host_backend *backend) {
    sc_ctx *ctx = sc_job_begin(job);
    if (find(NULL, backend->id))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give it another id.",
                       "a backend '" SC_STR_FMT "' is registered already", SC_STR_ARG(backend->id));
    return sc_hosted_add(ctx, backend);
}
