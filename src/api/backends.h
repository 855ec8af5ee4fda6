// Backends: those of this build, and those that the host has registered. Private to src/api.
// Prefix: sc_hosted_, backends of the host.
#ifndef SC_API_BACKENDS_H
#define SC_API_BACKENDS_H

#include "backend/lower.h"
#include "rt/rt.h"
#include "sconce.h"

// The backends of this build, and those that the host has registered: both halves.
extern const sc_backends sc_all_backends;
extern const sc_rt_backends sc_all_rt_backends;
// Both halves of a backend of the host.
typedef struct sc_hosted {
    sc_backend aot;
    sc_rt_backend run;
} sc_hosted;

// NULL after the last one.
const sc_hosted *sc_hosted_at(uint32_t index);
// SC_ERR_ARGUMENT if its id is invalid. The caller must check that the id is not taken.
sc_status sc_hosted_add(sc_ctx *ctx, const sc_host_backend *backend);

#endif
