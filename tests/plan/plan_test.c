// The planners against facts: the official greedy algorithm written down naively, a plan read off a
// real file, and the bounds that any plan must respect.
#include "harness.h"
#include "plan/plan.h"

typedef struct fixture {
    sc_arena arena, scratch;
    sc_ctx ctx;
} fixture;

static void setup(fixture *f) {
    sc_arena_init(&f->arena);
    sc_arena_init(&f->scratch);
    sc_ctx_init(&f->ctx, &f->arena, &f->scratch);
}

static void teardown(fixture *f) {
    sc_arena_deinit(&f->arena);
    sc_arena_deinit(&f->scratch);
}

static uint32_t random_below(uint32_t *state, uint32_t bound) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % bound;
}

static uint32_t random_items(uint32_t seed, sc_plan_item *items, uint32_t count) {
    uint32_t state = seed;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = random_below(&state, 2 * count);
        uint32_t length = random_below(&state, seed % 3 ? 8 : 60);
        uint32_t bytes = random_below(&state, seed % 2 ? 6 : 600) * (seed % 5 ? 16 : 13);
        items[i] = (sc_plan_item){.bytes = bytes, .first = first, .last = first + length};
    }
    return count;
}

// The official algorithm, as described: every item against every resident of every bucket.
static uint64_t reference_greedy(sc_plan_item *items, uint32_t count) {
    enum { MAX = 256 };
    uint64_t bucket_size[MAX], aligned[MAX];
    uint32_t bucket_of[MAX], order[MAX], bucket_count = 0;
    bool placed[MAX] = {false};
    for (uint32_t i = 0; i < count; i++) aligned[i] = sc_align_up(items[i].bytes, 16);
    for (uint32_t i = 0; i < count; i++) {  // insertion sort, ascending and stable; then reversed
        uint32_t at = i;
        while (at > 0 && aligned[order[at - 1]] > aligned[i]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    for (uint32_t k = count; k-- > 0;) {
        uint32_t i = order[k], chosen = MAX;
        uint64_t offset = 0;
        for (int step = 0; step < 2 && chosen == MAX; step++)
            for (uint32_t b = 0; b < bucket_count && chosen == MAX; b++) {
                uint64_t top = 0;
                bool meets = false;
                for (uint32_t r = 0; r < count; r++)
                    if (placed[r] && bucket_of[r] == b && items[r].first <= items[i].last &&
                        items[i].first <= items[r].last) {
                        meets = true;
                        top = sc_max_u64(top, items[r].offset + aligned[r]);
                    }
                if (step == 0 ? !meets : top > 0 && top + aligned[i] <= bucket_size[b]) {
                    chosen = b;
                    offset = step == 0 ? 0 : top;
                }
            }
        if (chosen == MAX) {
            bucket_size[bucket_count] = aligned[i];
            chosen = bucket_count++;
        }
        bucket_of[i] = chosen;
        items[i].offset = offset;
        placed[i] = true;
    }
    uint64_t total = 0;
    for (uint32_t b = 0; b < bucket_count; b++) {
        for (uint32_t i = 0; i < count; i++)
            if (bucket_of[i] == b) items[i].offset += total;
        total += bucket_size[b];
    }
    return total;
}

static void check_greedy(fixture *f, sc_plan_item *items, uint32_t count) {
    sc_plan_item theirs[200];
    uint64_t total = 0;
    REQUIRE(count <= SC_COUNT_OF(theirs));
    memcpy(theirs, items, count * sizeof(*items));
    CHECK_OK(sc_plan_greedy(&f->ctx, items, count, 16, 0, &total));
    CHECK_EQ_UINT(total, reference_greedy(theirs, count));
    for (uint32_t i = 0; i < count; i++) CHECK_EQ_UINT(items[i].offset, theirs[i].offset);
}

TEST(plan_greedy_is_the_official_one) {
    fixture f;
    setup(&f);
    for (uint32_t seed = 1; seed <= 60; seed++) {
        sc_plan_item items[60];
        check_greedy(&f, items, random_items(seed, items, 60));
    }
    teardown(&f);
}

// More than 64 buckets, and lives of several thousand moments.
TEST(plan_greedy_is_the_official_one_for_long_programs) {
    fixture f;
    setup(&f);
    for (uint32_t seed = 1; seed <= 12; seed++) {
        sc_plan_item items[200];
        uint32_t state = seed;
        for (uint32_t i = 0; i < 200; i++) {
            uint32_t first = random_below(&state, 9000);
            uint32_t length = random_below(&state, i % 3 ? 6000 : 40);
            items[i] = (sc_plan_item){.bytes = 16 * (1 + random_below(&state, seed % 2 ? 2 : 60)),
                                      .first = first,
                                      .last = i % 5 ? first + length : first | 1023};
        }
        check_greedy(&f, items, 200);
    }
    teardown(&f);
}

// Sizes, lifetimes and offsets of the 27 tensors of a keyword-spotting network in an official file.
TEST(plan_greedy_reproduces_a_real_file) {
    static const uint32_t rows[][4] = {
        {1960, 0, 85, 0},     {490, 84, 88, 1968},    {0, 86, 88, 2464},      {8000, 87, 90, 8000},
        {8000, 89, 93, 0},    {0, 91, 93, 8000},      {8000, 92, 96, 8000},   {0, 94, 96, 8000},
        {8000, 95, 99, 0},    {0, 97, 99, 8000},      {8000, 98, 102, 8000},  {0, 100, 102, 8000},
        {8000, 101, 105, 0},  {0, 103, 105, 8000},    {8000, 104, 108, 8000}, {0, 106, 108, 8000},
        {8000, 107, 111, 0},  {0, 109, 111, 8000},    {8000, 110, 114, 8000}, {0, 112, 114, 8000},
        {8000, 113, 116, 0},  {8000, 115, 118, 8000}, {8000, 117, 121, 0},    {256, 119, 121, 8000},
        {64, 120, 124, 8256}, {12, 123, 126, 48},     {48, 125, 127, 0}};
    fixture f;
    setup(&f);
    sc_plan_item items[SC_COUNT_OF(rows)];
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        items[i] = (sc_plan_item){.bytes = rows[i][0], .first = rows[i][1], .last = rows[i][2]};
    uint64_t total = 0;
    CHECK_OK(sc_plan_greedy(&f.ctx, items, SC_COUNT_OF(rows), 16, 0, &total));
    CHECK_EQ_UINT(total, 16000);
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i][0] > 0) CHECK_EQ_UINT(items[i].offset, rows[i][3]);
    teardown(&f);
}

