// The operations that polynomials cannot express: division, remainder, extrema, powers, choice and
// comparison. Each simplifies as much as structure and ranges allow. Otherwise it becomes an opaque
// atom in a normal form, so that equal sizes written differently become the same.
#include "core/expr.h"

static int64_t gcd_i64(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > INT64_MAX ? 1 : (int64_t)x;
}

static int64_t gcd_of_terms(const expr_poly *p, int64_t start) {
    int64_t g = start;
    for (uint32_t i = 0; i < p->count; i++) g = gcd_i64(g, p->terms[i].coefficient);
    return g;
}

static bool is_single(sc_dim d) { return d.expr && d.expr->kind != EXPR_SUM; }

// Quotient of one term by coefficient * mono, if exact. A saturated coefficient divides no term.
static bool divide_term(sc_exprs *exprs, expr_term term, int64_t coefficient, const sc_expr *mono,
                        int64_t *quotient, const sc_expr **rest) {
    if (term.coefficient == SC_DIM_INF || term.coefficient == SC_DIM_NEG_INF ||
        sc_expr_mod_i64(term.coefficient, coefficient) != 0)
        return false;
    *quotient = sc_expr_floordiv_i64(term.coefficient, coefficient);
    *rest = term.mono;
    return !mono || sc_expr_mono_div(exprs, term.mono, mono, rest);
}

static void poly_add(expr_poly *p, int64_t coefficient, const sc_expr *mono) {
    if (mono)
        sc_expr_poly_add_term(p, coefficient, mono);
    else
        p->constant = sc_expr_sat_add(p->constant, coefficient);
}

// Splits `p` into whole * divisor + p. The divisor is one term (`mono` NULL: a plain integer).
static void pull_out(sc_exprs *exprs, expr_poly *p, int64_t coefficient, const sc_expr *mono,
                     expr_poly *whole) {
    expr_poly rest = {.overflow = p->overflow};
    *whole = (expr_poly){0};
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t quotient;
        const sc_expr *left;
        if (divide_term(exprs, p->terms[i], coefficient, mono, &quotient, &left))
            poly_add(whole, quotient, left);
        else
            rest.terms[rest.count++] = p->terms[i];
    }
    rest.constant = p->constant;
    if (!mono) {
        rest.constant = sc_expr_mod_i64(p->constant, coefficient);
        whole->constant =
            sc_expr_sat_add(whole->constant, sc_expr_floordiv_i64(p->constant, coefficient));
    }
    *p = rest;
}

static void subtract_multiple(sc_exprs *exprs, expr_poly *p, int64_t q, const sc_expr *mono,
                              const expr_poly *b) {
    int64_t minus = sc_expr_sat_mul(q, -1);
    if (b->constant) poly_add(p, sc_expr_sat_mul(minus, b->constant), mono);
    for (uint32_t i = 0; i < b->count; i++) {
        const sc_expr *product = b->terms[i].mono;
        if (mono && !(product = sc_expr_mono_mul(exprs, mono, product))) {
            p->overflow = true;
            return;
        }
        sc_expr_poly_add_term(p, sc_expr_sat_mul(minus, b->terms[i].coefficient), product);
    }
}

// Polynomial long division; true when `a` is a multiple of `b`.
static bool divide_exactly(sc_exprs *exprs, const expr_poly *a, const expr_poly *b,
                           expr_poly *quotient) {
    expr_poly rest = *a;
    *quotient = (expr_poly){0};
    for (int steps = 0; rest.count && steps < 2 * EXPR_TERM_MAX; steps++) {
        int64_t q;
        const sc_expr *mono;
        if (!divide_term(exprs, rest.terms[0], b->terms[0].coefficient, b->terms[0].mono, &q,
                         &mono))
            return false;
        poly_add(quotient, q, mono);
        subtract_multiple(exprs, &rest, q, mono, b);
        if (rest.overflow || quotient->overflow) return false;
    }
    return rest.count == 0 && rest.constant == 0;
}

