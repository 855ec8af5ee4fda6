// Memory whose size files or callers decide. Private to src/rt.
// Prefix: sc_rt_ (runtime) allocates here, and fails when there is no memory.
#ifndef SC_RT_ALLOCATE_H
#define SC_RT_ALLOCATE_H

#include "rt/rt.h"

// SC_ERR_MEMORY names the purpose of the memory and the limit that it exceeds.
sc_status sc_rt_allocate(sc_ctx *ctx, uint64_t bytes, const char *what, uint8_t **out);
// Reports the failure alone, for memory that the caller allocates itself.
sc_status sc_rt_no_block(sc_ctx *ctx, const char *what, uint64_t bytes);
// Reports the failure of memory in several blocks, of which blocks of `had` bytes were allocated.
sc_status sc_rt_no_memory(sc_ctx *ctx, const char *what, uint64_t bytes, uint64_t had);

#endif
