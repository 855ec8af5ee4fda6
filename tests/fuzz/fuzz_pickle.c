// Any bytes as a pickle. Tensors that come out must be as sound as promised, and what can be
// written again can be read again.
#include "format/pickle_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tensor(const sc_pickle_tensor *tensor) {
    uint64_t bytes;
    SC_ASSERT(tensor->rank <= 64 && tensor->item_bytes > 0);
    for (uint32_t i = 0; i < tensor->rank; i++)
        SC_ASSERT(tensor->sizes[i] >= 0 && tensor->strides[i] >= 0);
    if (!tensor->storage) return;
    SC_ASSERT(sc_pickle_tensor_bytes(tensor, &bytes) && bytes <= tensor->storage->bytes);
}

// All paths of a few thousand steps: the graph is finite, but may unfold to very many.
static void walk(const sc_pickle_value *v, uint32_t depth, uint32_t *budget) {
    if (!v || *budget == 0) return;
    --*budget;
    SC_ASSERT(depth <= 512 + 1);  // containers, and a leaf
    if (v->kind == SC_PICKLE_TENSOR) check_tensor(v->tensor);
    if (v->kind == SC_PICKLE_OBJECT) {
        walk(v->object->args, depth + 1, budget);
        walk(v->object->state, depth + 1, budget);
        walk(v->object->items, depth + 1, budget);
    }
    bool dict = v->kind == SC_PICKLE_DICT;
    if (dict || (v->kind >= SC_PICKLE_TUPLE && v->kind <= SC_PICKLE_SET))
        for (uint32_t i = 0; i < (dict ? 2 : 1) * v->count; i++)
            walk(v->items[i], depth + 1, budget);
}

static void write_again(sc_ctx *ctx, const sc_pickle *pickle) {
    sc_pickle again;
    sc_pickle_storages storages = {0};
    sc_sb out;
    sc_sb_init(&out, ctx->arena);
    ctx->limits.pickle_opcode_max = 5000;  // values, some of which take a dozen opcodes
    if (sc_pickle_write(ctx, ctx->arena, pickle->root, &out, &storages) != SC_OK) return;
    ctx->limits.pickle_opcode_max = 1 << 24;
    SC_ASSERT(sc_pickle_load(ctx, ctx->arena, (const uint8_t *)out.data, out.size, &again) ==
              SC_OK);
    SC_ASSERT(again.root->kind == pickle->root->kind && again.end == out.size);
    SC_ASSERT(again.storages.count == storages.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_pickle pickle;
    uint32_t budget = 5000;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    ctx.limits.pickle_memo_max = 1 << 16;
    if (sc_pickle_load(&ctx, &arena, data, size, &pickle) == SC_OK) {
        walk(pickle.root, 1, &budget);
        write_again(&ctx, &pickle);
    } else {
        SC_ASSERT(ctx.error_count > 0);
    }
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
