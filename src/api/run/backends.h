// The runtime's halves of backends: those of this build, and those that the host has registered.
// Private to src/api. Prefix: sc_hosted_, backends of the host.
#ifndef SC_API_RUN_BACKENDS_H
#define SC_API_RUN_BACKENDS_H

#include "rt/backend.h"
#include "sconce.h"

extern const sc_rt_backends sc_all_rt_backends;

// A backend of the host by its place among them; NULL after the last one.
const sc_host_backend *sc_hosted_at(uint32_t index);

enum { SC_HOSTED_MAX = 64 };

#endif
