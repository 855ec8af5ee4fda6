// A dimension: an integer or an expression over symbols. It is a struct, so that `a + b` on dims
// does not compile and every shape computation uses these functions.
//
// Expressions are hash-consed in canonical form (a sum of products over symbols and opaque atoms),
// so two dims are provably equal exactly when sc_dim_equal says so. One sc_exprs per method:
// symbols of different methods never mix.
// Prefix: sc_dim_ is one dimension, sc_exprs_ the table of expressions, sc_symbol_ one symbol.
#ifndef SC_DIM_H
#define SC_DIM_H

#include "base/diag.h"

typedef struct sc_expr sc_expr;
typedef struct sc_exprs sc_exprs;

typedef struct sc_dim {
    int64_t value;        // when expr is NULL
    const sc_expr *expr;  // NULL when concrete
} sc_dim;

#define SC_DIM_INF     INT64_MAX  // +infinity in ranges; INT64_MIN is -infinity
#define SC_DIM_NEG_INF INT64_MIN

typedef struct sc_range {
    int64_t min, max;  // inclusive
} sc_range;

typedef struct sc_symbol {
    const sc_name *name;  // "s77", "u0"
    sc_range range;
    bool has_hint;
    int64_t hint;   // the example value at export
    bool is_fresh;  // made by sc_exprs_fresh: code outside does not know its name
} sc_symbol;

sc_exprs *sc_exprs_new(sc_arena *arena, sc_names *names);

static inline sc_dim sc_dim_int(int64_t value) { return (sc_dim){value, NULL}; }
static inline bool sc_dim_is_int(sc_dim d) { return d.expr == NULL; }
static inline bool sc_dim_is(sc_dim d, int64_t value) { return !d.expr && d.value == value; }
static inline bool sc_dim_equal(sc_dim a, sc_dim b) {
    return a.expr == b.expr && (a.expr || a.value == b.value);
}

// Finds or makes the symbol. The returned record is shared and may be updated (range, hint).
sc_symbol *sc_exprs_symbol(sc_exprs *exprs, sc_str name);
// A fresh unbacked symbol "u<N>" with the given range, for data-dependent sizes.
sc_dim sc_exprs_fresh(sc_exprs *exprs, sc_range range);
uint32_t sc_exprs_symbol_count(const sc_exprs *exprs);
sc_symbol *sc_exprs_symbol_at(sc_exprs *exprs, uint32_t index);  // creation order
sc_dim sc_dim_from_symbol(sc_exprs *exprs, sc_symbol *symbol);
// The symbol that `d` is exactly, or NULL.
sc_symbol *sc_dim_symbol(sc_dim d);
// Do values of data decide it? No input has such a size.
bool sc_symbol_is_unbacked(const sc_symbol *symbol);
// Is `d` scale * symbol + offset? If so, sets the outputs; otherwise they stay unchanged.
bool sc_dim_linear(sc_dim d, sc_symbol **symbol, int64_t *scale, int64_t *offset);
// Calls `visit` for every symbol in `d`, once for each time that it occurs.
void sc_dim_visit_symbols(sc_dim d, void (*visit)(void *user, sc_symbol *symbol), void *user);

// The shared copy of a list of dims, which lives as long as the expressions. A graph has far fewer
// shapes than tensors. Never NULL.
sc_dim *sc_dims_share(sc_exprs *exprs, const sc_dim *dims, uint32_t count);

// Arithmetic; `exprs` may be NULL when both operands are concrete (the runtime). Integer overflow
// saturates to the infinities. Division is Python's: floor toward minus infinity, mod has the sign
// of the divisor; division by concrete zero gives 0 (callers check first).
sc_dim sc_dim_add(sc_exprs *exprs, sc_dim a, sc_dim b);
sc_dim sc_dim_sub(sc_exprs *exprs, sc_dim a, sc_dim b);
sc_dim sc_dim_mul(sc_exprs *exprs, sc_dim a, sc_dim b);
sc_dim sc_dim_floordiv(sc_exprs *exprs, sc_dim a, sc_dim b);
sc_dim sc_dim_mod(sc_exprs *exprs, sc_dim a, sc_dim b);
sc_dim sc_dim_min(sc_exprs *exprs, sc_dim a, sc_dim b);
sc_dim sc_dim_max(sc_exprs *exprs, sc_dim a, sc_dim b);
sc_dim sc_dim_neg(sc_exprs *exprs, sc_dim a);
sc_dim sc_dim_pow(sc_exprs *exprs, sc_dim a, sc_dim natural_exponent);
// cond ? a : b as an opaque atom; `cond` is 0/1 valued.
sc_dim sc_dim_where(sc_exprs *exprs, sc_dim cond, sc_dim a, sc_dim b);
typedef enum sc_cmp { SC_CMP_EQ, SC_CMP_NE, SC_CMP_LT, SC_CMP_LE, SC_CMP_GT, SC_CMP_GE } sc_cmp;
// 0/1 valued; folds to a concrete 0 or 1 when ranges decide.
sc_dim sc_dim_compare(sc_exprs *exprs, sc_cmp cmp, sc_dim a, sc_dim b);

// The answer that ranges and structure prove; SC_TRI_UNKNOWN if they prove neither.
typedef enum sc_tri { SC_TRI_FALSE, SC_TRI_TRUE, SC_TRI_UNKNOWN } sc_tri;
sc_tri sc_dim_known_equal(sc_dim a, sc_dim b);
sc_tri sc_dim_known_le(sc_dim a, sc_dim b);

// Interval of all values over the symbols' ranges.
sc_range sc_dim_range(sc_dim d);
// The value if every symbol takes its hint; false if a hint is missing.
bool sc_dim_hint(sc_dim d, int64_t *out);
// The value under `symbol_values[symbol index]`.
int64_t sc_dim_eval(const sc_exprs *exprs, sc_dim d, const int64_t *symbol_values);

// "s0 + 1", "2*s77", "(s0//2)", "Mod(s0, 8)", "Max(1, u0)": canonical, parses back.
void sc_dim_print(sc_sb *sb, sc_dim d);

// Parses sympy's srepr ("Add(Symbol('s0', ...), Integer(1))") and infix ("s0 + 1") alike, bounded
// by ctx->limits. Booleans (comparisons) come out 0/1 valued. Functions that have no integer
// meaning fail with SC_ERR_UNSUPPORTED.
sc_status sc_dim_parse(sc_ctx *ctx, sc_exprs *exprs, sc_str text, sc_dim *out);

// The form of an expression that the emitter computes at run time: a tree of binary nodes.
typedef enum sc_expr_op {
    SC_EXPR_INT,
    SC_EXPR_SYMBOL,
    SC_EXPR_ADD,
    SC_EXPR_SUB,
    SC_EXPR_MUL,
    SC_EXPR_FLOORDIV,
    SC_EXPR_MOD,
    SC_EXPR_MIN,
    SC_EXPR_MAX,
    SC_EXPR_POW,
    SC_EXPR_WHERE,
    SC_EXPR_COMPARE
} sc_expr_op;

typedef struct sc_expr_view {
    sc_expr_op op;
    sc_cmp cmp;         // COMPARE
    int64_t value;      // INT
    sc_symbol *symbol;  // SYMBOL
    sc_dim args[3];     // two operands; WHERE has cond, then, else
} sc_expr_view;

// One step of the tree: the operation that makes `d`, and its operands.
sc_expr_view sc_dim_view(sc_exprs *exprs, sc_dim d);
uint32_t sc_symbol_index(const sc_symbol *symbol);  // creation order, as in sc_exprs_symbol_at

#endif
