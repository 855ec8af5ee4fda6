// The memory of methods, and the pools that the methods of a program share. Private to src/rt/load.
// Prefixes: sc_rt_memory_ is the memory of one method, sc_rt_pools_ the shared pools.
#ifndef SC_RT_LOAD_MEMORY_H
#define SC_RT_LOAD_MEMORY_H

#include "rt/method.h"

// Resets state to its content after loading.
sc_status sc_rt_memory_reset(sc_ctx *ctx, sc_rt_method *method);
void sc_rt_memory_free(sc_rt_method *method);

// Finds the sizes of the pools that the program's methods share.
sc_status sc_rt_pools_declare(sc_ctx *ctx, sc_rt_program *program);
sc_status sc_rt_pools_reset(sc_ctx *ctx, sc_rt_program *program);

#endif
