#include "base/parallel.h"

#include <stdatomic.h>
#include <threads.h>

#include "harness.h"
#include "team.h"

enum { PARTS = 1000, WIDTH = 5 };

typedef struct tally {
    uint8_t done[PARTS];       // how often each part was done
    uint32_t by[PARTS];        // the thread that did it
    int64_t longest;           // of the ranges that threads from 1 on had
    uint8_t *scratch[WIDTH];   // that each thread saw
    uint32_t inner[PARTS][3];  // of calls from inside
} tally;

static void count_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    tally *t = work;
    for (int64_t i = from; i < to; i++) {
        t->done[i]++;
        t->by[i] = thread;
    }
}

static void check_all_done(const tally *t, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (!CHECK_EQ_INT(t->done[i], 1)) return;
        if (!CHECK(t->by[i] < sc_parallel_width())) return;
    }
    for (int64_t i = count; i < PARTS; i++) {
        if (!CHECK_EQ_INT(t->done[i], 0)) return;
    }
}

TEST(parallel_does_each_part_once) {
    for (uint32_t width = 1; width <= WIDTH; width++) {
        team_open(width);
        for (int round = 0; round < 400; round++) {
            const int64_t count = round * 37 % (PARTS + 1), step = round % 7 * (round % 3);
            tally t = {0};
            sc_parallel(count, step, count_part, &t);
            check_all_done(&t, count);
        }
        CHECK(sc_parallel_present() < width);
    }
    team_close();
    CHECK_EQ_UINT(sc_parallel_present(), 0);
}

TEST(parallel_needs_no_threads) {
    team_open(1);
    tally t = {0};
    sc_parallel(PARTS, 1, count_part, &t);
    check_all_done(&t, PARTS);
    for (int i = 0; i < PARTS; i++) CHECK_EQ_UINT(t.by[i], 0);
    team_close();
}

static void count_inside(void *work, int64_t from, int64_t to, uint32_t thread) {
    tally *t = work;
    count_part(t, from, to, thread);
    for (int64_t i = from; i < to; i++) {
        tally inner = {0};
        sc_parallel(8, 1, count_part, &inner);
        for (int part = 0; part < 8; part++)
            t->inner[i][0] += inner.done[part], t->inner[i][1] += inner.by[part];
    }
}

// Calls from inside are done by the thread that makes them, as thread 0.
TEST(parallel_does_not_fork_inside) {
    team_open(3);
    static tally t;
    memset(&t, 0, sizeof t);
    sc_parallel(PARTS, 1, count_inside, &t);
    check_all_done(&t, PARTS);
    for (int i = 0; i < PARTS; i++) {
        if (!CHECK_EQ_UINT(t.inner[i][0], 8) || !CHECK_EQ_UINT(t.inner[i][1], 0)) break;
    }
    team_close();
}

static void fill_scratch(void *work, int64_t from, int64_t to, uint32_t thread) {
    tally *t = work;
    count_part(t, from, to, thread);
    if (!thread) return;
    uint8_t *scratch = sc_parallel_scratch(thread);
    memset(scratch, (int)thread, 1000);
    t->scratch[thread] = scratch;
    // Nobody else has written there meanwhile.
    for (int i = 0; i < 1000; i++) t->inner[from][0] += scratch[i] != thread;
}

TEST(parallel_scratch_is_of_one_thread) {
    team_open(WIDTH);
    static tally t;
    for (int round = 0; round < 200; round++) {
        memset(&t, 0, sizeof t);
        REQUIRE(sc_parallel_reserve(1000 + (uint64_t)round));
        sc_parallel(PARTS, 1, fill_scratch, &t);
        check_all_done(&t, PARTS);
        for (int i = 0; i < PARTS; i++) CHECK_EQ_UINT(t.inner[i][0], 0);
    }
    for (int i = 1; i < WIDTH; i++) CHECK_EQ_UINT((uintptr_t)t.scratch[i] % 64, 0);
    team_close();
}

// Work that nobody else could do is counted, so that a host knows when threads would be of use.
TEST(parallel_counts_what_was_missed) {
    team_open(1);
    tally t = {0};
    const double before = sc_parallel_missed();
    sc_parallel(10, 10, count_part, &t);
    CHECK(sc_parallel_missed() == before);
    memset(&t, 0, sizeof t);
    sc_parallel(100, 10, count_part, &t);
    CHECK(sc_parallel_missed() == before || sc_parallel_missed() == before + 10);
    team_close();
}

static void meet(void *work, int64_t from, int64_t to, uint32_t thread) {
    atomic_int *arrived = work;
    (void)thread;
    atomic_fetch_add(arrived, (int)(to - from));
    while (atomic_load(arrived) < WIDTH - 1) thrd_yield();
}

// Threads that had a range are known. Each range here waits for the others, so no thread has two.
TEST(parallel_knows_who_helped) {
    team_open(WIDTH);
    if (sc_parallel_present() == WIDTH - 1) {
        atomic_int arrived = 0;
        const uint64_t before = sc_parallel_calls();
        CHECK_EQ_UINT(sc_parallel_threads_since(before), 1);
        sc_parallel(WIDTH - 1, 1, meet, &arrived);
        const uint64_t after = sc_parallel_calls();
        CHECK_EQ_UINT(after, before + 1);
        // The caller counts although it may have come too late for a range.
        const uint32_t threads = sc_parallel_threads_since(before);
        CHECK(threads == WIDTH - 1 || threads == WIDTH);
        CHECK_EQ_UINT(sc_parallel_threads_since(after), 1);
        tally t = {0};
        sc_parallel(1, 1, count_part, &t);
        CHECK_EQ_UINT(sc_parallel_calls(), after);
    }
    team_close();
}

// Threads come and go between calls.
TEST(parallel_opens_and_closes) {
    for (int round = 0; round < 100; round++) {
        team_open(2 + (uint32_t)round % 3);
        tally t = {0};
        sc_parallel(PARTS, 3, count_part, &t);
        check_all_done(&t, PARTS);
    }
    team_close();
}
