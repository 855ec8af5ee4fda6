// The operators of this build. A build that runs programs may leave some out: SC_OPS_KEPT then
// names a header, which wasm/kept_ops.mjs writes. It has a macro SC_KEPT_<id> for every row, which
// gives its arguments, or nothing for an operator that is left out.
#ifndef SC_OPS_KEPT_H
#define SC_OPS_KEPT_H

// What follows for operator `id`, unless it is left out.
#ifdef SC_OPS_KEPT
#include SC_OPS_KEPT
#define SC_KEPT(id, ...) SC_KEPT_##id(__VA_ARGS__)
#else
#define SC_KEPT(id, ...) __VA_ARGS__
#endif

#endif
