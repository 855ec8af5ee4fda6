// Bytes of constants in another order, without a copy of them in memory.
// Prefix: sc_constant_ changes the order of one constant.
#ifndef SC_PASSES_CONST_ORDER_H
#define SC_PASSES_CONST_ORDER_H

#include "ir/layout.h"

// Makes the constant of input `index` row-major: its bytes are gathered when they are read. The
// constant is copied first, since other methods may share it.
void sc_constant_make_row_major(sc_ctx *ctx, sc_method *method, uint32_t index);

#endif
