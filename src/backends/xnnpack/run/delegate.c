// The backend XNNPACK as the runtime sees it.
#include "backends/xnnpack/run/delegate.h"

static void destroy(void *state) {
    sc_xnn_delegate *d = state;
    for (uint32_t i = 0; d->steps && i < d->graph->nodes.count; i++)
        if (d->steps[i].packing) sc_xnn_unpack(d->shared, d->steps[i].packing);
    for (uint32_t i = 1; d->graph && i < d->graph->constants.count; i++)
        sc_xnn_release(d, &d->graph->constants.data[i]);
    while (d->owned_count) sc_xnn_disown(d);
    sc_arena_deinit(&d->arena);
    sc_free(d);
}

static sc_status init(sc_ctx *ctx, const sc_rt_start *start, void **state, uint32_t *input_count) {
    if (!*start->shared) {
        sc_xnn_shared *shared = *start->shared = sc_try_alloc(sizeof(sc_xnn_shared));
        if (!shared) return sc_xnn_no_memory(ctx);
        *shared = (sc_xnn_shared){0};
    }
    sc_xnn_delegate *d = sc_try_alloc(sizeof *d);
    if (!d) return sc_xnn_no_memory(ctx);
    *d = (sc_xnn_delegate){.ctx = ctx,
                           .method = start->method,
                           .named = start->named,
                           .packed = start->packed,
                           .key = start->key,
                           .shared = *start->shared};
    sc_arena_init(&d->arena);
    sc_status status = sc_xnn_start(d, start);
    if (status != SC_OK) {
        destroy(d);
        return status;
    }
    *state = d;
    *input_count = d->input_count;
    return SC_OK;
}

static void release(void *state) {
    sc_xnn_shared *shared = state;
    while (shared->packings) {
        shared->packings->users = 1;
        sc_xnn_unpack(shared, shared->packings);
    }
    sc_free(shared->workspace);
    sc_free(shared);
}

static sc_status print(sc_ctx *ctx, const uint8_t *processed, uint64_t size, sc_sb *out) {
    sc_xnn_graph *graph = NULL;
    sc_arena arena;
    sc_arena_init(&arena);
    sc_status status = sc_xnn_read(ctx, &arena, processed, size, &graph);
    if (status == SC_OK) sc_xnn_print(out, graph);
    sc_arena_deinit(&arena);
    return status;
}

static sc_status keys(sc_ctx *ctx, sc_arena *arena, const uint8_t *processed, uint64_t size,
                      sc_rt_keys *out) {
    sc_xnn_graph *graph = NULL;
    sc_arena own;
    sc_arena_init(&own);
    sc_status status = sc_xnn_read(ctx, &own, processed, size, &graph);
    for (uint32_t i = 1; status == SC_OK && i < graph->constants.count; i++) {
        const sc_str key = graph->constants.data[i].key;
        if (key.data) sc_vec_push(arena, out, sc_str_copy(arena, key));
    }
    sc_arena_deinit(&own);
    return status;
}

static bool packing(const void *state, uint32_t call, sc_rt_packing *out) {
    const sc_xnn_delegate *d = state;
    for (uint32_t i = call; i < d->graph->nodes.count; i++) {
        const sc_xnn_step *s = &d->steps[i];
        if (!s->is_saved) continue;
        *out = (sc_rt_packing){i, s->packed_for->name, s->packing->data, s->packing->bytes};
        return true;
    }
    return false;
}

const sc_rt_backend sc_rt_backend_xnnpack = {.id = SC_XNN_BACKEND,
                                             .is_function = true,
                                             .init = init,
                                             .execute = sc_xnn_call,
                                             .destroy = destroy,
                                             .release = release,
                                             .print = print,
                                             .keys = keys,
                                             .packing = packing};
