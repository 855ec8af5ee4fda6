#include "compute/layout.h"

#if defined(__wasm_relaxed_simd__)
#define FLAVOUR "relaxed"
#elif defined(__wasm__)
#define FLAVOUR "baseline"
#else
#define FLAVOUR "native"
#endif

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char *sc_compute_layout(void) { return FLAVOUR " " TEXT(SC_COMPUTE_LAYOUT); }
