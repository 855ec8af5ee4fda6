// Any text as the schema of an operator of the user's own, and as the overload of its variant. The
// names of an accepted operator fit into a .pte, and all layers take its parameters.
#include "ops/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const sc_op *op) {
    SC_ASSERT(sc_op_has(op, SC_OWN) && op->schema->return_count > 0);
    SC_ASSERT(strlen(op->out_name) < 100 && strstr(op->out_name, "::") &&
              strchr(op->out_name, '.'));
    for (uint32_t i = 0; i < op->schema->param_count; i++) {
        const sc_param *param = &op->schema->params[i];
        SC_ASSERT(param->name.size > 0 && !param->is_written && !param->is_aliased);
        SC_ASSERT(param->type != SC_PARAM_GRAPH && param->type != SC_PARAM_PART);
        SC_ASSERT(param->default_ints_count <= 4 && param->list_size >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_op op;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    const sc_str text = {(const char *)data, size};
    const ptrdiff_t end = sc_str_find(text, '\n');
    const sc_str overload = end < 0 ? (sc_str){0} : sc_str_slice(text, (size_t)end + 1, text.size);
    const sc_str schema = sc_str_slice(text, 0, end < 0 ? text.size : (size_t)end);
    const sc_status status = sc_own_read(&ctx, &arena, schema, overload, &op);
    if (status == SC_OK)
        check(&op);
    else
        SC_ASSERT(ctx.diags.count > 0 && sc_vec_last(&ctx.diags).hint.size > 0);
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
