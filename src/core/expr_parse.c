// Parses expressions. sympy's srepr ("Add(Symbol('s0', ...), Integer(1))") and Python's infix ("s0
// + 1") are one grammar, in which names before '(' are calls and other names are symbols. Values
// are quotients while parsing, because exporters divide exactly where we divide whole numbers. A
// result that is still a fraction is refused. Depth and length are bounded by ctx->limits.
#include <math.h>

#include "core/expr.h"

enum { ARG_MAX = 4 };

typedef struct quotient {
    sc_dim num, den;  // den is 1 for whole numbers
} quotient;

typedef struct parser {
    sc_ctx *ctx;
    sc_exprs *exprs;
    sc_str text;
    size_t at;
    uint32_t depth;
    uint64_t nodes;
} parser;

static sc_status parse_level(parser *p, int level, quotient *out);

// --- Text ----------------------------------------------------------------------------------------

static sc_status bad(parser *p, const char *wanted) {
    sc_str shown = sc_str_slice(p->text, 0, p->text.size < 80 ? p->text.size : 80);
    return sc_fail(p->ctx, SC_ERR_FORMAT, NULL,
                   "symbolic expression '" SC_STR_FMT "': expected %s at byte %zu",
                   SC_STR_ARG(shown), wanted, p->at);
}

static sc_status unsupported(parser *p, sc_str what) {
    sc_str shown = sc_str_slice(what, 0, what.size < 60 ? what.size : 60);
    return sc_fail(p->ctx, SC_ERR_UNSUPPORTED,
                   "Change the model so that this size is computed with whole numbers.",
                   "symbolic expression: " SC_STR_FMT " has no integer meaning", SC_STR_ARG(shown));
}

static char peek(parser *p) {
    while (p->at < p->text.size && (p->text.data[p->at] == ' ' || p->text.data[p->at] == '\n'))
        p->at++;
    return p->at < p->text.size ? p->text.data[p->at] : '\0';
}