TEST(plan_best_is_valid_and_never_larger) {
    fixture f;
    setup(&f);
    for (uint32_t seed = 1; seed <= 60; seed++) {
        sc_plan_item items[200], copy[200];
        uint32_t count = random_items(seed, items, 200);
        memcpy(copy, items, sizeof(items));
        uint64_t best = 0, greedy = 0, naive = 0;
        const char *winner = NULL;
        CHECK_OK(sc_plan_best(&f.ctx, items, count, 16, 64, &best, &winner));
        CHECK_OK(sc_plan_greedy(&f.ctx, copy, count, 16, 64, &greedy));
        CHECK_OK(sc_plan_verify(&f.ctx, copy, count, 16, 64, greedy));
        CHECK_OK(sc_plan_naive(&f.ctx, copy, count, 16, 64, &naive));
        CHECK(winner != NULL);
        CHECK(best <= greedy && greedy <= naive);
        CHECK(best >= 64 + sc_plan_live_bytes(&f.ctx, items, count, 16));
    }
    teardown(&f);
}

TEST(plan_verify_finds_what_is_wrong) {
    fixture f;
    setup(&f);
    sc_plan_item items[2] = {{.bytes = 32, .first = 0, .last = 5, .offset = 0},
                             {.bytes = 32, .first = 5, .last = 9, .offset = 32}};
    CHECK_OK(sc_plan_verify(&f.ctx, items, 2, 16, 0, 64));
    CHECK_STATUS(sc_plan_verify(&f.ctx, items, 2, 16, 0, 48), SC_ERR_INTERNAL);
    items[1].offset = 16;
    CHECK_STATUS(sc_plan_verify(&f.ctx, items, 2, 16, 0, 64), SC_ERR_INTERNAL);
    items[1].first = 6;
    CHECK_OK(sc_plan_verify(&f.ctx, items, 2, 16, 0, 64));
    items[1].offset = 8;
    CHECK_STATUS(sc_plan_verify(&f.ctx, items, 2, 16, 0, 64), SC_ERR_INTERNAL);
    teardown(&f);
}

