// The threads of the engine, and the one call that they work on at a time.
//
// The gate is one word: whether a call is open, its number, and how many threads are inside. A
// thread enters only an open call, by counting itself in. The caller closes the gate and waits
// until nobody is inside, so what the call needs stays in place as long as somebody reads it.
#include "base/parallel.h"

#include "base/arena.h"

#if defined(__wasm__) && !defined(__wasm_atomics__)

uint32_t sc_parallel_width(void) { return 1; }
void sc_parallel_set_width(uint32_t width) { (void)width; }
void sc_parallel(int64_t count, int64_t step, sc_parallel_fn *fn, void *work) {
    (void)step;
    if (count > 0) fn(work, 0, count, 0);
}
int64_t sc_parallel_step(int64_t count, double nanoseconds) {
    (void)nanoseconds;
    return count;
}
void sc_parallel_rows(int64_t count, double nanoseconds, sc_parallel_fn *fn, void *work) {
    sc_parallel(count, sc_parallel_step(count, nanoseconds), fn, work);
}
void sc_parallel_split_all(bool splits) { (void)splits; }
uint64_t sc_parallel_calls(void) { return 0; }
uint32_t sc_parallel_threads_since(uint64_t calls) {
    (void)calls;
    return 1;
}
void sc_parallel_serve(uint32_t thread) { (void)thread; }
void sc_parallel_end(void) {}
void sc_parallel_fail(void) {}
uint32_t sc_parallel_present(void) { return 0; }
double sc_parallel_missed(void) { return 0; }
bool sc_parallel_reserve(uint64_t bytes) {
    (void)bytes;
    return true;
}
void *sc_parallel_scratch(uint32_t thread) {
    (void)thread;
    return NULL;
}

#else

#include <stdalign.h>
#include <stdatomic.h>

#if !defined(__wasm__)
#include <threads.h>
#endif

enum { INSIDE = 0xff, NUMBER_STEP = 0x100 };
#define IS_OPEN (UINT32_C(1) << 31)
#define NUMBER  (~(IS_OPEN | INSIDE))

// Ranges of a call that are counted. There are never so many, as each takes some time.
enum { RANGES_MAX = INT32_MAX - 1 };

// Looks at the gate before a thread sleeps: some 50 microseconds. Calls of one run follow one
// another faster than that, and waking a thread takes as long.
enum { LOOKS = 20000 };

static struct {
    alignas(64) _Atomic uint32_t gate;
    _Atomic uint32_t asleep, present;
    _Atomic bool ends, failed, is_busy;
    uint32_t width;
    bool splits_all;
    uint64_t calls;                       // that were shared
    uint64_t last_call[SC_PARALLEL_MAX];  // by thread: the last one that it had a range of
    double missed;
    uint8_t *scratch;                    // of threads 1, 2 and so on, one after the other
    uint64_t scratch_bytes;              // of each
    alignas(64) _Atomic uint64_t taken;  // ranges: from the front, and from the back (upper half)
    alignas(64) int64_t count, step, ranges;
    sc_parallel_fn *fn;
    void *work;
    size_t pages;                        // of memory that the call may use
    uint8_t has_range[SC_PARALLEL_MAX];  // by thread: it had one of this call
} team;

// --- Waiting -------------------------------------------------------------------------------------

// Waits until the gate is no longer `seen`, for at most these nanoseconds (-1: for ever).
static void wait_at_gate(uint32_t seen, int64_t nanoseconds) {
#if defined(__wasm__)
    __builtin_wasm_memory_atomic_wait32((int *)&team.gate, (int)seen, nanoseconds);
#else
    (void)seen, (void)nanoseconds;
    thrd_yield();
#endif
}

static void wake(void) {
#if defined(__wasm__)
    if (atomic_load(&team.asleep))
        __builtin_wasm_memory_atomic_notify((int *)&team.gate, (unsigned)-1);
#endif
}

