// Complex numbers as pairs of real ones. Neither runtime has kernels for complex numbers. Below
// functionalization, each call with a complex operand or result is expanded into real and imaginary
// parts by the rows of complex.def. Its result is view_as_complex of a real tensor whose last dim
// is 2. A later call that reads the parts gets the two real tensors themselves (parts.c), so chains
// of complex calls become chains of real ones. Only results that leave the program, or that a
// kernel of its own takes, are put together.
//
// This happens below functionalization, so that x.real and view_as_real stay views that may be
// written to. Infinities, zeros and NaN follow C's Annex G, as in PyTorch. A system of equations is
// that of the real matrix [[A, -B], [B, A]]. A stack of two parts has the same bytes as the complex
// tensor, so a result needs no kernel if its sizes are known. For unknown sizes it needs one, which
// the official runtime lacks: a warning says so.
//
// An expansion of another subject, such as a transform, joins by a row of its own. It takes parts
// with sc_complex_of, computes, and returns sc_complex_make.
// Prefix: sc_complex_, pairs of real and imaginary parts.
#ifndef SC_COMPLEX_H
#define SC_COMPLEX_H

#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// Real and imaginary part: real tensors that broadcast, or numbers. A real number has the number 0
// as imaginary part.
typedef struct sc_complex {
    sc_x re, im;
} sc_complex;

// Answers a call below functionalization; NULL where no operand is complex, or the operator is
// recorded as it is. `how`: the expansion that each call of the operator has, or NULL.
sc_x sc_complex_call(sc_trace *t, const sc_op *op, const sc_x *args, const sc_expansion *how);
// Does sc_complex_call expand it? Then a composite must not be decomposed before.
bool sc_complex_has_row(const sc_op *op, const sc_x *args);

// --- Parts (parts.c) ----------------------------------------------------------------------------

// The parts of a complex tensor, a real one or a number.
sc_complex sc_complex_of(sc_trace *t, sc_x x);
// The same, in the dtype in which PyTorch computes on parts of `part`.
sc_complex sc_complex_operand(sc_trace *t, sc_x x, sc_dtype part);
// The complex tensor of two parts, which broadcast and are cast to `part` before.
sc_x sc_complex_make(sc_trace *t, sc_complex z, sc_dtype part);
// As a real tensor with a last dim of 2; and whether that is all that is known of it.
sc_x sc_complex_pair(sc_trace *t, sc_x x);
bool sc_complex_is_whole(sc_x x);
// The dtype of the parts of what two operands, numbers among them, have in common.
sc_dtype sc_complex_common(sc_x x, sc_x y);
// The call on all real, then on all imaginary parts of its complex operands.
sc_x sc_complex_by_parts(sc_trace *t, const sc_op *op, const sc_x *args);
sc_x sc_complex_refuse(sc_trace *t, const sc_op *op);
// Does refused.def have a row for the operator?
bool sc_complex_has_advice(const sc_op *op);

// --- Arithmetic on parts (arithmetic.c) ----------------------------------------------------------

sc_complex sc_complex_times(sc_trace *t, sc_complex x, sc_complex y);
sc_x sc_complex_modulus(sc_trace *t, sc_complex z);
sc_x sc_complex_argument(sc_trace *t, sc_complex z);
// Is a complex tensor unequal to zero, element by element (logic.c)?
sc_x sc_complex_is_not_zero(sc_trace *t, sc_x x);

#define FULL(fn, op) sc_x sc_complex_##fn(sc_trace *t, const sc_op *op_, const sc_x *a);
#define MAP(fn, op)  sc_complex sc_complex_##fn(sc_trace *t, sc_complex z);
#define MOVES(op, rule, arg)
#define ALLOWS(op)
#include "trace/complex/complex.def"
#undef FULL
#undef MAP
#undef MOVES
#undef ALLOWS

#endif
