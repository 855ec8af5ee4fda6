#include "backends/host/host.h"

void sc_host_question_begin(sc_host_question *question, sc_ctx *ctx) {
    *question = (sc_host_question){.ctx = ctx};
    sc_arena_init(&question->arena);
    sc_sb_init(&question->text, &question->arena);
}

void sc_host_question_end(sc_host_question *question) {
    sc_free(question->answer);
    sc_arena_deinit(&question->arena);
}

sc_status sc_host_ask(sc_host_question *question, const sc_host_backend *host,
                      sc_host_question_kind kind, uint32_t delegate) {
    if (host->ask(host->number, question, kind, delegate, sc_sb_str(&question->text))) return SC_OK;
    if (question->is_cancelled) return SC_ERR_CANCELLED;
    sc_str message = sc_host_answer_json(question);
    return sc_fail(question->ctx, SC_ERR_DELEGATE,
                   "Check the code of the backend, which is not a part of this library.",
                   SC_STR_FMT, SC_STR_ARG(message));
}
