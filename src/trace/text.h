// Expansions that are written as text. Prefix: sc_trace_, one recording.
#ifndef SC_TRACE_TEXT_H
#define SC_TRACE_TEXT_H

#include "ops/formula.h"
#include "trace/trace.h"

// Makes the calls of a formula, with an argument for each of its parameters.
sc_x sc_trace_formula(sc_trace *t, const sc_formula *formula, const sc_x *args);
// Does the formula hold for these arguments, by what it says with "is"?
bool sc_trace_fits(sc_trace *t, const sc_formula *formula, const sc_x *args);
// The call that was made last is one that the official runtime runs as it is, whatever the row of
// its operator says: it is not expanded again.
sc_x sc_trace_final(sc_trace *t, sc_x made);

#endif
