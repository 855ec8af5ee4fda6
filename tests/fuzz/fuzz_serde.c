// Any bytes as the JSON of a record's program, without its weights. A program that is read must
// pass the verifier and print. One that can be written again can be read again.
#include "pt2/serde.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(sc_ctx *ctx, const sc_method *method, bool is_edge) {
    const sc_serde_options options = {.dialect = is_edge ? SC_SERDE_EDGE : SC_SERDE_ATEN,
                                      .graph_id = 1,
                                      .source = method,
                                      .light = true};
    sc_serde_files files;
    sc_serde_info info;
    sc_program *again = sc_program_new(ctx);
    if (sc_serde_write(ctx, method, &options, &files) != SC_OK) {
        SC_ASSERT(ctx->error_count > 0);
        return;
    }
    SC_ASSERT(sc_serde_read(ctx, &files, SC_STR("forward"), again, &info) == SC_OK);
    SC_ASSERT(sc_verify(ctx, again) == SC_OK);
    SC_ASSERT(again->methods.data[0]->graph->node_count == method->graph->node_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_serde_info info;
    sc_sb text;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    sc_program *program = sc_program_new(&ctx);
    sc_source *source = sc_source_from_memory(&arena, data, size);
    const sc_serde_files files = {.program = sc_extent_whole(source)};
    if (sc_serde_read(&ctx, &files, SC_STR("forward"), program, &info) == SC_OK) {
        SC_ASSERT(sc_verify(&ctx, program) == SC_OK);
        sc_sb_init(&text, &arena);
        sc_program_print(&text, program, (sc_print_options){.meta = true, .signature = true});
        write_again(&ctx, program->methods.data[0], info.is_edge);
    } else {
        SC_ASSERT(ctx.error_count > 0);
    }
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