// Cancels common factors of all terms of numerator and divisor: (s0*s1 + s0)//(s0*s2).
static void cancel_common(sc_exprs *exprs, expr_poly *a, int64_t *coefficient,
                          const sc_expr **mono) {
    int64_t g = gcd_of_terms(a, *coefficient);
    if (*mono && a->constant) g = gcd_i64(g, a->constant);
    if (g > 1) {
        for (uint32_t i = 0; i < a->count; i++) a->terms[i].coefficient /= g;
        a->constant = sc_expr_floordiv_i64(a->constant, g);
        *coefficient /= g;
    }
    if (!*mono || a->constant) return;
    uint32_t count = (*mono)->kind == EXPR_MONO ? (*mono)->count : 1;
    const sc_expr *factors[EXPR_DEGREE_MAX];
    for (uint32_t f = 0; f < count; f++)
        factors[f] = (*mono)->kind == EXPR_MONO ? (*mono)->factors[f] : *mono;
    for (uint32_t f = 0; f < count && *mono; f++) {
        bool common = true;
        const sc_expr *left;
        for (uint32_t i = 0; common && i < a->count; i++)
            common = sc_expr_mono_div(exprs, a->terms[i].mono, factors[f], &left) && left;
        if (!common) continue;
        for (uint32_t i = 0; i < a->count; i++)
            sc_expr_mono_div(exprs, a->terms[i].mono, factors[f], &a->terms[i].mono);
        sc_expr_mono_div(exprs, *mono, factors[f], mono);
    }
}

// (x//m + k)//n is (x + k*m)//(m*n) for positive integers m and n.
static sc_dim merge_nested(sc_exprs *exprs, const expr_poly *a, sc_dim divisor) {
    const sc_expr *inner = a->count == 1 && a->terms[0].coefficient == 1 ? a->terms[0].mono : NULL;
    if (divisor.expr || divisor.value <= 0 || !inner || inner->kind != EXPR_FLOORDIV ||
        inner->args[1].expr || inner->args[1].value <= 0)
        return sc_dim_int(0);
    int64_t m = inner->args[1].value, scale = sc_expr_sat_mul(m, divisor.value);
    if (scale == SC_DIM_INF) return sc_dim_int(0);
    sc_dim shift = sc_dim_int(sc_expr_sat_mul(a->constant, m));
    return sc_dim_floordiv(exprs, sc_dim_add(exprs, inner->args[0], shift), sc_dim_int(scale));
}

static sc_dim floordiv_atom(sc_exprs *exprs, expr_poly *a, sc_dim divisor) {
    if (!a->count && (!a->constant || !divisor.expr))
        return sc_dim_int(divisor.expr ? 0 : sc_expr_floordiv_i64(a->constant, divisor.value));
    sc_dim nested = merge_nested(exprs, a, divisor);
    if (!sc_dim_is(nested, 0)) return nested;
    sc_dim numerator = sc_expr_from_poly(exprs, a, EXPR_RANGE_ALL);
    sc_range range = sc_expr_range_floordiv(sc_dim_range(numerator), sc_dim_range(divisor));
    if (range.min == range.max) return sc_dim_int(range.min);
    return sc_expr_atom(exprs, EXPR_FLOORDIV, 0, (sc_dim[]){numerator, divisor}, 2, range);
}

static void negate(expr_poly *p) {
    for (uint32_t i = 0; i < p->count; i++)
        p->terms[i].coefficient = sc_expr_sat_mul(p->terms[i].coefficient, -1);
    p->constant = sc_expr_sat_mul(p->constant, -1);
}

