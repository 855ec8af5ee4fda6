// Any bytes as textual IR. What parses prints to text that parses again and prints the same; the
// verifier may refuse it but not stumble, and what it accepts can be cloned.
#include "ir/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sc_str print(sc_ctx *ctx, const sc_program *program) {
    sc_sb text;
    sc_sb_init(&text, ctx->arena);
    sc_program_print(&text, program, (sc_print_options){.meta = true, .signature = true});
    return sc_sb_str(&text);
}

static void check(sc_ctx *ctx, sc_program *program) {
    sc_program *again;
    sc_str first = print(ctx, program);
    SC_ASSERT(sc_program_parse(ctx, first, &again) == SC_OK);
    SC_ASSERT(sc_str_equal(first, print(ctx, again)));
    if (sc_verify(ctx, program) != SC_OK) return;
    for (uint32_t i = 0; i < program->methods.count; i++) {
        const sc_graph *graph = program->methods.data[i]->graph;
        sc_graph *copy;
        SC_ASSERT(sc_graph_clone(graph, program->methods.data[i], NULL, &copy) == SC_OK);
        SC_ASSERT(sc_graph_isomorphic(graph, copy, NULL));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_program *program;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    SC_ASSERT(sc_ops_init() == SC_OK);
    if (sc_program_parse(&ctx, (sc_str){(const char *)data, size}, &program) == SC_OK)
        check(&ctx, program);
    else
        SC_ASSERT(ctx.error_count > 0);
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
