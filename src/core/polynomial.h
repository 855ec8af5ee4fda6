// Families of orthogonal polynomials (polynomial.def), which kernels and expansions share.
// Prefix: sc_polynomial_ asks about one family.
#ifndef SC_POLYNOMIAL_H
#define SC_POLYNOMIAL_H

#include <stdbool.h>

typedef enum sc_recurrence {
    SC_RULE_DOUBLED,
    SC_RULE_HERMITE,
    SC_RULE_PROBABILISTS,
    SC_RULE_LAGUERRE,
    SC_RULE_LEGENDRE
} sc_recurrence;

typedef enum sc_chebyshev {
    SC_CHEBYSHEV_NONE,
    SC_CHEBYSHEV_FIRST,
    SC_CHEBYSHEV_SECOND,
    SC_CHEBYSHEV_THIRD,
    SC_CHEBYSHEV_FOURTH
} sc_chebyshev;

typedef struct sc_polynomial {
    sc_recurrence rule;
    double slope, start;
    sc_chebyshev kind;
    int most;
    bool is_shifted;
} sc_polynomial;

#define ORTHOGONAL(id, ...) extern const sc_polynomial sc_polynomial_##id;
#include "core/polynomial.def"

// Bounds for tensors of degrees. Recurrences stop at this degree, while PyTorch goes on. Numbers
// from SC_DEGREE_END on are no degrees, like those below 0, because no int64 is as large.
enum { SC_DEGREE_MAX = 1 << 14 };
#define SC_DEGREE_END 9223372036854775808.0

// Hermite polynomials of degrees above this are NaN in PyTorch; 0: the family has no such limit.
int sc_polynomial_limit(const sc_polynomial *p, bool is_double);
// Is the value at 1 and -1 known without a recurrence?
static inline bool sc_polynomial_has_ends(const sc_polynomial *p) {
    return p->kind != SC_CHEBYSHEV_NONE || p->rule == SC_RULE_LEGENDRE;
}

#endif
