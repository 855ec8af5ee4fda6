// Opening and closing sessions. A session is one block of memory with two arenas inside; closing it
// is what frees everything a job made.
#include "api/session.h"

// Set while open, cleared on close: tells a stale or foreign pointer from a session.
#define SC_SESSION_TAG 0x53434f4eu

sc_session *sc_session_open(const sc_host *host) {
    sc_session *session = sc_try_alloc(sizeof(*session));
    if (!session) return NULL;
    memset(session, 0, sizeof(*session));
    session->tag = SC_SESSION_TAG;
    sc_arena_init(&session->arena);
    sc_arena_init(&session->scratch);
    sc_arena_init(&session->diag_arena);
    sc_arena_init(&session->text_arena);
    sc_ctx_init(&session->ctx, &session->arena, &session->scratch);
    session->ctx.diag_arena = &session->diag_arena;
    if (host) session->ctx.host = *host;
    return session;
}

void sc_session_close(sc_session *session) {
    if (session->running) sc_rt_program_close(session->running);
    for (uint32_t i = 0; i < session->dense.count; i++) sc_free(session->dense.data[i].data);
    sc_arena_deinit(&session->text_arena);
    sc_arena_deinit(&session->diag_arena);
    sc_arena_deinit(&session->scratch);
    sc_arena_deinit(&session->arena);
    session->tag = 0;
    sc_free(session);
}

sc_ctx *sc_session_ctx(sc_session *session) { return &session->ctx; }

bool sc_session_is_open(const sc_session *session) {
    return session && session->tag == SC_SESSION_TAG;
}

void sc_session_keep_text(sc_session *session, sc_str text) { session->kept_text = text; }

sc_str sc_session_kept_text(const sc_session *session) { return session->kept_text; }

sc_sb sc_session_text(sc_session *session) {
    sc_arena_deinit(&session->text_arena);
    sc_arena_init(&session->text_arena);
    sc_sb sb;
    sc_sb_init(&sb, &session->text_arena);
    return sb;
}

double sc_session_now_ms(const sc_session *session) {
    const sc_host *host = &session->ctx.host;
    return host->now_ms ? host->now_ms(host->user) : 0.0;
}

sc_status sc_session_stage(sc_session *session, uint32_t number, const char *name, sc_stage **out) {
    sc_ctx *ctx = &session->ctx;
    if (number >= session->stages.count)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, "Use the number of a program that was made before.",
                       "there is no program %u", number);
    *out = &session->stages.data[number];
    if (!(*out)->program)
        return sc_fail(ctx, SC_ERR_STATE, "Lower it again, or leave out the option consume.",
                       "program %u was consumed", number);
    if (name && strcmp((*out)->name, name) != 0)
        return sc_fail(ctx, SC_ERR_STATE, "Give the program of the step before.",
                       "program %u is the %s program, but this needs the %s program", number,
                       (*out)->name, name);
    return SC_OK;
}
