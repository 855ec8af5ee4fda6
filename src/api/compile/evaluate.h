// Computing at compile time. Private to src/api.
// Prefix: sc_own_, of this build's own runtime.
#ifndef SC_API_EVALUATE_H
#define SC_API_EVALUATE_H

#include "passes/pass.h"

// Lowers a program for the runtime of this build and runs it there.
extern const sc_evaluator sc_own_evaluator;

#endif
