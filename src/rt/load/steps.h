// The steps of loading a method, in the order in which method.c takes them. Private to
// src/rt/load.
// Prefix: sc_rt_ (runtime) is followed by the subject of a loading step, and its verb.
#ifndef SC_RT_LOAD_STEPS_H
#define SC_RT_LOAD_STEPS_H

#include "rt/method.h"

// EValues of the plan, checked; tensors come out without memory (values.c).
sc_status sc_rt_values_parse(sc_ctx *ctx, sc_rt_method *method);
// Instructions to calls: names, indexes and kinds (bind.c).
sc_status sc_rt_code_parse(sc_ctx *ctx, sc_rt_method *method);
// Finds the writers of each value, the state, and the calls that are checked on every run
// (usage.c).
sc_status sc_rt_usage_find(sc_ctx *ctx, sc_rt_method *method);
// Finds the constants that may be left in the file until they are packed (deferred.c).
sc_status sc_rt_deferred_find(sc_ctx *ctx, sc_rt_method *method);
// Points tensors at the constants that were read after all. The others are gone (deferred.c).
void sc_rt_deferred_finish(sc_rt_method *method);
// Gives every tensor its memory and writes initial state (memory.c).
sc_status sc_rt_memory_bind(sc_ctx *ctx, sc_rt_method *method);
// Fixes shapes, overlaps and scratch, with memory in place. It checks everything that can be known
// before a run (bind.c).
sc_status sc_rt_code_finish(sc_ctx *ctx, sc_rt_method *method);
// Constant operands in the order that kernels want them (pack.c).
sc_status sc_rt_pack_constants(sc_ctx *ctx, sc_rt_method *method);

// Makes a run step over skipped instructions, which stay for listeners (bind.c).
void sc_rt_code_link(sc_rt_method *method);

#endif
