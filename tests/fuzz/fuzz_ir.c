// Any bytes as textual IR. A program that parses prints to text that parses again and prints the
// same; the verifier may refuse it but not stumble, and what it accepts can be cloned, graph by
// graph and whole, for the same symbols and for others.
#include "ir/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sc_str print(sc_ctx *ctx, const sc_program *program) {
    sc_sb text;
    sc_sb_init(&text, ctx->arena);
    sc_program_print(&text, program, (sc_print_options){.meta = true, .signature = true});
    return sc_sb_str(&text);
}

static void check_copies(sc_method *method) {
    sc_program *elsewhere = sc_program_new(method->program->ctx);
    sc_graph *same, *copy;
    sc_method *other;
    SC_ASSERT(sc_graph_clone(method->graph, method, NULL, &same) == SC_OK);
    SC_ASSERT(sc_graph_isomorphic(method->graph, same, NULL));
    SC_ASSERT(sc_program_add_method(elsewhere, SC_STR("other"), &other) == SC_OK);
    SC_ASSERT(sc_graph_clone(method->graph, other, NULL, &copy) == SC_OK);
    SC_ASSERT(sc_graph_isomorphic(method->graph, copy, NULL));
}

static void check(sc_ctx *ctx, sc_program *program) {
    sc_program *again;
    sc_str first = print(ctx, program);
    SC_ASSERT(sc_program_parse(ctx, first, &again) == SC_OK);
    SC_ASSERT(sc_str_equal(first, print(ctx, again)));
    if (sc_verify(ctx, program) != SC_OK) return;
    sc_program *whole;
    SC_ASSERT(sc_program_clone(program, &whole) == SC_OK && sc_verify(ctx, whole) == SC_OK);
    SC_ASSERT(sc_str_equal(first, print(ctx, whole)));
    for (uint32_t i = 0; i < program->methods.count; i++) check_copies(program->methods.data[i]);
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
