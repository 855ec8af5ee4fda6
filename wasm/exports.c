// The module's functions: unpack arguments, call the core, hand the result back. Which functions
// exist and what they take is said in exports.def alone.
#include "base/arena.h"

#define EXPORT(result, name, parameters) \
    __attribute__((export_name(#name))) result wasm_##name parameters;
#include "exports.def"
#undef EXPORT

const char *wasm_version(void) {
    return SC_VERSION;
}

void *wasm_memory_alloc(uint32_t bytes) {
    return sc_try_alloc(bytes);
}

void wasm_memory_free(void *memory) {
    sc_free(memory);
}
