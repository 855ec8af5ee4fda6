// The rows of steps.def.
#include "base/steps.h"

const char *sc_dialect_name(sc_dialect dialect) {
    static const char *const NAMES[] = {
#define DIALECT(name, ...) #name,
#define STEP(...)
#define PHASE(...)
#include "base/steps.def"
#undef PHASE
#undef STEP
#undef DIALECT
    };
    return NAMES[dialect];
}

const sc_phase_row *sc_phase_get(sc_phase phase) {
    static const sc_phase_row ROWS[] = {
#define DIALECT(...)
#define STEP(name, from, to, ...) {#name, SC_DIALECT_##from, SC_DIALECT_##to},
#define PHASE(name, ...)          {#name, 0, 0},
#include "base/steps.def"
#undef PHASE
#undef STEP
#undef DIALECT
    };
    return &ROWS[phase];
}