// The divisor is an integer or a single term.
static sc_dim floordiv_single(sc_exprs *exprs, expr_poly *a, int64_t coefficient,
                              const sc_expr *mono) {
    expr_poly whole;
    pull_out(exprs, a, coefficient, mono, &whole);
    cancel_common(exprs, a, &coefficient, &mono);
    if (coefficient < 0 && coefficient != INT64_MIN) {
        negate(a);
        coefficient = -coefficient;
    }
    expr_poly divisor_poly = {.constant = mono ? 0 : coefficient};
    if (mono) sc_expr_poly_add_term(&divisor_poly, coefficient, mono);
    sc_dim divisor = sc_expr_from_poly(exprs, &divisor_poly, EXPR_RANGE_ALL);
    // One spelling for rounding up: floor(-x / c) is -floor((x + c - 1) / c).
    bool up = !mono && a->count && a->terms[0].coefficient < 0 && coefficient > 1;
    if (up) {
        negate(a);
        a->constant = sc_expr_sat_add(a->constant, coefficient - 1);
    }
    sc_dim left = sc_dim_is(divisor, 1) ? sc_expr_from_poly(exprs, a, EXPR_RANGE_ALL)
                                        : floordiv_atom(exprs, a, divisor);
    if (up) left = sc_dim_neg(exprs, left);
    return sc_dim_add(exprs, sc_expr_from_poly(exprs, &whole, EXPR_RANGE_ALL), left);
}

sc_dim sc_dim_floordiv(sc_exprs *exprs, sc_dim a, sc_dim b) {
    if (!a.expr && !b.expr) return sc_dim_int(sc_expr_floordiv_i64(a.value, b.value));
    if (sc_dim_is(b, 0) || sc_dim_is(a, 0)) return sc_dim_int(0);
    if (sc_dim_is(b, 1)) return a;
    if (sc_dim_equal(a, b)) return sc_dim_int(1);
    exprs = sc_expr_owner(exprs, a, b);
    expr_poly pa, pb, quotient;
    sc_expr_poly_from(&pa, a);
    sc_expr_poly_from(&pb, b);
    if (!b.expr) return floordiv_single(exprs, &pa, b.value, NULL);
    if (pb.count == 1 && pb.constant == 0)
        return floordiv_single(exprs, &pa, pb.terms[0].coefficient, pb.terms[0].mono);
    if (divide_exactly(exprs, &pa, &pb, &quotient))
        return sc_expr_from_poly(exprs, &quotient, EXPR_RANGE_ALL);
    return floordiv_atom(exprs, &pa, b);
}

sc_dim sc_dim_mod(sc_exprs *exprs, sc_dim a, sc_dim b) {
    if (!a.expr && !b.expr) return sc_dim_int(sc_expr_mod_i64(a.value, b.value));
    if (sc_dim_is(b, 0) || sc_dim_is(a, 0) || sc_dim_is(b, 1) || sc_dim_is(b, -1) ||
        sc_dim_equal(a, b))
        return sc_dim_int(0);
    exprs = sc_expr_owner(exprs, a, b);
    expr_poly pa, whole;
    sc_expr_poly_from(&pa, a);
    if (!b.expr) {
        pull_out(exprs, &pa, b.value, NULL, &whole);
    } else if (is_single(b)) {
        pull_out(exprs, &pa, 1, b.expr, &whole);
    } else {
        expr_poly pb;
        sc_expr_poly_from(&pb, b);
        if (divide_exactly(exprs, &pa, &pb, &whole)) return sc_dim_int(0);
    }
    sc_dim rest = sc_expr_from_poly(exprs, &pa, EXPR_RANGE_ALL);
    if (!rest.expr && !b.expr) return sc_dim_int(sc_expr_mod_i64(rest.value, b.value));
    if (sc_dim_is(rest, 0)) return rest;
    sc_dim last = sc_dim_sub(exprs, b, sc_dim_int(1));
    if (sc_dim_range(rest).min >= 0 && sc_dim_known_le(rest, last) == SC_TRI_TRUE) return rest;
    sc_range range = sc_expr_range_mod(sc_dim_range(rest), sc_dim_range(b));
    return sc_expr_atom(exprs, EXPR_MOD, 0, (sc_dim[]){rest, b}, 2, range);
}

// --- Extrema -------------------------------------------------------------------------------------

