// Tensors as a file declares them. Private to src/rt/look.
// Prefix: sc_rt_ (runtime) describes a declared tensor here.
#ifndef SC_RT_LOOK_TENSOR_INFO_H
#define SC_RT_LOOK_TENSOR_INFO_H

#include "program_fbs.h"
#include "rt/look/look.h"

// Sizes and dim order are copies on `arena`.
sc_status sc_rt_tensor_info(sc_ctx *ctx, sc_arena *arena, sc_fb_table tensor,
                            sc_rt_value_info *out);

#endif
