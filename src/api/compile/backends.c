// Finds the compiler's half of a backend: one of this build (backends/backends.def), or one that
// the host has registered, whose half is made when it is asked for first.
//
// Compile specs always exist while a part is compiled. They belong to the partitioner or tag that
// the part comes from; the list may be empty.
#include "api/compile/backends.h"

#include "api/run/backends.h"
#include "backends/host/aot/host_aot.h"

#define BACKEND(name, ...) extern const sc_backend sc_backend_##name;
#include "backends/backends.def"
#undef BACKEND

static const sc_backend *const OWN[] = {
#define BACKEND(name, ...) &sc_backend_##name,
#include "backends/backends.def"
#undef BACKEND
};

static const sc_backend *hosted_at(uint32_t index) {
    static sc_backend made[SC_HOSTED_MAX];
    const sc_host_backend *host = sc_hosted_at(index);
    if (!host) return NULL;
    if (!made[index].id) made[index] = sc_host_aot(host);
    return &made[index];
}

static const sc_backend *at(void *user, uint32_t index) {
    (void)user;
    return index < SC_COUNT_OF(OWN) ? OWN[index] : hosted_at(index - SC_COUNT_OF(OWN));
}

static const sc_backend *find(void *user, sc_str name) {
    const sc_backend *backend;
    for (uint32_t i = 0; (backend = at(user, i)) != NULL; i++)
        if (sc_str_is(name, backend->name) || sc_str_is(name, backend->id)) return backend;
    return NULL;
}

const sc_backends sc_all_backends = {.find = find, .at = at};
