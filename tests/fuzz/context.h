// A context on two arenas, for fuzzers: limits are small, so that what is hostile is refused, not
// waited for.
#ifndef FUZZ_CONTEXT_H
#define FUZZ_CONTEXT_H

#include "base/diag.h"

typedef struct fuzz_context {
    sc_arena arena, scratch;
    sc_ctx ctx;
} fuzz_context;

static inline sc_ctx *fuzz_begin(fuzz_context *c, uint64_t planned_bytes_max) {
    sc_arena_init(&c->arena);
    sc_arena_init(&c->scratch);
    sc_ctx_init(&c->ctx, &c->arena, &c->scratch);
    c->ctx.limits.planned_bytes_max = planned_bytes_max;
    return &c->ctx;
}

static inline void fuzz_end(fuzz_context *c) {
    sc_arena_deinit(&c->scratch);
    sc_arena_deinit(&c->arena);
}

#endif
