// The operators of this build. A build that runs programs may leave some out: then it has
// SC_OPS_KEPT, and wasm/kept_ops.mjs writes a header with a macro SC_KEPT_<id> for every row, which
// gives its arguments, or nothing for an operator that is left out.
#ifndef SC_OPS_KEPT_H
#define SC_OPS_KEPT_H

// Gives the arguments behind `id`, unless that operator is left out.
#ifdef SC_OPS_KEPT
#include "ops_kept.h"
#define SC_KEPT(id, ...) SC_KEPT_##id(__VA_ARGS__)
#else
#define SC_KEPT(id, ...) __VA_ARGS__
#endif

#endif
