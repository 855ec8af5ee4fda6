// Private to src/backends/xnnpack/aot: where transposes go.
// Prefix: sc_xa_ (XNNPACK, ahead of time).
#ifndef SC_XNNPACK_LAYOUT_H
#define SC_XNNPACK_LAYOUT_H

#include "backends/xnnpack/aot/rule.h"

// Fills in `layouts`: of nodes that compute in either layout, the one that costs the fewest
// transposed elements.
void sc_xa_choose_layouts(sc_xa_maker *m);

#endif
