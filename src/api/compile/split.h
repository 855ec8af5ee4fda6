// Prefix: sc_split_ makes several methods of one.
#ifndef SC_API_COMPILE_SPLIT_H
#define SC_API_COMPILE_SPLIT_H

#include "core/options.h"
#include "ir/ir.h"

// Replaces the only method of a program by methods of these names, each with that largest value of
// its only dynamic size. They share state. Without names, nothing changes. SC_ERR_OPTION if the
// program cannot be split so.
sc_status sc_split_program(sc_ctx *ctx, sc_program *program, const sc_bounds *methods);

#endif
