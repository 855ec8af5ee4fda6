// Any bytes as JSON. A document that parses is written again from the tree, and must parse to the
// same text: so the walk, the unescaping and the writer are exercised as well.
#include "format/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEPTH_MAX = 256 };

static void write_leaf(sc_ctx *ctx, sc_json_writer *writer, const sc_json *v) {
    switch (v->kind) {
    case SC_JSON_NULL: sc_json_add_null(writer); break;
    case SC_JSON_BOOL: sc_json_add_bool(writer, v->boolean); break;
    case SC_JSON_INT: sc_json_add_i64(writer, v->integer); break;
    case SC_JSON_UINT: sc_json_add_u64(writer, v->natural); break;
    case SC_JSON_STRING: sc_json_add_str(writer, sc_json_str(ctx->arena, v)); break;
    default: {
        double real = 0;
        SC_ASSERT(sc_json_f64(v, &real));
        sc_json_add_f64(writer, real);
    }
    }
}

// The tree in document order, with a stack of what is left to close.
static sc_str write_tree(sc_ctx *ctx, const sc_json *root) {
    struct {
        const sc_json *end;
        bool object;
    } open[DEPTH_MAX];
    uint32_t depth = 0;
    sc_sb text;
    sc_json_writer writer;
    sc_sb_init(&text, ctx->arena);
    sc_json_writer_init(&writer, &text, SC_JSON_COMPACT);
    const sc_json *v = root, *end = sc_json_next(root);
    bool key = false;
    while (v < end || depth > 0) {
        if (depth > 0 && v == open[depth - 1].end) {
            if (open[--depth].object)
                sc_json_end_object(&writer);
            else
                sc_json_end_array(&writer);
            key = depth > 0 && open[depth - 1].object;
            continue;
        }
        if (key) {
            sc_json_key_str(&writer, sc_json_str(ctx->arena, v++));
            key = false;
        }
        if (v->kind >= SC_JSON_ARRAY) {
            bool object = v->kind == SC_JSON_OBJECT;
            open[depth].end = sc_json_next(v);
            open[depth++].object = object;
            if (object)
                sc_json_begin_object(&writer);
            else
                sc_json_begin_array(&writer);
            key = object;
        } else {
            write_leaf(ctx, &writer, v);
            key = depth > 0 && open[depth - 1].object;
        }
        v++;
    }
    return sc_sb_str(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    const sc_json *root;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    if (sc_json_parse(&ctx, &arena, (sc_str){(const char *)data, size}, &root) == SC_OK) {
        sc_str first = write_tree(&ctx, root);
        SC_ASSERT(sc_json_parse(&ctx, &arena, first, &root) == SC_OK);
        sc_str second = write_tree(&ctx, root);
        SC_ASSERT(sc_str_equal(first, second));
    } else {
        SC_ASSERT(ctx.error_count > 0);
    }
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
