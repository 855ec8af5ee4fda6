// What both halves of the null backend know: the form of its bytes. A u32, how many inputs the
// program takes; for each of them the key of the weight that it is, or zeros where the call passes
// it; then, from the next multiple of 16 on, the program as a .pte.
#ifndef SC_NULL_H
#define SC_NULL_H

#include "base/content_key.h"

enum { SC_NULL_KEY_BYTES = SC_CONTENT_KEY_CHARS };

static inline uint64_t sc_null_pte_at(uint32_t input_count) {
    return sc_align_up(4 + (uint64_t)input_count * SC_NULL_KEY_BYTES, 16);
}

#endif
