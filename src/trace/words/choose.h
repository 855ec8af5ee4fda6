// Conditions, and the choice between two tensors by one. Prefix sc_f_: makes calls.
#ifndef SC_WORDS_CHOOSE_H
#define SC_WORDS_CHOOSE_H

#include "trace/trace.h"

sc_x sc_f_not(sc_trace *t, sc_x x);
sc_x sc_f_and(sc_trace *t, sc_x x, sc_x y);
sc_x sc_f_or(sc_trace *t, sc_x x, sc_x y);
// x where the condition holds, else y. One of the two may be a number.
sc_x sc_f_where(sc_trace *t, sc_x condition, sc_x x, sc_x y);
// x where the condition holds, else a number of x's dtype, or 0.
sc_x sc_f_where_else(sc_trace *t, sc_x condition, sc_x x, sc_x number);
sc_x sc_f_where_or_zero(sc_trace *t, sc_x condition, sc_x x);
// `number` where the condition holds, else x.
sc_x sc_f_unless(sc_trace *t, sc_x condition, double number, sc_x x);
// The least number of the dtype: -inf of floats.
sc_x sc_f_lowest(sc_trace *t, sc_dtype dtype);

#endif
