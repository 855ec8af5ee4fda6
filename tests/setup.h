// A context on two arenas, for tests: what a job is to the core.
#ifndef SETUP_H
#define SETUP_H

#include "base/source.h"
#include "harness.h"

typedef struct setup {
    sc_arena arena, scratch;
    sc_ctx ctx;
} setup;

static inline void setup_begin(setup *s) {
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
    s->ctx.strict = true;
}

static inline void setup_end(setup *s) {
    sc_arena_deinit(&s->arena);
    sc_arena_deinit(&s->scratch);
}

// The newest diagnostic, "" when there is none.
static inline const char *setup_message(setup *s) {
    return s->ctx.diags.count ? sc_str_dup(&s->arena, sc_vec_last(&s->ctx.diags).message) : "";
}

// A file under tests/ as bytes in memory.
static inline sc_extent setup_file(setup *s, const char *relative) {
    size_t bytes = 0;
    char *data = test_read(relative, &bytes);
    return sc_extent_whole(sc_source_from_memory(&s->arena, data, bytes));
}

#endif
