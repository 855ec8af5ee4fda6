// Expansions: the table of them, and every function that the operator table names, declared here
// so that table and code cannot drift. Prefix sc_expand_: makes the calls of one operator.
#ifndef SC_EXPAND_H
#define SC_EXPAND_H

#include "trace/trace.h"

// The expansion of an operator: one of the two.
typedef sc_x (*sc_expand_fn)(sc_trace *t, const sc_x *a);
typedef struct sc_expansion {
    const char *text;  // a formula (ops/formula.h)
    sc_expand_fn fn;
    bool (*when)(const sc_x *a);  // NULL: always
} sc_expansion;
// NULL when the operator is kept, if only most of its calls are.
const sc_expansion *sc_op_expansion(const sc_op *op);
// The expansion of one call with complete arguments; NULL when it is kept.
const sc_expansion *sc_call_expansion(const sc_op *op, const sc_x *a);
// Makes the calls of a text, that of the operator's row.
sc_x sc_expand_by_text(sc_trace *t, const sc_op *op, const char *text, const sc_x *args);

// Runs an expansion of a call with complete arguments.
sc_x sc_trace_expand(sc_trace *t, const sc_op *op, const sc_expansion *how, const sc_x *args);
// Answers a call with complete arguments: the `dispatch` of a trace's hooks.
sc_x sc_trace_dispatch(sc_trace *t, const sc_op *op, sc_x *args);

// clang-format off
#define KEEP
#define EXPAND(text)
#define EXPAND_FN(fn) sc_x sc_expand_##fn(sc_trace *t, const sc_x *a);
#define EXPAND_WHEN(fn)                         \
    sc_x sc_expand_##fn(sc_trace *t, const sc_x *a); \
    bool sc_expands_##fn(const sc_x *a);
#define OP(id, schema, out, infer, expand, kernel, traits) expand
#include "ops/ops.def"
#undef OP
#undef EXPAND_WHEN
#undef EXPAND_FN
#undef EXPAND
#undef KEEP
// clang-format on

#endif