static bool take(parser *p, const char *token) {
    peek(p);
    if (!sc_str_starts_with(sc_str_slice(p->text, p->at, p->text.size), token)) return false;
    p->at += strlen(token);
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static sc_str take_name(parser *p) {
    size_t begin = p->at;
    while (p->at < p->text.size &&
           (is_letter(p->text.data[p->at]) || is_digit(p->text.data[p->at])))
        p->at++;
    return sc_str_slice(p->text, begin, p->at);
}

static bool take_string(parser *p, sc_str *out) {
    char quote = peek(p);
    if (quote != '\'' && quote != '"') return false;
    size_t begin = ++p->at;
    while (p->at < p->text.size && p->text.data[p->at] != quote) p->at++;
    if (p->at == p->text.size) return false;
    *out = sc_str_slice(p->text, begin, p->at++);
    return true;
}

// --- Quotients -----------------------------------------------------------------------------------

static quotient whole(sc_dim d) { return (quotient){d, sc_dim_int(1)}; }

static quotient truth(bool value) { return whole(sc_dim_int(value)); }

static bool is_whole(quotient q) { return sc_dim_is(q.den, 1); }

static quotient reduce(parser *p, sc_dim num, sc_dim den) {
    if (sc_dim_is(den, 1) || !sc_dim_is(sc_dim_mod(p->exprs, num, den), 0))
        return (quotient){num, den};
    return whole(sc_dim_floordiv(p->exprs, num, den));
}

static quotient add(parser *p, quotient a, quotient b) {
    sc_exprs *e = p->exprs;
    if (sc_dim_equal(a.den, b.den)) return reduce(p, sc_dim_add(e, a.num, b.num), a.den);
    sc_dim num = sc_dim_add(e, sc_dim_mul(e, a.num, b.den), sc_dim_mul(e, b.num, a.den));
    return reduce(p, num, sc_dim_mul(e, a.den, b.den));
}

static quotient multiply(parser *p, quotient a, quotient b) {
    sc_dim num = sc_dim_mul(p->exprs, a.num, b.num);
    return reduce(p, num, sc_dim_mul(p->exprs, a.den, b.den));
}

static quotient negate(parser *p, quotient a) {
    return (quotient){sc_dim_neg(p->exprs, a.num), a.den};
}

static sc_status divide(parser *p, quotient a, quotient b, quotient *out) {
    if (sc_dim_is(b.num, 0)) return bad(p, "a divisor other than zero");
    sc_dim num = sc_dim_mul(p->exprs, a.num, b.den), den = sc_dim_mul(p->exprs, a.den, b.num);
    if (!den.expr && den.value < 0) {
        num = sc_dim_neg(p->exprs, num);
        den = sc_dim_neg(p->exprs, den);
    }
    *out = reduce(p, num, den);
    return SC_OK;
}

static sc_status power(parser *p, quotient base, quotient exponent, quotient *out) {
    if (!is_whole(exponent)) return unsupported(p, SC_STR("a fractional power"));
    if (!exponent.num.expr && exponent.num.value < 0) {
        SC_TRY(divide(p, whole(sc_dim_int(1)), base, &base));
        exponent.num = sc_dim_int(sc_expr_sat_mul(exponent.num.value, -1));
    }
    *out = reduce(p, sc_dim_pow(p->exprs, base.num, exponent.num),
                  sc_dim_pow(p->exprs, base.den, exponent.num));
    return SC_OK;
}

static sc_dim floor_of(parser *p, quotient q) {
    return is_whole(q) ? q.num : sc_dim_floordiv(p->exprs, q.num, q.den);
}

static sc_dim ceil_of(parser *p, quotient q) {
    return sc_dim_neg(p->exprs, floor_of(p, negate(p, q)));
}

// Rounds toward zero, like the floor, unless the value may be negative.
static sc_dim trunc_of(parser *p, quotient q) {
    if (is_whole(q)) return q.num;
    sc_dim positive = sc_dim_compare(p->exprs, SC_CMP_GE, q.num, sc_dim_int(0));
    return sc_dim_where(p->exprs, positive, floor_of(p, q), ceil_of(p, q));
}

// Reads a decimal with a short binary expansion as a quotient.
static sc_status from_double(parser *p, sc_str text, quotient *out) {
    double value;
    int64_t den = 1;
    if (!sc_parse_f64(text, &value) || isnan(value)) return bad(p, "a number");
    if (isinf(value)) {
        *out = whole(sc_dim_int(value > 0 ? SC_DIM_INF : SC_DIM_NEG_INF));
        return SC_OK;
    }
    while (value != floor(value) && den < (1 << 30)) {
        value *= 2;
        den *= 2;
    }
    if (value != floor(value) || fabs(value) > 0x1p62) return unsupported(p, text);
    *out = reduce(p, sc_dim_int((int64_t)value), sc_dim_int(den));
    return SC_OK;
}

static sc_status take_number(parser *p, quotient *out) {
    size_t begin = p->at;
    bool is_float = false;
    while (p->at < p->text.size) {
        char c = p->text.data[p->at];
        bool exponent = c == 'e' || c == 'E';
        if (!is_digit(c) && c != '.' && !exponent) break;
        is_float = is_float || c == '.' || exponent;
        p->at++;
        if (exponent && p->at < p->text.size &&
            (p->text.data[p->at] == '+' || p->text.data[p->at] == '-'))
            p->at++;
    }
    sc_str text = sc_str_slice(p->text, begin, p->at);
    int64_t value;
    if (is_float) return from_double(p, text, out);
    // Beyond 64 bits a bound means "no bound".
    *out = whole(sc_dim_int(sc_parse_i64(text, &value) ? value : SC_DIM_INF));
    return SC_OK;
}

// --- Calls ---------------------------------------------------------------------------------------

typedef enum call_kind {
    CALL_ADD,
    CALL_MUL,
    CALL_MAX,
    CALL_MIN,
    CALL_AND,
    CALL_OR,  // the operation takes any number of operands
    CALL_FIXED
} call_kind;

typedef sc_status (*call_fn)(parser *p, const quotient *args, int variant, quotient *out);

static sc_status fn_floordiv(parser *p, const quotient *a, SC_UNUSED int variant, quotient *out) {
    SC_TRY(divide(p, a[0], a[1], out));
    *out = whole(floor_of(p, *out));
    return SC_OK;
}

static sc_status fn_ceildiv(parser *p, const quotient *a, SC_UNUSED int variant, quotient *out) {
    SC_TRY(divide(p, a[0], a[1], out));
    *out = whole(ceil_of(p, *out));
    return SC_OK;
}

static sc_status fn_truediv(parser *p, const quotient *a, SC_UNUSED int variant, quotient *out) {
    return divide(p, a[0], a[1], out);
}

static sc_status need_whole(parser *p, const quotient *args, int count) {
    for (int i = 0; i < count; i++)
        if (!is_whole(args[i])) return unsupported(p, SC_STR("a fraction"));
    return SC_OK;
}

static sc_status fn_mod(parser *p, const quotient *a, SC_UNUSED int variant, quotient *out) {
    SC_TRY(need_whole(p, a, 2));
    if (sc_dim_is(a[1].num, 0)) return bad(p, "a divisor other than zero");
    *out = whole(sc_dim_mod(p->exprs, a[0].num, a[1].num));
    return SC_OK;
}

static sc_status fn_modular(parser *p, const quotient *a, int variant, quotient *out) {
    quotient pair[2] = {{.den = {1, NULL}}, a[2]};
    SC_TRY(fn_floordiv(p, a, variant, &pair[0]));
    return fn_mod(p, pair, variant, out);
}

static sc_status fn_power(parser *p, const quotient *a, SC_UNUSED int variant, quotient *out) {
    return power(p, a[0], a[1], out);
}

// 'l' and 'r': shifts, by powers of two.
static sc_status fn_shift(parser *p, const quotient *a, int variant, quotient *out) {
    quotient factor;
    SC_TRY(need_whole(p, a, 2));
    SC_TRY(power(p, whole(sc_dim_int(2)), a[1], &factor));
    SC_TRY(need_whole(p, &factor, 1));
    *out = whole(variant == 'l' ? sc_dim_mul(p->exprs, a[0].num, factor.num)
                                : sc_dim_floordiv(p->exprs, a[0].num, factor.num));
    return SC_OK;
}

static sc_status fn_where(parser *p, const quotient *a, SC_UNUSED int variant, quotient *out) {
    SC_TRY(need_whole(p, a, 3));
    *out = whole(sc_dim_where(p->exprs, a[0].num, a[1].num, a[2].num));
    return SC_OK;
}

static sc_status fn_round(parser *p, const quotient *a, int variant, quotient *out) {
    if (variant == 'r') SC_TRY(need_whole(p, a, 1));
    *out = whole(variant == 'f'   ? floor_of(p, a[0])
                 : variant == 'c' ? ceil_of(p, a[0])
                                  : trunc_of(p, a[0]));
    return SC_OK;
}

static sc_status fn_same(SC_UNUSED parser *p, const quotient *a, SC_UNUSED int variant,
                         quotient *out) {
    *out = a[0];
    return SC_OK;
}

static sc_status fn_abs(parser *p, const quotient *a, SC_UNUSED int variant, quotient *out) {
    SC_TRY(need_whole(p, a, 1));
    *out = whole(sc_dim_max(p->exprs, a[0].num, sc_dim_neg(p->exprs, a[0].num)));
    return SC_OK;
}

static sc_status fn_compare(parser *p, const quotient *a, int cmp, quotient *out) {
    // Denominators are positive, so they can be multiplied across.
    sc_dim left = sc_dim_mul(p->exprs, a[0].num, a[1].den);
    sc_dim right = sc_dim_mul(p->exprs, a[1].num, a[0].den);
    *out = whole(sc_dim_compare(p->exprs, (sc_cmp)cmp, left, right));
    return SC_OK;
}

static sc_status fn_not(parser *p, const quotient *a, SC_UNUSED int variant, quotient *out) {
    SC_TRY(need_whole(p, a, 1));
    *out = whole(sc_dim_compare(p->exprs, SC_CMP_EQ, a[0].num, sc_dim_int(0)));
    return SC_OK;
}

static sc_status fn_infinity(SC_UNUSED parser *p, SC_UNUSED const quotient *a, int variant,
                             quotient *out) {
    *out = whole(sc_dim_int(variant == '-' ? SC_DIM_NEG_INF : SC_DIM_INF));
    return SC_OK;
}

static const struct {
    const char *name;
    call_kind kind;
    int arity;
    call_fn run;
    int variant;
} calls[] = {
    {"Add", CALL_ADD, 0, NULL, 0},
    {"Mul", CALL_MUL, 0, NULL, 0},
    {"Max", CALL_MAX, 0, NULL, 0},
    {"Min", CALL_MIN, 0, NULL, 0},
    {"And", CALL_AND, 0, NULL, 0},
    {"Or", CALL_OR, 0, NULL, 0},
    {"Pow", CALL_FIXED, 2, fn_power, 0},
    {"PowByNatural", CALL_FIXED, 2, fn_power, 0},
    {"FloorDiv", CALL_FIXED, 2, fn_floordiv, 0},
    {"CleanDiv", CALL_FIXED, 2, fn_floordiv, 0},
    {"CeilDiv", CALL_FIXED, 2, fn_ceildiv, 0},
    {"IntTrueDiv", CALL_FIXED, 2, fn_truediv, 0},
    {"FloatTrueDiv", CALL_FIXED, 2, fn_truediv, 0},
    {"Rational", CALL_FIXED, 2, fn_truediv, 0},
    {"Mod", CALL_FIXED, 2, fn_mod, 0},
    {"PythonMod", CALL_FIXED, 2, fn_mod, 0},
    {"ModularIndexing", CALL_FIXED, 3, fn_modular, 0},
    {"LShift", CALL_FIXED, 2, fn_shift, 'l'},
    {"RShift", CALL_FIXED, 2, fn_shift, 'r'},
    {"Where", CALL_FIXED, 3, fn_where, 0},
    {"TruncToInt", CALL_FIXED, 1, fn_round, 't'},
    {"TruncToFloat", CALL_FIXED, 1, fn_round, 't'},
    {"FloorToInt", CALL_FIXED, 1, fn_round, 'f'},
    {"CeilToInt", CALL_FIXED, 1, fn_round, 'c'},
    {"RoundToInt", CALL_FIXED, 1, fn_round, 'r'},
    {"floor", CALL_FIXED, 1, fn_round, 'f'},
    {"ceiling", CALL_FIXED, 1, fn_round, 'c'},
    {"ToFloat", CALL_FIXED, 1, fn_same, 0},
    {"Identity", CALL_FIXED, 1, fn_same, 0},
    {"Integer", CALL_FIXED, 1, fn_same, 0},
    {"Abs", CALL_FIXED, 1, fn_abs, 0},
    {"Equality", CALL_FIXED, 2, fn_compare, SC_CMP_EQ},
    {"Eq", CALL_FIXED, 2, fn_compare, SC_CMP_EQ},
    {"Unequality", CALL_FIXED, 2, fn_compare, SC_CMP_NE},
    {"Ne", CALL_FIXED, 2, fn_compare, SC_CMP_NE},
    {"StrictLessThan", CALL_FIXED, 2, fn_compare, SC_CMP_LT},
    {"LessThan", CALL_FIXED, 2, fn_compare, SC_CMP_LE},
    {"StrictGreaterThan", CALL_FIXED, 2, fn_compare, SC_CMP_GT},
    {"GreaterThan", CALL_FIXED, 2, fn_compare, SC_CMP_GE},
    {"Not", CALL_FIXED, 1, fn_not, 0},
    {"IntInfinity", CALL_FIXED, 0, fn_infinity, '+'},
    {"Infinity", CALL_FIXED, 0, fn_infinity, '+'},
    {"NegativeIntInfinity", CALL_FIXED, 0, fn_infinity, '-'},
    {"NegativeInfinity", CALL_FIXED, 0, fn_infinity, '-'},
};

static sc_status fold(parser *p, call_kind kind, quotient a, quotient b, quotient *out) {
    if (kind == CALL_ADD || kind == CALL_MUL) {
        *out = kind == CALL_ADD ? add(p, a, b) : multiply(p, a, b);
        return SC_OK;
    }
    SC_TRY(need_whole(p, &a, 1));
    SC_TRY(need_whole(p, &b, 1));
    // On truth values, `and` is the least and `or` the greatest.
    bool greatest = kind == CALL_MAX || kind == CALL_OR;
    *out =
        whole(greatest ? sc_dim_max(p->exprs, a.num, b.num) : sc_dim_min(p->exprs, a.num, b.num));
    return SC_OK;
}

// Arguments such as "evaluate=False" have no effect here.
static bool take_keyword(parser *p, sc_str *name, bool *value) {
    size_t begin = p->at;
    if (is_letter(peek(p))) {
        *name = take_name(p);
        if (peek(p) == '=' &&
            !sc_str_starts_with(sc_str_slice(p->text, p->at, p->text.size), "==")) {
            p->at++;
            *value = take(p, "True");
            if (!*value && !take(p, "False")) {
                peek(p);
                while (p->at < p->text.size && is_digit(p->text.data[p->at])) p->at++;
            }
            return true;
        }
    }
    p->at = begin;
    return false;
}

static sc_status parse_many(parser *p, call_kind kind, quotient *out) {
    sc_str name;
    bool value;
    bool first = true;
    while (!take(p, ")")) {
        if (!first && !take(p, ",")) return bad(p, "',' or ')'");
        if (!first && take_keyword(p, &name, &value)) continue;
        quotient operand;
        SC_TRY(parse_level(p, 0, &operand));
        if (first)
            *out = operand;
        else
            SC_TRY(fold(p, kind, *out, operand, out));
        first = false;
    }
    return first ? bad(p, "an operand") : SC_OK;
}

static sc_status parse_fixed(parser *p, int arity, call_fn run, int variant, quotient *out) {
    quotient args[ARG_MAX];
    sc_str name;
    bool value;
    int count = 0;
    while (!take(p, ")")) {
        if (count && !take(p, ",")) return bad(p, "',' or ')'");
        if (count && take_keyword(p, &name, &value)) continue;
        if (count == arity) return bad(p, "fewer operands");
        SC_TRY(parse_level(p, 0, &args[count++]));
    }
    return count == arity ? run(p, args, variant, out) : bad(p, "more operands");
}

// A name that infix text can contain too, where a word may also be a constant.
static bool is_symbol_name(sc_str name) {
    static const char *const constants[] = {"true", "True", "false", "False", "int_oo", "oo"};
    if (name.size == 0 || name.size > 64 || is_digit(name.data[0])) return false;
    for (size_t i = 0; i < name.size; i++)
        if (!is_letter(name.data[i]) && !is_digit(name.data[i])) return false;
    for (size_t i = 0; i < SC_COUNT_OF(constants); i++)
        if (sc_str_is(name, constants[i])) return false;
    return true;
}

// Symbol('s77', positive=True, integer=True): assumptions narrow the symbol's range.
static sc_status parse_symbol_call(parser *p, quotient *out) {
    sc_str name, keyword;
    bool value;
    if (!take_string(p, &name) || !is_symbol_name(name)) return bad(p, "a symbol's name");
    sc_symbol *symbol = sc_exprs_symbol(p->exprs, name);
    while (take(p, ",")) {
        if (!take_keyword(p, &keyword, &value)) return bad(p, "an assumption");
        int64_t least = sc_str_is(keyword, "positive")      ? 1
                        : sc_str_is(keyword, "nonnegative") ? 0
                                                            : SC_DIM_NEG_INF;
        if (value && least > symbol->range.min) symbol->range.min = least;
    }
    *out = whole(sc_dim_from_symbol(p->exprs, symbol));
    return take(p, ")") ? SC_OK : bad(p, "')'");
}

// Float('1.5', precision=53)
static sc_status parse_float_call(parser *p, quotient *out) {
    sc_str text, keyword;
    bool value;
    if (!take_string(p, &text)) return bad(p, "a quoted number");
    while (take(p, ","))
        if (!take_keyword(p, &keyword, &value)) return bad(p, "a precision");
    SC_TRY(from_double(p, text, out));
    return take(p, ")") ? SC_OK : bad(p, "')'");
}

static sc_status parse_call(parser *p, sc_str name, quotient *out) {
    if (sc_str_is(name, "Symbol")) return parse_symbol_call(p, out);
    if (sc_str_is(name, "Float")) return parse_float_call(p, out);
    for (size_t i = 0; i < SC_COUNT_OF(calls); i++) {
        if (!sc_str_is(name, calls[i].name)) continue;
        if (calls[i].kind != CALL_FIXED) return parse_many(p, calls[i].kind, out);
        return parse_fixed(p, calls[i].arity, calls[i].run, calls[i].variant, out);
    }
    return unsupported(p, name);
}

// --- Infix ---------------------------------------------------------------------------------------

static sc_status parse_name(parser *p, quotient *out) {
    sc_str name = take_name(p);
    if (take(p, "(")) return parse_call(p, name, out);
    if (sc_str_is(name, "true") || sc_str_is(name, "True"))
        *out = truth(true);
    else if (sc_str_is(name, "false") || sc_str_is(name, "False"))
        *out = truth(false);
    else if (sc_str_is(name, "int_oo") || sc_str_is(name, "oo"))
        *out = whole(sc_dim_int(SC_DIM_INF));
    else if (name.size > 64)
        return bad(p, "a shorter name");
    else
        *out = whole(sc_dim_from_symbol(p->exprs, sc_exprs_symbol(p->exprs, name)));
    return SC_OK;
}

static sc_status parse_primary(parser *p, quotient *out) {
    char c = peek(p);
    if (++p->nodes > p->ctx->limits.expr_node_max)
        return sc_fail(p->ctx, SC_ERR_LIMIT, NULL, "a symbolic expression has more than %llu parts",
                       (unsigned long long)p->ctx->limits.expr_node_max);
    if (is_digit(c) || c == '.') return take_number(p, out);
    if (is_letter(c)) return parse_name(p, out);
    if (!take(p, "(")) return bad(p, "a number, a name or '('");
    SC_TRY(parse_level(p, 0, out));
    return take(p, ")") ? SC_OK : bad(p, "')'");
}

enum { LEVEL_COMPARE = 1, LEVEL_OR, LEVEL_AND, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_SIGN, LEVEL_POWER };

static const struct {
    const char *token;
    int level;
    char what;
} operators[] = {
    {"**", LEVEL_POWER, '^'},   {"//", LEVEL_PRODUCT, 'f'}, {"==", LEVEL_COMPARE, '='},
    {"!=", LEVEL_COMPARE, '!'}, {"<=", LEVEL_COMPARE, 'l'}, {">=", LEVEL_COMPARE, 'g'},
    {"<", LEVEL_COMPARE, '<'},  {">", LEVEL_COMPARE, '>'},  {"|", LEVEL_OR, '|'},
    {"&", LEVEL_AND, '&'},      {"+", LEVEL_SUM, '+'},      {"-", LEVEL_SUM, '-'},
    {"*", LEVEL_PRODUCT, '*'},  {"/", LEVEL_PRODUCT, '/'},  {"%", LEVEL_PRODUCT, '%'},
};

static int find_operator(parser *p) {
    peek(p);
    sc_str rest = sc_str_slice(p->text, p->at, p->text.size);
    for (size_t i = 0; i < SC_COUNT_OF(operators); i++)
        if (sc_str_starts_with(rest, operators[i].token)) return (int)i;
    return -1;
}

static sc_status apply(parser *p, char what, quotient a, quotient b, quotient *out) {
    quotient pair[2] = {a, b};
    switch (what) {
    case '+': *out = add(p, a, b); return SC_OK;
    case '-': *out = add(p, a, negate(p, b)); return SC_OK;
    case '*': *out = multiply(p, a, b); return SC_OK;
    case '/': return divide(p, a, b, out);
    case '^': return power(p, a, b, out);
    case 'f': return fn_floordiv(p, pair, 0, out);
    case '%': return fn_mod(p, pair, 0, out);
    case '|': return fold(p, CALL_OR, a, b, out);
    case '&': return fold(p, CALL_AND, a, b, out);
    case '=': return fn_compare(p, pair, SC_CMP_EQ, out);
    case '!': return fn_compare(p, pair, SC_CMP_NE, out);
    case '<': return fn_compare(p, pair, SC_CMP_LT, out);
    case 'l': return fn_compare(p, pair, SC_CMP_LE, out);
    case '>': return fn_compare(p, pair, SC_CMP_GT, out);
    default: return fn_compare(p, pair, SC_CMP_GE, out);
    }
}

// Signs bind looser than **: -a**2 is -(a**2).
static sc_status parse_signed(parser *p, quotient *out) {
    bool minus = false, inverted = false;
    for (char c = peek(p); c == '-' || c == '+' || c == '~'; c = peek(p)) {
        minus = minus != (c == '-');
        inverted = inverted != (c == '~');
        p->at++;
    }
    if (!minus && !inverted) return parse_primary(p, out);
    SC_TRY(parse_level(p, LEVEL_POWER, out));
    if (minus) *out = negate(p, *out);
    return inverted ? fn_not(p, out, 0, out) : SC_OK;
}

// An expression whose operators bind at least as tightly as `level`.
static sc_status parse_level(parser *p, int level, quotient *out) {
    if (++p->depth > p->ctx->limits.expr_depth_max)
        return sc_fail(p->ctx, SC_ERR_LIMIT, NULL, "a symbolic expression is nested deeper than %u",
                       p->ctx->limits.expr_depth_max);
    SC_TRY(parse_signed(p, out));
    for (int i = find_operator(p); i >= 0 && operators[i].level >= level; i = find_operator(p)) {
        quotient right;
        p->at += strlen(operators[i].token);
        // ** groups to the right, the others to the left.
        bool to_right = operators[i].level == LEVEL_POWER;
        SC_TRY(parse_level(p, operators[i].level + !to_right, &right));
        SC_TRY(apply(p, operators[i].what, *out, right, out));
    }
    p->depth--;
    return SC_OK;
}

sc_status sc_dim_parse(sc_ctx *ctx, sc_exprs *exprs, sc_str text, sc_dim *out) {
    parser p = {.ctx = ctx, .exprs = exprs, .text = text};
    quotient value;
    SC_TRY(parse_level(&p, 0, &value));
    if (peek(&p) != '\0' || p.at != text.size) return bad(&p, "the end");
    SC_TRY(need_whole(&p, &value, 1));
    *out = value.num;
    return SC_OK;
}
