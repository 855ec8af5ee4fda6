// The segments of a .pte. Private to src/rt.
// Prefix: sc_rt_ (runtime) finds and checks the segments of a .pte here.
#ifndef SC_RT_LOAD_SEGMENTS_H
#define SC_RT_LOAD_SEGMENTS_H

#include "rt/program.h"

// SC_ERR_CORRUPT: `what` says which part of the file is wrong.
sc_status sc_rt_bad_pte(sc_ctx *ctx, const char *what);
// Every segment lies in the file, and no two overlap.
sc_status sc_rt_segments_check(sc_ctx *ctx, sc_rt_program *program);
sc_status sc_rt_segment_at(sc_ctx *ctx, const sc_rt_program *program, uint32_t index,
                           sc_extent *out);

#endif
