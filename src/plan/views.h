// Which copies need not be made: a *_copy of a view whose elements already lie in the base, in
// order, becomes an alias of the base's storage and no instruction.
// Prefix: sc_views_.
#ifndef SC_VIEWS_H
#define SC_VIEWS_H

#include "plan/storage.h"

// Turns results of view copies into SC_STORAGE_ALIAS where that is safe, also for a runtime that
// knows nothing of it: static shapes, row-major, base neither written nor supplied by the caller,
// and the result not an output. Constants that go to a data file (`keeps_layouts`) have one layout
// there, and only tensors of that layout show them.
sc_status sc_views_alias(sc_ctx *ctx, sc_storage_table *table, bool keeps_layouts);

#endif
