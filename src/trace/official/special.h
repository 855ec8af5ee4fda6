// What the special functions share: arithmetic in float64 with numbers, and polynomials.
#ifndef SC_OFFICIAL_SPECIAL_H
#define SC_OFFICIAL_SPECIAL_H

#include "trace/official/official.h"

#define SC_PI 3.141592653589793

// x in float64, in which all of them are computed.
sc_x sc_o_double(sc_trace *t, sc_x x);
// Rounded to the dtype of the node's result.
sc_x sc_o_rounded(sc_trace *t, sc_x x);
sc_x sc_o_times(sc_trace *t, sc_x x, double factor);
sc_x sc_o_plus(sc_trace *t, sc_x x, double number);
// number / x, and number - x
sc_x sc_o_over(sc_trace *t, double number, sc_x x);
sc_x sc_o_from(sc_trace *t, double number, sc_x x);
sc_x sc_o_mul(sc_trace *t, sc_x x, sc_x y);
sc_x sc_o_add(sc_trace *t, sc_x x, sc_x y);
sc_x sc_o_sub(sc_trace *t, sc_x x, sc_x y);
sc_x sc_o_div(sc_trace *t, sc_x x, sc_x y);
sc_x sc_o_less(sc_trace *t, sc_x x, double number);
sc_x sc_o_is(sc_trace *t, sc_x x, double number);
// `number` where the condition holds, else x, which is float64.
sc_x sc_o_unless(sc_trace *t, sc_x condition, double number, sc_x x);
// The sum over one dim, which stays with size 1; in the dtype of x (sum.c).
sc_x sc_o_sum(sc_trace *t, sc_x x, uint32_t dim);
// A polynomial: the factor of the highest power is last.
sc_x sc_o_polynomial(sc_trace *t, sc_x x, const double *factors, uint32_t count);
#define POLYNOMIAL(t, x, factors) sc_o_polynomial(t, x, factors, SC_COUNT_OF(factors))

#endif
