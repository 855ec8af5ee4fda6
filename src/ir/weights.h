// The weights of a program, those of delegated parts included. Prefix: sc_weights_ walks over them,
// sc_constant_ asks about one.
#ifndef SC_WEIGHTS_H
#define SC_WEIGHTS_H

#include "core/options.h"
#include "ir/ir.h"

typedef void sc_weight_visitor(const sc_method *method, const sc_constant *weight, void *user);

// Calls `visit` for each constant that may lie in a file of its own. A constant that the method
// writes may not, because it is state. `method` is the program's, also for weights of its parts.
sc_status sc_weights_visit(const sc_program *program, sc_weight_visitor *visit, void *user);

// Warns of patterns of the option external_constants that no name of a weight fits: a misspelt one
// would leave weights where nobody looks for them.
sc_status sc_weights_check(const sc_program *program, const sc_options *options);

// The file that the options choose for the constant; empty: inside the program.
sc_str sc_constant_file(const sc_options *options, const sc_constant *constant);

#endif
