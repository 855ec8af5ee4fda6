// The compiler's halves of backends: those of this build, and those that the host has registered.
// Private to src/api.
#ifndef SC_API_COMPILE_BACKENDS_H
#define SC_API_COMPILE_BACKENDS_H

#include "backend/lower.h"

extern const sc_backends sc_all_backends;

#endif
