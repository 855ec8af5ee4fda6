// Calls of delegates that loading has started. Private to src/rt.
// Prefix: sc_rt_delegate_ checks and runs one call of a delegate.
#ifndef SC_RT_RUN_DELEGATE_H
#define SC_RT_RUN_DELEGATE_H

#include "rt/method.h"

// Fails with SC_ERR_CORRUPT: "method ... calls a delegate of the backend ... `what`".
sc_status sc_rt_delegate_fail(sc_ctx *ctx, const sc_rt_method *method,
                              const sc_rt_delegate *delegate, const char *what);
// The kind of an argument, and whether an argument has that kind.
sc_rt_declared sc_rt_declared_of(const sc_evalue *value);
bool sc_rt_is_declared(const sc_rt_declared *declared, const sc_evalue *value);

// Checks memory: a delegate may write neither constants nor over its other operands.
sc_status sc_rt_delegate_check(sc_ctx *ctx, const sc_rt_method *method,
                               const sc_rt_instruction *in);
sc_status sc_rt_delegate_run(sc_ctx *ctx, const sc_rt_method *method, const sc_rt_instruction *in);
// Sets the state of all delegates back to that after loading.
sc_status sc_rt_delegates_reset(sc_ctx *ctx, sc_rt_method *method);

#endif
