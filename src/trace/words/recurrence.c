// Recurrences of orthogonal polynomials, as a table: P(k + 1) = a P(k) - b P(k - 1), which some of
// them divide by k + 1.
#include "trace/words/recurrence.h"

#include "trace/words/arithmetic.h"

typedef struct recurrence {
    enum {
        X,
        TWICE_X,
        X_TIMES_ODD,
        ONE_LESS_X
    } a;  // the last two grow by k: x (2 k + 1), 1 - x + 2 k
    enum { ONE, K, TWICE_K } b;
    bool divides;
} recurrence;

static const recurrence recurrences[] = {
    [SC_RULE_DOUBLED] = {TWICE_X, ONE, false},   [SC_RULE_HERMITE] = {TWICE_X, TWICE_K, false},
    [SC_RULE_PROBABILISTS] = {X, K, false},      [SC_RULE_LAGUERRE] = {ONE_LESS_X, K, true},
    [SC_RULE_LEGENDRE] = {X_TIMES_ODD, K, true},
};

static sc_x twice(sc_trace *t, sc_x k) {
    return sc_x_is_number(k) ? sc_x_float(t, 2 * sc_x_real(k, 0)) : sc_f_mul_number(t, k, 2);
}

sc_x sc_f_next_degree(sc_trace *t, sc_recurrence rule, sc_x x, sc_x now, sc_x before, sc_x k,
                      sc_x above) {
    const recurrence *r = &recurrences[rule];
    sc_x a = x;
    if (r->a == TWICE_X) a = sc_f_mul_number(t, x, 2);
    if (r->a == X_TIMES_ODD) a = sc_f_mul_by(t, x, sc_f_add(t, k, above));
    if (r->a == ONE_LESS_X) {
        a = sc_f_number_minus(t, 1, x);
        a = sc_f_add_by(t, a, twice(t, k));
    }
    if (r->b == K) before = sc_f_mul_by(t, before, k);
    if (r->b == TWICE_K) before = sc_f_mul_by(t, before, twice(t, k));
    sc_x next = sc_f_sub(t, sc_f_mul(t, a, now), before);
    if (!r->divides) return next;
    return sc_x_is_tensor(above) ? sc_f_div(t, next, above) : CALL(t, div_Scalar, next, above);
}

sc_x sc_f_first_degree(sc_trace *t, const sc_polynomial *p, sc_x x) {
    sc_x first = p->slope == 1 ? x : sc_f_mul_number(t, x, p->slope);
    return p->start == 0 ? first : sc_f_add_number(t, first, p->start);
}
