// Any bytes as an XNNPACK payload: read, check, derive sizes, write, and read the same graph again.
#include "backends/xnnpack/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sc_str text_of(sc_arena *arena, const sc_xnn_graph *graph) {
    sc_sb text;
    sc_sb_init(&text, arena);
    sc_xnn_print(&text, graph);
    return sc_sb_str(&text);
}

static void write_again(sc_ctx *ctx, const sc_xnn_graph *graph) {
    sc_cord cord;
    const uint8_t *bytes = NULL;
    sc_xnn_graph *again;
    sc_cord_init(&cord, ctx->arena);
    sc_status status = sc_xnn_write(ctx, graph, &cord);
    SC_ASSERT(status == SC_OK);
    status = sc_cord_flatten(ctx, &cord, ctx->arena, 1 << 30, &bytes);
    SC_ASSERT(status == SC_OK);
    status = sc_xnn_read(ctx, ctx->arena, bytes, cord.size, &again);
    SC_ASSERT(status == SC_OK);
    SC_ASSERT(sc_str_equal(text_of(ctx->arena, graph), text_of(ctx->arena, again)));
}

// Scales that the graph holds itself are written as named data only: such graphs are only read.
static bool can_be_written(const sc_xnn_graph *graph) {
    for (uint32_t i = 0; i < graph->values.count; i++)
        if (graph->values.data[i].quant.inline_scales) return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_xnn_graph *graph;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    if (sc_xnn_read(&ctx, &arena, data, size, &graph) == SC_OK) {
        sc_status status = sc_xnn_check(&ctx, graph, SC_XNN_RUNTIME_LATEST);
        SC_ASSERT(status == SC_OK || ctx.error_count > 0);
        if (can_be_written(graph)) write_again(&ctx, graph);
    } else {
        SC_ASSERT(ctx.error_count > 0);
    }
    sc_arena_deinit(&scratch);
    sc_arena_deinit(&arena);
    return 0;
}
