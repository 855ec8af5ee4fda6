// Names and hints of status codes, and sc_panic. In wasm sc_panic calls an import of the host,
// which throws. In native code it prints and aborts.
#include "base/base.h"

#if defined(__EMSCRIPTEN__)
// The host throws, so this call never returns.
__attribute__((import_module("sconce"), import_name("panic"))) void
sc_host_panic(const char *file, int line, const char *message);
#else
#include <stdio.h>
#include <stdlib.h>
#endif

void sc_panic(const char *file, int line, const char *message) {
#if defined(__EMSCRIPTEN__)
    sc_host_panic(file, line, message);
    __builtin_trap();
#else
    fprintf(stderr, "%s:%d: broken assumption: %s\n", file, line, message);
    abort();
#endif
}

const char *sc_status_slug(sc_status status) {
    static const char *const slugs[] = {
#define STATUS(id, slug, hint) slug,
#include "base/status.def"
#undef STATUS
    };
    SC_ASSERT((unsigned)status < SC_STATUS_COUNT);
    return slugs[status];
}

const char *sc_status_hint(sc_status status) {
    static const char *const hints[] = {
#define STATUS(id, slug, hint) hint,
#include "base/status.def"
#undef STATUS
    };
    SC_ASSERT((unsigned)status < SC_STATUS_COUNT);
    return hints[status];
}
