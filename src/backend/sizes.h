// Removes size operands that views do not need. Private to src/backend.
// Prefix: sc_sizes_ derives size operands from shapes.
#ifndef SC_BACKEND_SIZES_H
#define SC_BACKEND_SIZES_H

#include "ir/ir.h"

// Writes -1 where a view can derive a dynamic size, and erases nodes that computed it for no other
// use.
sc_status sc_sizes_derive(sc_ctx *ctx, sc_method *method);

#endif
