// Integers of 4 bits, two to a byte. A source makes them from bytes when it is read.
// Prefix: sc_extent_ is a run of bytes in a source (base/source.h).
#ifndef SC_NIBBLES_H
#define SC_NIBBLES_H

#include "base/source.h"

// Integers from -8 to 7, one a byte, as tables of 4 bits have them: two a byte, the first in its
// high half, each 8 more than it is. There is an even number of them.
sc_extent sc_extent_nibbles(sc_arena *arena, sc_extent integers);
// Are all bytes, each an int8, within [low, high]? Reads them once, in blocks, to the first that is
// not.
sc_status sc_extent_is_within(sc_ctx *ctx, sc_extent integers, int8_t low, int8_t high, bool *out);

#endif