typedef struct operand_list {
    expr_kind kind;
    uint32_t count;
    sc_dim items[EXPR_OPERAND_MAX];
} operand_list;

// True if `winner` makes `loser` superfluous.
static bool dominates(expr_kind kind, sc_dim winner, sc_dim loser) {
    return kind == EXPR_MAX ? sc_dim_known_le(loser, winner) == SC_TRI_TRUE
                            : sc_dim_known_le(winner, loser) == SC_TRI_TRUE;
}

static bool add_operand(operand_list *list, sc_dim d) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (dominates(list->kind, list->items[i], d)) return true;
    for (uint32_t i = 0; i < list->count; i++)
        if (!dominates(list->kind, d, list->items[i])) list->items[kept++] = list->items[i];
    list->count = kept;
    if (kept == EXPR_OPERAND_MAX) return false;
    uint32_t at = kept;
    while (at > 0 && sc_expr_compare_dims(d, list->items[at - 1]) < 0) {
        list->items[at] = list->items[at - 1];
        at--;
    }
    list->items[at] = d;
    list->count++;
    return true;
}

static bool add_operands(operand_list *list, sc_dim d) {
    if (!d.expr || d.expr->kind != list->kind) return add_operand(list, d);
    for (uint32_t i = 0; i < d.expr->count; i++)
        if (!add_operand(list, d.expr->args[i])) return false;
    return true;
}

static sc_dim extremum(sc_exprs *exprs, expr_kind kind, sc_dim a, sc_dim b) {
    bool max = kind == EXPR_MAX;
    if (!a.expr && !b.expr) return (a.value < b.value) == max ? b : a;
    exprs = sc_expr_owner(exprs, a, b);
    operand_list list = {.kind = kind};
    bool fits = add_operands(&list, a) && add_operands(&list, b);
    if (fits && list.count == 1) return list.items[0];
    sc_range ra = sc_dim_range(a), rb = sc_dim_range(b);
    sc_range range = max ? (sc_range){sc_max_i64(ra.min, rb.min), sc_max_i64(ra.max, rb.max)}
                         : (sc_range){sc_min_i64(ra.min, rb.min), sc_min_i64(ra.max, rb.max)};
    return fits ? sc_expr_atom(exprs, kind, 0, list.items, list.count, range)
                : sc_exprs_fresh(exprs, range);
}

sc_dim sc_dim_min(sc_exprs *exprs, sc_dim a, sc_dim b) { return extremum(exprs, EXPR_MIN, a, b); }

sc_dim sc_dim_max(sc_exprs *exprs, sc_dim a, sc_dim b) { return extremum(exprs, EXPR_MAX, a, b); }

// --- Powers, choice, comparison ------------------------------------------------------------------

sc_dim sc_dim_pow(sc_exprs *exprs, sc_dim a, sc_dim exponent) {
    if (!a.expr && !exponent.expr) return sc_dim_int(sc_expr_pow_i64(a.value, exponent.value));
    if (sc_dim_is(a, 1) || sc_dim_is(a, 0))
        return sc_dim_is(a, 1) ? a : sc_dim_compare(exprs, SC_CMP_EQ, exponent, a);
    exprs = sc_expr_owner(exprs, a, exponent);
    if (!exponent.expr && exponent.value <= EXPR_DEGREE_MAX) {
        sc_dim product = sc_dim_int(1);
        for (int64_t i = 0; i < exponent.value; i++) product = sc_dim_mul(exprs, product, a);
        return product;
    }
    sc_range range = sc_expr_range_pow(sc_dim_range(a), sc_dim_range(exponent));
    return sc_expr_atom(exprs, EXPR_POW, 0, (sc_dim[]){a, exponent}, 2, range);
}

sc_dim sc_dim_where(sc_exprs *exprs, sc_dim cond, sc_dim a, sc_dim b) {
    if (!cond.expr) return cond.value ? a : b;
    if (sc_dim_equal(a, b)) return a;
    sc_range ra = sc_dim_range(a), rb = sc_dim_range(b);
    sc_range range = {sc_min_i64(ra.min, rb.min), sc_max_i64(ra.max, rb.max)};
    return sc_expr_atom(sc_expr_owner(exprs, cond, a), EXPR_WHERE, 0, (sc_dim[]){cond, a, b}, 3,
                        range);
}

