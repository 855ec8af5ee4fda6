// One method, or one constant method, as an ExecutionPlan table. Private to src/emit.
// Prefix: sc_emit_plan_ writes one ExecutionPlan table.
#ifndef SC_EMIT_PLAN_H
#define SC_EMIT_PLAN_H

#include "core/training.h"
#include "emit/emit_state.h"

sc_status sc_emit_plan_method(sc_emit_state *state, const sc_storage_table *storage, sc_fb_ref *out,
                              sc_emit_plan *plan);
sc_status sc_emit_plan_constant(sc_emit_state *state, const sc_constant_method *constant,
                                sc_fb_ref *out, sc_emit_plan *plan);

// Written-back buffers are state, not results; tokens are no values.
bool sc_emit_is_visible(sc_output_kind kind);

// Describes the method once it has been written (emit_describe.c).
sc_emit_plan sc_emit_describe(const sc_emit_method *m, const sc_name *name);

#endif
