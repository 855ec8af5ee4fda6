// Conditions, and the choice between two tensors by one. Prefix sc_f_: makes calls.
#ifndef SC_WORDS_CHOOSE_H
#define SC_WORDS_CHOOSE_H

#include "trace/trace.h"

sc_x sc_o_not(sc_trace *t, sc_x x);
sc_x sc_o_and(sc_trace *t, sc_x x, sc_x y);
sc_x sc_o_or(sc_trace *t, sc_x x, sc_x y);
// x where it holds, else a number of x's dtype.
sc_x sc_o_where_else(sc_trace *t, sc_x condition, sc_x x, sc_x number);
// The least number of the dtype: -inf of floats.
sc_x sc_o_lowest(sc_trace *t, sc_dtype dtype);

#endif
