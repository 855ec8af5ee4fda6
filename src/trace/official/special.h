// What the special functions share: float64, in which they are computed.
#ifndef SC_OFFICIAL_SPECIAL_H
#define SC_OFFICIAL_SPECIAL_H

#include "trace/arithmetic.h"
#include "trace/official/official.h"

// x in float64, in which all of them are computed.
sc_x sc_o_double(sc_trace *t, sc_x x);
// Rounded to the dtype of the node's result.
sc_x sc_o_rounded(sc_trace *t, sc_x x);
// The sum over one dim, which stays with size 1; in the dtype of x (sum.c).
sc_x sc_o_sum(sc_trace *t, sc_x x, uint32_t dim);

#endif
