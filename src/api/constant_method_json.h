// Constant methods of a program from the host's JSON. Private to src/api.
// Prefix: sc_constant_method_, which reads one.
#ifndef SC_CONSTANT_METHOD_JSON_H
#define SC_CONSTANT_METHOD_JSON_H

#include "format/json.h"
#include "ir/ir.h"

// Reads a constant method of the program: its name, the JSON of its value, and the elements of the
// tensors in the value. Copies all three to the context's arena. SC_ERR_ARGUMENT for a name that
// the program has, and for a value that a constant method cannot return.
sc_status sc_constant_method_read(sc_ctx *ctx, const sc_program *program, sc_str name,
                                  const sc_json *value, sc_str elements, sc_constant_method *out);

#endif
