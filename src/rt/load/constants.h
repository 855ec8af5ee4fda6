// The bytes of constants: read once for all methods, and freed when only packings of them are used.
// Private to src/rt/load.
// Prefixes: sc_rt_constants_ loads and frees all constants, sc_rt_constant_ finds one.
#ifndef SC_RT_LOAD_CONSTANTS_H
#define SC_RT_LOAD_CONSTANTS_H

#include "rt/method.h"

// Reads the constants and the entries of data files that the method needs and that no earlier
// method has read.
sc_status sc_rt_constants_load(sc_ctx *ctx, sc_rt_method *method);
void sc_rt_constants_free(sc_rt_program *program);

// Frees constants that are only needed until they are packed. The operands that show each block are
// counted, and each packed operand releases its block. At the end, pointers to freed blocks are
// cleared. A program of several methods keeps all blocks, because other methods would have to read
// them again.
void sc_rt_constants_count(sc_rt_method *method);
void sc_rt_constants_release(sc_rt_method *method, const sc_tensor *tensor);
void sc_rt_constants_forget(sc_rt_method *method);

// The address of a loaded constant.
sc_status sc_rt_constant_at(sc_ctx *ctx, const sc_rt_program *program, const sc_rt_place *place,
                            const uint8_t **out);
// The initial bytes of a mutable tensor.
sc_status sc_rt_initial_read(sc_ctx *ctx, const sc_rt_program *program, uint32_t index, void *out,
                             size_t bytes);

#endif
