// Arithmetic with numbers, and polynomials: words that expansions for one runtime and for both
// share. Operands are tensors of one dtype.
#ifndef SC_WORDS_ARITHMETIC_H
#define SC_WORDS_ARITHMETIC_H

#include "trace/words/calls.h"

#define SC_PI 3.141592653589793

sc_x sc_a_times(sc_trace *t, sc_x x, double factor);
sc_x sc_a_plus(sc_trace *t, sc_x x, double number);
// number / x, and number - x
sc_x sc_a_over(sc_trace *t, double number, sc_x x);
sc_x sc_a_from(sc_trace *t, double number, sc_x x);
sc_x sc_a_mul(sc_trace *t, sc_x x, sc_x y);
sc_x sc_a_add(sc_trace *t, sc_x x, sc_x y);
sc_x sc_a_sub(sc_trace *t, sc_x x, sc_x y);
sc_x sc_a_div(sc_trace *t, sc_x x, sc_x y);
sc_x sc_a_less(sc_trace *t, sc_x x, double number);
sc_x sc_a_is(sc_trace *t, sc_x x, double number);
sc_x sc_a_where(sc_trace *t, sc_x condition, sc_x x, sc_x y);
// `number` where the condition holds, else x.
sc_x sc_a_unless(sc_trace *t, sc_x condition, double number, sc_x x);
// A polynomial of two factors at least: that of the highest power is last.
sc_x sc_a_polynomial(sc_trace *t, sc_x x, const double *factors, uint32_t count);
#define POLYNOMIAL(t, x, factors) sc_a_polynomial(t, x, factors, SC_COUNT_OF(factors))
// Whole numbers divided, rounded down, which is exact there, and what is left over: of the
// divisor's sign.
sc_x sc_o_floored(sc_trace *t, sc_x x, sc_x by, sc_x *rest);
// x in float64, in which special functions and factorisations are computed.
sc_x sc_o_double(sc_trace *t, sc_x x);

#endif
