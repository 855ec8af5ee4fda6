// XNNPACK's half in the compiler: it chooses nodes, and compiles parts to payloads.
// Prefix: sc_backend_, the compiler's half of a backend.
#ifndef SC_XNNPACK_AOT_H
#define SC_XNNPACK_AOT_H

#include "backend/backend.h"

extern const sc_backend sc_backend_xnnpack;

#endif
