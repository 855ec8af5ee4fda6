// Buffers that several methods have. Private to src/api.
// Prefix: sc_check_ refuses a program before it is lowered.
#ifndef SC_API_SHARED_STATE_H
#define SC_API_SHARED_STATE_H

#include "ir/ir.h"

// SC_ERR_ARGUMENT if a part keeps a buffer that another method has, too.
sc_status sc_check_shared_state(sc_ctx *ctx, const sc_program *program);

#endif
