// Bytes of halves, shown as those of float32.
// Prefix: sc_source_ makes a source of bytes.
#ifndef SC_WIDENED_H
#define SC_WIDENED_H

#include "base/source.h"
#include "core/dtype.h"

// Shows the elements of `base`, which are f16 or bf16, as f32. They are widened when they are read.
sc_source *sc_source_widened(sc_arena *arena, sc_extent base, sc_dtype dtype);

#endif
