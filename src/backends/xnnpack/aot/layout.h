// Chooses where transposes go. Private to src/backends/xnnpack/aot.
// Prefix: sc_xa_ (XNNPACK, ahead of time).
#ifndef SC_XNNPACK_LAYOUT_H
#define SC_XNNPACK_LAYOUT_H

#include "backends/xnnpack/aot/rule.h"

// Fills in `layouts`: for each node that computes in either layout, the one that costs the fewest
// transposed elements.
void sc_xa_choose_layouts(sc_xa_maker *m);

#endif
