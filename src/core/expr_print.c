// Prints expressions, and gives the tree of binary operations that the emitter computes at run
// time. The text is canonical and parses back to the same expression.
#include "core/expr.h"

static void print_expr(sc_sb *sb, const sc_expr *e);

// Prints an operand of a product or quotient: sums get parentheses.
static void print_operand(sc_sb *sb, sc_dim d) {
    bool wrap = d.expr ? d.expr->kind == EXPR_SUM || d.expr->kind == EXPR_MONO : d.value < 0;
    if (wrap) sc_sb_add_char(sb, '(');
    sc_dim_print(sb, d);
    if (wrap) sc_sb_add_char(sb, ')');
}

static void print_call(sc_sb *sb, const char *name, const sc_expr *e) {
    sc_sb_add_text(sb, name);
    sc_sb_add_char(sb, '(');
    for (uint32_t i = 0; i < e->count; i++) {
        if (i) sc_sb_add_text(sb, ", ");
        sc_dim_print(sb, e->args[i]);
    }
    sc_sb_add_char(sb, ')');
}

static void print_infix(sc_sb *sb, sc_dim a, const char *operator, sc_dim b) {
    sc_sb_add_char(sb, '(');
    print_operand(sb, a);
    sc_sb_add_text(sb, operator);
    print_operand(sb, b);
    sc_sb_add_char(sb, ')');
}

static void print_mono(sc_sb *sb, const sc_expr *e) {
    for (uint32_t i = 0; i < e->count;) {
        uint32_t power = 1;
        while (i + power < e->count && e->factors[i + power] == e->factors[i]) power++;
        if (i) sc_sb_add_char(sb, '*');
        print_expr(sb, e->factors[i]);
        if (power > 1) {
            sc_sb_add_text(sb, "**");
            sc_sb_add_i64(sb, power);
        }
        i += power;
    }
}

static void print_term(sc_sb *sb, int64_t coefficient, const sc_expr *mono, bool first) {
    bool negative = coefficient < 0;
    if (first)
        sc_sb_add_text(sb, negative ? "-" : "");
    else
        sc_sb_add_text(sb, negative ? " - " : " + ");
    if (mono && (coefficient == 1 || coefficient == -1)) {
        print_expr(sb, mono);
        return;
    }
    sc_sb_add_i64(sb, negative ? -coefficient : coefficient);
    if (mono) {
        sc_sb_add_char(sb, '*');
        print_expr(sb, mono);
    }
}

static void print_sum(sc_sb *sb, const sc_expr *e) {
    for (uint32_t i = 0; i < e->count; i++)
        print_term(sb, e->terms[i].coefficient, e->terms[i].mono, i == 0);
    if (e->constant) print_term(sb, e->constant, NULL, false);
}

static void print_compare(sc_sb *sb, const sc_expr *e) {
    if (e->cmp != SC_CMP_LE) {
        print_call(sb, e->cmp == SC_CMP_EQ ? "Eq" : "Ne", e);
        return;
    }
    // -u0 <= 0 reads better as u0 >= 0.
    expr_poly p;
    sc_expr_poly_from(&p, e->args[0]);
    bool negative = true;
    for (uint32_t i = 0; i < p.count; i++) negative = negative && p.terms[i].coefficient < 0;
    sc_sb_add_char(sb, '(');
    sc_dim_print(sb, negative ? sc_dim_neg(e->owner, e->args[0]) : e->args[0]);
    sc_sb_add_text(sb, negative ? " >= " : " <= ");
    sc_sb_add_i64(sb, negative ? sc_expr_sat_mul(e->args[1].value, -1) : e->args[1].value);
    sc_sb_add_char(sb, ')');
}

static void print_expr(sc_sb *sb, const sc_expr *e) {
    switch ((expr_kind)e->kind) {
    case EXPR_SYMBOL: sc_sb_add(sb, sc_name_str(e->symbol->symbol.name)); break;
    case EXPR_FLOORDIV: print_infix(sb, e->args[0], "//", e->args[1]); break;
    case EXPR_MOD: print_call(sb, "Mod", e); break;
    case EXPR_POW: print_infix(sb, e->args[0], "**", e->args[1]); break;
    case EXPR_MIN: print_call(sb, "Min", e); break;
    case EXPR_MAX: print_call(sb, "Max", e); break;
    case EXPR_WHERE: print_call(sb, "Where", e); break;
    case EXPR_COMPARE: print_compare(sb, e); break;
    case EXPR_MONO: print_mono(sb, e); break;
    case EXPR_SUM: print_sum(sb, e); break;
    }
}

