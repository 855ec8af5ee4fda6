// Declares every expansion that the operator table names, so that table and code cannot drift.
#ifndef SC_EXPAND_H
#define SC_EXPAND_H

#include "passes/trace.h"

// clang-format off
#define KEEP
#define EXPAND(text)
#define EXPAND_FN(fn) sc_x sc_expand_##fn(sc_trace *t, const sc_x *a);
#define OP(id, schema, out, infer, expand, kernel, traits) expand
#include "ops/ops.def"
#undef OP
#undef EXPAND_FN
#undef EXPAND
#undef KEEP
// clang-format on

#endif
