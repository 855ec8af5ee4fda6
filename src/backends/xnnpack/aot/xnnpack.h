// XNNPACK's half in the compiler: which nodes it takes, and payloads of the parts.
#ifndef SC_XNNPACK_AOT_H
#define SC_XNNPACK_AOT_H

#include "backend/backend.h"

extern const sc_backend sc_backend_xnnpack;

#endif
