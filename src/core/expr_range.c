// Intervals, hints and values of expressions. Intervals are inclusive with INT64_MIN and INT64_MAX
// as the infinities; every bound is sound, not always tight.
#include "core/expr.h"

static sc_range hull(int64_t a, int64_t b, int64_t c, int64_t d) {
    return (sc_range){sc_min_i64(sc_min_i64(a, b), sc_min_i64(c, d)),
                      sc_max_i64(sc_max_i64(a, b), sc_max_i64(c, d))};
}

sc_range sc_expr_range_add(sc_range a, sc_range b) {
    return (sc_range){sc_expr_sat_add(a.min, b.min), sc_expr_sat_add(a.max, b.max)};
}

sc_range sc_expr_range_mul(sc_range a, sc_range b) {
    return hull(sc_expr_sat_mul(a.min, b.min), sc_expr_sat_mul(a.min, b.max),
                sc_expr_sat_mul(a.max, b.min), sc_expr_sat_mul(a.max, b.max));
}

static int64_t floordiv_bound(int64_t a, int64_t b) {
    if (b == SC_DIM_INF || b == SC_DIM_NEG_INF) return a != 0 && (a < 0) != (b < 0) ? -1 : 0;
    return sc_expr_floordiv_i64(a, b);
}

sc_range sc_expr_range_floordiv(sc_range a, sc_range b) {
    if (b.min <= 0 && b.max >= 0) {
        // A zero divisor is the caller's error. So only non-negative operands give a bound.
        return a.min >= 0 && b.min >= 0 ? (sc_range){0, a.max} : EXPR_RANGE_ALL;
    }
    return hull(floordiv_bound(a.min, b.min), floordiv_bound(a.min, b.max),
                floordiv_bound(a.max, b.min), floordiv_bound(a.max, b.max));
}

sc_range sc_expr_range_mod(sc_range a, sc_range b) {
    if (b.min == b.max && b.min > 0 && b.min != SC_DIM_INF && a.min != SC_DIM_NEG_INF &&
        a.max != SC_DIM_INF &&
        sc_expr_floordiv_i64(a.min, b.min) == sc_expr_floordiv_i64(a.max, b.min))
        return (sc_range){sc_expr_mod_i64(a.min, b.min), sc_expr_mod_i64(a.max, b.min)};
    sc_range range = {0, 0};
    if (b.max > 0) range.max = b.max == SC_DIM_INF ? SC_DIM_INF : b.max - 1;
    if (b.min < 0) range.min = b.min == SC_DIM_NEG_INF ? SC_DIM_NEG_INF : b.min + 1;
    if (a.min >= 0 && b.min >= 0) range.max = sc_min_i64(range.max, a.max);
    return range;
}

sc_range sc_expr_range_pow(sc_range a, sc_range b) {
    if (b.min < 0) return EXPR_RANGE_ALL;
    if (a.min >= 0)
        return (sc_range){a.min == 0 ? 0 : sc_expr_pow_i64(a.min, b.min),
                          sc_expr_pow_i64(a.max, b.max)};
    int64_t most = sc_expr_pow_i64(sc_max_i64(sc_expr_sat_mul(a.min, -1), a.max), b.max);
    return (sc_range){sc_expr_sat_mul(most, -1), most};
}

static sc_range range_compare(const sc_expr *e) {
    sc_range p = sc_dim_range(e->args[0]);
    int64_t limit = e->args[1].value;
    sc_tri known = SC_TRI_UNKNOWN;
    if (e->cmp == SC_CMP_LE) {
        known = p.max <= limit ? SC_TRI_TRUE : p.min > limit ? SC_TRI_FALSE : SC_TRI_UNKNOWN;
    } else if (p.min > limit || p.max < limit) {
        known = e->cmp == SC_CMP_NE ? SC_TRI_TRUE : SC_TRI_FALSE;
    } else if (p.min == p.max) {
        known = e->cmp == SC_CMP_EQ ? SC_TRI_TRUE : SC_TRI_FALSE;
    }
    return (sc_range){known == SC_TRI_TRUE, known != SC_TRI_FALSE};
}

static sc_range range_mono(const sc_expr *e) {
    sc_range range = {1, 1};
    for (uint32_t i = 0; i < e->count;) {
        uint32_t power = 1;
        while (i + power < e->count && e->factors[i + power] == e->factors[i]) power++;
        sc_range factor = sc_dim_range((sc_dim){0, e->factors[i]});
        sc_range raised = {1, 1};
        for (uint32_t k = 0; k < power; k++) raised = sc_expr_range_mul(raised, factor);
        if (power % 2 == 0) raised.min = sc_max_i64(raised.min, 0);
        range = sc_expr_range_mul(range, raised);
        i += power;
    }
    return range;
}

