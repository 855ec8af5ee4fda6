#include "backends/host/host.h"

void sc_ask_begin(sc_ask *ask, sc_ctx *ctx) {
    *ask = (sc_ask){.ctx = ctx};
    sc_arena_init(&ask->arena);
    sc_sb_init(&ask->text, &ask->arena);
}

void sc_ask_end(sc_ask *ask) {
    sc_free(ask->answer);
    sc_arena_deinit(&ask->arena);
}

sc_status sc_ask_host(sc_ask *ask, const sc_host_backend *host, sc_ask_kind kind,
                      uint32_t delegate) {
    if (host->ask(host->number, ask, kind, delegate, sc_sb_str(&ask->text))) return SC_OK;
    if (ask->is_cancelled) return SC_ERR_CANCELLED;
    sc_str message = sc_ask_json(ask);
    return sc_fail(ask->ctx, SC_ERR_DELEGATE,
                   "Look into the backend, which is not a part of this library.", SC_STR_FMT,
                   SC_STR_ARG(message));
}
