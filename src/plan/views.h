// Copies that are not needed. If the elements of a view already lie in the base, in order, its
// *_copy becomes an alias of the base's storage and no instruction.
// Prefix: sc_views_, which turns copies into aliases.
#ifndef SC_VIEWS_H
#define SC_VIEWS_H

#include "core/options.h"
#include "plan/storage.h"

// Turns results of view copies into SC_STORAGE_ALIAS where that is safe, also for a runtime that
// knows nothing of it. Safe means static shapes, row-major order, a base that is neither written
// nor supplied by the caller, and a result that is no output. Constants that the
// options send to a data file have one layout there, and only tensors of that layout show them.
sc_status sc_views_alias(sc_ctx *ctx, sc_storage_table *table, const sc_options *options);

#endif
