// The largest sizes of dynamic dimensions. Private to src/api.
// Prefix: sc_bound_ sets maxima of dynamic sizes; in ir/dynamic_sizes.h it writes advice to set
// them.
#ifndef SC_API_DYNAMIC_SHAPES_H
#define SC_API_DYNAMIC_SHAPES_H

#include "core/options.h"
#include "ir/ir.h"

// Bounds the symbols that `bounds` names, as if the file contained the bounds. Their methods are
// replaced by copies with symbols of their own, because other versions share the old ones. A name
// is a symbol ("s77") or a dimension of an input ("tokens.1") of every method that has it;
// "METHOD:NAME" is a name in one method. SC_ERR_NOT_FOUND for a name that no method has.
// SC_ERR_OPTION for a name whose size is not one of a single symbol, and for a value that
// contradicts the file or another bound.
sc_status sc_bound_sizes(sc_ctx *ctx, sc_program *program, const sc_bounds *bounds);
// Bounds the symbols by the sizes that memory is to be planned for: the largest values that are
// given, else, where the method goes by hints, the values of the example. SC_ERR_NOT_FOUND for a
// method that is not there; other errors as above.
sc_status sc_eval_sizes(sc_ctx *ctx, sc_program *program, const sc_shape_eval *sizes);

#endif
