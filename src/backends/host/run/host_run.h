// A backend of the host, at run time.
// Prefix: sc_host_ (host of the library) is a backend of the host.
#ifndef SC_HOST_RUN_H
#define SC_HOST_RUN_H

#include "backends/host/host.h"
#include "rt/backend.h"

// `host` stays the caller's.
sc_rt_backend sc_host_run(const sc_host_backend *host);

#endif
