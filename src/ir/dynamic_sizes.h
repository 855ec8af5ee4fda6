// Symbols of dynamic sizes, and the flags by which a user bounds them: for messages.
// Prefix: sc_open_ is a set of symbols, sc_bound_ is advice to bound them.
#ifndef SC_IR_DYNAMIC_SIZES_H
#define SC_IR_DYNAMIC_SIZES_H

#include "ir/ir.h"

typedef struct sc_open_symbols {
    sc_arena *arena;
    SC_VEC(const sc_symbol *) list;
    bool is_ours;        // one of them is of our making, which nobody can bound by its name
    bool is_bottomless;  // one of them has no minimum: a maximum does not bound a difference then
    bool bounded;        // looks for those that have a maximum, else for those that lack one
} sc_open_symbols;

void sc_open_add_dim(sc_open_symbols *open, sc_dim dim);
void sc_open_add_sizes(sc_open_symbols *open, const sc_value *value);

// A difference of two numbers from data: bounding each from above does not bound it.
bool sc_open_is_difference(const sc_open_symbols *open);

// " --max-size s77=N, in JavaScript compileConfig: { dynamicShapes: { s77: { max: N } } }". With a
// method, a symbol that is the size of an input goes by that, x.1.
void sc_bound_flags(sc_sb *hint, const sc_open_symbols *open, const sc_method *method);

// The hint for sizes that have a maximum, which is too large: "Give smaller largest values: ..." if
// a symbol among them can be bounded, or else `otherwise`.
const char *sc_bound_hint(sc_ctx *ctx, const sc_open_symbols *open, const sc_method *method,
                          const char *otherwise);

#endif
