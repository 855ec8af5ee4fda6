// A context on two arenas, for tests: what a session is to the core.
#ifndef SESSION_H
#define SESSION_H

#include "base/source.h"
#include "harness.h"

typedef struct session {
    sc_arena arena, scratch;
    sc_ctx ctx;
} session;

static inline void session_begin(session *s) {
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
}

static inline void session_end(session *s) {
    sc_arena_deinit(&s->arena);
    sc_arena_deinit(&s->scratch);
}

// The newest diagnostic, "" when there is none.
static inline const char *session_message(session *s) {
    return s->ctx.diags.count ? sc_str_dup(&s->arena, sc_vec_last(&s->ctx.diags).message) : "";
}

// A file under tests/ as bytes in memory.
static inline sc_extent session_file(session *s, const char *relative) {
    size_t bytes = 0;
    char *data = test_read(relative, &bytes);
    return sc_extent_whole(sc_source_from_memory(&s->arena, data, bytes));
}

#endif
