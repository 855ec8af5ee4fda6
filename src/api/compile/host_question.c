// The host's moves while it is asked: look at the parts that it is given, tell how far it is, and
// answer.
#include "api/job.h"

void sc_ask_answer(sc_ask *ask, void *answer, uint32_t json_bytes, uint32_t bytes) {
    sc_free(ask->answer);
    ask->answer = answer;
    ask->json_bytes = json_bytes;
    ask->bytes = bytes;
}

sc_status sc_ask_progress(sc_ask *ask, uint32_t part) {
    sc_status status = sc_progress(ask->ctx, SC_STEP_to_backend, ask->done + part, ask->total);
    ask->is_cancelled = status == SC_ERR_CANCELLED;
    return status;
}

static const sc_part *part_of(const sc_ask *ask, uint32_t part) {
    return part < ask->part_count ? ((sc_part *const *)ask->parts)[part] : NULL;
}

const char *sc_ask_part_text(sc_ask *ask, uint32_t part) {
    const sc_part *found = part_of(ask, part);
    sc_sb sb;
    sc_sb_init(&sb, &ask->arena);
    if (found) sc_graph_print(&sb, found->method->graph, (sc_print_options){.signature = true});
    return sc_sb_terminate(&sb);
}

// Weights may lie in another order than their sizes.
static sc_extent row_major(sc_arena *arena, const sc_constant *c) {
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    for (uint32_t d = 0; d < c->spec.rank; d++) {
        sizes[d] = c->spec.sizes[d].value;
        strides[d] = c->spec.strides[d].value;
    }
    return sc_extent_strided(arena, c->data, sc_dtype_bytes((sc_dtype)c->spec.dtype), c->spec.rank,
                             sizes, strides, 0);
}

sc_status sc_ask_read_constant(sc_ask *ask, uint32_t part, uint32_t constant, void *out,
                               uint32_t bytes) {
    const sc_part *found = part_of(ask, part);
    for (uint32_t i = 0; found && i < found->method->inputs.count; i++) {
        const sc_constant *c = found->method->inputs.data[i].constant;
        if (c && constant-- == 0 && c->data.size == bytes)
            return sc_extent_read(ask->ctx, row_major(ask->ctx->arena, c), 0, out, bytes);
    }
    return sc_fail(ask->ctx, SC_ERR_NOT_FOUND, NULL, "there is no such constant in part %u", part);
}