static sc_range range_extremum(const sc_expr *e) {
    sc_range range = sc_dim_range(e->args[0]);
    for (uint32_t i = 1; i < e->count; i++) {
        sc_range r = sc_dim_range(e->args[i]);
        range = e->kind == EXPR_MAX
                    ? (sc_range){sc_max_i64(range.min, r.min), sc_max_i64(range.max, r.max)}
                    : (sc_range){sc_min_i64(range.min, r.min), sc_min_i64(range.max, r.max)};
    }
    return range;
}

sc_range sc_dim_range(sc_dim d) {
    if (!d.expr) return (sc_range){d.value, d.value};
    const sc_expr *e = d.expr;
    switch ((expr_kind)e->kind) {
    case EXPR_SYMBOL: return e->symbol->symbol.range;
    case EXPR_FLOORDIV:
        return sc_expr_range_floordiv(sc_dim_range(e->args[0]), sc_dim_range(e->args[1]));
    case EXPR_MOD: return sc_expr_range_mod(sc_dim_range(e->args[0]), sc_dim_range(e->args[1]));
    case EXPR_POW: return sc_expr_range_pow(sc_dim_range(e->args[0]), sc_dim_range(e->args[1]));
    case EXPR_MIN:
    case EXPR_MAX: return range_extremum(e);
    case EXPR_WHERE: {
        sc_range a = sc_dim_range(e->args[1]), b = sc_dim_range(e->args[2]);
        return (sc_range){sc_min_i64(a.min, b.min), sc_max_i64(a.max, b.max)};
    }
    case EXPR_COMPARE: return range_compare(e);
    case EXPR_MONO: return range_mono(e);
    case EXPR_SUM: break;
    }
    sc_range sum = {e->constant, e->constant};
    for (uint32_t i = 0; i < e->count; i++) {
        sc_range k = {e->terms[i].coefficient, e->terms[i].coefficient};
        sum = sc_expr_range_add(sum,
                                sc_expr_range_mul(k, sc_dim_range((sc_dim){0, e->terms[i].mono})));
    }
    return sum;
}

// --- Values --------------------------------------------------------------------------------------

typedef struct evaluation {
    const int64_t *values;  // by symbol index; NULL: hints
    bool complete;
} evaluation;

static int64_t eval_compare(sc_cmp cmp, int64_t a, int64_t b) {
    return cmp == SC_CMP_LE ? a <= b : cmp == SC_CMP_EQ ? a == b : a != b;
}

static int64_t eval(evaluation *ev, sc_dim d);

static int64_t eval_symbol(evaluation *ev, const symbol_record *record) {
    if (ev->values) return ev->values[record->index];
    ev->complete = ev->complete && record->symbol.has_hint;
    return record->symbol.hint;
}

static int64_t eval_many(evaluation *ev, const sc_expr *e) {
    int64_t result = e->kind == EXPR_MONO  ? 1
                     : e->kind == EXPR_SUM ? e->constant
                                           : eval(ev, e->args[0]);
    for (uint32_t i = 0; i < e->count; i++) {
        if (e->kind == EXPR_MONO) {
            result = sc_expr_sat_mul(result, eval(ev, (sc_dim){0, e->factors[i]}));
        } else if (e->kind == EXPR_SUM) {
            int64_t term = eval(ev, (sc_dim){0, e->terms[i].mono});
            result = sc_expr_sat_add(result, sc_expr_sat_mul(e->terms[i].coefficient, term));
        } else {
            int64_t item = eval(ev, e->args[i]);
            result = e->kind == EXPR_MAX ? sc_max_i64(result, item) : sc_min_i64(result, item);
        }
    }
    return result;
}

static int64_t eval(evaluation *ev, sc_dim d) {
    if (!d.expr) return d.value;
    const sc_expr *e = d.expr;
    switch ((expr_kind)e->kind) {
    case EXPR_SYMBOL: return eval_symbol(ev, e->symbol);
    case EXPR_FLOORDIV: return sc_expr_floordiv_i64(eval(ev, e->args[0]), eval(ev, e->args[1]));
    case EXPR_MOD: return sc_expr_mod_i64(eval(ev, e->args[0]), eval(ev, e->args[1]));
    case EXPR_POW: return sc_expr_pow_i64(eval(ev, e->args[0]), eval(ev, e->args[1]));
    case EXPR_WHERE: return eval(ev, e->args[0]) ? eval(ev, e->args[1]) : eval(ev, e->args[2]);
    case EXPR_COMPARE:
        return eval_compare((sc_cmp)e->cmp, eval(ev, e->args[0]), eval(ev, e->args[1]));
    default: return eval_many(ev, e);
    }
}

bool sc_dim_hint(sc_dim d, int64_t *out) {
    evaluation ev = {.values = NULL, .complete = true};
    *out = eval(&ev, d);
    return ev.complete;
}

int64_t sc_dim_eval(SC_UNUSED const sc_exprs *exprs, sc_dim d, const int64_t *symbol_values) {
    evaluation ev = {.values = symbol_values, .complete = true};
    return eval(&ev, d);
}
