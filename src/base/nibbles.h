// Integers of 4 bits, two to a byte. A source makes them from bytes when it is read.
// Prefix: sc_extent_ is a run of bytes in a source (base/source.h).
#ifndef SC_NIBBLES_H
#define SC_NIBBLES_H

#include "base/source.h"

// Packs integers from -8 to 7, one in each byte, as quantized tables store them. Two integers go
// into a byte, the first into its high half, each with 8 added. Their number must be even.
sc_extent sc_extent_nibbles(sc_arena *arena, sc_extent integers);
// Sets `out` to true if all bytes, as int8, are within [low, high]. Reading ends at the first that
// is not.
sc_status sc_extent_is_within(sc_ctx *ctx, sc_extent integers, int8_t low, int8_t high, bool *out);

#endif
