// A backend of the host, ahead of time.
// Prefix: sc_host_ (host of the library) is a backend of the host.
#ifndef SC_HOST_AOT_H
#define SC_HOST_AOT_H

#include "backend/backend.h"
#include "backends/host/host.h"

// `host` and its id, which is terminated, stay the caller's.
sc_backend sc_host_aot(const sc_host_backend *host);

#endif