// p <= limit, p == limit or p != limit, with the constant moved right and common factors divided
// out.
static sc_dim compare_normal(sc_exprs *exprs, sc_cmp cmp, sc_dim difference) {
    expr_poly p;
    sc_expr_poly_from(&p, difference);
    int64_t limit = sc_expr_sat_mul(p.constant, -1);
    p.constant = 0;
    int64_t g = gcd_of_terms(&p, 0);
    bool flip = cmp != SC_CMP_LE && p.terms[0].coefficient < 0;
    if (cmp != SC_CMP_LE && limit % g != 0) return sc_dim_int(cmp == SC_CMP_NE);
    limit = sc_expr_sat_mul(sc_expr_floordiv_i64(limit, g), flip ? -1 : 1);
    for (uint32_t i = 0; i < p.count; i++)
        p.terms[i].coefficient = sc_expr_sat_mul(p.terms[i].coefficient / g, flip ? -1 : 1);
    sc_dim left = sc_expr_from_poly(exprs, &p, EXPR_RANGE_ALL);
    return sc_expr_atom(exprs, EXPR_COMPARE, cmp, (sc_dim[]){left, sc_dim_int(limit)}, 2,
                        (sc_range){0, 1});
}

sc_dim sc_dim_compare(sc_exprs *exprs, sc_cmp cmp, sc_dim a, sc_dim b) {
    exprs = sc_expr_owner(exprs, a, b);
    switch (cmp) {
    case SC_CMP_GT: return sc_dim_compare(exprs, SC_CMP_LT, b, a);
    case SC_CMP_GE: return sc_dim_compare(exprs, SC_CMP_LE, b, a);
    case SC_CMP_LT:
        // Infinity has no successor.
        if (!a.expr && !b.expr) return sc_dim_int(a.value < b.value);
        return sc_dim_compare(exprs, SC_CMP_LE, sc_dim_add(exprs, a, sc_dim_int(1)), b);
    case SC_CMP_LE: {
        sc_tri known = sc_dim_known_le(a, b);
        if (known != SC_TRI_UNKNOWN) return sc_dim_int(known == SC_TRI_TRUE);
        break;
    }
    default: {
        sc_tri known = sc_dim_known_equal(a, b);
        if (known != SC_TRI_UNKNOWN)
            return sc_dim_int((known == SC_TRI_TRUE) == (cmp == SC_CMP_EQ));
        break;
    }
    }
    sc_dim difference = sc_dim_sub(exprs, a, b);
    if (!difference.expr)
        return sc_dim_int(cmp == SC_CMP_LE   ? difference.value <= 0
                          : cmp == SC_CMP_EQ ? difference.value == 0
                                             : difference.value != 0);
    return compare_normal(exprs, cmp, difference);
}

sc_tri sc_dim_known_equal(sc_dim a, sc_dim b) {
    if (sc_dim_equal(a, b)) return SC_TRI_TRUE;
    if (!a.expr && !b.expr) return SC_TRI_FALSE;
    sc_range range = sc_dim_range(sc_dim_sub(NULL, a, b));
    if (range.min > 0 || range.max < 0) return SC_TRI_FALSE;
    return range.min == 0 && range.max == 0 ? SC_TRI_TRUE : SC_TRI_UNKNOWN;
}

sc_tri sc_dim_known_le(sc_dim a, sc_dim b) {
    if (!a.expr && !b.expr) return a.value <= b.value ? SC_TRI_TRUE : SC_TRI_FALSE;
    sc_range range = sc_dim_range(sc_dim_sub(NULL, b, a));
    if (range.min >= 0) return SC_TRI_TRUE;
    return range.max < 0 ? SC_TRI_FALSE : SC_TRI_UNKNOWN;
}
