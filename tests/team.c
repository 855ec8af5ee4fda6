#include "team.h"

void team_share_all(bool shares) { sc_parallel_split_all(shares); }

#if defined(__wasm__)

void team_open(uint32_t width) { (void)width; }
void team_close(void) {}

#else

// Not <threads.h>, of which ThreadSanitizer knows nothing.
#include <pthread.h>
#include <sched.h>

// lgamma of the C library writes a sign that nobody reads.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race:lgamma"; }

static pthread_t threads[SC_PARALLEL_MAX];
static uint32_t count;  // of those that were started

static void *serve(void *number) {
    sc_parallel_serve((uint32_t)(uintptr_t)number);
    return NULL;
}

void team_open(uint32_t width) {
    team_close();
    sc_parallel_set_width(width);
    for (uint32_t thread = 1; thread < width; thread++) {
        if (!pthread_create(&threads[count], NULL, serve, (void *)(uintptr_t)thread)) count++;
    }
    while (sc_parallel_present() < count) sched_yield();
}

void team_close(void) {
    sc_parallel_end();
    for (; count > 0; count--) pthread_join(threads[count - 1], NULL);
    sc_parallel_set_width(1);
}

#endif
