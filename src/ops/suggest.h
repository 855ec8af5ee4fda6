// Advice for a name that no operator has.
#ifndef SC_SUGGEST_H
#define SC_SUGGEST_H

#include "ops/op.h"

// A sentence with the overloads of that name, or the name that is spelt most like it. On `arena`,
// terminated.
const char *sc_op_suggest(sc_arena *arena, sc_str name);

#endif
