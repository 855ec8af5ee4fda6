// Conditions, and choices between two tensors by a condition. Prefix: sc_f_, functions that add
// calls to a trace.
#ifndef SC_WORDS_CHOOSE_H
#define SC_WORDS_CHOOSE_H

#include "trace/trace.h"

sc_x sc_f_not(sc_trace *t, sc_x x);
sc_x sc_f_and(sc_trace *t, sc_x x, sc_x y);
sc_x sc_f_or(sc_trace *t, sc_x x, sc_x y);
// x where the condition is true, y elsewhere. One of the two may be a number.
sc_x sc_f_where(sc_trace *t, sc_x condition, sc_x x, sc_x y);
// x where the condition is true. Elsewhere a number in the dtype of x, or 0.
sc_x sc_f_where_else(sc_trace *t, sc_x condition, sc_x x, sc_x number);
sc_x sc_f_where_or_zero(sc_trace *t, sc_x condition, sc_x x);
// `number` where the condition is true, x elsewhere.
sc_x sc_f_where_number(sc_trace *t, sc_x condition, double number, sc_x x);
// The least number of the dtype; -inf for floats.
sc_x sc_f_lowest(sc_trace *t, sc_dtype dtype);

#endif
