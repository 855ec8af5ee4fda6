// Recurrences of orthogonal polynomials. Prefix: sc_f_, functions that add calls
// to a trace.
#ifndef SC_WORDS_RECURRENCE_H
#define SC_WORDS_RECURRENCE_H

#include "core/polynomial.h"
#include "trace/trace.h"

// The polynomial of degree `above`, which is k + 1, from those of degrees k (`now`) and k - 1
// (`before`) at x. Degrees are numbers, or tensors that the running program counts.
sc_x sc_f_next_degree(sc_trace *t, sc_recurrence rule, sc_x x, sc_x now, sc_x before, sc_x k,
                      sc_x above);

// The polynomial of degree 1 at x.
sc_x sc_f_first_degree(sc_trace *t, const sc_polynomial *p, sc_x x);

#endif
