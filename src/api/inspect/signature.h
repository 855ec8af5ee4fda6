// The inputs and outputs of a method, as JSON.
#ifndef SC_PORTS_H
#define SC_PORTS_H

#include "format/json.h"
#include "ir/ir.h"

// Writes the members "inputs" and "outputs" of an object.
void sc_method_put_signature(sc_json_writer *w, sc_arena *scratch, const sc_method *method);

#endif
