// Arithmetic on tensors and numbers, and polynomials. Prefix: sc_f_, functions that add calls to a
// trace and give the result.
#ifndef SC_WORDS_ARITHMETIC_H
#define SC_WORDS_ARITHMETIC_H

#include "trace/words/calls.h"

#define SC_PI 3.141592653589793

// x and a number; the number takes part in the dtype of x.
sc_x sc_f_mul_number(sc_trace *t, sc_x x, double factor);
sc_x sc_f_add_number(sc_trace *t, sc_x x, double number);
// number / x, and number - x
sc_x sc_f_number_over(sc_trace *t, double number, sc_x x);
sc_x sc_f_number_minus(sc_trace *t, double number, sc_x x);
// Both operands are tensors or numbers; two numbers give a number.
sc_x sc_f_mul(sc_trace *t, sc_x x, sc_x y);
sc_x sc_f_add(sc_trace *t, sc_x x, sc_x y);
sc_x sc_f_sub(sc_trace *t, sc_x x, sc_x y);
sc_x sc_f_div(sc_trace *t, sc_x x, sc_x y);
// Multiplies or adds a tensor or a number. A number stays a number in the call.
sc_x sc_f_mul_by(sc_trace *t, sc_x x, sc_x by);
sc_x sc_f_add_by(sc_trace *t, sc_x x, sc_x by);
sc_x sc_f_lt_number(sc_trace *t, sc_x x, double number);
sc_x sc_f_eq_number(sc_trace *t, sc_x x, double number);
// A polynomial with at least two factors. The factor of the highest power is last.
sc_x sc_f_polynomial(sc_trace *t, sc_x x, const double *factors, uint32_t count);
#define POLYNOMIAL(t, x, factors) sc_f_polynomial(t, x, factors, SC_COUNT_OF(factors))
// Divides whole numbers, rounded down, which is exact. `rest` gets the remainder, which has the
// sign of the divisor.
sc_x sc_f_floor_divide(sc_trace *t, sc_x x, sc_x by, sc_x *rest);
// x in float64, the dtype in which special functions and factorisations are computed.
sc_x sc_f_double(sc_trace *t, sc_x x);

#endif
