// The bytes of a null delegate, for both halves. First comes a u32, the number of inputs that the
// program takes. For each input follows the key of its weight, or zeros if the call passes it. From
// the next multiple of 16 on stands the program as a .pte.
// Prefix: sc_null_ reads the bytes of a null delegate.
#ifndef SC_NULL_H
#define SC_NULL_H

#include "base/content_key.h"

#define SC_NULL_BACKEND "NullBackend"  // the id of the backend in files

enum { SC_NULL_KEY_BYTES = SC_CONTENT_KEY_CHARS };

static inline uint64_t sc_null_pte_at(uint32_t input_count) {
    return sc_align_up(4 + (uint64_t)input_count * SC_NULL_KEY_BYTES, 16);
}

#endif
