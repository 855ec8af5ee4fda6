// The lines of the user's Python model behind an instruction, where the file has them (lowered with
// emit_stacktrace). Private to src/rt.
// Prefix: sc_rt_trace_ finds Python lines for diagnostics.
#ifndef SC_RT_TRACE_H
#define SC_RT_TRACE_H

#include "rt/method.h"

// Adds the instruction's stack trace to the diagnostics recorded since the mark.
void sc_rt_trace_diags(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_origin *origin,
                       sc_diag_mark since);

#endif
