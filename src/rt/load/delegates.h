// Starting delegates, and reading the bytes of parts. Private to src/rt.
// Prefixes: sc_rt_delegates_ opens and frees all delegates of a method, sc_rt_delegate_ binds one.
#ifndef SC_RT_LOAD_DELEGATES_H
#define SC_RT_LOAD_DELEGATES_H

#include "rt/method.h"

// Finds the backends that the method names.
sc_status sc_rt_delegates_open(sc_ctx *ctx, sc_rt_method *method);
void sc_rt_delegates_free(sc_rt_method *method);
// Makes `in` a call of delegate `index`, and starts the delegate if this is its first call. The
// arguments of `in` have been found already. `known_count`: as in sc_rt_start.
sc_status sc_rt_delegate_bind(sc_ctx *ctx, sc_rt_method *method, uint32_t index,
                              uint32_t known_count, sc_rt_instruction *in);

// The names that a part looks up, if its backend can tell without starting it. They are copies on
// `arena`, and a name may come several times.
sc_status sc_rt_part_keys(sc_ctx *ctx, const sc_rt_program *program, uint32_t index, uint32_t part,
                          sc_arena *arena, sc_rt_keys *out);

#endif
