// The two memory layouts that programs use: row-major, and channels-last (nhwc) for ranks 4 and 5.
// Prefix: sc_spec_ is the sc_spec of core/spec.h: a tensor without its data.
#ifndef SC_IR_LAYOUT_H
#define SC_IR_LAYOUT_H

#include "ir/ir.h"

// Is it channels-last, and not row-major at the same time?
bool sc_spec_is_nhwc(sc_exprs *exprs, const sc_spec *spec);
// Gives `spec` fresh strides: row-major, or channels-last when `nhwc` (rank 4 or 5).
void sc_spec_set_layout(sc_exprs *exprs, sc_spec *spec, bool nhwc);
// Strides that a .pte can state without ambiguity: those of the spec's layout, and row-major for
// every other order. Dims of size 1 do not matter.
void sc_spec_canonicalise(sc_exprs *exprs, sc_spec *spec);
// The order of dims in the spec's memory, as a list of integers.
sc_arg sc_arg_dim_order(sc_arena *arena, sc_exprs *exprs, const sc_spec *spec);

#endif
