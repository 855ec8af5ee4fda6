// Weights stored once: equal bytes are one blob whatever file they come from, different ones never
// are, also when their size and first bytes agree.
#include "emit/emit_state.h"
#include "harness.h"

typedef struct setup {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_emit_store store;
} setup;

static void begin(setup *s) {
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
    sc_emit_store_init(&s->store, &s->arena);
}

static void end(setup *s) {
    sc_arena_deinit(&s->arena);
    sc_arena_deinit(&s->scratch);
}

// `size` bytes of `fill`, the last one `last`, in memory of their own.
static uint32_t add(setup *s, size_t size, uint8_t fill, uint8_t last) {
    uint8_t *bytes = sc_arena_alloc(&s->arena, size + 1);
    memset(bytes, fill, size);
    if (size) bytes[size - 1] = last;
    uint32_t index = 0;
    sc_extent data = sc_extent_whole(sc_source_from_memory(&s->arena, bytes, size));
    CHECK_OK(sc_emit_store_add(&s->ctx, &s->store, data, &index));
    return index;
}

TEST(equal_bytes_are_one_blob) {
    setup s;
    begin(&s);
    CHECK_EQ_UINT(add(&s, 100000, 1, 1), 1);
    CHECK_EQ_UINT(add(&s, 100000, 1, 1), 1);
    CHECK_EQ_UINT(add(&s, 100000, 1, 2), 2);
    CHECK_EQ_UINT(add(&s, 100000, 1, 3), 3);
    CHECK_EQ_UINT(add(&s, 100000, 1, 2), 2);
    CHECK_EQ_UINT(add(&s, 100000, 1, 1), 1);
    CHECK_EQ_UINT(add(&s, 100001, 1, 1), 4);
    CHECK_EQ_UINT(add(&s, 3, 1, 1), 5);
    CHECK_EQ_UINT(add(&s, 0, 0, 0), 6);
    CHECK_EQ_UINT(add(&s, 0, 0, 0), 6);
    end(&s);
}

// Offsets that the official writer gives for the same sizes at alignment 16.
TEST(blobs_are_aligned_but_not_padded_at_the_end) {
    setup s;
    begin(&s);
    add(&s, 0, 0, 0);
    add(&s, 8, 1, 1);
    add(&s, 15, 2, 2);
    add(&s, 16, 3, 3);
    add(&s, 17, 4, 4);
    sc_cord cord;
    uint64_t *offsets = NULL;
    sc_cord_init(&cord, &s.arena);
    sc_emit_store_write(&s.arena, &s.store, 16, &cord, &offsets);
    static const uint64_t wanted[] = {0, 0, 0, 16, 32, 48};
    CHECK_EQ_UINT(s.store.blobs.count, 6);
    for (uint32_t i = 0; i < 6; i++) CHECK_EQ_UINT(offsets[i], wanted[i]);
    CHECK_EQ_UINT(cord.size, 65);
    end(&s);
}

TEST(a_store_of_nothing_but_empty_blobs_still_has_a_byte) {
    setup s;
    begin(&s);
    add(&s, 0, 0, 0);
    sc_cord cord;
    uint64_t *offsets = NULL;
    sc_cord_init(&cord, &s.arena);
    sc_emit_store_write(&s.arena, &s.store, 16, &cord, &offsets);
    CHECK_EQ_UINT(cord.size, 1);
    end(&s);
}

static sc_status refuse(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out, size_t bytes) {
    (void)source, (void)offset, (void)out, (void)bytes;
    return sc_fail(ctx, SC_ERR_IO, NULL, "gone");
}

TEST(a_source_that_cannot_be_read_is_an_error) {
    setup s;
    begin(&s);
    sc_source source = {.read = refuse, .size = 8};
    uint32_t index = 0;
    CHECK_STATUS(sc_emit_store_add(&s.ctx, &s.store, sc_extent_whole(&source), &index), SC_ERR_IO);
    end(&s);
}
