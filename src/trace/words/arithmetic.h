// Arithmetic on tensors and numbers, and polynomials. Prefix sc_f_: makes calls.
#ifndef SC_WORDS_ARITHMETIC_H
#define SC_WORDS_ARITHMETIC_H

#include "trace/words/calls.h"

#define SC_PI 3.141592653589793

sc_x sc_f_times(sc_trace *t, sc_x x, double factor);
sc_x sc_f_plus(sc_trace *t, sc_x x, double number);
// number / x, and number - x
sc_x sc_f_over(sc_trace *t, double number, sc_x x);
sc_x sc_f_from(sc_trace *t, double number, sc_x x);
// Both operands are tensors or numbers; two numbers give a number.
sc_x sc_f_mul(sc_trace *t, sc_x x, sc_x y);
sc_x sc_f_add(sc_trace *t, sc_x x, sc_x y);
sc_x sc_f_sub(sc_trace *t, sc_x x, sc_x y);
sc_x sc_f_div(sc_trace *t, sc_x x, sc_x y);
// x times `by`, and x plus `by`: a number stays a number of the call.
sc_x sc_f_scale(sc_trace *t, sc_x x, sc_x by);
sc_x sc_f_shift(sc_trace *t, sc_x x, sc_x by);
sc_x sc_f_less(sc_trace *t, sc_x x, double number);
sc_x sc_f_equals(sc_trace *t, sc_x x, double number);
// A polynomial of two factors at least: that of the highest power is last.
sc_x sc_f_polynomial(sc_trace *t, sc_x x, const double *factors, uint32_t count);
#define POLYNOMIAL(t, x, factors) sc_f_polynomial(t, x, factors, SC_COUNT_OF(factors))
// Whole numbers divided, rounded down, which is exact there, and what is left over: of the
// divisor's sign.
sc_x sc_f_floor_divide(sc_trace *t, sc_x x, sc_x by, sc_x *rest);
// x in float64, in which special functions and factorisations are computed.
sc_x sc_f_double(sc_trace *t, sc_x x);

#endif
