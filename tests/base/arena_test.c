// Arenas: alignment, zeroing, growth in place, marks across chunks and large blocks, vectors.
#include "base/vec.h"
#include "harness.h"

TEST(arena_hands_out_aligned_zeroed_memory) {
    sc_arena arena;
    sc_arena_init(&arena);
    for (size_t bytes = 0; bytes < 3000; bytes += 7) {
        uint8_t *memory = sc_arena_alloc(&arena, bytes);
        if (!CHECK((uintptr_t)memory % 16 == 0)) break;
        for (size_t i = 0; i < bytes; i++)
            if (memory[i]) FAIL("byte %zu of %zu is not zero", i, bytes);
        memset(memory, 0xff, bytes);
    }
    sc_arena_deinit(&arena);
    CHECK_EQ_UINT(arena.held_bytes, 0);
}

TEST(arena_rewind_gives_back_everything_since_the_mark) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_mark empty = sc_arena_mark(&arena);
    char *kept = NULL;
    for (int round = 0; round < 3; round++) {
        sc_arena_rewind(&arena, empty);
        kept = sc_arena_alloc(&arena, 100);
        strcpy(kept, "kept");
        sc_mark mark = sc_arena_mark(&arena);
        uint64_t used = arena.used_bytes;
        for (int i = 0; i < 1000; i++) memset(sc_arena_alloc(&arena, 500), 1, 500);
        sc_arena_alloc(&arena, 4 << 20);
        sc_arena_rewind(&arena, mark);
        CHECK_EQ_UINT(arena.used_bytes, used);
        CHECK_EQ_STR(kept, "kept");
    }
    // One spare chunk stays, the rest went back.
    CHECK(arena.held_bytes < 3 << 20);
    sc_arena_deinit(&arena);
}

TEST(arena_keeps_a_small_job_small) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_arena_alloc(&arena, 1000);
    CHECK(arena.held_bytes < 20 << 10);
    sc_arena_deinit(&arena);
}

TEST(arena_grows_blocks_and_keeps_their_bytes) {
    sc_arena arena;
    sc_arena_init(&arena);
    uint8_t *first = sc_arena_grow(&arena, NULL, 0, 10);
    memset(first, 7, 10);
    CHECK(sc_arena_grow(&arena, first, 10, 100) == first);  // the newest block grows in place
    uint8_t *other = sc_arena_alloc(&arena, 8);
    uint8_t *moved = sc_arena_grow(&arena, first, 100, 200);
    CHECK(moved != first && moved != other);
    CHECK(moved[9] == 7 && moved[10] == 0 && moved[199] == 0);
    size_t bytes = 200;
    uint8_t *block = moved;
    for (; bytes < 8 << 20; bytes *= 2) block = sc_arena_grow(&arena, block, bytes, bytes * 2);
    CHECK(block[9] == 7 && block[bytes - 1] == 0);
    CHECK(arena.held_bytes < 14 << 20);  // large blocks leave no smaller selves behind
    sc_arena_deinit(&arena);
}

TEST(arena_rewinds_past_a_large_block_that_grew) {
    sc_arena arena;
    sc_arena_init(&arena);
    uint8_t *large = sc_arena_alloc(&arena, 1 << 20);
    large[0] = 5;
    sc_mark mark = sc_arena_mark(&arena);
    sc_arena_alloc(&arena, 1 << 20);
    large = sc_arena_grow(&arena, large, 1 << 20, 3 << 20);
    sc_arena_rewind(&arena, mark);
    CHECK_EQ_INT(large[0], 5);
    large[(3 << 20) - 1] = 1;
    sc_arena_deinit(&arena);
}

TEST(vec_keeps_order_while_growing) {
    sc_arena arena;
    sc_arena_init(&arena);
    SC_VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 100000; i++) sc_vec_push(&arena, &v, i);
    CHECK_EQ_UINT(v.count, 100000);
    for (uint32_t i = 0; i < v.count; i++)
        if (v.data[i] != i) FAIL("element %u is %u", i, v.data[i]);
    CHECK_EQ_UINT(sc_vec_last(&v), 99999);
    sc_arena_deinit(&arena);
}

TEST(try_alloc_fails_politely) {
    CHECK(sc_try_alloc(UINT64_MAX) == NULL);
    CHECK(sc_try_alloc(UINT64_C(1) << 60) == NULL);
    void *memory = sc_try_alloc(100);
    CHECK(memory && (uintptr_t)memory % 64 == 0);
    sc_free(memory);
}

TEST(large_blocks_go_before_their_arena) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_arena_alloc(&arena, 100);
    const uint64_t held = arena.held_bytes;
    const sc_mark mark = sc_arena_mark(&arena);
    uint8_t *first = sc_arena_try_alloc(&arena, 1 << 20);
    uint8_t *second = sc_arena_try_alloc(&arena, 1 << 20);
    REQUIRE(first && second);
    memset(first, 1, 1 << 20);
    memset(second, 2, 1 << 20);
    sc_arena_release(&arena, first);
    CHECK(second[0] == 2 && second[(1 << 20) - 1] == 2);
    CHECK(arena.held_bytes >= held + (1 << 20) && arena.held_bytes < held + (2 << 20));
    sc_arena_release(&arena, NULL);
    sc_arena_rewind(&arena, mark);  // takes the other one along
    CHECK_EQ_UINT(arena.held_bytes, held);
    CHECK(sc_arena_try_alloc(&arena, SIZE_MAX) == NULL);
    sc_arena_deinit(&arena);
}
