// Symbols of dynamic sizes, and the flags by which a user bounds them, for messages.
// Prefixes: sc_open_ is a set of symbols without a maximum; sc_bound_ writes advice that gives them
// one.
#ifndef SC_IR_DYNAMIC_SIZES_H
#define SC_IR_DYNAMIC_SIZES_H

#include "ir/ir.h"

typedef struct sc_open_symbols {
    sc_arena *arena;
    SC_VEC(const sc_symbol *) list;
    bool is_ours;        // it contains one made by us, which the user cannot name
    bool is_bottomless;  // it contains one without a minimum: then a maximum does not bound a
                         // difference
    bool bounded;        // collects symbols with a maximum, else those without one
} sc_open_symbols;

void sc_open_add_dim(sc_open_symbols *open, sc_dim dim);
void sc_open_add_sizes(sc_open_symbols *open, const sc_value *value);

// Is it a difference of two numbers from data? Bounds of each from above do not bound it.
bool sc_open_is_difference(const sc_open_symbols *open);

// " --max-size s77=N, in JavaScript compileConfig: { dynamicShapes: { s77: { max: N } } }". With a
// method, a symbol that is the size of an input is named by that, x.1.
void sc_bound_flags(sc_sb *hint, const sc_open_symbols *open, const sc_method *method);

// The hint for sizes whose maximum is too large: "Give smaller largest values: ..." if a symbol
// among them can be bounded, or else `otherwise`.
const char *sc_bound_hint(sc_ctx *ctx, const sc_open_symbols *open, const sc_method *method,
                          const char *otherwise);

#endif
