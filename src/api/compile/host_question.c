// Calls that the host may make while it answers a question about parts: read them, and report
// progress.
#include "api/compiling.h"

sc_status sc_host_question_progress(sc_host_question *question, uint32_t part) {
    sc_status status =
        sc_progress(question->ctx, SC_STEP_to_backend, question->done + part, question->total);
    question->is_cancelled = status == SC_ERR_CANCELLED;
    return status;
}

static const sc_part *part_of(const sc_host_question *question, uint32_t part) {
    return part < question->part_count ? ((sc_part *const *)question->parts)[part] : NULL;
}

const char *sc_host_question_part_text(sc_host_question *question, uint32_t part) {
    const sc_part *found = part_of(question, part);
    sc_sb sb;
    sc_sb_init(&sb, &question->arena);
    if (found) sc_graph_print(&sb, found->method->graph, (sc_print_options){.signature = true});
    return sc_sb_terminate(&sb);
}

sc_status sc_host_question_read_constant(sc_host_question *question, uint32_t part,
                                         uint32_t constant, void *out, uint32_t bytes) {
    const sc_part *found = part_of(question, part);
    for (uint32_t i = 0; found && i < found->method->inputs.count; i++) {
        const sc_constant *c = found->method->inputs.data[i].constant;
        if (c && constant-- == 0 && c->data.size == bytes)
            return sc_extent_read(question->ctx, sc_constant_row_major(question->ctx->arena, c), 0,
                                  out, bytes);
    }
    return sc_fail(question->ctx, SC_ERR_NOT_FOUND, NULL, "part %u has no such constant", part);
}