void sc_dim_print(sc_sb *sb, sc_dim d) {
    if (d.expr)
        print_expr(sb, d.expr);
    else
        sc_sb_add_i64(sb, d.value);
}

// --- The tree ------------------------------------------------------------------------------------

static sc_expr_view binary(sc_expr_op op, sc_dim a, sc_dim b) {
    return (sc_expr_view){.op = op, .args = {a, b}};
}

static sc_expr_view view_mono(sc_exprs *exprs, const sc_expr *e) {
    sc_dim rest = sc_dim_int(1);
    for (uint32_t i = 0; i + 1 < e->count; i++)
        rest = sc_dim_mul(exprs, rest, (sc_dim){0, e->factors[i]});
    return binary(SC_EXPR_MUL, rest, (sc_dim){0, e->factors[e->count - 1]});
}

// Takes one part off a sum. A negative part is subtracted, so that no product with -1 is needed
// unless every part is negative.
static sc_expr_view view_sum(sc_exprs *exprs, sc_dim d) {
    expr_poly p;
    sc_expr_poly_from(&p, d);
    if (p.constant) {
        sc_dim rest = sc_dim_sub(exprs, d, sc_dim_int(p.constant));
        bool minus = p.constant < 0;
        return binary(minus ? SC_EXPR_SUB : SC_EXPR_ADD, rest,
                      sc_dim_int(minus ? -p.constant : p.constant));
    }
    if (p.count == 1)
        return binary(SC_EXPR_MUL, sc_dim_int(p.terms[0].coefficient),
                      (sc_dim){0, p.terms[0].mono});
    uint32_t at = p.count - 1;
    for (uint32_t i = 0; i < p.count; i++)
        if (p.terms[i].coefficient < 0) at = i;
    sc_dim part =
        sc_dim_mul(exprs, sc_dim_int(p.terms[at].coefficient), (sc_dim){0, p.terms[at].mono});
    sc_dim rest = sc_dim_sub(exprs, d, part);
    if (p.terms[at].coefficient < 0) return binary(SC_EXPR_SUB, rest, sc_dim_neg(exprs, part));
    return binary(SC_EXPR_ADD, rest, part);
}

static sc_expr_view view_extremum(sc_exprs *exprs, const sc_expr *e) {
    bool max = e->kind == EXPR_MAX;
    sc_dim rest = e->args[0];
    for (uint32_t i = 1; i + 1 < e->count; i++)
        rest = max ? sc_dim_max(exprs, rest, e->args[i]) : sc_dim_min(exprs, rest, e->args[i]);
    return binary(max ? SC_EXPR_MAX : SC_EXPR_MIN, rest, e->args[e->count - 1]);
}

sc_expr_view sc_dim_view(sc_exprs *exprs, sc_dim d) {
    if (!d.expr) return (sc_expr_view){.op = SC_EXPR_INT, .value = d.value};
    const sc_expr *e = d.expr;
    exprs = sc_expr_owner(exprs, d, d);
    switch ((expr_kind)e->kind) {
    case EXPR_SYMBOL: return (sc_expr_view){.op = SC_EXPR_SYMBOL, .symbol = &e->symbol->symbol};
    case EXPR_FLOORDIV: return binary(SC_EXPR_FLOORDIV, e->args[0], e->args[1]);
    case EXPR_MOD: return binary(SC_EXPR_MOD, e->args[0], e->args[1]);
    case EXPR_POW: return binary(SC_EXPR_POW, e->args[0], e->args[1]);
    case EXPR_MIN:
    case EXPR_MAX: return view_extremum(exprs, e);
    case EXPR_WHERE:
        return (sc_expr_view){.op = SC_EXPR_WHERE, .args = {e->args[0], e->args[1], e->args[2]}};
    case EXPR_COMPARE:
        return (sc_expr_view){
            .op = SC_EXPR_COMPARE, .cmp = (sc_cmp)e->cmp, .args = {e->args[0], e->args[1]}};
    case EXPR_MONO: return view_mono(exprs, e);
    case EXPR_SUM: return view_sum(exprs, d);
    }
    return (sc_expr_view){.op = SC_EXPR_INT, .value = 0};
}
