// The memory that methods need at least, known before anything but the FlatBuffer is read. Private
// to src/rt/load.
// Prefix: sc_rt_room_ compares the needs of methods with the memory that the host can give.
#ifndef SC_RT_LOAD_ROOM_H
#define SC_RT_LOAD_ROOM_H

#include "rt/program.h"

// SC_ERR_MEMORY if no method with inputs can ever be loaded here.
sc_status sc_rt_room_check(sc_ctx *ctx, const sc_rt_program *program);
// SC_ERR_MEMORY if the method cannot be loaded next to everything that is in memory now.
sc_status sc_rt_room_check_method(sc_ctx *ctx, const sc_rt_program *program, uint32_t index);

#endif
