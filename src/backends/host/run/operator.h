// Kernels of the host, for operators of the user's own (ops/own.h).
// Prefix: sc_host_ (host of the library) is an operator of the host.
#ifndef SC_HOST_OPERATOR_RUN_H
#define SC_HOST_OPERATOR_RUN_H

#include "backends/host/host.h"
#include "kernels/kernel.h"

typedef struct sc_host_kernel {
    sc_kernel kernel;  // the first member: a call knows no more than it
    const sc_host_operator *host;
} sc_host_kernel;

// The kernel of an operator. `host` stays the caller's.
sc_host_kernel sc_host_kernel_of(const sc_host_operator *host);

#endif
