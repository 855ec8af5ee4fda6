// Any bytes as a bundled program: read all of its cases, and check that every byte of a value can
// be read. A bundle that reads well is written again, and must read the same.
#include "context.h"
#include "devtools/bundled/bundled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t walk_values(sc_bundled_values values) {
    uint64_t sum = values.count;
    for (uint32_t i = 0; i < values.count; i++) {
        const sc_bundled_value *v = &values.items[i];
        sum = sum * 31 + (uint64_t)v->kind + (uint64_t)v->i;
        for (uint32_t d = 0; d < v->rank; d++)
            sum = sum * 31 + (uint64_t)v->sizes[d] + v->dim_order[d];
        for (uint64_t k = 0; k < v->bytes; k++) sum = sum * 31 + v->data[k];
    }
    return sum;
}

static uint64_t walk(const sc_bundled *bundled) {
    uint64_t sum = bundled->program_bytes;
    for (uint32_t s = 0; s < bundled->suite_count; s++) {
        const sc_bundled_suite *suite = &bundled->suites[s];
        for (size_t i = 0; i < suite->method.size; i++)
            sum = sum * 31 + (uint8_t)suite->method.data[i];
        for (uint32_t c = 0; c < suite->case_count; c++)
            sum = sum * 31 + walk_values(suite->cases[c].inputs) +
                  7 * walk_values(suite->cases[c].expected);
    }
    return sum;
}

static void write_again(sc_ctx *ctx, const sc_bundled *bundled) {
    const uint8_t *head = NULL;
    size_t size = 0;
    sc_bundled again;
    if (sc_bundled_write(ctx, ctx->arena, bundled, &head, &size) != SC_OK) return;
    uint8_t *file = sc_arena_alloc(ctx->arena, size + bundled->program_bytes);
    memcpy(file, head, size);
    memcpy(file + size, bundled->program, bundled->program_bytes);
    SC_ASSERT(sc_bundled_read(ctx, ctx->arena, file, size + bundled->program_bytes, &again) ==
              SC_OK);
    SC_ASSERT(again.program == file + size && walk(&again) == walk(bundled));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_context c;
    sc_ctx *ctx = fuzz_begin(&c, 1 << 20);
    sc_bundled bundled;
    sc_status status = sc_bundled_read(ctx, ctx->arena, data, size, &bundled);
    SC_ASSERT(status == SC_OK || ctx->error_count > 0);
    if (status == SC_OK) write_again(ctx, &bundled);
    fuzz_end(&c);
    return 0;
}
