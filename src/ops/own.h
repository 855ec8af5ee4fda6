// Operators of the user's own: the table has no row for them, and a schema says how they are
// called. The host registers them, and from then on all lookups by name find them. They have
// neither a shape rule nor an expansion, so lowering keeps their calls whole, and takes the sizes
// of results from the program.
//
// They belong to the process, like backends of the host, because files name operators and know no
// jobs.
// Prefix: sc_own_ reads and registers such an operator.
#ifndef SC_OPS_OWN_H
#define SC_OPS_OWN_H

#include "ops/op.h"

// Reads a schema in PyTorch's notation, strictly: "mylib::scale(Tensor x, float alpha=1.0) ->
// Tensor". `overload` is that of the out variant. If it is empty, the variant has the name that
// PyTorch's operators usually give it: "out", or "Scalar_out" for the overload "Scalar".
// SC_ERR_ARGUMENT says what is wrong with the text. SC_ERR_UNSUPPORTED is about operators that
// write to operands, and about types that no .pte file stores. All memory is on `arena`.
sc_status sc_own_read(sc_ctx *ctx, sc_arena *arena, sc_str schema, sc_str overload, sc_op *out);

// Reads it and registers it, until the process ends. `kernel` is kept; NULL if there is no kernel
// to run it. SC_ERR_ARGUMENT if an operator of that name is known already.
sc_status sc_own_add(sc_ctx *ctx, sc_str schema, sc_str overload, const struct sc_kernel *kernel);

// The operator that is registered under the name of a foreign one; NULL if there is none.
const sc_op *sc_own_registered(const sc_op *foreign);
// The foreign operator with a schema that its calls state. Its out variant has the usual name.
const sc_op *sc_own_stated(sc_arena *arena, const sc_op *foreign, const sc_schema *schema);
// Equal for calls of one operator, by its name.
static inline sc_str sc_own_key(const sc_op *op) { return sc_str_from(op->name); }

#endif