// Looks a number of times, then sleeps. A new value of the gate wakes, because those who write it
// look for sleepers afterwards.
static void rest(uint32_t seen, uint32_t *looks, int64_t nanoseconds) {
    if (++*looks < LOOKS) return;
    atomic_fetch_add(&team.asleep, 1);
    wait_at_gate(seen, nanoseconds);
    atomic_fetch_sub(&team.asleep, 1);
}

// --- Memory that grows ---------------------------------------------------------------------------

// An instance hears late that another one has grown the memory, and instructions that copy or fill
// trap beyond what it knows of. Growing by nothing makes it look.
#if defined(__wasm__)
static size_t known_pages(void) { return __builtin_wasm_memory_size(0); }
static bool knows_memory(void) {
    if (known_pages() >= team.pages) return true;
    (void)__builtin_wasm_memory_grow(0, 0);
    return known_pages() >= team.pages;
}
#else
static size_t known_pages(void) { return 0; }
static bool knows_memory(void) { return true; }
#endif

// --- Parts ---------------------------------------------------------------------------------------

// Threads with odd numbers begin at the back. Successive calls often work on the same rows, which
// are then still in the cache of the thread that wrote them.
static void take_parts(uint32_t thread) {
    const bool is_back = thread % 2;
    const uint64_t one = is_back ? UINT64_C(1) << 32 : 1;
    for (;;) {
        const uint64_t taken = atomic_fetch_add_explicit(&team.taken, one, memory_order_relaxed);
        const int64_t front = (uint32_t)taken, back = (int64_t)(taken >> 32);
        if (front + back >= team.ranges) return;
        team.has_range[thread] = true;
        const int64_t from = (is_back ? team.ranges - 1 - back : front) * team.step;
        team.fn(team.work, from, sc_min_i64(from + team.step, team.count), thread);
    }
}

void sc_parallel_serve(uint32_t thread) {
    uint32_t last = 0, looks = 0;
    SC_ASSERT(thread > 0 && thread < SC_PARALLEL_MAX);
    atomic_fetch_add(&team.present, 1);
    while (!atomic_load(&team.ends)) {
        uint32_t gate = atomic_load(&team.gate);
        if (!(gate & IS_OPEN) || (gate & NUMBER) == last) {
            rest(gate, &looks, -1);
        } else if (atomic_compare_exchange_weak(&team.gate, &gate, gate + 1)) {
            if (thread < team.width && knows_memory()) take_parts(thread);
            last = gate & NUMBER;
            looks = 0;
            if ((atomic_fetch_sub(&team.gate, 1) & (IS_OPEN | INSIDE)) == 1) wake();
        }
    }
    atomic_fetch_sub(&team.present, 1);
}

static void open_gate(void) {
    const uint32_t number = (atomic_load(&team.gate) + NUMBER_STEP) & NUMBER;
    atomic_store(&team.gate, IS_OPEN | number);
    wake();
}

// Waits for those inside, who finish the parts that they have taken. A thread that broke does not
// leave, so the caller wakes now and then to ask.
static void close_gate(void) {
    const int64_t nanoseconds = 100000000;
    uint32_t looks = 0, gate = atomic_fetch_and(&team.gate, ~IS_OPEN) & ~IS_OPEN;
    while (gate & INSIDE) {
        if (atomic_load(&team.failed))
            sc_panic(__FILE__, __LINE__, "a thread of the engine broke in the middle of its work");
        rest(gate, &looks, nanoseconds);
        gate = atomic_load(&team.gate);
    }
}

// Notes which threads had a range.
static void note_shares(void) {
    team.calls++;
    for (uint32_t thread = 1; thread < team.width; thread++) {
        if (!team.has_range[thread]) continue;
        team.has_range[thread] = false;
        team.last_call[thread] = team.calls;
    }
}

