// Any text as an operator schema. A schema that parses has parameters whose names lie inside the
// text.
#include "ops/op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_schema schema;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    const char *text = (const char *)data;
    if (sc_schema_parse(&ctx, &arena, (sc_str){text, size}, &schema) == SC_OK)
        for (uint32_t i = 0; i < schema.param_count; i++) {
            sc_str name = schema.params[i].name;
            SC_ASSERT(name.size > 0 && name.data > text && name.data + name.size < text + size);
            SC_ASSERT(schema.params[i].default_ints_count <= 4);
        }
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
