// The node of the expression engine, and declarations that its three files share. Only core/expr*.c
// include this; other code sees sc_dim.
//
// Canonical form: an integer is never a node. A node is an atom (symbol, quotient, ...), a product
// of atoms (MONO), or a sum of a constant and coefficient * product terms in graded order (SUM)
// that is not one of the simpler forms. Equal forms are one node.
// Prefix: sc_expr_ makes one form of expression, or computes on ranges and integers of it.
#ifndef SC_EXPR_H
#define SC_EXPR_H

#include "base/map.h"
#include "core/dim.h"

typedef enum expr_kind {
    EXPR_SYMBOL,
    EXPR_FLOORDIV,
    EXPR_MOD,
    EXPR_POW,
    EXPR_MIN,
    EXPR_MAX,
    EXPR_WHERE,
    EXPR_COMPARE,
    EXPR_MONO,
    EXPR_SUM
} expr_kind;

// Beyond these bounds a value becomes a fresh symbol with the same range: still correct, but less
// precise. They keep every walk over an expression short, and recursion shallow.
enum {
    EXPR_TERM_MAX = 64,
    EXPR_DEGREE_MAX = 24,
    EXPR_DEPTH_MAX = 120,
    EXPR_WEIGHT_MAX = 8192,
    EXPR_OPERAND_MAX = 32
};

typedef struct expr_term {
    int64_t coefficient;  // never 0
    const sc_expr *mono;  // an atom or a MONO
} expr_term;

typedef struct symbol_record {
    sc_symbol symbol;  // first: sc_symbol * and symbol_record * convert
    const sc_expr *expr;
    uint32_t index;
} symbol_record;

struct sc_expr {
    uint8_t kind;  // expr_kind
    uint8_t cmp;   // COMPARE: EQ, NE or LE, with an integer on the right
    uint16_t depth;
    uint32_t weight;  // nodes when written out as a tree
    uint32_t count;   // of args, factors or terms
    uint64_t hash;
    sc_exprs *owner;
    int64_t constant;  // SUM
    union {
        symbol_record *symbol;
        const sc_expr *const *factors;  // MONO: ascending, repeated for powers
        const expr_term *terms;         // SUM
        const sc_dim *args;             // the others
    };
};

typedef struct dims_slot {
    sc_dim *dims;  // NULL is free
    uint32_t count;
    uint32_t hash;
} dims_slot;

struct sc_exprs {
    sc_arena *arena;
    sc_names *names;
    const sc_expr **slots;  // open addressing, power of two
    uint32_t slot_count, count;
    dims_slot *dims;  // lists of dims, in the same way
    uint32_t dims_slot_count, dims_count;
    SC_VEC(symbol_record *) symbols;
    sc_map by_name;
    uint32_t next_unbacked;
};

// A sum under construction.
typedef struct expr_poly {
    int64_t constant;
    uint32_t count;
    bool overflow;  // too many terms
    expr_term terms[EXPR_TERM_MAX];
} expr_poly;

void sc_expr_poly_from(expr_poly *out, sc_dim d);
void sc_expr_poly_add_term(expr_poly *p, int64_t coefficient, const sc_expr *mono);
// `fallback` bounds the result if the poly overflowed.
sc_dim sc_expr_from_poly(sc_exprs *exprs, const expr_poly *p, sc_range fallback);
// Hash-conses an atom of this kind over `args`.
sc_dim sc_expr_atom(sc_exprs *exprs, expr_kind kind, sc_cmp cmp, const sc_dim *args, uint32_t count,
                    sc_range fallback);
const sc_expr *sc_expr_mono_mul(sc_exprs *exprs, const sc_expr *a, const sc_expr *b);
// a / b as a product, if b's factors are among a's: returns true, with NULL for the empty product.
bool sc_expr_mono_div(sc_exprs *exprs, const sc_expr *a, const sc_expr *b, const sc_expr **out);
sc_exprs *sc_expr_owner(sc_exprs *exprs, sc_dim a, sc_dim b);
int sc_expr_compare_dims(sc_dim a, sc_dim b);

int64_t sc_expr_sat_add(int64_t a, int64_t b);
int64_t sc_expr_sat_mul(int64_t a, int64_t b);
int64_t sc_expr_floordiv_i64(int64_t a, int64_t b);
int64_t sc_expr_mod_i64(int64_t a, int64_t b);
int64_t sc_expr_pow_i64(int64_t base, int64_t exponent);

sc_range sc_expr_range_add(sc_range a, sc_range b);
sc_range sc_expr_range_mul(sc_range a, sc_range b);
sc_range sc_expr_range_floordiv(sc_range a, sc_range b);
sc_range sc_expr_range_mod(sc_range a, sc_range b);
sc_range sc_expr_range_pow(sc_range a, sc_range b);
#define EXPR_RANGE_ALL ((sc_range){SC_DIM_NEG_INF, SC_DIM_INF})

#endif
