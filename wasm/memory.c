// The services that libc needs from its host, instead of Emscripten's standalone ones. Those come
// as one object, so taking one takes all, and they grow memory and abort less well. Here memory
// grows by a quarter at a time. A growth costs the host about 2 ms, whatever its size. The
// standalone library grows page by page, and took 35 s instead of 0.4 s to reach 4 GB.
#include <stdbool.h>
#include <stddef.h>

#define PAGE_BYTES     65536
#define STEP_PAGES_MAX 1024  // 64 MB

bool emscripten_resize_heap(size_t bytes);
_Noreturn void _abort_js(void);

static bool grow(size_t pages) { return __builtin_wasm_memory_grow(0, pages) != (size_t)-1; }

bool emscripten_resize_heap(size_t bytes) {
    size_t held = __builtin_wasm_memory_size(0);
    size_t wanted = bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);
    if (wanted <= held) return true;
    size_t step = held / 4 < STEP_PAGES_MAX ? held / 4 : STEP_PAGES_MAX;
    // Near the limit the generous step fails where the exact one still fits.
    return (wanted - held < step && grow(step)) || grow(wanted - held);
}

void _abort_js(void) { __builtin_trap(); }

// Only the thread of the engine allocates, so nobody waits for the lock of Emscripten's libc for
// threads and looks at the clock meanwhile.
#if defined(__wasm_atomics__)
double emscripten_get_now(void);
double emscripten_get_now(void) { return 0; }
#endif
