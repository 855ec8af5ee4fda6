// Makes the inputs of one case from the example inputs of an exported program, which are a
// torch.save of (args, kwargs).
#include "devtools/etrecord.h"
#include "format/torch_save.h"

static void add_values(sc_arena *arena, sc_pickle_value *to, const sc_pickle_value *kwargs) {
    for (uint32_t i = 0; i < kwargs->count; i++) sc_pickle_add(arena, to, kwargs->items[2 * i + 1]);
}

sc_status sc_etrecord_examples(sc_ctx *ctx, const sc_method *method, const sc_pickle_value **out) {
    sc_torch_save file;
    *out = NULL;
    if (!method->examples.size) return SC_OK;
    SC_TRY(sc_torch_save_open(ctx, ctx->arena, method->examples, &file));
    if (!file.root || !sc_pickle_is_sequence(file.root) || file.root->count != 2) return SC_OK;
    const sc_pickle_value *args = file.root->items[0], *kwargs = file.root->items[1];
    if (!sc_pickle_is_sequence(args) || kwargs->kind != SC_PICKLE_DICT) return SC_OK;
    sc_pickle_value *all = sc_pickle_make_container(ctx->arena, SC_PICKLE_TUPLE);
    for (uint32_t i = 0; i < args->count; i++) sc_pickle_add(ctx->arena, all, args->items[i]);
    add_values(ctx->arena, all, kwargs);
    *out = all;
    return SC_OK;
}
