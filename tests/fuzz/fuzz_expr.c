// Any text as a symbolic expression. An expression that parses must print to text that parses to
// the same expression; its range, its value and the tree that the emitter walks are taken too.
#include "core/dim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(sc_ctx *ctx, sc_exprs *exprs, sc_dim d) {
    sc_dim again;
    sc_sb text;
    sc_sb_init(&text, ctx->arena);
    sc_dim_print(&text, d);
    uint32_t count = sc_exprs_symbol_count(exprs);
    int64_t *values = sc_new_array(ctx->arena, int64_t, count);
    for (uint32_t i = 0; i < count; i++) {
        sc_range range = sc_exprs_symbol_at(exprs, i)->range;
        values[i] = range.min == SC_DIM_NEG_INF ? (int64_t)i - 3 : range.min;
    }
    sc_range range = sc_dim_range(d);
    int64_t value = sc_dim_eval(exprs, d, values);
    // Saturated values are bounds, not values.
    if (value > -(1 << 20) && value < 1 << 20) SC_ASSERT(range.min <= range.max);
    if (sc_dim_parse(ctx, exprs, sc_sb_str(&text), &again) == SC_OK &&
        sc_exprs_symbol_count(exprs) == count)
        SC_ASSERT(sc_dim_equal(d, again));
    sc_expr_view view = sc_dim_view(exprs, d);
    for (uint32_t steps = 0; steps < 64 && view.op > SC_EXPR_SYMBOL; steps++)
        view = sc_dim_view(exprs, view.args[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_dim d;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    sc_exprs *exprs = sc_exprs_new(&arena, ctx.names);
    if (sc_dim_parse(&ctx, exprs, (sc_str){(const char *)data, size}, &d) == SC_OK)
        check(&ctx, exprs, d);
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
