// Inputs for loaded methods. Private to src/api.
// Prefix: sc_set_, which gives a loaded method its inputs.
#ifndef SC_API_EXAMPLES_H
#define SC_API_EXAMPLES_H

#include "format/pickle.h"
#include "ir/ir.h"
#include "rt/rt.h"

// Sets the inputs of a loaded method: to the example inputs of the file that `source` was read
// from, or else to random ones, the same each time (examples.c).
sc_status sc_set_examples(sc_ctx *ctx, const sc_method *source, sc_rt_method *const *methods,
                          uint32_t count, bool *are_examples);

// The same from such values themselves, in one container; `are_set` is false if they do not fit.
sc_status sc_set_values(sc_ctx *ctx, const sc_pickle_value *values, sc_rt_method *const *methods,
                        uint32_t count, bool *are_set);

#endif
