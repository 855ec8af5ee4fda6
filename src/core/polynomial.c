// Families of orthogonal polynomials.
#include "core/polynomial.h"

#define ORTHOGONAL(id, operator, rule, slope, start, kind, most, is_shifted)     \
    const sc_polynomial sc_polynomial_##id = {SC_RULE_##rule,      slope, start, \
                                              SC_CHEBYSHEV_##kind, most,  is_shifted};
#include "core/polynomial.def"

int sc_polynomial_limit(const sc_polynomial *p, bool is_double) {
    if (p->rule != SC_RULE_HERMITE && p->rule != SC_RULE_PROBABILISTS) return 0;
    return is_double ? 512 : 128;
}
