// The rewritings that rewrites.def lists, one function each. Private to src/rt/rewrite.
// Prefix: sc_rt_rewrite_NAME carries out the row NAME of rewrites.def.
#ifndef SC_RT_REWRITES_H
#define SC_RT_REWRITES_H

#include "rt/rewrite/uses.h"

// Each changes calls, or where tensors point, in a method whose tensors lie where the file says.
#define REWRITE(name, needs, when, why) sc_status sc_rt_##name(sc_rt_optimizer *o);
#include "rt/rewrite/rewrites.def"
#undef REWRITE

#endif
