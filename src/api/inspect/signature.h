// The inputs and outputs of a method, as JSON.
// Prefix: sc_method_ is a method of the IR (ir/ir.h), here written as JSON.
#ifndef SC_API_SIGNATURE_H
#define SC_API_SIGNATURE_H

#include "format/json.h"
#include "ir/ir.h"

// Writes the members "inputs" and "outputs" of an object.
void sc_method_put_signature(sc_json_writer *w, sc_arena *scratch, const sc_method *method);

#endif