static void share(int64_t count, int64_t step, sc_parallel_fn *fn, void *work) {
    team.count = count;
    team.step = step;
    team.ranges = (count - 1) / step + 1;
    team.fn = fn;
    team.work = work;
    team.pages = known_pages();
    atomic_store_explicit(&team.taken, 0, memory_order_relaxed);
    open_gate();
    take_parts(0);
    close_gate();
    note_shares();
}

void sc_parallel(int64_t count, int64_t step, sc_parallel_fn *fn, void *work) {
    if (count <= 0) return;
    step = sc_max_i64(step, 1);
    const bool is_inside = atomic_exchange(&team.is_busy, true);
    const bool is_small = count <= step || count / step > RANGES_MAX;
    const bool is_alone = !atomic_load(&team.present);
    if (is_inside || is_small || is_alone)
        fn(work, 0, count, 0);
    else
        share(count, step, fn, work);
    if (!is_inside && !is_small && is_alone) team.missed += (double)(count / step);
    if (!is_inside) atomic_store(&team.is_busy, false);
}

// Nanoseconds of a range, which a thread takes in 100, and of the least work to share.
enum { RANGE = 8000, LEAST = 10000 };

// A few ranges are as many as threads, or a multiple, so that no thread has one more than others.
int64_t sc_parallel_step(int64_t count, double nanoseconds) {
    const double whole = (double)count * nanoseconds;
    const int64_t width = sc_parallel_width();
    if (width > 1 && team.splits_all) return 1;
    if (width == 1 || count < 2 || whole < LEAST) return count;
    int64_t ranges = whole < (double)count * RANGE ? 1 + (int64_t)(whole / RANGE) : count;
    if (ranges > width) ranges = (ranges + width - 1) / width * width;
    return (count + ranges - 1) / ranges;
}

void sc_parallel_rows(int64_t count, double nanoseconds, sc_parallel_fn *fn, void *work) {
    const int64_t step = sc_parallel_step(count, nanoseconds);
    if (step < count)
        sc_parallel(count, step, fn, work);
    else if (count > 0)
        fn(work, 0, count, 0);
}

void sc_parallel_split_all(bool splits) { team.splits_all = splits; }

// --- Shares --------------------------------------------------------------------------------------

uint64_t sc_parallel_calls(void) { return team.calls; }

uint32_t sc_parallel_threads_since(uint64_t calls) {
    uint32_t count = 1;
    for (uint32_t thread = 1; thread < sc_parallel_width(); thread++)
        count += team.last_call[thread] > calls;
    return count;
}

// --- The host ------------------------------------------------------------------------------------

uint32_t sc_parallel_width(void) { return team.width ? team.width : 1; }

void sc_parallel_set_width(uint32_t width) {
    SC_ASSERT(width > 0 && width <= SC_PARALLEL_MAX && !atomic_load(&team.present));
    team.width = width;
    atomic_store(&team.ends, false);
}

double sc_parallel_missed(void) { return team.missed; }

bool sc_parallel_reserve(uint64_t bytes) {
    // Some bytes for those who need none: their address is passed on, and may not be NULL.
    const uint64_t each = sc_align_up(sc_max_u64(bytes, 1), 64), others = sc_parallel_width() - 1;
    if (each <= team.scratch_bytes || others == 0) return true;
    if (bytes > UINT64_MAX / SC_PARALLEL_MAX - 64) return false;
    sc_free(team.scratch);
    team.scratch_bytes = 0;
    team.scratch = sc_try_alloc(each * others);
    if (team.scratch) team.scratch_bytes = each;
    return team.scratch != NULL;
}

void *sc_parallel_scratch(uint32_t thread) {
    return team.scratch + (thread - 1) * team.scratch_bytes;
}

void sc_parallel_end(void) {
    atomic_store(&team.ends, true);
    // Sleepers wake because the gate has changed.
    atomic_fetch_add(&team.gate, NUMBER_STEP);
    wake();
}

void sc_parallel_fail(void) { atomic_store(&team.failed, true); }

uint32_t sc_parallel_present(void) { return atomic_load(&team.present); }

#endif