static bool share_time(const sc_plan_item *a, const sc_plan_item *b) {
    return a->first <= b->last && b->first <= a->last;
}

static bool share_bytes(const sc_plan_item *a, const sc_plan_item *b) {
    return a->bytes && b->bytes && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static bool has_collision(const sc_plan_item *items, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i + 1; k < count; k++)
            if (share_time(&items[i], &items[k]) && share_bytes(&items[i], &items[k])) return true;
    return false;
}

// Good plans with one item moved somewhere else: the verdict is that of comparing all pairs.
TEST(plan_verify_agrees_with_comparing_all_pairs) {
    fixture f;
    setup(&f);
    uint32_t state = 7, bad = 0;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        sc_plan_item items[80];
        uint32_t count = random_items(seed, items, 80);
        uint64_t total = 0;
        CHECK_OK(sc_plan_greedy(&f.ctx, items, count, 16, 0, &total));
        sc_plan_item *moved = &items[random_below(&state, count)];
        moved->offset = random_below(&state, (uint32_t)((total - moved->bytes) / 16 + 1)) * 16u;
        bool collides = has_collision(items, count);
        bad += collides;
        CHECK_EQ_INT(sc_plan_verify(&f.ctx, items, count, 16, 0, total) != SC_OK, collides);
    }
    CHECK(bad > 20 && bad < 180);
    teardown(&f);
}

// In order of starts, each item at the lowest place where it meets none of those before it.
static void reference_by_start(sc_plan_item *items, uint32_t count, uint64_t start) {
    bool placed[256] = {false};
    for (uint32_t n = 0; n < count; n++) {
        uint32_t next = 256;
        for (uint32_t i = 0; i < count; i++)
            if (!placed[i] &&
                (next == 256 || items[i].first < items[next].first ||
                 (items[i].first == items[next].first && items[i].last > items[next].last)))
                next = i;
        items[next].offset = start;
        for (uint32_t i = 0; i < count;) {
            sc_plan_item other = items[i], mine = items[next];
            other.bytes = sc_align_up(other.bytes, 16);
            mine.bytes = sc_align_up(mine.bytes, 16);
            bool meets = placed[i] && share_time(&other, &mine) && share_bytes(&other, &mine);
            if (meets) items[next].offset += 16;
            i = meets ? 0 : i + 1;
        }
        placed[next] = true;
    }
}

TEST(plan_by_start_takes_the_lowest_gap) {
    fixture f;
    setup(&f);
    for (uint32_t seed = 1; seed <= 60; seed++) {
        sc_plan_item ours[100], theirs[100];
        uint32_t count = random_items(seed, ours, 100);
        memcpy(theirs, ours, sizeof(ours));
        uint64_t total = 0;
        CHECK_OK(sc_plan_by_start(&f.ctx, ours, count, 16, 64, &total));
        CHECK_OK(sc_plan_verify(&f.ctx, ours, count, 16, 64, total));
        reference_by_start(theirs, count, 64);
        for (uint32_t i = 0; i < count; i++) CHECK_EQ_UINT(ours[i].offset, theirs[i].offset);
    }
    teardown(&f);
}
