// Named bytes of the program and of its data files. If both have a name, the data file wins, as on
// the official runtime. Private to src/rt/load.
// Prefix: sc_rt_named_ looks up bytes by name for a delegate.
#ifndef SC_RT_LOAD_NAMED_H
#define SC_RT_LOAD_NAMED_H

#include "rt/program.h"

sc_status sc_rt_named_open(sc_ctx *ctx, sc_rt_program *program);
void sc_rt_named_close(sc_rt_program *program);
// The same data as the interface that a backend gets.
sc_rt_named sc_rt_named_of(sc_rt_program *program);

#endif
