// The rows of steps.def: steps of lowering, the dialects before and after them, and the phases that
// progress names.
// Prefixes: sc_dialect_ and sc_phase_ look up one row of that kind.
#ifndef SC_STEPS_H
#define SC_STEPS_H

#include "base/base.h"

typedef enum sc_dialect {
#define DIALECT(name, ...) SC_DIALECT_##name,
#define STEP(...)
#define PHASE(...)
#include "base/steps.def"
#undef PHASE
#undef STEP
#undef DIALECT
} sc_dialect;

// Steps are the first phases.
typedef enum sc_phase {
#define DIALECT(...)
#define STEP(name, ...)  SC_STEP_##name,
#define PHASE(name, ...) SC_PHASE_##name,
#include "base/steps.def"
#undef PHASE
#undef STEP
#undef DIALECT
} sc_phase;

typedef struct sc_phase_row {
    const char *name;
    sc_dialect from, to;  // of a step
} sc_phase_row;

const char *sc_dialect_name(sc_dialect dialect);
const sc_phase_row *sc_phase_get(sc_phase phase);

#endif
